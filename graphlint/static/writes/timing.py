"""A statement that writes in, whether it can run between a capture and its replays out.

Decided by where captures begin in the same function, and else by who calls it, by name.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from graphlint.static.domain.contexts import OpenRegion
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Module
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.bodies import Body
from graphlint.static.writes.called import Branches, Called, Loops, calls_in
from graphlint.static.writes.homes import Caller, Homes, Named, lies_in, places_of
from graphlint.static.writes.keys import Key, keys_in
from graphlint.static.writes.stores import Store, Written, stores_to

MAX_CALLERS = 4  # functions that call one another on the way to what writes
_OWN = ("", "self", "cls")  # what methods are called on that are of the class around


class When(enum.IntEnum):
    """Whether something runs between a capture and its replays; `UNCALLED` if nothing that is known runs it at all."""

    NEVER = 0
    UNCALLED = 1
    MAYBE = 2
    SURELY = 3


class Timing:
    """When statements run, seen from some regions; `captured` are the functions that run in any."""

    def __init__(
        self, evaluator: Evaluator, captured: Set[tuple[Module, str]], regions: Iterable[OpenRegion], homes: Homes
    ) -> None:
        self.captured = captured
        named = evaluator.lexicon.host_state
        self.constructing, self.preparing, self.replaying = (named[k] for k in ("constructs", "prepares", "replays"))
        self._known: dict[tuple[Body, int], When] = {}
        self._known_units: dict[tuple[int, Module], set[str]] = {}
        self.homes = homes
        self.places = places_of(regions)
        everywhere = homes.everywhere.items()
        self.others = {path: lines - self.places.get(path, set()) for path, lines in everywhere}

    @cached_property
    def opening(self) -> Named:
        """The functions that open a region."""
        return self.homes.doing(self._opens)

    @cached_property
    def replays(self) -> Named:
        """The functions that lead to a replay."""
        return self.homes.calling(self._launches)

    def _launches(self, one: Caller) -> bool:
        """Whether a function launches a graph itself, which counts where it is none of others."""
        return one in self.homes.launching and not self._is_of_others(Body(one.module, one.definition))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names that are part of a key by which a graph is picked."""
        return frozenset(name for key in self._keys() for name in key.names)

    def is_replay(self, name: str, body: Body) -> bool:
        """Whether what has this name in a function launches a graph of these regions."""
        if self.replaying.match(name) is not None and not self._is_of_others(body):
            return True
        return self.replays.has(name, body.module)

    def _is_of_others(self, body: Body) -> bool:
        """Whether a function, the class around it or its file opens regions, and none of these: it has other graphs."""
        others, own = (self._units(places, body.module) for places in (self.others, self.places))
        name = body.qualname
        around = (name.partition(".<locals>")[0], name.partition(".")[0], "")
        return any(unit in others and unit not in own for unit in around)

    def _units(self, places: dict[Path, set[int]], module: Module) -> set[str]:
        """The functions and classes of a file in which lines lie, and the file itself as an empty name."""
        if not places.get(module.path):
            return set()
        key = (id(places), module)
        if key not in self._known_units:
            found = {""}
            for definition in module.index.all_functions():
                if lies_in(definition.segment, places, module):
                    found |= {definition.qualname, definition.qualname.partition(".")[0]}
            self._known_units[key] = found
        return self._known_units[key]

    def _keys(self) -> Iterator[Key]:
        """The keys by which functions that capture or replay pick a graph, or others of their files, by its table."""
        for one in self.homes.functions:
            body = Body(one.module, one.definition)
            is_theirs = self._opens(one) or any(self.is_replay(name, body) for name in one.calls)
            keys = keys_in(one.module.source_of(one.definition.segment))
            yield from (key for key in keys if is_theirs or key.is_of_graphs)
        for module in self.homes.modules:
            for segment in module.index.statements:
                yield from keys_in(module.source_of(segment))

    def _opens(self, one: Caller) -> bool:
        return one.lies_in(self.places)

    @cached_property
    def lazy(self) -> Named:
        """The functions that open a region where there is none yet, so that calling them again opens no other."""
        return self.homes.doing(lambda one: self._opens(one) and all(map(_is_lazy, self._regions_of(one))))

    def _regions_of(self, one: Caller) -> Iterator[Called]:
        """The regions that open in a function, as if they were calls."""
        segment, lines = one.definition.segment, self.places.get(one.module.path, set())
        calls = calls_in(one.module.source_of(segment), segment.first - 1)
        return (c for c in calls if c.line in lines and any(first <= c.line <= last for first, last in one.spans))

    def _as_opening(self, call: Called, module: Module) -> Called:
        """A call that may lead to a capture, or does so only now and then."""
        is_lazy = self.lazy.may_have(call.name, module)
        return replace(call, is_conditional=True, is_lazy=True) if is_lazy else call

    def of(self, written: Written) -> When:
        """When a statement runs."""
        if written.is_own and written.definition is not None and self.constructing.match(written.definition.name):
            return When.NEVER
        if written.module.path not in self.places and _is_of_new(written):
            return When.NEVER  # where none of these is captured, that sets it up
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
        return self._called(body, name, depth - 1)

    def _called(self, body: Body, name: str, depth: int) -> When:
        """When a function is called. Where several files have one of that name, nobody knows whose method is called on
        another object: it is taken for that of the object on which it is called the least late. Constants of several
        names are several objects."""
        found: dict[str, When] = {}
        for around, call in self.homes.callers(body, name):
            owner = "" if call.owner in _OWN else call.owner
            found[owner] = max(found.get(owner, When.NEVER), self._when(around, call.line, call.loops, depth))
        are_apart = len(found) > 1 and all(owner.isupper() for owner in found if owner)
        if not found or not (are_apart or self.homes.is_shared(name)):
            return max(found.values(), default=When.UNCALLED)
        own = found.pop("", When.NEVER)
        return max(own, min(When.MAYBE, *found.values())) if found else own

    def _beside(self, body: Body, line: int, loops: Loops) -> When | None:
        """What the captures and replays of the same function say; None if it has none."""
        calls = self.homes.calls_of(body)
        opening = (c for c in calls if c.line != line and self._may_open(c, line, body.module))
        openings = [self._as_opening(c, body.module) for c in opening]
        openings += self._regions_in(body)
        here = body.branches_at(line)
        left = [one for one in openings if not (one.line > line and one.excludes(here, loops))]
        if any(one.excludes(here, loops) for one in left or openings):
            return When.NEVER
        openings = left
        earlier = [c for c in openings if c.line < line and (c.is_conditional or not set(c.loops) & set(loops))]
        if earlier:
            # What stands in the same branches, in a `try` of its own or that of the line, comes whenever the line does.
            openings = [replace(c, is_conditional=c.is_conditional and not _comes_with(c, here)) for c in openings]
            return self._behind((line, here), loops, openings, [c for c in calls if self.is_replay(c.name, body)])
        if openings and body.definition is None and not body.inner:
            return When.NEVER  # a script that has not come to its capture
        again = [c for c in openings if not c.is_conditional or _follows(c, line, here, loops)]
        opens = bool(openings)
        openings += [c for c in calls if c.line > line and self.homes.captures.may_have(c.name, body.module)]
        is_made = body.definition is not None and self.constructing.match(body.definition.name) is not None
        if not (again or is_made) and any(self._replays_earlier(c, openings, line, loops, body) for c in calls):
            return When.SURELY
        return When.NEVER if opens else None

    def _may_open(self, call: Called, line: int, module: Module) -> bool:
        """Whether a call may lead to a capture; before a line, whether it does: a setup is called `finalize`, too."""
        return (self.opening.has if call.line < line else self.opening.may_have)(call.name, module)

    def _replays_earlier(self, call: Called, openings: list[Called], line: int, loops: Loops, body: Body) -> bool:
        """Whether a call launches a graph that an earlier run has captured: neither it nor what comes with it does."""
        earlier = [one.branches for one in openings if one.line < call.line]
        if not self.is_replay(call.name, body) or _comes_before(earlier, call.branches):
            return False
        if call.is_of_name and _makes(body, call.owner):  # no earlier run has left it a graph, but for one of a loop
            return bool(set(call.loops) & set(loops)) or any(first == line for first, _ in call.loops)
        return bool(set(call.loops) & set(loops)) or not self.homes.captures.may_have(call.name, body.module)

    def leads_on(self, body: Body, line: int) -> bool:
        """Whether a replay comes behind a line, before the next round of a loop begins."""
        here = body.branches_at(line)
        replays = (one for one in self.homes.calls_of(body) if self.is_replay(one.name, body))
        return any(not is_later and at > line for is_later, at in (_turn(one, line, here) for one in replays))

    @staticmethod
    def _behind(at: tuple[int, Branches], loops: Loops, openings: list[Called], replays: list[Called]) -> When:
        """Behind a capture: the next thing has to be a replay, and not another capture; or it is the end.

        Where captures are made when there is none yet, the end leads to the next call, and so to its replay.
        """
        line, here = at
        following = [one for one in replays if one.line > line or set(one.loops) & set(loops)]
        again = [_turn(one, line, here) for one in openings if one.line > line and not one.is_conditional]
        if not following:
            if replays and all(one.is_lazy for one in openings):
                return When.SURELY
            return When.MAYBE if not replays else When.NEVER
        return When.NEVER if again and min(again) <= min(_turn(c, line, here) for c in following) else When.SURELY

    def _regions_in(self, body: Body) -> Iterator[Called]:
        """The regions that open in a function, as if they were calls; others count beside one of these."""
        if self._is_of_others(body):
            return
        path = body.module.path
        for line in self.homes.everywhere.get(path, ()):
            for segment in [body.definition.segment] if body.definition is not None else body.module.index.statements:
                if segment.first <= line <= segment.last:
                    yield from (
                        called
                        for called in calls_in(body.module.source_of(segment), segment.first - 1)
                        if called.line == line and called.inner == body.inner
                    )


