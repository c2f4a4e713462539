"""A text in, its tokens out, or that it has none: odd texts end Python's own tokenizer in several ways."""

from __future__ import annotations

import io
import tokenize

# Python 3.12 ends with a SystemError behind a zero byte.
_UNREADABLE = (tokenize.TokenError, SyntaxError, ValueError, MemoryError, SystemError)


def tokens_of(text: str) -> list[tokenize.TokenInfo] | None:
    """The tokens of a source text; None for one that cannot be divided into them."""
    try:
        return list(tokenize.generate_tokens(io.StringIO(text).readline))
    except _UNREADABLE:
        return None
