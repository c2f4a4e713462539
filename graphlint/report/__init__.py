"""Reports in, text out: four reporters of one signature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from graphlint.finding import Report
from graphlint.report import github, json, sarif, text


class Render(Protocol):
    """A report in, its text out; paths below `base` are shown relative to it."""

    def __call__(self, report: Report, *, color: bool = False, base: Path) -> str: ...


REPORTERS: Mapping[str, Render] = {
    "text": text.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
}
