"""What regions read and use in, events out for state that something writes between a capture and its replays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphlint.rule import Event, HostStateRead
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.sources import Place, Read, Scope, State
from graphlint.static.index.module import Module
from graphlint.static.writes.stores import Written
from graphlint.static.writes.timing import Timing, When
from graphlint.static.writes.traces import Traces, Use
from graphlint.static.writes.writers import Writers

_KINDS = ("bound", "index", "count", "loop", "operand", "branch", "argument")  # the one that says most comes first


class Judged:
    """Looks at what has been traced, once all regions have run."""

    def __init__(self, evaluator: Evaluator, traces: Traces) -> None:
        self.traces = traces
        self.writers = Writers(evaluator)
        self.timing = Timing(evaluator, traces.captured)
        self._late: dict[State, tuple[tuple[Written, When], ...]] = {}

    def events(self) -> Iterator[tuple[Place, Event]]:
        """What there is to say of state, each with the place that it is said of."""
        for read, uses in self._reads().values():
            late = self.late(read.state)
            if late:
                use = min(uses, key=lambda one: _KINDS.index(one.kind))
                yield read.place, self._event(read, use, late)

    def _reads(self) -> dict[tuple[object, ...], tuple[Read, list[Use]]]:
        """The reads that decide something: the first of a piece of state on a line stands for all of them."""
        found: dict[tuple[object, ...], tuple[Read, list[Use]]] = {}
        for source, uses in self.traces.uses.items():
            for read in self.traces.origins(source):
                key = (read.place.sink, read.state, read.place.line)
                found.setdefault(key, (read, []))[1].extend(uses.values())
        return found

    def late(self, state: State) -> tuple[tuple[Written, When], ...]:
        """What writes a piece of state after a capture, the surest first; none where each region sets it anew."""
        if state not in self._late:
            self._late[state] = tuple(self._find(state))
        return self._late[state]

    def _find(self, state: State) -> list[tuple[Written, When]]:
        found: list[tuple[Written, When]] = []
        for written in self.writers.of(state):
            if (written.module, written.qualname) in self.traces.captured and not isinstance(state.owner, Scope):
                if written.store.depends_on_itself and not written.store.is_lazy:
                    found.append((written, When.SURELY))
                elif written.store.form == "assign" and not written.store.is_lazy:
                    return []  # a region that sets it reads what it has set
                continue
            when = self.timing.of(written) if not written.store.is_lazy else When.NEVER
            if when is not When.NEVER:
                found.append((written, when))
        return sorted(found, key=lambda one: -one[1])

    def _event(self, read: Read, use: Use, late: tuple[tuple[Written, When], ...]) -> HostStateRead:
        surest = late[0][1]
        places = [place_of(written) for written, when in late if when is surest]
        by_region = all((w.module, w.qualname) in self.traces.captured for w, when in late if when is surest)
        return HostStateRead(
            use=use.kind,
            written=tuple(dict.fromkeys(places)),
            is_surely_late=surest is When.SURELY,
            by_region=by_region,
            is_number=any(_is_number(written.store.value, written.store.form) for written, _ in late),
        )


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
        case cls:
            return cls.module


def _is_number(value: ast.expr | None, form: str) -> bool:
    """Whether what is assigned is surely no tensor: a number, a flag, a count."""
    match value:
        case ast.Constant(value=bool() | int() | float() | str()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left, form) or _is_number(right, form)
        case ast.UnaryOp(operand=operand):
            return isinstance(value.op, ast.Not) or _is_number(operand, form)
        case ast.Compare() | ast.BoolOp():
            return True
        case ast.Call(func=ast.Name(id="int" | "float" | "bool" | "len" | "round")):
            return True
    return False
