"""A page and the text of one of its generated sections in; a failure, or the page written anew, out."""

from __future__ import annotations

from pathlib import Path


def assert_section(page: Path, name: str, expected: str, bless: bool) -> None:
    """What stands between `<!-- name -->` and `<!-- /name -->` is the expected text; `pytest --bless` writes it."""
    opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, rest = page.read_text("utf-8").split(opening)
    present, after = rest.split(closing)
    if bless:
        page.write_text("".join([before, opening, expected, closing, after]), "utf-8")
        present = expected
    assert expected == present, "run `pytest --bless` to write it anew"
