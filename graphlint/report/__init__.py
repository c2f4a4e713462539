"""Reports in, text out: seven reporters of one signature."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from graphlint.finding import Report


class Render(Protocol):
    """A report in, its text out; paths below `base` are shown relative to it, and `quiet` is findings alone."""

    def __call__(self, report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str: ...


def reporter(style: str) -> Render:
    """The reporter of a format; the others are not loaded."""
    render: Render = importlib.import_module(f"graphlint.report.{style}").render
    return render
