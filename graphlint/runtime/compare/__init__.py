"""Two runs in; where their values, their state and their operators differ, beyond the noise of eager, out.

The state within reach of a callable is found, kept and put back here too. Imports `trace` alone; which runs are
compared, and when, is decided in `examine`.
"""
