"""Source in, what of it is too deep or too long to be read out, and where.

Parsers recur natively, and whoever walks a tree is recursive: what nests without an end would end the
process. So it is counted before, from above: brackets, and what stands between two commas or ends of a line.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_BRACKETS = 150  # inside each other; Python itself refuses 200
MAX_RETRIED = 8  # brackets behind `case` and `del`: with each more, libcst tries two to four times as long
MAX_DEPTH = 1000  # operators, attributes and calls inside each other, as in `a + b + c`
MAX_BRANCHES = 500  # an `elif` is a branch of the one before
MAX_PIECES = 120_000  # elements, operators and lines of one statement; more take gigabytes as a tree
MAX_FILE = 500_000  # of one file, which takes less for each

_OPERATOR = r"[-+*/%@&|^~.]|\b(?:not|and|or|if|await|lambda|for)\b"
_STRING = r"""'''(?:[^\\]|\\.)*?'''|\"{3}(?:[^\\]|\\.)*?\"{3}|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_RETRIED = r"\b(?:case|del)\b"
_TOKEN = re.compile(
    rf"{_STRING}|#[^\n]*|\\\n|[=!<>:]=|[-+*/%@&|^]=|[(\[{{)\]}},;=\n]|{_OPERATOR}|{_RETRIED}", re.DOTALL
)
_MAY_RETRY = re.compile(_RETRIED)
_DEEPER = re.compile(rf"[(\[{{]|{_OPERATOR}")
_BRANCH = re.compile(r"^([ \t]*)(el)?if\b", re.MULTILINE)
_PIECES = "([{,.:;=<>+-*/%@&|^\n"
_MARKS = (*"([{-+*/%@&|^~.", "not", "and", "or", "if", "await", "lambda", "for")  # of which all operators have one
_STAYS = ("lambda", "for")  # go on behind a comma


def is_too_long(text: str) -> bool:
    """Whether a file holds more than can be parsed in a gigabyte."""
    return len(text) > MAX_FILE and sum(map(text.count, _PIECES)) > MAX_FILE


def too_deep(text: str) -> tuple[str, int] | None:
    """What is too much of a text, and at which of its lines, from 0; None: nothing is."""
    # Plain searches come first, since they are fast; `del` stands in `model` as well.
    if len(text) > MAX_PIECES and len(_DEEPER.findall(text)) + text.count(",") + text.count("\n") > MAX_PIECES:
        return f"holds more than {MAX_PIECES:,} elements, operators and lines in one statement", 0
    branches: Counter[str] = Counter()
    for found in _BRANCH.finditer(text) if text.count("elif") > MAX_BRANCHES else ():
        branches[found[1]] = branches[found[1]] + 1 if found[2] else 0
        if branches[found[1]] > MAX_BRANCHES:
            return f"has more than {MAX_BRANCHES} branches of one `if`", text.count("\n", 0, found.start())
    brackets = sum(map(text.count, "([{"))
    is_retried = brackets > MAX_RETRIED and ("del" in text or ("case" in text and "match" in text))
    is_retried = is_retried and _MAY_RETRY.search(text) is not None
    may_nest = brackets > MAX_BRACKETS or is_retried or sum(map(text.count, _MARKS)) > MAX_DEPTH
    return _nested(text) if may_nest else None


def _nested(text: str) -> tuple[str, int] | None:
    """Where brackets, or what stands in them, nest too deep."""
    outer: list[tuple[int, int]] = []  # what nests around each open bracket, and stays so
    depth, stays, most = 0, 0, MAX_BRACKETS
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in ("(", "[", "{"):
            depth += 1
            outer.append((depth, stays))
            stays = depth
        elif token in (")", "]", "}"):
            depth, stays = outer.pop() if outer else (0, 0)
        elif token in (",", "=") or (token in ("\n", ";") and not outer):
            if token in ("\n", ";") and not outer:
                stays, most = 0, MAX_BRACKETS
            depth = stays
        elif token in ("case", "del"):
            most = most if outer else MAX_RETRIED
        elif token in _STAYS:
            depth, stays = depth + 1, stays + 1
        elif _DEEPER.fullmatch(token):
            depth += 1
        if len(outer) > most:
            return f"nests more than {most} brackets into each other", text.count("\n", 0, found.start())
        if depth > MAX_DEPTH:
            what = f"nests more than {MAX_DEPTH} operators, attributes and calls into each other"
            return what, text.count("\n", 0, found.start())
    return None
