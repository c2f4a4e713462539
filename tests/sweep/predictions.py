"""Measured samples in, what the static half says about the same statements out."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from proof.reports import RULEBOOK
from sweep.operand_lines import imports, names_in, needed

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence, Finding, Severity

FOLDER = Path(__file__).parent
MEASURED = FOLDER / "measured"
_HAS_EMPTY = re.compile(r"[\[ ]0[,\]]")
_CHUNK = 400  # samples in a file
_REGION = "    with torch.cuda.graph(torch.cuda.CUDAGraph()):\n"

Record = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """A sample, and what the static half reports on it."""

    record: Record
    findings: tuple[Finding, ...]

    @property
    def breaking(self) -> frozenset[str]:
        """The codes that say that the capture fails."""
        return frozenset(f.code for f in self.findings if f.severity is Severity.ERROR)

    @property
    def is_missed(self) -> bool:
        return not self.record["captures"] and not self.breaking

    @property
    def is_false_alarm(self) -> bool:
        """Whether an error is reported on what captured; with an empty tensor most operations have nothing to do."""
        return self.record["captures"] and bool(self.breaking) and not _HAS_EMPTY.search(str(self.record["operands"]))


@cache
def samples() -> list[Record]:
    """Every sample that ran; one for all devices that agree whether it captures."""
    files = [gzip.decompress(path.read_bytes()).decode().splitlines() for path in sorted(MEASURED.glob("*.jsonl.gz"))]
    ran = [record for lines in files for record in map(json.loads, lines[1:]) if "captures" in record]
    return list({(record["key"], record["captures"]): record for record in reversed(ran)}.values())[::-1]


def statements() -> list[Record]:
    """The samples whose statement is all that ran."""
    return [record for record in samples() if record["pass"] == "forward" and record["spelled"]]


def judge(records: Iterable[Record], everything: bool = False) -> list[Judged]:
    """Ask the static half about samples, many to a file, each in a function and a region of its own.

    With `everything`, it tells of allocations and of what it is hardly sure of as well.
    """
    asked = list(records)
    with tempfile.TemporaryDirectory() as folder:
        lines: dict[tuple[str, int], int] = {}
        prelude = "\n".join([*imports(), "", ""])
        for start in range(0, len(asked), _CHUNK):
            path = Path(folder, f"samples_{start}.py")
            text, line = [prelude], prelude.count("\n")
            for number, record in enumerate(asked[start : start + _CHUNK], start):
                before = f"def sample_{number}():\n{operands(record)}{_REGION}"
                line += before.count("\n")
                body = record["statement"].splitlines() or ["pass"]
                lines |= {(str(path), line + 1 + offset): number for offset in range(len(body))}
                text += [before, *(f"        {one}\n" for one in body), "\n"]
                line += len(body) + 1
            path.write_text("".join(text), "utf-8")
        config = Config(root=Path(folder))
        if everything:
            config = replace(config, allocations="strict", confidence=Confidence.LOW)
        report = static.check([Path(folder)], config, RULEBOOK)
    unread = [finding.span for finding in report.findings if finding.code == "GL001"]
    assert not unread, f"a sample is not Python: {unread}"
    found: dict[int, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        if (finding.span.path, finding.span.line) in lines:
            found[lines[finding.span.path, finding.span.line]].append(finding)
    return [Judged(record, tuple(found[number])) for number, record in enumerate(asked)]


def operands(record: Record) -> str:
    """The lines of a function that make what the statement uses."""
    if record["form"] == "statement":
        return "".join(f"    {line.text}\n" for line in needed(names_in(record["statement"])))
    return "".join(f"    {name} = {factory(text)}\n" for name, text in record["operands"].items())


def factory(description: str) -> str:
    """`cuda float32 [4, 4] grad` -> an expression that makes such a tensor."""
    place, dtype, shape = description.removesuffix(" grad").split(" ", 2)
    shape = shape[: shape.index("]") + 1]  # the layout, which may follow, tells the static half nothing
    where = {"cuda": ', device="cuda"', "pinned": ", pin_memory=True", "cpu": ""}[place]
    return f"torch.empty({shape}, dtype=torch.{dtype}{where})"
