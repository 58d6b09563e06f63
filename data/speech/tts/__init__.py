"""Speech engines, one a file; each loads on first use."""
