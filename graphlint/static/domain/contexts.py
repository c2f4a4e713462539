"""What running a function leaves behind: effects at their places, calls, the regions that it opens, its result.

Long, because frames and contexts hold each other.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from graphlint.finding import Confidence, Hop, Region, Related, Span
from graphlint.static.domain.assumptions import Assumption, Assumptions, assume
from graphlint.static.domain.program import Bound, Class, Function, Instance, Partial
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Arguments, Const, ExternalObject, Value

FOREIGN = Const("foreign capture")
UNLIKELY = Const("behind a condition that nothing speaks for")


class Source:
    """Where a host value comes from; the kinds stand in `sources`."""

    __slots__ = ()


class Mode(enum.Enum):
    """Whether code runs before a capture, inside one, or inside a region that falls back instead of failing."""

    OUTSIDE = 0
    CAPTURE = 1
    SOFT = 2


@dataclass(slots=True, eq=False)
class Occurrence:
    """An effect under capture, at a place. `message` and `help` replace those of the rule if they are set."""

    effect: str
    span: Span
    operation: str
    confidence: Confidence
    message: str | None = None
    help: str | None = None
    assumed: Assumptions = ()
    related: tuple[Related, ...] = ()
    is_note: bool = False

    @property
    def sure(self) -> Confidence:
        """How sure it is, as far as this context tells."""
        return Confidence(min(self.confidence, Confidence.MEDIUM)) if self.assumed else self.confidence


@dataclass(frozen=True, slots=True)
class Site:
    """A node of a function, None for all of it: where it stands is worked out for those that are told of."""

    path: str
    name: str
    function: Function
    node: ir.Node | None

    @property
    def hop(self) -> Hop:
        line = self.function.first_line + (self.node.pos[0] if self.node is not None else 0)
        return Hop(self.path, line, self.name)


@dataclass(frozen=True, slots=True)
class Unresolved:
    """What a call that could not be followed calls, as it is written and as an expression; `owner` has it.

    Where nobody knows what that is, `made` is the call itself: whoever comes to know can make it later.
    """

    text: str
    callee: ir.Expr
    owner: Value
    made: MadeCall | None = None


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call, its arguments, and the frame that it is made in, as far as a callee sees it."""

    node: ir.Call
    arguments: Arguments
    frame: Frame


@dataclass(frozen=True, slots=True)
class Counted:
    """Something kept on the host that is added to: how that is written, and what is assumed there."""

    text: str
    assumed: Assumptions


@dataclass(slots=True, eq=False)
class Context:
    """A function run with certain arguments, or the inside of a region; `applied` are autograd functions.

    `answers` are the reads and parameters that its result comes from; `has_work` tells of work on the device, and
    `raises` that no way through it comes to its end.
    """

    function: str
    path: str
    occurrences: dict[tuple[str, Span], Occurrence] = field(default_factory=dict)
    calls: dict[Context, Site] = field(default_factory=dict)
    ways: dict[Context, list[Assumptions]] = field(default_factory=dict)
    unresolved: dict[Span, Unresolved] = field(default_factory=dict)
    applied: dict[Class, None] = field(default_factory=dict)
    counts: dict[Span, Counted] = field(default_factory=dict)
    result: Value = UNKNOWN
    answers: dict[Source, None] = field(default_factory=dict)
    has_work: bool = False
    raises: bool = False
    left_open: list[OpenRegion] = field(default_factory=list)
    open_at_yield: list[OpenRegion] = field(default_factory=list)
    flags_at_yield: frozenset[Value] = frozenset()
    closes: int = 0

    def add(self, occurrence: Occurrence) -> None:
        """Keep the surer of two of one effect at one place, or the one that needs fewer assumptions."""
        key = (occurrence.effect, occurrence.span)
        known = self.occurrences.get(key)
        if known is None or _doubt(known) > _doubt(occurrence):
            self.occurrences[key] = occurrence

    def reach(self, callee: Context, site: Site, assumed: Assumptions) -> None:
        """Keep where a context is called first, and everything that calls of it assume."""
        self.calls.setdefault(callee, site)
        ways = self.ways.setdefault(callee, [])
        if assumed not in ways:
            ways.append(assumed)