def _comes_with(called: Called, here: Branches) -> bool:
    """Whether something stands in the branches of a line, or in some around them, and so comes whenever that does."""
    return called.branches == here[: len(called.branches)]


def _follows(called: Called, line: int, here: Branches, loops: Loops) -> bool:
    """Whether something comes behind a line in each round of what is around that, and not the first time alone."""
    is_each = all(span in loops or span[0] == line for span in called.loops)  # what a loop binds is written in each
    is_sure = not called.is_lazy or called.branches != ()
    return called.line > line and is_each and is_sure and _comes_with(called, here)


def _turn(called: Called, line: int, here: Branches) -> tuple[bool, int]:
    """When something comes behind a line: what is above it, or in another branch, comes in the next round of a loop."""
    return called.line < line or called.excludes(here, ()), called.line


def _is_lazy(called: Called) -> bool:
    return called.is_lazy


def _comes_before(taken: list[Branches], here: Branches) -> bool:
    """Whether one of several things that stand in branches has happened here, further down, whichever way was taken."""
    found = set(taken)
    while True:
        both = {way[:-1] for way in found if way and (*way[:-1], (way[-1][0], not way[-1][1])) in found}
        if both <= found:
            return any(here[: len(way)] == way for way in found)
        found |= both


def _makes(body: Body, name: str) -> bool:
    """Whether a variable of a function holds nothing, or a new object, and what is there before or behind it never."""
    if body.definition is None:
        return False
    segment = body.definition.segment
    tree = tree_of(body.module.source_of(segment))
    shared = (part.names for part in nodes_in(tree) if isinstance(part, (ast.Global, ast.Nonlocal))) if tree else ()
    own = [one.store for one in stores_to(body.module, name, False) if one.segment == segment]
    return bool(own) and not any(name in names for names in shared) and all(_is_new(one, body.inner) for one in own)


def _is_new(store: Store, inner: tuple[str, ...]) -> bool:
    match store.value:
        case ast.Constant(value=None):
            return store.inner == inner and store.form == "assign"
        case ast.Call(func=ast.Name(id=made) | ast.Attribute(attr=made)):
            return store.inner == inner and store.form == "assign" and made[:1].isupper()
    return False


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
