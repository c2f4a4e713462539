"""The files that open regions in, and what is asked of their functions out, whichever of the regions that is for.

An object that is called, a decorated function and what a function has given are called by names of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from graphlint.static.domain.contexts import OpenRegion
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.bodies import Body, may_call
from graphlint.static.writes.called import Called, calls_in

_ROUNDS = 3  # functions that open a region, those that call these, and so on
_LATER = "()"  # behind the name of a class or a function: a call of what it gives
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """A function, the name that stands where it is called, the names that it calls, and the lines of its statements.

    What functions inside of one do happens as well where what it gives is called.
    """

    module: Module
    definition: Definition
    name: str
    calls: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    def lies_in(self, places: dict[Path, set[int]]) -> bool:
        """Whether one of some lines is among its own."""
        lines = places.get(self.module.path, ())
        return any(first <= line <= last for line in lines for first, last in self.spans)


class Homes:
    """Knows the files that open regions; what it has found for some of these holds for all others."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.everywhere = places_of(evaluator.regions.values())
        self.modules = [evaluator.project.module_at(path) for path in self.everywhere]
        self._calls: dict[tuple[Module, str], list[tuple[Body, Segment, Called]]] = {}
        self._named: dict[Body, tuple[Called, ...]] = {}
        self._made: dict[Module, dict[tuple[bool, str], dict[str, None]]] = {}

    @cached_property
    def functions(self) -> list[Caller]:
        """The functions of these files."""
        found = []
        for one in self._alone:
            calls = calls_in(one.module.source_of(one.definition.segment), one.definition.segment.first - 1)
            others = [name for called in calls for name in self.other_names(called, one.module)]
            found.append(replace(one, calls=tuple(dict.fromkeys((*one.calls, *others)))) if others else one)
        return found

    @cached_property
    def _alone(self) -> list[Caller]:
        """The functions of these files with the names that they call by themselves."""
        return [one for m in self.modules for definition in m.index.all_functions() for one in _callers(m, definition)]

    def other_names(self, called: Called, module: Module) -> Iterator[str]:
        """By what else a call goes that is one of an object, of a decorated function, or of what a function has given.

        That is known of those that open a region or launch a graph.
        """
        if module not in self._made:
            self._made[module] = {}
            for name in {one.name for one in self._alone if one.name.endswith(_LATER) and self._matters(one)}:
                for made in _made_by(module, name.removesuffix(_LATER)):
                    self._made[module].setdefault(made, {})[name] = None
        yield from self._made[module].get((bool(called.owner), called.name), ())

    def calls_of(self, body: Body) -> tuple[Called, ...]:
        """The calls in a function, by all names that they go by."""
        if body not in self._named:
            self._named[body] = tuple(
                named
                for call in body.calls()
                for named in (
                    call,
                    *(replace(call, name=name, owner="") for name in self.other_names(call, body.module)),
                )
            )
        return self._named[body]

    def _matters(self, one: Caller) -> bool:
        return one.lies_in(self.everywhere) or any(map(self.evaluator.lexicon.host_state["replays"].match, one.calls))

    @cached_property
    def defined(self) -> Set[tuple[Module, str]]:
        """The names that these files define."""
        return {(one.module, one.name) for one in self.functions}

    @cached_property
    def launching(self) -> Set[Caller]:
        """Those which launch a graph themselves, by the names of what they call."""
        replays = self.evaluator.lexicon.host_state["replays"]
        return {one for one in self.functions if any(map(replays.match, one.calls))}

    @cached_property
    def captures(self) -> Named:
        """The functions that open any region, and those that lead to them."""
        opening = self.doing(lambda one: one.lies_in(self.everywhere))
        return self.calling(lambda one: False, opening)

    def doing(self, does: Callable[[Caller], bool]) -> Named:
        """The functions which do something."""
        return Named(self, {(one.module, one.name) for one in self.functions if does(one)})

    def calling(self, does: Callable[[Caller], bool], known: Named | None = None) -> Named:
        """Those which do something, or are known, and those that call them."""
        found = known or Named(self, set())
        for _ in range(_ROUNDS):
            before, found = found, self.doing(lambda one, known=found: known.leads(one) or does(one))  # type: ignore[misc]
            if found.found == before.found:
                break
        return found

    def is_shared(self, name: str) -> bool:
        """Whether several files have functions of a name, or tensors a method: nobody knows whose is called."""
        return self.evaluator.catalogue.method(name) is not None or len(self.evaluator.project.defining(name)) > 1

    def callers(self, body: Body, name: str) -> Iterator[tuple[Body, Called]]:
        """The calls of a function, in its own file and in those that open regions."""
        for module in dict.fromkeys((body.module, *self.modules)):
            for around, segment, called in self._calls_by_name(module, name):
                if may_call(module, segment, called, body):
                    yield around, called

    def _calls_by_name(self, module: Module, name: str) -> list[tuple[Body, Segment, Called]]:
        key = (module, name)
        if key not in self._calls:
            self._calls[key] = [
                (Body(module, definition, called.inner), segment, called)
                for definition, segment in segments_with(module, name, is_word)
                for called in calls_in(module.source_of(segment), segment.first - 1)
                if called.name == name
            ]
        return self._calls[key]


