"""A program's text in, the findings that its comments speak of out.

`# expect: GL101` is reported and right, `# missed: GL101 why` is right and not reported by `graphlint check`, and
`# false-alarm: GL101 why` is reported and wrong. `# unseen: GL101 why` stands beside one of the first two where
`graphlint verify` does not see it. `# needs: 1 gpu` in the header says what a program needs of the device, and after
commas what of it the emulator does not have, and the releases of torch that do what the comments say: `torch>=2.10`.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from functools import cache

_COMMENT = re.compile(r"#\s*(expect|missed|false-alarm|unseen):\s*(GL\d{3}(?:\s*,\s*GL\d{3})*)")
_NEEDS = re.compile(r"  # needs: (.+)$", re.MULTILINE)
_HEADER = re.compile(r"^# (outcome|needs|rules|entry): (.+)$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Expectation:
    """One code on one line; `word` is expect, missed, false-alarm or unseen."""

    line: int
    code: str
    word: str = "expect"


@cache
def parse_expectations(text: str) -> tuple[Expectation, ...]:
    """The expectations of a program, by line."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            for word, codes in _COMMENT.findall(token.string):
                found += [Expectation(token.start[0], code.strip(), word) for code in codes.split(",")]
    return tuple(sorted(found))


def parse_header(text: str) -> dict[str, str]:
    """The header comments of a fixture: outcome, needs, rules, entry."""
    return dict(_HEADER.findall(text))


def parse_needs(text: str) -> str:
    """What a page's program, which has no header, says after `# needs:` on the line that needs it."""
    found = _NEEDS.search(text)
    return found[1] if found else ""


def without_comments(text: str) -> str:
    """The text with every comment cut off, and as many lines as before."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip()
    return "\n".join(lines)
