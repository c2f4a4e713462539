"""A statement that writes in, whether it can run between a capture and its replays out.

Decided by where captures begin in the same function, and else by who calls it, by name.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax.remembered import remembered
from graphlint.static.writes.keys import Key, keys_in
from graphlint.static.writes.stores import Written, stores_to, tree_of

MAX_CALLERS = 4  # functions that call one another on the way to what writes
_ROUNDS = 3  # functions that open a region, those that call these, and so on
Loops: TypeAlias = "tuple[tuple[int, int], ...]"  # the first and last lines of loops, one inside the other
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class When(enum.IntEnum):
    """Whether something runs between a capture and its replays."""

    NEVER = 0
    MAYBE = 1
    SURELY = 2


@dataclass(frozen=True, slots=True)
class Called:
    """A call in a function: the last name of what is called, the line, and the loops and conditions around it.

    It `is_lazy` where a condition asks whether something is there already, so that the next call does without.
    """

    name: str
    line: int
    loops: Loops
    is_conditional: bool
    is_lazy: bool
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a function, or one at the top level of a module with all others there."""

    module: Module
    definition: Definition | None
    inner: tuple[str, ...] = ()

    @property
    def qualname(self) -> str:
        """The name of the function."""
        outer = self.definition.qualname if self.definition is not None else "<module>"
        return ".<locals>.".join((outer, *self.inner))

    @property
    def called_as(self) -> str:
        """The name that stands where it is called."""
        if self.inner:
            return self.inner[-1]
        assert self.definition is not None
        path = self.definition.qualname.split(".")
        return path[-2] if len(path) > 1 and path[-1].startswith("__") else path[-1]

    def calls(self) -> Iterator[Called]:
        """The calls that stand in it."""
        segments = [self.definition.segment] if self.definition is not None else self.module.index.statements
        for segment in segments:
            for called in calls_in(self.module.source_of(segment), segment.first - 1):
                if called.inner == self.inner:
                    yield called


class Timing:
    """When statements run, seen from the regions that are known."""

    def __init__(self, evaluator: Evaluator, captured: Set[tuple[Module, str]]) -> None:
        self.evaluator = evaluator
        self.captured = captured
        named = evaluator.lexicon.host_state
        self.constructing, self.preparing, self.replaying = (named[k] for k in ("constructs", "prepares", "replays"))
        self._known: dict[tuple[Body, int], When] = {}
        self.places: dict[Path, set[int]] = {}
        for opened in evaluator.regions.values():
            if opened.region.entry is None:
                self.places.setdefault(Path(opened.region.path), set()).add(opened.region.line)
        self.homes = [evaluator.project.module_at(path) for path in self.places]
        self.opening = self._opening_names()
        self.replays = self._replaying_names()
        self.keys = frozenset(name for key in self._keys() for name in key.names)

    def _opening_names(self) -> frozenset[str]:
        found = set()
        for module in self.homes:
            for definition in module.index.all_functions():
                if self._opens(module, definition.segment):
                    found.add(Body(module, definition).called_as)
        return frozenset(found)

    def _replaying_names(self) -> frozenset[str]:
        """The functions that launch a graph, and those that call them, in the files that open regions."""
        known: frozenset[str] = frozenset()
        for _ in range(_ROUNDS):
            new = set()
            for module in self.homes:
                for definition in module.index.all_functions():
                    calls = _all_calls(module, definition.segment)
                    if any(c.name in known or self.replaying.match(c.name) for c in calls):
                        new.add(Body(module, definition).called_as)
            if new <= known:
                break
            known |= new
        return known

    def is_replay(self, name: str) -> bool:
        """Whether what has this name launches a graph."""
        return name in self.replays or self.replaying.match(name) is not None

    def _keys(self) -> Iterator[Key]:
        """The keys by which functions that capture or replay pick a graph."""
        for module in self.homes:
            for definition in module.index.all_functions():
                calls = _all_calls(module, definition.segment)
                if self._opens(module, definition.segment) or any(self.is_replay(c.name) for c in calls):
                    yield from keys_in(module.source_of(definition.segment))
            for segment in module.index.statements:
                yield from keys_in(module.source_of(segment))

    def _opens(self, module: Module, segment: Segment) -> bool:
        return any(segment.first <= line <= segment.last for line in self.places.get(module.path, ()))

    def of(self, written: Written) -> When:
        """When a statement runs."""
        if written.is_own and written.definition is not None and self.constructing.match(written.definition.name):
            return When.NEVER
        if written.module not in self.homes and _is_of_new(written):
            return When.NEVER  # where nothing is captured, that sets it up
        body = Body(written.module, written.definition, written.store.inner)
        return self.at(body, written.store.line, written.store.loops)

    def at(self, body: Body, line: int, loops: Loops) -> When:
        """When a line of a function runs."""
        return self._when(body, line, loops, MAX_CALLERS)

    def _when(self, body: Body, line: int, loops: Loops, depth: int) -> When:
        key = (body, line)
        known = self._known.get(key)
        if known is None:
            self._known[key] = When.NEVER  # for what calls itself
            known = self._known[key] = self._found(body, line, loops, depth)
        return known

    def _found(self, body: Body, line: int, loops: Loops, depth: int) -> When:
        if (body.module, body.qualname) in self.captured:
            return When.NEVER
        here = self._beside(body, line, loops)
        if here is not None:
            return here
        if body.definition is None and not body.inner:
            return When.NEVER
        name = body.inner[-1] if body.inner else body.definition.name if body.definition is not None else ""
        if self.constructing.match(name) or self.preparing.match(name.lstrip("_")):
            return When.NEVER
        if depth == 0:
            return When.MAYBE
        callers = [self._when(*caller, depth - 1) for caller in self._callers(body, name)]
        return max(callers, default=When.MAYBE)

    def _beside(self, body: Body, line: int, loops: Loops) -> When | None:
        """What the captures and replays of the same function say; None if it has none."""
        calls = list(body.calls())
        openings = [c for c in calls if c.name in self.opening and c.line != line]
        openings += self._regions_in(body)
        earlier = [c for c in openings if c.line < line and (c.is_conditional or not set(c.loops) & set(loops))]
        if earlier:
            return self._behind(line, loops, openings, [c for c in calls if self.is_replay(c.name)])
        if openings and body.definition is None and not body.inner:
            return When.NEVER  # a script that has not come to its capture
        again = [c for c in openings if not c.is_conditional]
        if not again and any(self.is_replay(c.name) for c in calls):
            return When.SURELY
        return When.NEVER if openings else None

    @staticmethod
    def _behind(line: int, loops: Loops, openings: list[Called], replays: list[Called]) -> When:
        """Behind a capture: the next thing has to be a replay, and not another capture; or it is the end.

        Where captures are made when there is none yet, the end leads to the next call, and so to its replay.
        """
        following = [one for one in replays if one.line > line or set(one.loops) & set(loops)]
        again = [one.line for one in openings if one.line > line and not one.is_conditional]
        if not following:
            if replays and all(one.is_lazy for one in openings):
                return When.SURELY
            return When.MAYBE if not replays else When.NEVER
        return When.NEVER if again and min(again) <= min(one.line for one in following) else When.SURELY

    def _regions_in(self, body: Body) -> Iterator[Called]:
        """The regions that open in a function, as if they were calls."""
        for line in self.places.get(body.module.path, ()):
            for segment in [body.definition.segment] if body.definition is not None else body.module.index.statements:
                if segment.first <= line <= segment.last:
                    yield from (
                        called
                        for called in calls_in(body.module.source_of(segment), segment.first - 1)
                        if called.line == line and called.inner == body.inner
                    )

    def _callers(self, body: Body, name: str) -> Iterator[tuple[Body, int, Loops]]:
        for module in dict.fromkeys((body.module, *self.homes)):
            for definition, segment in segments_with(module, name, is_word):
                for called in calls_in(module.source_of(segment), segment.first - 1):
                    if called.name == name:
                        yield Body(module, definition, called.inner), called.line, called.loops


