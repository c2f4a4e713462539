"""Tensors of regions that something keeps in, events out: is one for later, or for the rest of the region alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from graphlint.reading.questions import HoldsAny
from graphlint.rule import Event
from graphlint.static.domain.sources import Place, State
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import holds, targets_of, walk
from graphlint.static.syntax.trees import endings, nodes_in
from graphlint.static.writes.branches import sides
from graphlint.static.writes.called import Called, calls_in
from graphlint.static.writes.changes import loads_in
from graphlint.static.writes.passes import lives_for_a_pass
from graphlint.static.writes.stores import Store, Written, stores_to
from graphlint.static.writes.traces import Traces
from graphlint.static.writes.writers import Writers, stands_in


class Kept:
    """Looks at what regions have kept."""

    def __init__(self, traces: Traces, writers: Writers) -> None:
        self.traces = traces
        self.writers = writers
        self._known: dict[State, bool] = {}
        self._local: dict[ClassDefinition, bool] = {}

    def events(self) -> Iterator[tuple[Place, Event]]:
        """Every tensor that is kept, and whether only the region itself reads it."""
        for keeping in self.traces.kept.values():
            place, states = keeping.place, keeping.states
            is_passed_on = bool(states) and all(self._is_passed_on(state, place) for state in states)
            yield place, replace(keeping.event, is_passed_on=is_passed_on or keeping.event.is_passed_on)

    def _is_passed_on(self, state: State, place: Place) -> bool:
        """Whether the region sets an attribute each time that it runs, for what it calls next and for nobody else."""
        if not isinstance(state.owner, ClassDefinition):
            return False
        if self._is_local(state.owner):
            return True
        written = self.writers.of(state)
        if any(_puts_back(one, place) for one in written):
            return True
        here = (one.store for one in written if (one.module, one.store.line) == (place.function.module, place.line))
        if any(store.is_lazy for store in here) or self._is_for_captures(state, place):
            return False  # whoever comes next finds it there
        if state not in self._known:
            self._known[state] = self._stays(state, self.writers.family(state.owner))
        return self._known[state]

    def _is_for_captures(self, state: State, place: Place) -> bool:
        """Whether a function sets an attribute under capture alone and reads it in any case: eager code reads it so."""
        for asked in self.traces.branches.values():
            if isinstance(asked.node, ir.If) and not asked.is_flag and asked.place.function.code is place.function.code:
                captured, other = sides(asked.node, asked.outcome)
                if holds(captured, place.node):
                    inside = {id(part) for part in walk(captured)}
                    outside = [part for part in walk(place.function.code.body) if id(part) not in inside]
                    return _is_read(outside, state.name) and not _is_set(walk(other), state.name)
        return False

    def _is_local(self, cls: ClassDefinition) -> bool:
        """Whether objects of a class are made anew in each pass, so that no later one reads what they keep."""
        if cls not in self._local:
            replays = self.writers.evaluator.lexicon.life["replays"]
            self._local[cls] = lives_for_a_pass(cls, self.writers.project, replays)
        return self._local[cls]

    def _stays(self, state: State, family: tuple[ClassDefinition, ...]) -> bool:
        """Whether regions set an attribute anew and read it only behind that, or nobody reads it; other files are
        searched last. What reads it outside of regions finds what the last replay has left there, which is right,
        unless a constructor has made a buffer of it: who took that before reads it for ever.
        """
        name, written = state.name, self.writers.of(state)
        anew = [one for one in written if (one.module, one.qualname) in self.traces.captured and _sets_anew(one.store)]
        lines = {(one.module, one.store.line) for one in written}
        homes = dict.fromkeys(one.module for one in written)
        is_always = bool(anew) and not any(_may_settle(one.store) for one in anew) and not any(map(_makes, written))

        def is_behind(read: tuple[Module, int, str]) -> bool:
            module, line, function = read
            if (module, function) not in self.traces.captured:
                return is_always
            is_before = _is_before(anew, module, line, function)
            return bool(anew) and not (is_before and not self._begins_anew(anew, module, function))

        def reads(modules: Iterable[Module]) -> Iterator[tuple[Module, int, str]]:
            found = (read for module in modules for read in _reads(module, name, family))
            return (one for one in found if one[:2] not in lines)

        first = list(reads(homes))
        if not (first or is_always) and not name.startswith("_"):
            return False  # others may read it
        return all(map(is_behind, first)) and all(map(is_behind, reads(self._others(name, homes))))

    def _begins_anew(self, anew: list[Written], module: Module, function: str) -> bool:
        """Whether all functions of regions that call a method have called another one first, which sets an attribute
        anew in any case: what the method reads is what this pass has set.
        """
        owner, _, name = function.rpartition(".")
        begins = {
            one.definition.name
            for one in anew
            if one.module is module and one.definition is not None and one.qualname.rpartition(".")[0] == owner
            if not (one.store.tests or one.store.loops or one.definition.name == name)
        }
        own = (one for one in module.index.all_functions() if (module, one.qualname) in self.traces.captured)
        calls = [calls_in(module.source_of(one.segment), 0) for one in own if module.holds(one.segment, name)]
        callers = [made for made in calls if any(call.name == name for call in made)]
        return bool(owner and begins and callers) and all(_calls_first(made, begins, name) for made in callers)

    def _others(self, name: str, homes: dict[Module, None]) -> Iterator[Module]:
        """Other modules that may read an attribute, if nothing else there has that name."""
        project, paths = self.writers.project, {home.path for home in homes}
        declared = HoldsAny([f"{name}:"], rf"(?m)^\s+{name}:\s")  # a field, or a parameter
        if project.owning(name) <= paths and paths.issuperset(project.answering(declared)):
            for path in project.answering(HoldsAny([f".{name}"], rf"\.{name}\b")):
                if path not in paths:
                    yield project.module_at(path)


def _reads(module: Module, name: str, family: Iterable[ClassDefinition]) -> Iterator[tuple[Module, int, str]]:
    """Where a module may read an attribute of classes of a family: the line, and the function."""
    for definition, segment in segments_with(module, name, is_word):
        for counted, is_dotted, is_own, _ in loads_in(module.source_of(segment), name):
            line = counted + segment.first - 1
            if is_dotted and not (is_own and not stands_in(module, line, family)):
                yield module, line, definition.qualname if definition is not None else ""


def _calls_first(calls: Iterable[Called], begins: Collection[str], name: str) -> bool:
    """Whether one of some methods is called in any case before another one of the same object."""
    known = list(calls)
    first = min(call.line for call in known if call.name == name)
    sure = (call for call in known if not (call.is_conditional or call.loops or call.branches) and call.owner == "self")
    return any(call.name in begins and call.line < first for call in sure)


def _is_set(parts: Iterable[object], name: str) -> bool:
    """Whether an attribute of this name is assigned to."""
    return any(isinstance(one, ir.Attribute) and one.attr == name for one in _targets(parts))


def _is_read(parts: Collection[object], name: str) -> bool:
    """Whether an attribute of this name is read."""
    targets = {id(target) for target in _targets(parts)}
    return any(isinstance(one, ir.Attribute) and one.attr == name and id(one) not in targets for one in parts)


def _targets(parts: Iterable[object]) -> Iterator[ir.Expr]:
    return (target for part in parts if isinstance(part, ir.Assign) for target in targets_of(part))


def _makes(written: Written) -> bool:
    """Whether a constructor gives an attribute what a call makes: a buffer, and no `None` for what comes later."""
    is_constructor = written.definition is not None and written.definition.name == "__init__"
    return is_constructor and isinstance(written.store.value, ast.Call)


def _puts_back(written: Written, place: Place) -> bool:
    """Whether a statement further on gives an attribute what its function has read of it before."""
    module, store, line = written.module, written.store, place.line
    if module is not place.function.module or written.qualname != place.function.qualname or store.line <= line:
        return False
    return isinstance(store.value, ast.Name) and any(
        one.segment == written.segment
        and one.store.line < line
        and isinstance(one.store.value, ast.Attribute)
        and one.store.value.attr == store.name
        for one in stores_to(module, store.value.id, False)
    )


def _sets_anew(store: Store) -> bool:
    """Whether a statement gives an attribute a tensor, whatever it held before."""
    is_emptied = isinstance(store.value, ast.Constant)
    return store.form == "assign" and not (store.is_lazy or store.depends_on_itself or is_emptied)


def _may_settle(store: Store) -> bool:
    """Whether a condition around a statement may come out otherwise once something is there: it asks for what is
    missing, how large it is, or for a flag of the same object.
    """
    holder = ast.dump(store.target.value) if isinstance(store.target, ast.Attribute) else ""
    for part in (part for test in store.tests for part in nodes_in(test)):
        match part:
            case ast.Compare(ops=[ast.Eq() | ast.NotEq(), *_]):
                continue
            case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(value=owner)) if ast.dump(owner) == holder:
                return True
            case ast.Compare():
                return True
        if "hasattr" in endings(part):
            return True
    return False


def _is_before(anew: list[Written], module: Module, line: int, function: str) -> bool:
    """Whether a line reads what an earlier run has kept: it is set anew behind that line, or behind a call of it."""
    outer = [(one.module, one.qualname.partition(".<locals>")[0], one.store.line) for one in anew]
    own = [set_at for home, name, set_at in outer if (home, name) == (module, function)]
    if own:
        return line < min(own)
    name = function.rpartition(".")[2]
    return any(
        counted + one.segment.first - 1 <= one.store.line
        for one in anew
        for counted, *_ in loads_in(one.module.source_of(one.segment), name)
    )
