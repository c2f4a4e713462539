"""Made-up rule pages, findings and reports for the tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphlint.finding import Confidence, Finding, Hop, Region, Report, Severity, Span, Summary
from graphlint.rulebook import Rulebook, load_rulebook
from graphlint.rulebook.page import HEADINGS

DECLARATION = {
    "summary": "the host waits for the device",
    "severity": "error",
    "outcome": "capture-error",
    "witness": ["check", "verify"],
    "message": "`{operation}` reads a device value on the host",
    "help": "keep the value on the device",
    "why": "capture records work, it does not run it",
    "fix": "none",
    "since": "0.1",
    "status": "stable",
}
PROGRAMS = "```python bad\nimport torch\n```\n\n```python good\nimport torch\n```\n"
FINDING = Finding(
    code="GL101",
    rule="scalar-readback",
    severity=Severity.ERROR,
    confidence=Confidence.HIGH,
    span=Span("serve/model.py", 4, 12, 4, 24),
    function="serve.model:Decoder.forward",
    message="`scale.item()` reads a device value on the host and waits for it",
    help="keep the value on the device",
    why="a captured stream cannot be waited for",
    regions=(Region("torch.cuda.graph", "serve/run.py", 2),),
    chain=(Hop("serve/run.py", 3, "serve.run:capture"),),
)
MODEL = """class Decoder:
    def forward(self, x):
        scale = self.scale
        if scale.item() > 0:
            x = x * 2
        return x
"""
RUN = "def capture(model, x):\n    with torch.cuda.graph(graph):\n        model(x)\n"


def page(code: str, slug: str, programs: str = PROGRAMS, **changes: Any) -> str:
    """The text of a page; a key that is set to None is left out."""
    entries: dict[str, Any] = {**DECLARATION, **changes}
    lines = [f"{key} = {value!r}" for key, value in entries.items() if value is not None]
    sections = "\n".join(f"## {heading}\n\ntext\n" for heading in HEADINGS)
    return "\n".join([f"# {code} {slug}", "", "```toml", *lines, "```", "", sections, programs])


def write_page(directory: Path, code: str, slug: str, **changes: Any) -> Path:
    """A page on the disk, under the name that its title asks for."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{code.lower()}_{slug.replace('-', '_')}.md"
    file.write_text(page(code, slug, **changes), encoding="utf-8")
    return file


def write_rules(directory: Path) -> Rulebook:
    """A small rulebook: the tool's own two rules, and three of other families."""
    write_page(directory, "GL001", "unreadable-source", programs="")
    unused = "`{operation}` suppresses nothing"
    write_page(directory, "GL002", "unused-suppression", programs="", severity="warning", message=unused)
    write_page(directory, "GL101", "scalar-readback")
    write_page(directory, "GL102", "tensor-printing")
    write_page(directory, "GL301", "data-dependent-branch")
    write_page(directory, "GL504", "region-allocation", severity="note", outcome="slow", profile="strict")
    return load_rulebook(directory)


def finding(path: str = "serve/model.py", line: int = 4, **changes: Any) -> Finding:
    """A finding of GL101 with the changes asked for."""
    span = changes.pop("span", Span(path, line, 12, line, 24))
    return dataclasses.replace(FINDING, span=span, **changes)


def report(*findings: Finding, statistics: Iterable[tuple[str, int]] = (), **summary: Any) -> Report:
    """A report of the static half."""
    counts = {"files": 3, "regions": 1, "functions": 17, "unresolved_calls": 2, "seconds": 0.42, **summary}
    return Report("static", findings, Summary(**counts), tuple(statistics))


def write_project(folder: Path) -> Path:
    """The two files that the example finding is about."""
    (folder / "serve").mkdir(parents=True, exist_ok=True)
    (folder / "serve" / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "serve" / "run.py").write_text(RUN, encoding="utf-8")
    return folder
