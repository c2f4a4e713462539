"""Constants and an operator in, whether working it out is small enough out: a short program can ask for gigabytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_TEXT = 1000  # characters; longer ones are no names
MAX_SHIFT = 64  # bits to shift by, and what to raise to
MAX_NUMBER = 1 << 64
_WIDE = re.compile(r"[0-9]{4}|\*|\{[^{}]*\{")  # a width of four digits, or one that is an argument


def is_small(sign: str, left: object, right: object) -> bool:
    """Whether `left sign right` gives no larger number and no longer text than anybody needs."""
    texts = [side for side in (left, right) if isinstance(side, (str, bytes))]
    numbers = [side for side in (left, right) if isinstance(side, int)]
    if any(abs(number) >= MAX_NUMBER for number in numbers):
        return False
    if texts and sign == "%":
        return not isinstance(texts[0], str) or is_narrow(texts[0])
    if texts and numbers and sign == "*":
        return len(texts[0]) * numbers[0] <= MAX_TEXT
    if texts:
        return sum(map(len, texts)) <= 2 * MAX_TEXT
    return sign not in ("**", "<<") or (isinstance(right, (int, float)) and abs(right) <= MAX_SHIFT)


def are_short(parts: Iterable[str | int]) -> bool:
    """Whether texts and numbers one behind the other are no longer than a name."""
    return sum(len(part) if isinstance(part, str) else part.bit_length() for part in parts) <= MAX_TEXT


def is_narrow(text: str) -> bool:
    """Whether a text to put values into has no widths by which it grows beyond them."""
    return len(text) <= MAX_TEXT and _WIDE.search(text) is None
