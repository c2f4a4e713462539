"""A target in; eager runs, captures and replays of it, compared with each other, out."""
