"""Where the rules lie that ship with graphlint, and the page of each."""

from __future__ import annotations

from pathlib import Path

from graphlint.reading import reads

_PACKAGE = Path(__file__).resolve().parent


def builtin_rules() -> Path:
    """The rules that ship with graphlint: inside the package when installed from a wheel, beside it in a checkout."""
    shipped = _PACKAGE / "rules"
    return shipped if reads.is_folder(shipped) else _PACKAGE.parent / "rules"


def builtin_page(code: str, rule: str) -> Path | None:
    """The page of a rule, if it ships with graphlint."""
    page = builtin_rules() / f"{code.lower()}_{rule.replace('-', '_')}.md"
    return page if reads.is_file(page) else None
