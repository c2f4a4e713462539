"""A program's text in, the findings that its `# expect:`, `# missed:` and `# false-alarm:` comments speak of out."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

_COMMENT = re.compile(r"#\s*(expect|missed|false-alarm):\s*(GL\d{3}(?:\s*,\s*GL\d{3})*)")
_HEADER = re.compile(r"^# (outcome|needs|rules|entry): (.+)$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Expectation:
    """One code on one line; `word` is expect, missed or false-alarm."""

    line: int
    code: str
    word: str = "expect"


def parse_expectations(text: str) -> list[Expectation]:
    """The expectations of a program, by line."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (match := _COMMENT.search(token.string)):
            word, codes = match.groups()
            found += [Expectation(token.start[0], code.strip(), word) for code in codes.split(",")]
    return sorted(found)


def parse_header(text: str) -> dict[str, str]:
    """The header comments of a fixture: outcome, needs, rules, entry."""
    return dict(_HEADER.findall(text))
