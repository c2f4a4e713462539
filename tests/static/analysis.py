"""A program in, what the static half says about it out; `# file: name` lines separate the files of a program."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expectations import parse_expectations

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence, Finding, Region, Report
from graphlint.rulebook import builtin_rules, load_rulebook

RULEBOOK = load_rulebook(builtin_rules())
FILE = re.compile(r"^# file: (\S+)\n", re.MULTILINE)
CAPTURE = """
import torch

{around}
def step(x, host, unknown, number: int):
{body}

def main(unknown, number: int):
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(4, device="cuda")
    host = torch.ones(4)
    with torch.cuda.graph(graph):
        step(x, host, unknown, number)
"""

Place = tuple[str, int, str]


@dataclass(frozen=True)
class Analysis:
    """A report, and the folder of the program."""

    report: Report
    folder: Path

    @property
    def found(self) -> list[Place]:
        """(file, line, code) of every finding, in the order of the report."""
        return [(self.name(f.span.path), f.span.line, f.code) for f in self.report.findings]

    @property
    def shown(self) -> list[Place]:
        """Those of the findings that are more than a hint, by file, line and code."""
        firm = [f for f in self.report.findings if f.confidence > Confidence.LOW]
        return sorted((self.name(f.span.path), f.span.line, f.code) for f in firm)

    @property
    def expected(self) -> list[Place]:
        """(file, line, code) of every expectation in the program's comments."""
        files = sorted(self.folder.rglob("*.py"))
        return [(self.name(f), e.line, e.code) for f in files for e in parse_expectations(f.read_text("utf-8"))]

    @property
    def finding(self) -> Finding:
        """The only finding."""
        (finding,) = self.report.findings
        return finding

    @property
    def regions(self) -> list[Region]:
        """Every region that reaches a finding."""
        return sorted({region for finding in self.report.findings for region in finding.regions})

    @property
    def chain(self) -> list[tuple[str, int, str]]:
        """(file, line, function) of every hop to the only finding."""
        return [(self.name(hop.path), hop.line, hop.function) for hop in self.finding.chain]

    def name(self, path: str | Path) -> str:
        return Path(path).relative_to(self.folder).as_posix()


def write(folder: Path, program: str) -> Path:
    """The files of a program; what stands before the first `# file:` line is main.py."""
    main, *others = FILE.split(textwrap.dedent(program))
    for name, text in [("main.py", main), *zip(others[::2], others[1::2], strict=True)]:
        if text.strip() or name != "main.py":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def analyse(folder: Path, program: str = "", paths: Iterable[str] = (), **options: Any) -> Analysis:
    """What the static half says about a program, or about some files of it."""
    write(folder, program)
    config = Config(root=folder, **options)
    return Analysis(static.check([folder / path for path in paths] or [folder], config, RULEBOOK), folder)


def in_region(body: str, around: str = "") -> str:
    """A program with this body of a function in a region: `x` is on the device, `host` is not, `unknown` is either."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return CAPTURE.format(body=body, around=textwrap.dedent(around))
