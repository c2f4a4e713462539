"""The words of the project: one for each thing, in messages, pages and the README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from graphlint.rulebook import builtin_rules, load_rulebook

CHECKOUT = Path(__file__).resolve().parent.parent
INSTEAD = {
    r"graph block|graphed section": "capture region",
    r"graph call": "capture entry",
    r"priming|dry run": "warm-up",
    r"re-run": "replay",
    r"normal mode": "eager",
    r"extra stream": "side stream",
    r"(?:CPU|GPU) side": "host, device",
    r"blocking call": "host sync",
    r"seeded RNG": "registered generator",
    r"violations?|diagnostics?": "finding",
    r"auto-?fix|quick fix": "fix",
    r"(?:true|false) (?:positive|negative)s?": "missed alarm, false alarm",
    r"illegal|should": "what happens",
}


def prose(page: str) -> str:
    """A page with its declaration, without its programs and without what it quotes."""
    fence = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    page = fence.sub(lambda block: block[2] if block[1] == "toml" else "", page)
    return re.sub(r"`[^`\n]+`", "", page)


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Everything that a user reads, with the place where it stands."""
    return tuple(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for rule in load_rulebook(builtin_rules()).rules:
        yield rule.page.name, prose(rule.text)
    for page in (CHECKOUT / "README.md", CHECKOUT / "rules" / "README.md", *(CHECKOUT / ".github").glob("*.md")):
        yield page.name, prose(page.read_text(encoding="utf-8"))
    for module in sorted((CHECKOUT / "graphlint").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{module.relative_to(CHECKOUT)}:{node.lineno}", prose(node.value)


@pytest.mark.parametrize("words", INSTEAD)
def test_one_word_for_each_thing(words: str) -> None:
    """What has a word of its own is not called by another."""
    pattern = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    found = [f"{place}: {match[0]}" for place, text in texts() for match in pattern.finditer(text)]
    assert [] == found, f"say: {INSTEAD[words]}"


def test_quotations_and_programs_are_left_alone() -> None:
    """An error message of CUDA may be quoted."""
    page = "# t\n```toml\nwhy = 1\n```\nan `illegal memory access`\n```python bad\n# should\n```\nend\n"
    assert "# t\nwhy = 1\n\nan \n\nend\n" == prose(page)
