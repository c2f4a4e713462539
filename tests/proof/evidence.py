"""What devices recorded of each program: read, written, and compared with what its comments say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proof.programs import ROOT, Program

FOLDER = ROOT / "fixtures" / "evidence"
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
    `seconds`.
    """

    device: dict[str, str]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file of this device: one for each GPU, torch and CUDA."""
        gpu = self.device["gpu"].lower().replace(" ", "-")
        torch = self.device["torch"].partition("+")[0]
        return FOLDER / f"{gpu}-torch{torch}-cuda{self.device['cuda']}.json"

    def write(self, programs: Iterable[Program]) -> None:
        """Write the records of these programs' present texts, one a line, and forget the others."""
        kept = {p.name: record for p in programs if (record := self.of(p)) is not None}
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept))
        self.path.parent.mkdir(exist_ok=True)
        head = json.dumps({"device": self.device}, indent=1)[:-2]
        self.path.write_text(f'{head},\n "programs": {{\n{lines}\n }}\n}}\n', "utf-8")

    def of(self, program: Program) -> dict[str, Any] | None:
        """The record of the program's present text."""
        record = self.records.get(program.name)
        return record if record is not None and record["hash"] == program.hash else None


def read(path: Path) -> Evidence:
    data = json.loads(path.read_text("utf-8"))
    return Evidence(data["device"], data["programs"])


def recorded() -> list[Evidence]:
    """The evidence of every device."""
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]


def disagreement(program: Program, record: dict[str, Any]) -> str | None:
    """How what the device did differs from what the program's comments say; None if it does not."""
    outcome, place = record["outcome"], record["place"]
    if outcome not in _BEHAVIOUR[str(program.outcome)]:
        return f"the program says `{program.outcome}`, the device `{outcome}` at {place}: {record['cause']}"
    marked = [f"{path}:{mark.line}" for path, mark in program.expectations if mark.word != "false-alarm"]
    if outcome == "capture-error" and place not in marked:
        return f"the capture broke at {place} ({record['cause']}), and marked is {', '.join(marked) or 'no line'}"
    if program.outcome == "clean" and marked:
        return f"the program says `clean`, and marks {', '.join(marked)}"
    return None
