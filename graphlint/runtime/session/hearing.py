"""What a session says of its target in, what there is to report of it out, also where its process came to a bad end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphlint.contract import Contract
from graphlint.errors import UsageError
from graphlint.finding import Collective, Confidence, Finding, Severity, Span
from graphlint.paths import normal
from graphlint.rulebook import Rulebook
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.session.guard import Ending
from graphlint.runtime.session.session import Contracted, Found, Joint, Measured, Stage, Unseen, Unusable, Witness
from graphlint.runtime.trace.places import is_user_code


def _nobody(_message: Stage | Witness) -> None:
    """Nobody wants to know."""


@dataclass
class Hearing:
    """Listens to a session; `told` hears at once of what is being done and who answers.

    `problem` says why the target could not be looked at at all, `unseen` what could not be seen of it. Raises
    UsageError where no target could.
    """

    told: Callable[[Stage | Witness], None] = _nobody
    measured: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    unseen: str = ""
    contracts: tuple[Contract, ...] | None = None  # only of a target that has come to its end
    collectives: tuple[tuple[Collective, ...], ...] = ()
    _found: dict[object, Finding] = field(default_factory=dict)

    def __call__(self, message: object) -> None:
        match message:
            case Found(key, finding):
                self._found[key] = finding
            case Measured(values):
                self.measured.update(values)
            case Contracted(contracts):
                self.contracts = contracts
            case Joint(collectives):
                self.collectives = collectives
            case Unseen(what):
                self.unseen = what
            case Unusable(reason, is_of_machine=True):
                raise UsageError(reason)
            case Unusable(reason):
                self.problem = reason
            case Stage() | Witness():
                self.told(message)

    @property
    def findings(self) -> list[Finding]:
        """The last that was said of each, with paths that can be compared."""
        paths = [str(normal(Path(one.span.path))) for one in self._found.values()]
        return [
            replace(one, span=replace(one.span, path=path))
            for one, path in zip(self._found.values(), paths, strict=True)
        ]

    def end(self, ending: Ending, name: str, home: Span, rulebook: Rulebook) -> None:
        """A bad end is a finding, unless it is known why the target could not be looked at, or what it ended in."""
        if not ending.how or self.problem:
            return
        failed = failure(ending, name, home, rulebook)
        if not any(_explains(one, failed) for one in self._found.values()):
            self._found["end"] = failed


def _explains(found: Finding, failed: Finding) -> bool:
    """Whether an error is told of the line that never came back, such as one that hangs for what is told of it."""
    is_sure = found.severity is Severity.ERROR and found.confidence is Confidence.HIGH
    return is_sure and (found.span.path, found.span.line) == (failed.span.path, failed.span.line)


def failure(ending: Ending, name: str, home: Span, rulebook: Rulebook) -> Finding:
    """How the process of a target ended, at the innermost line of user code where it was, or where the target is."""
    found: dict[object, Finding] = {}
    frames = [frame for frame in ending.frames if is_user_code(frame[0])]
    path, line, function = frames[0] if frames else (home.path, home.line, "")
    findings = Findings(rulebook, found.__setitem__)
    findings.add("target-failure", (), operation=name, span=Span(path, line), said=ending.how)
    (finding,) = found.values()
    return replace(finding, function=function)