def _is_of_new(written: Written) -> bool:
    """Whether a statement writes to an object that its function has made, or got from a call, before."""
    match written.store.target:
        case ast.Attribute(value=ast.Name(id=name)):
            return any(
                other.segment == written.segment
                and isinstance(other.store.value, ast.Call)
                and other.store.line < written.store.line
                for other in stores_to(written.module, name, False)
            )
    return False


def _all_calls(module: Module, segment: Segment) -> tuple[Called, ...]:
    return calls_in(module.source_of(segment), segment.first - 1)


@remembered
def calls_in(source: str, before: int) -> tuple[Called, ...]:
    """The calls of a segment that begins behind so many lines, and the properties that are read as if they were."""
    tree = tree_of(source)
    if tree is None:
        return ()
    body = tree.body if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) else [tree]
    found: list[Called] = []
    for node in body:
        _collect(node, Called("", before, (), False, False, ()), found)
    return tuple(found)


def _collect(node: ast.AST, around: Called, found: list[Called]) -> None:
    """The calls in a node, of which those around it say the rest; `line` is how many lines there are before."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            found.append(replace(around, name=name, line=(node.func.end_lineno or 0) + around.line))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            around = Called("", around.line, (), False, False, (*around.inner, name))
        case ast.If(test=test):
            around = replace(around, is_conditional=True, is_lazy=around.is_lazy or _asks_for_presence(test))
        case ast.Try():
            around = replace(around, is_conditional=True)
    if isinstance(node, _LOOPS):
        span = node.lineno + around.line, (node.end_lineno or node.lineno) + around.line
        around = replace(around, loops=(*around.loops, span))
    for child in ast.iter_child_nodes(node):
        _collect(child, around, found)


def _asks_for_presence(test: ast.expr) -> bool:
    """Whether a condition asks if something is there: `self.graph is None`, `key not in graphs`, `not self.ready`."""
    signs = (ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Not)
    return any(isinstance(part, signs) for part in ast.walk(test))