def _doubt(occurrence: Occurrence) -> tuple[int, int]:
    return -occurrence.sure, len(occurrence.assumed)


@dataclass(slots=True, eq=False)
class OpenRegion:
    """A capture region that has begun: what it is, and the context that collects what happens inside.

    `warm` are the functions that ran before it; where `warms_up`, what it runs ran before, whatever that is. `assumed`
    is what is assumed in the function that opens it, where it does. What is compiled `is_whole` if parts are refused.
    """

    region: Region
    context: Context
    mode: Mode
    foreign: bool = False
    warm: frozenset[Function] = frozenset()
    warms_up: bool = False
    assumed: Assumptions = ()
    is_whole: bool = False


RegionKey: TypeAlias = tuple[str, str, int, str | None]  # kind, path, line, and what is declared
Key: TypeAlias = "str | tuple[Instance, str]"
Said: TypeAlias = "frozenset[tuple[Hashable, bool]]"  # what is asked, each with how it came out
Env: TypeAlias = "dict[Key, Value]"
# Where two ways met, what a key held then, and what it held at the end of each of them, by how the test came out.
Chosen: TypeAlias = "dict[Key, tuple[Value, dict[bool, Value]]]"


@dataclass(frozen=True, slots=True)
class Ground:
    """What tests came to on the way to a place, and the tests that names keep there, each with a stamp of its words."""

    said: Said = frozenset()
    kept: Mapping[str, tuple[ir.Expr, Hashable]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Loop:
    """The environments that leave a loop early; `runs` is how often its body runs, with the loops around it."""

    runs: int = 1
    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Frame:
    """A function while it runs. The environment maps names, and attributes assigned here, to values.

    `around` are the context managers in force that matter to what runs inside, those of the callers included.
    `tests` are the conditions of the statements that hold the one that runs. `suspended` are the regions that are open
    where the generators yield that calls have given. `assumed` is what is assumed where it runs now, `known` how the
    tests came out that were asked last, and `before` how much was assumed where each of the regions began. `excluded`
    is what does not hold together any more, and `changes` how often names were given a value.
    """

    function: Function
    context: Context
    outer_mode: Mode
    depth: int
    around: frozenset[Value] = frozenset()
    env: Env = field(default_factory=dict)
    regions: list[OpenRegion] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    tests: list[ir.Expr] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    scopes: dict[str, str] = field(default_factory=dict)
    suspended: dict[ir.Expr, list[OpenRegion]] = field(default_factory=dict)
    constructing: Instance | None = None
    assumed: Assumptions = ()
    doubtful: bool = False  # whether nothing supports what is assumed
    known: dict[ir.Expr, bool | None] = field(default_factory=dict)
    choices: dict[Hashable, tuple[frozenset[str], Chosen]] = field(default_factory=dict)
    ground: Ground = Ground()
    excluded: tuple[Said, ...] = ()
    changes: dict[str, int] = field(default_factory=dict)
    before: dict[OpenRegion, int] = field(default_factory=dict)
    sources: dict[object, frozenset[Source]] = field(default_factory=dict)  # of names, of attributes, and of nodes
    answers: list[Source] = field(default_factory=list)  # of what has been called without a node
    raised: set[ir.Expr] = field(default_factory=set)  # calls that did not come back
    found_before: Collection[RegionKey] | None = None  # the regions that are known, where others are searched for

    @property
    def module(self) -> Module:
        return self.function.module

    @property
    def mode(self) -> Mode:
        return self.regions[-1].mode if self.regions else self.outer_mode

    @property
    def in_region(self) -> bool:
        """Whether a region is open, which every expression asks."""
        return (self.regions[-1].mode if self.regions else self.outer_mode) is not Mode.OUTSIDE

    @property
    def searches(self) -> bool:
        """Whether both branches of every condition are run: in a search for regions, until one is open."""
        return self.found_before is not None and not self.regions

    @property
    def sink(self) -> Context:
        """Where what happens at the moment belongs."""
        return self.regions[-1].context if self.regions else self.context

    @property
    def assumptions(self) -> Assumptions:
        """What is assumed since the innermost region began, or the function."""
        return self.assumed[self.before.get(self.regions[-1], 0) :] if self.regions else self.assumed

    def assume(self, test: ir.Expr, outcome: bool, is_likely: bool = True) -> None:
        """What follows runs where a test comes out like this."""
        self.assumed += assume(self.function, test, outcome, self.known, is_likely)

    def enter(self, regions: Iterable[OpenRegion]) -> None:
        """Regions begin here."""
        for region in regions:
            self.before[region] = len(self.assumed)
            self.regions.append(region)

    @property
    def surroundings(self) -> frozenset[Value]:
        """What is in force for a function that is called now."""
        foreign = [ExternalObject(region.region.kind) for region in self.regions if region.foreign]
        return self.around.union([FOREIGN], foreign) if foreign else self.around

    @property
    def is_foreign(self) -> bool:
        """Whether a capture is open that torch's allocator does not know of."""
        return FOREIGN in self.surroundings

    @property
    def is_unlikely(self) -> bool:
        """Whether nothing speaks for getting here: what is written here is written for what follows here alone."""
        return UNLIKELY in self.around

    def kept(self) -> Frame:
        """What a callee sees of this frame, for a call that is made once the function has run."""
        return replace(
            self,
            context=self.sink,
            outer_mode=self.mode,
            around=self.surroundings,
            env={},
            regions=[],
            tests=list(self.tests),
            assumed=self.assumptions,
            known={},
            choices={},
            ground=Ground(),
            excluded=(),
            before={},
            sources={},
            suspended={},
            constructing=None,
        )

    def site(self, node: ir.Node | None) -> Site:
        """A call at a node of this function."""
        return Site(self.context.path, self.context.function, self.function, node)

    def span(self, node: ir.Node) -> Span:
        return self.function.span_of(node)


def dispatched(
    values: Sequence[Value], node: ir.Expr | None, frame: Frame, unnamed: Collection[Value] = ()
) -> Iterator[Value]:
    """What a callee or a receiver may be, one by one: while each is looked at, it is assumed to be that one.

    For those that are `unnamed`, nothing speaks.
    """
    before = frame.assumed
    for value in values:
        form = _is_that(value, node)
        if node is not None and form is not None and len(values) > 1:
            is_named = (Class(value.cls) if isinstance(value, Instance) else value) not in unnamed
            frame.assumed = (*before, Assumption(frame.function, node, form=form, is_named=is_named))
        yield value
        frame.assumed = before


def _is_that(value: Value, node: ir.Expr | None) -> str | None:
    """What says of an expression that it is a function or an object of the project."""
    match value:
        case Function(qualname=name) if isinstance(node, ir.Name) and node.id == name:
            return "{} is not wrapped"  # its decorators may give something else
        case Instance():
            return f"isinstance({{}}, {value.cls.name})"
        case Class():
            return f"{{}} is {value.definition.name}"
        case Function():
            return f"{{}} is {value.qualname}"
        case Bound() | Partial():
            return _is_that(value.function, node)
        case ExternalObject():
            return _is_that(value.argument("generator") or UNKNOWN, node)  # of a context manager that is made with one
    return None


def reachable(start: Context) -> Iterator[tuple[Context, tuple[Site, ...]]]:
    """Every context that a context reaches, nearest first, with the calls on the shortest way."""
    seen = {start}
    queue: list[tuple[Context, tuple[Site, ...]]] = [(start, ())]
    for context, way in queue:
        yield context, way
        for callee, site in context.calls.items():
            if callee not in seen:
                seen.add(callee)
                queue.append((callee, (*way, site)))
