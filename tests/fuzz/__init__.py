"""Input that nobody writes, made at random in; whatever ends `check` or a report of it in disorder out.

`programs` makes programs from a grammar, `settings` configurations, baselines, patterns and bytes, `judge` has `check`
look at them, and `__main__` goes on for as long as it is told. A short share of it is in `tests/test_fuzz.py`.
"""
