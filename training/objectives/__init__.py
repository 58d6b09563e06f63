"""One file per stage: `prepare` makes missing data, `build` returns the stage's Objective."""
