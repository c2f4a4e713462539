"""Text to compact form: what stands in files, and the intermediate representation of functions.

`ast` reads all that this Python can; libcst, which only this package knows, what another one can. Tests hold their
forms and positions equal. It imports nothing of the static half.
"""