class Named:
    """The functions that do something, by name; a file that defines one of a name means its own."""

    def __init__(self, homes: Homes, found: Set[tuple[Module, str]]) -> None:
        self.homes = homes
        self.found = found
        self.names = {name for _, name in found}
        self._theirs: dict[str, bool] = {}

    def may_have(self, name: str, module: Module) -> bool:
        """Whether what has this name in a module may be one of them."""
        return (module, name) in self.found if (module, name) in self.homes.defined else name in self.names

    def has(self, name: str, module: Module) -> bool:
        """Whether what has this name in a module is one of them: in another one, nothing else may have it."""
        return self.may_have(name, module) and ((module, name) in self.found or self._is_theirs(name))

    def leads(self, one: Caller) -> bool:
        """Whether a function is one of them, or calls one."""
        if (one.module, one.name) in self.found:
            return True
        return any(self.has(name, one.module) for name in one.calls if name in self.names)

    def _is_theirs(self, name: str) -> bool:
        """Whether no other file of the program defines a function of this name."""
        if name not in self._theirs:
            own = {module.path for module, found in self.found if found == name}
            self._theirs[name] = own.issuperset(self.homes.evaluator.project.defining(name))
        return self._theirs[name]


def lies_in(segment: Segment, places: dict[Path, set[int]], module: Module) -> bool:
    """Whether one of some lines lies in a segment of a module."""
    return any(segment.first <= line <= segment.last for line in places.get(module.path, ()))


def places_of(regions: Iterable[OpenRegion]) -> dict[Path, set[int]]:
    """The files and lines where regions open that are not declared."""
    found: dict[Path, set[int]] = {}
    for opened in regions:
        if opened.region.entry is None:
            found.setdefault(Path(opened.region.path), set()).add(opened.region.line)
    return found


def _callers(module: Module, definition: Definition) -> Iterator[Caller]:
    """A function, with those inside of it, which it calls or gives; and these as what is called later."""
    segment, name = definition.segment, Body(module, definition).called_as
    calls = calls_in(module.source_of(segment), segment.first - 1)
    names = tuple(dict.fromkeys(called.name for called in calls))
    is_call = definition.name == "__call__" and "." in definition.qualname
    yield Caller(module, definition, f"{name}{_LATER if is_call else ''}", names, ((segment.first, segment.last),))
    inner = tuple(dict.fromkeys(called.name for called in calls if called.inner))
    if inner and not is_call:
        tree = tree_of(module.source_of(segment))
        nested = [node for node in nodes_in(tree) if isinstance(node, _FUNCTIONS)] if tree is not None else []
        before = segment.first - 1
        spans = tuple((one.lineno + before, (one.end_lineno or 0) + before) for one in nested if one is not tree)
        yield Caller(module, definition, f"{name}{_LATER}", inner, spans)


def _made_by(module: Module, name: str) -> Iterator[tuple[bool, str]]:
    """What a file calls after what a function or a class of a name has given, or has decorated; attributes or not."""
    for _, segment in segments_with(module, name, is_word):
        tree = tree_of(module.source_of(segment))
        for node in nodes_in(tree) if tree is not None else ():
            match node:
                case ast.Assign(targets=targets, value=ast.Call(func=func)) if name in endings(func):
                    for target in targets:
                        yield from ((isinstance(target, ast.Attribute), one) for one in endings(target))
                case ast.FunctionDef(name=decorated, decorator_list=decorators) if any(
                    name in endings(one.func if isinstance(one, ast.Call) else one) for one in decorators
                ):
                    yield from ((False, decorated), (True, decorated))
