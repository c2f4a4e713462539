"""Findings and what they are made of: plain frozen data, shared by both halves and all reporters."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.version import __version__

if TYPE_CHECKING:
    from graphlint.contract import Contract


class Severity(enum.IntEnum):
    """The consequence: a note costs time or memory, a warning loses an effect, an error breaks capture or replay."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Confidence(enum.IntEnum):
    """How sure the witness is that this very line does it.

    Of what stands in source: `HIGH` happens whenever the region runs, `MEDIUM` under the conditions that are shown, or
    with values of the likely kind, `LOW` needs something that nothing in the source supports.
    """

    LOW = 1
    MEDIUM = 2
    HIGH = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source: lines and columns count from 1, and the end column is exclusive."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class Hop:
    """One call on the way from the region to the finding: where it stands, and the function that makes it."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, order=True)
class Related:
    """Another place that a finding has to do with, as where it is mended, and what stands there in words."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """A capture region: its kind (the spelling that opens it), where it opens, and its declared entry if it has one."""

    kind: str
    path: str
    line: int
    entry: str | None = None
    soft: bool = field(default=False, compare=False)


_SUBJECT = re.compile(r"(?:not |isinstance\(|\()*((?:(?:ctx|self)\.)?\w+)")


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """What has to hold on the way to a finding: an expression that nothing decides, and where it stands.

    `is_default` says that nothing which the source gives as a default speaks against it; `opposite` is what does not
    hold, in the same words, if it has any.
    """

    text: str
    path: str
    line: int
    is_default: bool = True
    opposite: str = field(default="", compare=False)

    @property
    def subject(self) -> tuple[str, str]:
        """What it asks about: the first name in it, in its file, and the attribute behind `self`, or behind `ctx`, in
        which a pass backward finds what the one forward has kept.
        """
        named = _SUBJECT.match(self.text)
        return self.path, self.text if named is None else named[1]


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement of the text at `span`; `safe` says that it cannot change what the program computes."""

    span: Span
    text: str
    safe: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule at one place, with every region that reaches it, and the way there from the first of them.

    It is the way with the fewest conditions, which are in `when`, and of these the shortest. `targets` are those of
    `verify` that reach it.
    """

    code: str
    rule: str
    severity: Severity
    confidence: Confidence
    span: Span
    function: str
    message: str
    help: str
    why: str = ""
    regions: tuple[Region, ...] = ()
    chain: tuple[Hop, ...] = ()
    when: tuple[Condition, ...] = ()
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    targets: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Hole:
    """A call in a region whose callee nobody knows, so that nothing behind it was looked at.

    `fitting` is how many classes of the code take its arguments, by a method of that name or by their `forward`, of the
    first hundred that have one. Where targets say what it runs, `followed` is how many of their functions were looked
    at, and `left_out` how many not.
    """

    span: Span
    callee: str
    function: str
    region: Region
    fitting: int = 0
    followed: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """What a user has to know of a run beside its findings, such as what was not judged, and where that lies."""

    message: str
    places: tuple[Span, ...] = ()


NO_FILE = Notice("no Python file and no notebook was found, so nothing was judged")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run looked at; the calls it could not follow are counted, never hidden."""

    files: int = 0
    regions: int = 0
    functions: int = 0
    unresolved_calls: int = 0
    suppressed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Collective:
    """What one rank of several does together with others: the operator with shapes, and the call as it is written."""

    what: str
    text: str
    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class TargetReport:
    """A target of `verify` and what was measured on it: times in seconds, memory in bytes, and counts, by name.

    `problem` says why it could not be looked at at all, `unseen` what the witness cannot see where it ran. The
    `verdict` is `safe`, `refused`, `differs` or `cannot tell`. `contracts` are those of its graphs, if they were asked
    for, `collectives` those in each of its captures.
    """

    name: str
    measured: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    unseen: str = ""
    verdict: str = ""
    contracts: tuple[Contract, ...] = ()
    collectives: tuple[tuple[Collective, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a reporter needs: the witness, the findings in order of place, and the summary.

    `statistics` holds the callees that no call could be resolved to, with the number of call sites, most frequent
    first; `targets` is what `verify` looked at, `holes` what `check` could not look into, `notices` what is to be known
    beside the findings. `version` is the graphlint that made the report.
    """

    witness: str
    findings: tuple[Finding, ...]
    summary: Summary
    statistics: tuple[tuple[str, int], ...] = ()
    targets: tuple[TargetReport, ...] = ()
    holes: tuple[Hole, ...] = ()
    notices: tuple[Notice, ...] = ()
    version: str = __version__
