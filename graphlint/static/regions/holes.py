"""Regions in, the calls in them out that nobody knows the callee of, with what would fit there.

A hole is what decides what a region runs and what source alone does not tell: `self.model(...)`, a function that was
handed in, a method of an object that comes from a registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from graphlint import finding
from graphlint.finding import Region, Span
from graphlint.static.domain.contexts import Context, MadeCall, OpenRegion, Unresolved, reachable
from graphlint.static.domain.program import Instance
from graphlint.static.index.headers import Header, header
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.aliases import meant
from graphlint.static.syntax import ir
from graphlint.values import Arguments, members

MOST_COUNTED = 100  # classes that are looked at to tell how many fit; a report does not wait for more
MAX_HOPS = 2  # calls between a region and a hole that is told of; deeper ones are unresolved calls like any other
CALLED = ("forward", "__call__")  # what calling an object runs


@dataclass(frozen=True, slots=True)
class Hole:
    """A call whose callee nobody knows: where it stands, and the functions from its region to it."""

    span: Span
    unresolved: Unresolved
    made: MadeCall
    context: Context
    region: Region
    functions: tuple[str, ...]
    hops: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the callee is spelt with; an item is named by its container."""
        return spelt(self.made.node.func)

    @property
    def method(self) -> str | None:
        """The method that is called of something unknown; None where what is unknown is called itself."""
        is_held = any(isinstance(owner, Instance) for owner in members(self.unresolved.owner))
        return None if is_held else method_of(self.made.node.func)

    def told(self, fitting: int, followed: int = 0, left_out: int = 0) -> finding.Hole:
        """What the report says of it."""
        text, function = self.unresolved.text, self.context.function
        return finding.Hole(self.span, text, function, self.region, fitting, followed, left_out)


def find_holes(regions: Iterable[OpenRegion]) -> list[Hole]:
    """The holes in what these regions reach, the nearest to its region first."""
    found: list[Hole] = []
    for opened in regions:
        reached = list(reachable(opened.context))
        sites = [site for context, _ in reached for site in context.calls.values()]
        followed = {site.node.mark for site in sites if site.node is not None}
        for context, way in reached:
            functions = (opened.context.function, *(site.name for site in way), context.function)
            for span, unresolved in context.unresolved.items():
                made = unresolved.made
                # One of its callers may hand in what another one does not: then it is known.
                if made is not None and made.node.mark not in followed and not _launches(made.node.func):
                    found.append(Hole(span, unresolved, made, context, opened.region, functions, len(way)))
    return sorted(found, key=lambda hole: (hole.hops, hole.span))


@dataclass(slots=True)
class Followed:
    """The functions that targets named for a hole, and how many were not run, since others had used up the budget.

    Where nobody has named them, they are a guess.
    """

    hole: Hole
    run: set[str] = field(default_factory=set)
    left_out: int = 0
    is_guess: bool = False

    def told(self) -> finding.Hole:
        return self.hole.told(self.left_out + len(self.run), len(self.run), self.left_out)


def tell_holes(interpreter: Interpreter, files: Sequence[Path], left: Iterable[Hole]) -> dict[Span, finding.Hole]:
    """What the report says of holes, the nearest first; far from their regions, of those that something fits."""
    candidates = Candidates(interpreter, files, MOST_COUNTED)
    told: dict[Span, finding.Hole] = {}
    for hole in left:
        if hole.hops <= MAX_HOPS and hole.span not in told:
            fitting = len(candidates.fitting(hole))
            if fitting or (hole.method is None and not hole.hops):
                told[hole.span] = hole.told(fitting)
    return told


def spelt(callee: ir.Expr) -> tuple[str, ...]:
    """The names of a dotted expression, without the method that calling an object runs."""
    names: list[str] = []
    while True:
        match callee:
            case ir.Attribute():
                names.insert(0, callee.attr)
                callee = callee.value
            case ir.Subscript():
                callee = callee.value
            case ir.Call():
                callee = callee.func
            case _:
                break
    if isinstance(callee, ir.Name):
        names.insert(0, callee.id)
    return tuple(names[:-1] if len(names) > 1 and names[-1] in CALLED else names)


def method_of(callee: ir.Expr) -> str | None:
    """The method that an expression names; None for what is called itself."""
    return callee.attr if isinstance(callee, ir.Attribute) and callee.attr not in CALLED else None


def _launches(callee: ir.Expr) -> bool:
    """Whether a call launches a kernel, which is spelt with its grid: `kernel[grid](x)`."""
    return isinstance(callee, ir.Subscript) and isinstance(callee.value, ir.Name)


@dataclass
class Candidates:
    """The classes of some files by what they define, for the calls that nobody knows the callee of.

    Of those that define one method `most` are looked at, or all.
    """

    interpreter: Interpreter
    files: Sequence[Path]
    most: int | None = None
    known: dict[str, list[tuple[ClassDefinition, Header]]] = field(default_factory=dict)

    @cached_property
    def wrappers(self) -> frozenset[str]:
        """How calls are spelt that give a function back which does what another one does."""
        return frozenset(("partial", *self.interpreter.entries.compiling))

    def callee(self, hole: Hole) -> ir.Expr:
        """What a hole calls: the attribute that a local name stands for, or what is written there."""
        return meant(hole.made.node.func, hole.made.frame.function, self.wrappers)

    def method(self, hole: Hole) -> str | None:
        """The method that is called of something unknown; None where what is unknown is called itself."""
        callee = self.callee(hole)
        return hole.method if callee is hole.made.node.func else method_of(callee)

    def fitting(self, hole: Hole) -> list[tuple[ClassDefinition, str]]:
        """The classes with a method that takes the arguments of a hole, and its name; of modules, `forward`."""
        method = self.method(hole)
        if hole.names[-1:] == ("__class__",) or (method is not None and hole.made.arguments == Arguments()):
            return []  # no class is told apart by these, and no model is run
        if method is not None:
            found = [(cls, method) for cls, taken in self._defining(method) if accepts(taken, hole.made.arguments)]
            if found or hole.hops:  # what a region itself calls may well be held by an object that nobody knows
                return found
        is_model = self.interpreter.classes.is_model
        return [
            (cls, "forward")
            for cls, taken in self._defining("forward")
            if accepts(taken, hole.made.arguments) and is_model(cls)
        ]

    def _defining(self, method: str) -> list[tuple[ClassDefinition, Header]]:
        """The classes that define a method themselves; what tests and examples define is captured by nobody else."""
        if method not in self.known:
            self.known[method] = list(islice(self._search(method), self.most))
        return self.known[method]

    def _search(self, method: str) -> Iterator[tuple[ClassDefinition, Header]]:
        files = set(self.interpreter.project.defining(method))
        for path in self.files:
            if path not in files:
                continue
            module = self.interpreter.project.module_at(path)
            for cls in () if is_test(module.name) else module.index.classes.values():
                definitions = cls.methods.get(method)
                taken = header(definitions[-1]) if definitions else None
                if taken is not None:
                    yield cls, taken


def accepts(taken: Header, given: Arguments, bound: int = 1) -> bool:
    """Whether a call is no TypeError, where so many parameters are given by the object that is called."""
    positional = taken.positional[bound:]
    count = len(given.positional)
    if count > len(positional) and not taken.star:
        return False
    names = {name for name, _ in given.keywords}
    free = {*positional[count:], *taken.keywords}
    if not names - given.optional <= free and (not taken.double_star or names & {*taken.positional}):
        return False
    is_open = given.star is not None or given.double_star is not None
    return is_open or not (taken.required & free) - names
