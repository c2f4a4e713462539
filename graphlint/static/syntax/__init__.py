"""Text to compact form: which files there are, what stands in them, and the intermediate representation of functions.

The only package that knows libcst. It imports nothing of the static half.
"""
