"""Two runs in; where their values, their state and their operators differ, beyond the noise of eager, out."""
