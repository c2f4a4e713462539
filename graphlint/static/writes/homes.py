"""The files that open regions in, and what is asked of their functions out, whichever of the regions that is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphlint.static.domain.contexts import OpenRegion
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.writes.bodies import Body, may_call
from graphlint.static.writes.called import Called, calls_in

_ROUNDS = 3  # functions that open a region, those that call these, and so on


@dataclass(slots=True, eq=False)
class Caller:
    """A function, the name that stands where it is called, and the names that it calls."""

    module: Module
    definition: Definition
    name: str
    calls: tuple[str, ...]


class Homes:
    """Knows the files that open regions; what it has found for some of these holds for all others."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.everywhere = places_of(evaluator.regions.values())
        self.modules = [evaluator.project.module_at(path) for path in self.everywhere]
        self._calls: dict[tuple[Module, str], list[tuple[Body, Segment, Called]]] = {}

    @cached_property
    def functions(self) -> list[Caller]:
        """The functions of these files."""
        found = [(module, definition) for module in self.modules for definition in module.index.all_functions()]
        return [Caller(m, one, Body(m, one).called_as, _called_in(m, one)) for m, one in found]

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
        opening = self.doing(lambda one: lies_in(one.definition.segment, self.everywhere, one.module))
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


def _called_in(module: Module, definition: Definition) -> tuple[str, ...]:
    """The names that a function calls, and those inside of it."""
    calls = calls_in(module.source_of(definition.segment), definition.segment.first - 1)
    return tuple(dict.fromkeys(called.name for called in calls))
