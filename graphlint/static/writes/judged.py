"""What regions read and use in, events out for state that something writes between a capture and its replays.

Long, because what is written, and whether it counts, is told by how a statement is spelt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from graphlint.rule import Event, HostDraw, HostStateRead, StaleMemo
from graphlint.static.domain.contexts import Context
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Class
from graphlint.static.domain.sources import Draw, Place, Read, Scope, State, Taken
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.syntax.asserted import is_broken, promises_in
from graphlint.static.syntax.ir import Pos
from graphlint.static.syntax.trees import endings, nodes_in
from graphlint.static.writes.bodies import Body
from graphlint.static.writes.branches import Branches
from graphlint.static.writes.buckets import passed_over
from graphlint.static.writes.changes import Changes, goes_back
from graphlint.static.writes.chosen import picks_the_graph
from graphlint.static.writes.eager import EagerArguments
from graphlint.static.writes.held import is_held
from graphlint.static.writes.hyperparameters import Steps
from graphlint.static.writes.kept import Kept
from graphlint.static.writes.keys import incomplete_keys
from graphlint.static.writes.passing import PassingGraphs
from graphlint.static.writes.reaching import Reaching
from graphlint.static.writes.renewed import is_renewed
from graphlint.static.writes.schedules import Schedules
from graphlint.static.writes.seeds import handed_seeds
from graphlint.static.writes.sizes import too_small
from graphlint.static.writes.stores import MUTATORS, Store, Written
from graphlint.static.writes.timing import Timing, When
from graphlint.static.writes.traces import Traces
from graphlint.static.writes.uses import CALLED, Use, ends_wait
from graphlint.static.writes.writers import Writers

_DROPPING = ("clear", "pop", "popitem")
_BY_VALUE = ("operand", "argument", "handed", "index", "item")  # of tensors on the host, another rule speaks
_KINDS = (
    "bound",
    "index",
    "count",
    "loop",
    "operand",
    "branch",
    "argument",
    "item",
    "handed",
    CALLED,
)  # the one that says most comes first


class Judged:
    """Looks at what has been traced, once all regions have run."""

    def __init__(self, evaluator: Evaluator, traces: Traces) -> None:
        self.evaluator = evaluator
        self.traces = traces
        self.lexicon = evaluator.lexicon
        self.writers = Writers(evaluator)
        places = [change.place for change in traces.changes.values()]
        self.changed = {(place.function.module, place.line) for place in places}
        self.reaching = Reaching(evaluator, traces.captured)
        self.passing = PassingGraphs(evaluator)
        self._late: dict[tuple[State, Timing], tuple[tuple[Written, When], ...]] = {}

    def events(self) -> Iterator[tuple[Place, Event]]:
        """What there is to say of state, each with the place that it is said of."""
        yield from self._draws()
        yield from self._memos()
        yield from Branches(self.evaluator, self.traces).events()
        yield from Changes(self.traces, self.writers).events()
        yield from Kept(self.traces, self.writers).events()
        yield from Steps(self.traces, self.reaching.everywhere, Schedules(self.evaluator)).events()
        yield from incomplete_keys(self.traces)
        yield from handed_seeds(self.traces)
        yield from EagerArguments(self.evaluator, self.traces).events()
        yield from too_small(self.traces)
        yield from passed_over(self.traces)
        for read, uses in sorted(self._reads().values(), key=lambda one: _place(one[0])):  # one at a place is told
            late = self._missed(read) if self._counts(read) else ()
            uses = [use for use in uses if not (read.is_tensor and use.kind in _BY_VALUE)]
            if read.is_through:
                late = tuple(one for one in late if one[1] is When.SURELY and one[0].store.form == "assign")
            if late and _by_region(late, self.traces):
                uses = [use for use in uses if not use.settles]
            if late and uses:
                yield read.place, self._event(read, _best(uses), late)

    def _memos(self) -> Iterator[tuple[Place, Event]]:
        """What a warm-up computes once and keeps, and the program drops after a capture; but not what is compiled."""
        for change in (one for one in self.traces.memos.values() if not one.place.is_soft):
            dropped = [
                (written, when)
                for written, when in self.late(change.state, change.place.sink)
                if written.store.form in _DROPPING or _kind_of(written.store) == "nothing"
            ]
            if dropped:
                surest = dropped[0][1]
                places = dict.fromkeys(place_of(written) for written, when in dropped if when is surest)
                assumed = tuple(one for one in change.place.assumed if not one.is_unfilled)
                yield replace(change.place, assumed=assumed), StaleMemo(tuple(places), surest is When.SURELY)

    def _draws(self) -> Iterator[tuple[Place, Event]]:
        """Draws, clocks and iterators that decide something; what is compiled asks for them in each call."""
        for change in (one for one in self.traces.taken.values() if not one.place.is_soft):
            yield change.place, HostDraw("next", "item")
        found: dict[Draw, list[Use]] = {}
        for source, uses in self.traces.uses.items():
            for draw in self.traces.origins(source):
                if isinstance(draw, Draw):
                    found.setdefault(draw, []).extend(uses.values())
        for draw, made in ((one, uses) for one, uses in found.items() if not one.place.is_soft):
            is_awaited = all(ends_wait(self.evaluator, use) for use in made)
            yield draw.place, HostDraw(draw.kind, _best(made).kind, is_awaited)

    def _counts(self, read: Read) -> bool:
        """Whether what is read computes something, and is not how a capture is told apart."""
        if read.place.is_soft:
            return False
        name = read.state.name
        looks = self.lexicon.host_state["looks"]
        if looks.match(name) and looks.match(read.place.function.code.name):
            return False  # who logs or dumps computes nothing
        return self.lexicon.guard(name.lower().lstrip("_")) is None

    def _reads(self) -> dict[tuple[object, ...], tuple[Read, list[Use]]]:
        """The reads that decide something: the first of a piece of state on a line stands for all of them."""
        found: dict[tuple[object, ...], tuple[Read, list[Use]]] = {}
        place = cache(_place)  # which many uses of a read ask for
        for source, uses in self.traces.uses.items():
            reads = (one for one in self.traces.origins(source) if isinstance(one, Read))
            for read in sorted(reads, key=place):  # they come in no order
                key = (read.place.sink, read.state, read.place.line)
                first, known = found.get(key, (read, []))
                known += uses.values()
                found[key] = min(first, read, key=place), known
        return found

    def _missed(self, read: Read) -> tuple[tuple[Written, When], ...]:
        """What is written late, and what a graph that has read it does not see; another graph may answer a change."""
        late = self.late(read.state, read.place.sink)
        if not late or read.state.name in self.reaching.everywhere.keys:
            return ()
        if picks_the_graph(read, self.reaching, self.traces):
            return tuple(one for one in late if (one[0].module, one[0].qualname) in self.traces.captured)
        return tuple(one for one in late if self._misses(read, one[0]))

    def _misses(self, read: Read, written: Written) -> bool:
        if (written.module, written.qualname) in self.traces.captured:
            return True
        return not _precedes(written, read) and self.passing.may_be_missed(written, read.place.sink)

    def late(self, state: State, reader: Context) -> tuple[tuple[Written, When], ...]:
        """What writes a piece of state after the captures that run what reads it, the surest first; none where each
        of these regions sets it anew.
        """
        timing = self._timing(reader)
        if (state, timing) not in self._late:
            found, surest = self._find(state, timing), When.MAYBE if self._is_of_field(state) else When.SURELY
            self._late[state, timing] = tuple((written, min(when, surest)) for written, when in found)
        return self._late[state, timing]

    def _is_of_field(self, state: State) -> bool:
        """Whether the objects of a class are told which name they have in another one: each name has one of its own."""
        if not isinstance(state.owner, ClassDefinition):
            return False
        order = self.evaluator.class_order(state.owner)
        return any(isinstance(one, ClassDefinition) and "__set_name__" in one.methods for one in order)

    def _timing(self, reader: Context) -> Timing:
        return self.reaching.timing(self.reaching.regions_of(reader))

    def _find(self, state: State, timing: Timing) -> list[tuple[Written, When]]:
        found: list[tuple[Written, When]] = []
        inside = [one for one in self.writers.of(state) if (one.module, one.qualname) in self.traces.captured]
        for written in self.writers.of(state):
            if written in inside and any(goes_back((written.store, other.store)) for other in inside):
                continue  # the next run begins where this one has begun
            if _hands_on(written) or self._prepares(written) or self._is_held(written, state, timing):
                continue
            if self._forbids_graphs(written) or self._is_of_other_use(written, state, timing):
                continue
            if written in inside and not isinstance(state.owner, Scope):
                ran = (written.module, written.store.line) in self.changed
                may_run = _counts_on(written.store) and not self._asks_for_capture(written.store)
                goes_on = ran or may_run  # what stands where no capture comes counts for others
                if goes_on and not written.store.is_lazy:
                    found.append((written, When.SURELY))
                elif written.store.form == "assign" and not written.store.is_lazy:
                    return []  # a region that sets it reads what it has set
                continue
            when = timing.of(written) if not written.store.is_lazy else When.NEVER
            if when is not When.NEVER:
                found.append((written, when))
        return sorted(found, key=lambda one: -one[1])

    def _is_held(self, written: Written, state: State, timing: Timing) -> bool:
        """Whether the files that capture give state one value alone."""
        others = (one for one in self.writers.of(state) if one is not written)
        return is_held(written, others, map(self.evaluator.project.module_at, timing.places), state)

    def _is_of_other_use(self, written: Written, state: State, timing: Timing) -> bool:
        """Whether a variable is written for something else than a capture of its function, which writes it anew."""
        lines = timing.places.get(written.module.path, set())
        if not isinstance(state.owner, Scope) or not is_renewed(written, self.writers.of(state), lines):
            return False
        return not timing.leads_on(Body(written.module, written.definition, written.store.inner), written.store.line)

    def _forbids_graphs(self, written: Written) -> bool:
        """Whether a function asserts that graphs are off, so that it is none that runs between replays."""
        promises = promises_in(written.module.source_of(written.segment)) if written.definition is not None else ()
        captures = self.lexicon.host_state["captures"]
        return any(is_broken(one, {name: True for name in names if captures.match(name)}) for names, one in promises)

    def _asks_for_capture(self, store: Store) -> bool:
        """Whether a condition around a statement asks if a capture is under way."""
        names = (name for test in store.tests for part in nodes_in(test) for name in endings(part))
        return any(self.lexicon.guard(name) is not None for name in names)

    def _prepares(self, written: Written) -> bool:
        """Whether a function sets up for its own capture what it was handed: who replays hands in something else."""
        code = written.definition.code if written.definition is not None else None
        match written.store.target:
            case ast.Attribute(value=ast.Name(id=name)) if code is not None and not written.is_own:
                lines = self.reaching.homes.everywhere.get(written.module.path, ())
                is_handed = any(parameter.name == name for parameter in code.parameters)
                return is_handed and any(written.store.line < line <= written.segment.last for line in lines)
        return False

    def _event(self, read: Read, use: Use, late: tuple[tuple[Written, When], ...]) -> HostStateRead:
        surest = late[0][1]
        places = [place_of(written) for written, when in late if when is surest]
        by_region = _by_region(late, self.traces)
        is_length = read.is_length and not by_region and not read.is_foreign and use.kind not in ("branch", "loop")
        has_grown = is_length and any(written.store.form in MUTATORS for written, _ in late)
        return HostStateRead(
            use=use.kind,
            written=tuple(dict.fromkeys(places)),
            is_surely_late=surest is When.SURELY,
            is_called=surest is not When.UNCALLED,
            by_region=by_region,
            kind="number" if has_grown else self._kind(read, [written for written, _ in late]),
            is_handed=read.is_foreign,
            counts=any(_counts_on(written.store) for written, _ in late),
            is_given=all(isinstance(written.store.value, (ast.Name, ast.Constant)) for written, _ in late),
            settles=use.settles,
            begins=use.begins,
            is_conditional=by_region and all(written.store.tests for written, when in late if when is surest),
        )

    def _kind_of(self, written: Written) -> str:
        """What a statement writes; a member of an enumeration is a flag."""
        match written.store.value:
            case ast.Attribute(value=ast.Name(id=name)):
                value = self.evaluator.module_member(written.module, name)
                bases = self.evaluator.external_bases(value.definition) if isinstance(value, Class) else ()
                return "flag" if any(base.startswith("enum.") for base in bases) else "other"
        return _kind_of(written.store)

    def _kind(self, read: Read, late: list[Written]) -> str:
        """What is written: a number, one of some flags, or something else."""
        kinds = {self._kind_of(written) for written in late}
        if kinds == {"flag"}:
            return "flag"
        if "number" in kinds or read.is_number:
            return "number"
        everywhere = {self._kind_of(_item_in(written, read.state)) for written in self.writers.of(read.state)}
        return "number" if "number" in everywhere else "flag" if "flag" in everywhere else "other"


def _place(read: Read) -> tuple[Pos, str, str, int, str]:
    """Where something is read in its function, and what: its name and key, and the file and line of what has it."""
    owner = read.state.owner
    first = owner.segment.first if isinstance(owner, ClassDefinition) else getattr(owner, "first_line", 0)
    return read.place.node.pos, read.state.name, module_of(read.state).name, first, repr(read.state.key)


def _precedes(written: Written, read: Read) -> bool:
    """Whether a variable is written before the function is made that reads it, with each run of the one around it."""
    function, store = read.place.function, written.store
    if not isinstance(read.state.owner, Scope) or written.qualname == function.qualname:
        return False
    made = function.line_of(function.code)
    is_around = function.qualname.startswith(f"{written.qualname}.<locals>.")
    return is_around and store.line < made and not any(first <= made <= last for first, last in store.loops)


def _item_in(written: Written, state: State) -> Written:
    """What a statement writes under a key, where it writes a table or a list with that: `weights = [0.0]`."""
    items: dict[object, ast.expr] = {}
    match written.store.value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            items = dict(enumerate(elements))
        case ast.Dict(keys=keys, values=values):
            known = zip(keys, values, strict=True)
            items = {key.value: value for key, value in known if isinstance(key, ast.Constant)}
    item = items.get(state.key) if state.key is not None else None
    return written if item is None else replace(written, store=replace(written.store, value=item))


def _by_region(late: tuple[tuple[Written, When], ...], traces: Traces) -> bool:
    """Whether what surely writes state after a capture is the region itself, in whichever run."""
    return all((w.module, w.qualname) in traces.captured for w, when in late if when is late[0][1])


def _best(uses: list[Use]) -> Use:
    """The use that says most."""
    return min(uses, key=lambda one: _KINDS.index(one.kind))


def place_of(written: Written) -> str:
    """The file and line of a statement, as a message has them."""
    return f"{written.module.path.name}:{written.store.line}"


def module_of(state: State) -> Module:
    """The module in which state is defined."""
    match state.owner:
        case Module() as module:
            return module
        case Scope(module):
            return module
        case Taken(function=function):
            return function.module
        case cls:
            return cls.module


def _counts_on(store: Store) -> bool:
    """Whether a statement makes a number out of the one that was there: `self.n += 1`."""
    if store.form == "augment":
        return not isinstance(store.value, (ast.List, ast.ListComp, ast.Tuple, ast.Constant)) or _is_number(store.value)
    return store.form == "assign" and store.depends_on_itself and isinstance(store.value, ast.BinOp)


def _hands_on(written: Written) -> bool:
    """Whether an object gives another one what it has itself: `other.scale = self.scale`."""
    match written.store.value:
        case ast.Attribute(value=ast.Name(id=giver), attr=name):
            return not written.is_own and giver == written.store.receiver and name == written.store.name
    return False


def _kind_of(store: Store) -> str:
    """What a statement writes: a `number`, a `flag`, `nothing`, or something `other`."""
    if store.form == "augment":
        return "number" if _is_number(store.value) else "other"
    if store.form.endswith("_"):
        return "other"  # a tensor is filled, whatever with
    if isinstance(store.value, ast.IfExp):  # one of two, of one kind
        kinds = {_kind_of(replace(store, value=value)) for value in (store.value.body, store.value.orelse)}
        return kinds.pop() if len(kinds) == 1 else "other"
    match store.value:
        case ast.Constant(value=None):
            return "nothing"
        case ast.Constant(value=bool() | str()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return "flag"
        case value if _is_number(value):
            return "number"
    return "other"


def _is_number(value: ast.expr | None) -> bool:
    """Whether an expression is surely a number, and no tensor."""
    match value:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.FloorDiv() | ast.Mod(), right=right):
            return _is_number(left) or _is_number(right)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)  # tensors are scaled by numbers
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.Call(func=ast.Name(id="int" | "float" | "len" | "round" | "min" | "max")):
            return True
    return False
