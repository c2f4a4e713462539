"""Source in, the tree that Python makes of it out."""

from __future__ import annotations

import ast
import warnings

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
WRAPPER = "if True:\n"  # gives an indented piece of source a parent, so that columns stay as they are in the file


def parse(text: str) -> ast.Module:
    """The tree of a text. Raises one of UNPARSABLE."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is none of our business
        return ast.parse(text)
