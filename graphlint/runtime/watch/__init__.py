"""A program as it runs in, its captures, operators and replays as they happen out."""
