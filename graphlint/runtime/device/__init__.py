"""What captures: the questions that every device answers, and below it the real one and the emulated one."""
