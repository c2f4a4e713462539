"""Text to compact form: what stands in files, and the intermediate representation of functions.

The only package that knows libcst. It imports nothing of the static half.
"""
