"""What regions change on the host in, events out for what somebody looks at who counts on more than one change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import cached_property

from graphlint.rule import Event, HostStateWrite
from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.sources import Change, Place, Read, Scope, State
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, calls_in, walk, words_in
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes import called
from graphlint.static.writes.states import CAPTURES
from graphlint.static.writes.stores import Store, Written
from graphlint.static.writes.traces import Traces
from graphlint.static.writes.writers import Writers

MAX_PLACES = 3
_SCRIPT = "<module>"
_COLLECTING = ("append", "appendleft")
_FILLING, _EMPTYING = {"append", "add"}, {"pop", "popleft", "remove", "clear"}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


class Changes:
    """Looks at the changes that have been traced."""

    def __init__(self, traces: Traces, writers: Writers) -> None:
        self.traces = traces
        self.writers = writers
        self._readers: dict[State, tuple[str, ...]] = {}
        self._shown: dict[State, bool] = {}

    def events(self) -> Iterator[tuple[Place, Event]]:
        """Every change, with who reads what it leaves."""
        for place in self.traces.schedules.values():
            yield place, HostStateWrite((), in_hook=False, is_schedule=True)
        for change in self.traces.changes.values():
            if not (change.place.is_soft or self._is_trace(change)):  # what is compiled changes its state in each call
                read = self.readers(change) or tuple(_read_by_key(change.place))
                told = HostStateWrite(read, self._in_hook(change), is_handed=change.is_foreign)
                yield change.place, replace(told, fills=self._fills(change), is_shown=self._is_shown(change.state))

    def _fills(self, change: Change) -> bool:
        """Whether a change adds to a list or table of the program, or pads one, and does not count what runs; or counts
        how often a table lacked something, which has it from then on.
        """
        node = change.place.node
        if any(_is_missed(one) for one in change.place.assumed):
            return True
        func = node.func if isinstance(node, ir.Call) else None
        if isinstance(func, ir.Attribute):
            is_counted = isinstance(func.value, ir.Attribute) or self._is_counted(change)
            return func.attr not in _COLLECTING or not is_counted
        return any(isinstance(part, ir.Display) for part in walk(node))

    def _is_counted(self, change: Change) -> bool:
        """Whether what replays looks at what a variable of its file holds: as many as there were runs, it may think."""
        home = change.place.function.module
        lines = {(one.module, line) for one in self.writers.of(change.state) for line in _lines_of(one.store)}
        readers = (one for module, one in self._read_in(change.state, lines) if module is home)
        opening = {one.function.qualname for one in self.traces.openers.values() if one.function.module is home}
        return any(_SCRIPT in opening if one is None else self._replays(home, one) for one in readers)

    def _is_trace(self, change: Change) -> bool:
        """Whether a change says something of the capture alone, or of one run: state that is filled once, or anew."""
        place = change.place
        words = {word for one in place.assumed for word in words_in(one.test)} | {place.function.code.name}
        if self._is_opener(place):
            words |= set(place.function.qualname.split("."))
        marks = (CAPTURES, *self.traces.evaluator.lexicon.life["hooks"])
        if any(part in word.lower() for word in words for part in marks) or self._is_timed(place):
            return True
        stores = self.writers.of(change.state)
        here = [w.store for w in stores if w.module is place.function.module and w.store.line == place.line]
        asks = (place.function.module, place.function.qualname) in self.traces.asking
        if asks or any(store.is_lazy for store in here) or goes_back(written.store for written in stores):
            return True
        if any(written.store.is_lazy and _is_display(written.store) for written in stores):
            return True  # a table that is made and filled once
        inside = [w.store for w in stores if self._is_captured(w, change.state) and w.store not in here]
        forms = {store.form for store in (*here, *inside)}
        is_stack = bool(forms & _FILLING) and bool(forms & _EMPTYING)
        return is_stack or any(
            store.form == "assign" and not store.is_lazy and not store.depends_on_itself for store in inside
        )

    def _is_timed(self, place: Place) -> bool:
        """Whether a function reads the clock: what it counts says how long the host was busy, which replays are not."""
        clocks = self.traces.evaluator.lexicon.host_state["clocks"]
        function = place.function
        return any(clocks.match(function.source(call.func)) for call in calls_in(function.code))

    def _is_captured(self, written: Written, state: State) -> bool:
        """Whether a statement stands in what a region runs: a method, or one in place of a method, of one object."""
        owner, captured = state.owner, self.traces.captured
        if (written.module, written.qualname) in captured or not isinstance(owner, ClassDefinition):
            return (written.module, written.qualname) in captured
        name = written.qualname.rpartition(".")[2]
        return any((base.module, f"{base.name}.{name}") in captured for base in self.writers.family(owner))

    def _is_opener(self, place: Place) -> bool:
        """Whether a place stands in the class of a function that opens a region."""
        owner = place.function.owner
        return owner is not None and any(one.function.owner is owner for one in self.traces.openers.values())

    def _in_hook(self, change: Change) -> bool:
        function = change.place.function
        return (function.module, function.qualname) in self.traces.hooks

    def readers(self, change: Change) -> tuple[str, ...]:
        """The places that read state, without those that write it."""
        state = change.state
        if state not in self._readers:
            self._readers[state] = tuple(self._find(state))
        return self._readers[state]

    def _find(self, state: State) -> Iterator[str]:
        lines = {(one.module, line) for one in self.writers.of(state) for line in _lines_of(one.store)}
        is_attribute = not isinstance(state.owner, (Module, Scope))
        found = 0
        for module in self._homes(state):
            for line in self._loads(module, state.name, is_attribute):
                if (module, line) not in lines and found < MAX_PLACES:
                    found += 1
                    yield f"{module.path.name}:{line}"
        if not found:
            yield from (f"{module.path.name}:{line}" for module, line in self._read_by_givers(state))

    def _read_by_givers(self, state: State) -> Iterator[tuple[Module, int]]:
        """Where those read what an object keeps who gave it to the constructor, and have a name of their own for it."""
        stores = [one for one in self.writers.of(state) if one.is_own and one.store.form == "assign"]
        if len(stores) != 1 or not isinstance(state.owner, ClassDefinition):
            return
        value, constructor = stores[0].store.value, stores[0].definition
        code = constructor.code if constructor is not None and constructor.name == "__init__" else None
        names = tuple(one.name for one in code.parameters) if code is not None else ()
        if not isinstance(value, ast.Name) or value.id not in names[1:]:
            return
        for definition, segment in segments_with(state.owner.module, state.owner.name, is_word):
            for name, last in given_in(state.owner.module.source_of(segment), state.owner.name, names, value.id):
                is_global = definition is None
                loads = self._loads(state.owner.module, name, False)
                yield from (
                    (state.owner.module, line)
                    for line in loads
                    if line > last + segment.first - 1 and (is_global or line <= segment.last)
                )

    def _homes(self, state: State) -> dict[Module, None]:
        """The modules that write state, in which it is looked for."""
        homes = [one.module for one in self.writers.of(state)]
        return dict.fromkeys((*homes, state.owner.module) if isinstance(state.owner, Scope) else homes)

    def _is_shown(self, state: State) -> bool:
        """Whether methods only show state to somebody, as `report` does: who asks may want to know what Python did.

        Regions, what is no method and is not named like `cache_stats`, what replays and what changes the state by what
        it reads count on it.
        """
        if state not in self._shown:
            written = self.writers.of(state)
            lines = {(one.module, line) for one in written for line in _lines_of(one.store)}
            places = (one.place for one in self.traces.changes.values() if one.state == state)
            lines |= {(one.function.module, one.line) for one in places}
            changing = {(one.module, one.definition) for one in written}
            readers = list(self._read_in(state, lines))  # where there are none, other files may read it
            self._shown[state] = bool(readers) and not any(one in changing or self._counts(*one) for one in readers)
        return self._shown[state]

    def _read_in(self, state: State, lines: Set[tuple[Module, int]]) -> Iterator[tuple[Module, Definition | None]]:
        """The functions that read state in other lines than these; None stands for the top level."""
        is_attribute = not isinstance(state.owner, (Module, Scope))
        for module in self._homes(state):
            for definition, segment in segments_with(module, state.name, is_word):
                loads = loads_in(module.source_of(segment), state.name)
                read = (at + segment.first - 1 for at, is_dotted, *_ in loads if is_dotted is is_attribute)
                if any((module, line) not in lines for line in read):
                    yield module, definition

    def _counts(self, module: Module, definition: Definition | None) -> bool:
        """Whether code counts on each run by what it is: in a region, no method, or with a replay."""
        shows = self.traces.evaluator.lexicon.host_state["shows"]
        if definition is None or ("." not in definition.qualname and not shows.match(definition.name)):
            return True
        return (module, definition.qualname) in self.traces.captured or self._replays(module, definition)

    def _replays(self, module: Module, definition: Definition) -> bool:
        replays = self.traces.evaluator.lexicon.host_state["replays"]
        calls = called.calls_in(module.source_of(definition.segment), 0)
        return any(one.owner and replays.match(one.name) for one in calls)

    @cached_property
    def _deciding(self) -> Set[str]:
        """The names of state that decides something in a region."""
        sources = (one for source in self.traces.uses for one in self.traces.origins(source))
        return {source.state.name for source in sources if isinstance(source, Read)}

    def _loads(self, module: Module, name: str, is_attribute: bool) -> Iterator[int]:
        """The lines of a module that read a variable or an attribute.

        What a region asks of a count, whether it has come to some number, settles with the first runs; and what it
        reads without deciding anything by it does not matter there, but for a variable that other files may read.
        """
        is_kept_here = is_attribute or all(
            user is module for user, _ in self.writers.project.sharing(module, name, False)
        )
        for definition, segment in segments_with(module, name, is_word):
            is_captured = definition is not None and (module, definition.qualname) in self.traces.captured
            for line, is_dotted, _, settles in loads_in(module.source_of(segment), name):
                is_idle = settles or (is_kept_here and name not in self._deciding)
                if is_dotted is is_attribute and not (is_captured and is_idle):
                    yield line + segment.first - 1


@remembered
def given_in(source: str, cls: str, names: tuple[str, ...], parameter: str) -> tuple[tuple[str, int], ...]:
    """The variables that calls of a class give to a parameter of its constructor, and the last lines of those calls."""
    tree = tree_of(source)
    found = []
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == cls:
                given = dict(zip(names[1:], node.args, strict=False)) | {one.arg: one.value for one in node.keywords}
                value = given.get(parameter)
                if isinstance(value, ast.Name):
                    found.append((value.id, node.end_lineno or node.lineno))
    return tuple(found)


def _read_by_key(place: Place) -> Iterator[str]:
    """Where a function reads what it changes by a key of a local name: `entry["next"] % size; entry["next"] += 1`."""
    match place.node:
        case ir.AugAssign(target=ir.Subscript(value=ir.Name(), index=ir.Literal(value=str())) as target):
            function = place.function
            written = {id(one) for node in assignments_in(function.code) for one in node.targets} | {id(target)}
            for part in walk(function.code.body):
                is_read = isinstance(part, ir.Subscript) and function.source(part) == function.source(target)
                if isinstance(part, ir.Subscript) and is_read and id(part) not in written:
                    yield f"{function.module.path.name}:{function.line_of(part)}"
                    return


def _lines_of(store: Store) -> range:
    """The lines of a statement that writes, with those of its value."""
    more = 0 if store.value is None else (store.value.end_lineno or 0) - store.target.lineno
    return range(store.line, store.line + max(more, 0) + 1)


def _is_missed(assumption: Assumption) -> bool:
    """Whether a table lacks a key that the function stores in it behind: `if key not in table`."""
    function = assumption.function
    for test, holds in assumption.asked if assumption.is_plain else ():
        match test:
            case ir.Compare(left=key, comparisons=(("in" | "not in" as sign, table),)) if holds is (sign == "not in"):
                asked = function.source(table), function.source(key)
                targets = (target for one in assignments_in(function.code) for target in one.targets)
                if any(
                    isinstance(target, ir.Subscript)
                    and (function.source(target.value), function.source(target.index)) == asked
                    for target in targets
                ):
                    return True
    return False


def _is_display(store: Store) -> bool:
    return store.form == "assign" and isinstance(store.value, (ast.List, ast.Dict, ast.Set))


def goes_back(stores: Iterable[Store]) -> bool:
    """Whether a count goes up and down by one number, or by what an object says: it says how often something is
    entered, or how much is taken, and not how often run.
    """
    counted = [one for one in stores if one.form == "augment" and isinstance(one.value, (ast.Attribute, ast.Constant))]
    steps = {(ast.dump(one.value), one.is_less) for one in counted if one.value is not None}
    return any((step, not is_less) in steps for step, is_less in steps)


@remembered
def loads_in(source: str, name: str) -> tuple[tuple[int, bool, bool, bool], ...]:
    """The lines that read a name or attribute, whether it is one, of `self`, and compared with a number there."""
    tree = tree_of(source)
    parts = nodes_in(tree) if tree is not None else []
    settling = {part.left for part in parts if isinstance(part, ast.Compare) and isinstance(part.ops[0], _ORDER)}
    found = []
    for node in parts:
        match node:
            case ast.Name(id=known, ctx=ast.Load()) | ast.Attribute(attr=known, ctx=ast.Load()) if known == name:
                holder = node.value if isinstance(node, ast.Attribute) else None
                is_own = isinstance(holder, ast.Name) and holder.id == "self"
                found.append((node.end_lineno or node.lineno, holder is not None, is_own, node in settling))
    return tuple(found)
