"""A target in; eager runs, captures and replays of it, compared with each other, out.

Decides what runs when, and hands to `judge` what came of it. Imports everything below `session`.
"""
