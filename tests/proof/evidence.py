"""What devices recorded of each program: read, written, and compared with what its comments say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proof.programs import ROOT, Program

FOLDER = ROOT / "fixtures" / "evidence"
VERDICTS = "verify-"  # begins the names of files that hold what `graphlint verify` found
# What a program's `outcome` looks like when it runs: only its own check tells a wrong replay.
_BEHAVIOUR = {
    "clean": {"clean"},
    "slow": {"clean"},
    "capture-error": {"capture-error"},
    "replay-divergence": {"check-failed"},
    "lost-effect": {"check-failed"},
    "replay-fault": {"check-failed", "fault"},
}


@dataclass
class Evidence:
    """The records of one device, by the name of the program.

    A record holds `hash` (of the program's text), `outcome` (clean, capture-error, check-failed, fault, error, died or
    timeout), `cause` (the first refusal), `place` (its line in the program), `nodes` (of the captured graph) and
    `seconds`. Where `kind` is VERDICTS, it holds `hash` and `found`, a list of `file:line CODE`.
    """

    device: dict[str, str]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    kind: str = ""

    @property
    def path(self) -> Path:
        """The file of this device: one for each GPU, torch and CUDA."""
        gpu = self.device["gpu"].lower().replace(" ", "-")
        torch = self.device["torch"].partition("+")[0]
        return FOLDER / f"{self.kind}{gpu}-torch{torch}-cuda{self.device['cuda']}.json"

    def write(self, programs: Iterable[Program]) -> None:
        """Write the records of these programs' present texts, one a line, and forget the others."""
        kept = {p.name: record for p in programs if (record := self.of(p)) is not None}
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept))
        self.path.parent.mkdir(exist_ok=True)
        head = json.dumps({"device": self.device}, indent=1)[:-2]
        partial = self.path.with_suffix(".partial")  # a run that is cut off leaves the last whole file
        partial.write_text(f'{head},\n "programs": {{\n{lines}\n }}\n}}\n', "utf-8")
        partial.replace(self.path)

    def of(self, program: Program) -> dict[str, Any] | None:
        """The record of the program's present text."""
        record = self.records.get(program.name)
        return record if record is not None and record["hash"] == program.hash else None


def read(path: Path) -> Evidence:
    data = json.loads(path.read_text("utf-8"))
    return Evidence(data["device"], data["programs"], VERDICTS if path.name.startswith(VERDICTS) else "")


def recorded(kind: str = "") -> list[Evidence]:
    """The evidence of this kind, of every device."""
    found = [read(path) for path in sorted(FOLDER.glob("*.json"))]
    return [one for one in found if one.kind == kind]


def disagreement(program: Program, record: dict[str, Any]) -> str | None:
    """How what the device did differs from what the program's comments say; None if it does not."""
    outcome, place = record["outcome"], record["place"]
    if outcome not in _BEHAVIOUR[str(program.outcome)]:
        return f"the program says `{program.outcome}`, the device `{outcome}` at {place}: {record['cause']}"
    marked = [f"{path}:{line}" for path, line, _ in program.marks("expect", "missed")]
    if outcome == "capture-error" and place not in marked:
        return f"the capture broke at {place} ({record['cause']}), and marked is {', '.join(marked) or 'no line'}"
    if program.outcome == "clean" and marked:
        return f"the program says `clean`, and marks {', '.join(marked)}"
    return None
