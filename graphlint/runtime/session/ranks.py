"""One rank of a job and its report in, one report for all ranks out, which rank 0 gives.

The store of `torchrun` carries the reports. A rank ends when rank 0 has answered, and with its status: the launcher
ends all ranks when one of them fails.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from graphlint.finding import Collective, Finding, Report, Span, TargetReport
from graphlint.rulebook import Rulebook
from graphlint.snapshot import Snapshot

DISAGREE = "ranks-disagree"
_NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_GRACE = 60  # seconds that a rank may be behind another one
_PATIENCE = timedelta(days=1)  # with rank 0, which ends only after its targets; if it fails, the launcher ends all


@dataclass(frozen=True)
class Ranks:
    """The ranks of a job, seen from one of them."""

    rank: int = 0
    size: int = 1
    stores: list[Any] = field(default_factory=list)  # which rank 0 keeps for the targets

    @classmethod
    def of_job(cls) -> Ranks:
        """Those of the job that this process belongs to; one alone where `torchrun` has not started it."""
        is_there = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" and all(map(os.environ.get, _NEEDED))
        return cls(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])) if is_there else cls()

    @cached_property
    def store(self) -> Any:
        """What they share, if there are several."""
        from torch.distributed import PrefixStore, TCPStore

        store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
        store.set_timeout(_PATIENCE)
        return PrefixStore(f"graphlint/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)

    def environment(self, number: int) -> dict[str, str]:
        """What the process of a target needs to meet those of the other ranks: a store of its own, empty again."""
        if self.size == 1:
            return {}
        from torch.distributed import TCPStore

        key = f"port/{number}"
        if not self.rank:
            self.stores.append(TCPStore(os.environ["MASTER_ADDR"], 0, is_master=True, wait_for_workers=False))
            self.store.set(key, str(self.stores[-1].port))
        return {"MASTER_PORT": self.store.get(key).decode()}

    def together(self, report: Report, rulebook: Rulebook, seconds: float) -> Report | None:
        """The report of all ranks on rank 0, which waits so many seconds for each; None on the others."""
        if self.rank:
            self.store.set(f"report/{self.rank}", pickle.dumps(report))
            return None
        if self.size == 1:
            return report
        reports = [report, *(self._report_of(rank, seconds) for rank in range(1, self.size))]
        return joined(reports, rulebook)

    def _report_of(self, rank: int, seconds: float) -> Report | None:
        key = f"report/{rank}"
        try:
            self.store.wait([key], timedelta(seconds=seconds + _GRACE))
        except RuntimeError:  # it came too late
            return None
        found = pickle.loads(self.store.get(key))
        assert isinstance(found, Report)
        return found

    def agree(self, status: int) -> int:
        """The status of rank 0, which the others wait for."""
        if self.size == 1:
            return status
        if not self.rank:
            self.store.set("status", str(status))
            return status
        return int(self.store.get("status"))


def snapshot_of(file: Path | None, rulebook: Rulebook) -> Snapshot | None:
    """The contracts in a file, which rank 0 alone compares with and adds to. Raises UsageError."""
    return Snapshot(file, rulebook) if file is not None and not Ranks.of_job().rank else None


def joined(reports: Sequence[Report | None], rulebook: Rulebook) -> Report:
    """One report of those of all ranks; what not all of them found says on which it was."""
    first = reports[0]
    assert first is not None
    found: dict[tuple[object, ...], tuple[Finding, list[int]]] = {}
    for rank, report in enumerate(reports):
        for one in report.findings if report is not None else ():
            found.setdefault((one.code, one.span, one.message), (one, []))[1].append(rank)
    findings = [_told(one, ranks, len(reports)) for one, ranks in found.values()]
    targets = [_target(number, one, reports, rulebook) for number, one in enumerate(first.targets)]
    for target, crossed in targets:
        findings += [replace(one, targets=(target.name,)) for one in crossed]
    ordered = tuple(sorted(findings, key=lambda one: (one.span, one.code)))
    return replace(first, findings=ordered, targets=tuple(target for target, _ in targets))


def _told(finding: Finding, ranks: Sequence[int], size: int) -> Finding:
    if len(ranks) == size:
        return finding
    return replace(finding, why=f"{finding.why} (on {_named(ranks)} of {size})")


def _named(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _target(
    number: int, first: TargetReport, reports: Sequence[Report | None], rulebook: Rulebook
) -> tuple[TargetReport, list[Finding]]:
    """What all ranks say of one target: the first that could not be looked at, or the worst verdict."""
    silent = [rank for rank, report in enumerate(reports) if report is None]
    others = [report.targets[number] for report in reports if report is not None]
    problem = next((one.problem for one in others if one.problem), "")
    if silent and not problem:
        problem = f"target `{first.name}`: {_named(silent)} did not answer, which may wait for another one"
    crossed = list(_crossed(others, rulebook))
    verdicts = [one.verdict for one in others if one.verdict != "safe"] + ["differs"] * bool(crossed)
    verdict = "cannot tell" if problem or "cannot tell" in verdicts else next(iter(verdicts), first.verdict)
    return replace(first, problem=problem, verdict=verdict), crossed


def _crossed(targets: Sequence[TargetReport], rulebook: Rulebook) -> Iterator[Finding]:
    """Collectives of each rank that differ from those of the first one, capture by capture."""
    rule = rulebook.for_effect(DISAGREE)
    for rank, target in enumerate(targets[1:], 1):
        for ours, theirs in zip(targets[0].collectives, target.collectives, strict=False):
            pair = first_difference(ours, theirs)
            if pair is None:
                continue
            one, other = pair
            said = f"rank 0 runs `{one.text}`, {one.what}, where rank {rank} runs `{other.text}`, {other.what}"
            message = rule.message.format(operation=other.text)
            yield rule.finding(Span(other.path, other.line), message, other.function, said)


def first_difference(ours: Sequence[Collective], theirs: Sequence[Collective]) -> tuple[Collective, Collective] | None:
    """The first collectives of two ranks that do not belong together; None if all do.

    A rank that captures more or fewer may run the others eagerly, and ranks may call by other names, unless they use
    the same names in another order.
    """
    pairs = list(zip(ours, theirs, strict=False)) if len(ours) == len(theirs) else []
    other_kind = next((pair for pair in pairs if pair[0].what != pair[1].what), None)
    if other_kind is None and sorted(one.text for one in ours) == sorted(one.text for one in theirs):
        return next((pair for pair in pairs if pair[0].text != pair[1].text), None)
    return other_kind
