"""Training: one loop, one objective per stage, checkpoints, logging, distributed start."""
