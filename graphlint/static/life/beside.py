"""A graph that several threads replay, each with its own request, and nothing lets one end before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphlint.rule import OutputKept
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import Module
from graphlint.static.life.ledger import Tell
from graphlint.static.life.methods import leads_to
from graphlint.static.life.objects import Closure, Instance, Made, Object, Place, Thing, things_in
from graphlint.static.life.record import Call
from graphlint.static.life.threads import BLOCKING, ENDS, Running, has_one_worker
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk


@dataclass
class Beside(Running):
    """Follows one run; `replays` are methods that launch a graph, and a catalogued manager holds nobody up."""

    tell: Tell
    replays: frozenset[str]
    resolve: Callable[[ir.Expr, Module], str]
    is_catalogued: Callable[[str], bool]

    def answered(self, call: Call) -> None:
        owner, target = call.owner, call.given.get(0)
        if call.last == "start" and isinstance(owner, Made) and owner.cls == "threading.Thread":
            self._runs(owner, owner.given.get("target", owner.given.get(1)), owner)
        elif call.last in ("map", "submit") and isinstance(owner, Made) and isinstance(call.result, Thing):
            if not has_one_worker(owner):
                self._runs(call.result, target, owner)
                if call.last == "map":
                    self._runs(call.result, target, owner)
        elif call.last in ENDS:
            self._ended(owner)

    def _runs(self, thread: Thing, started: Object, owner: Thing) -> None:
        """Note what a thread runs, and tell of it if another one runs it of the same object."""
        if not isinstance(started, Closure) or not isinstance(started.receiver, Instance):
            return
        same = (one for one, _ in self.running.values() if one.receiver is started.receiver)
        if any(one.function.code is started.function.code for one in same):
            self._examine(started, started.receiver)
        self.running[thread] = started, owner

    def _examine(self, started: Closure, receiver: Instance) -> None:
        """Tell of a replay that nothing keeps from being that of another thread's request."""
        graphs = (one for one in things_in(receiver) if one in self.ledger.latest)
        capture = next((self.ledger.latest[graph] for graph in graphs), None)
        functions = list(_functions(started, receiver))
        fills = any(name.endswith("_") for function in functions for name, _ in _methods(function))
        if capture is None or not fills or any(map(self._holds, functions)):
            return
        for function in functions:
            for name, call in _methods(function):
                if name in self.replays and _is_own(call.func, function):
                    self.tell(OutputKept("threads", True), Place(function, call), capture)

    def _holds(self, function: Function) -> bool:
        """Whether a function enters something that may hold it up, or waits for what others give it."""
        entered = [one for part in walk(function.code.body) if isinstance(part, ir.With) for one, _ in part.items]
        around = [*entered, *function.code.decorators]
        named = (self.resolve(one.func if isinstance(one, ir.Call) else one, function.module) for one in around)
        is_waiting = any(name in BLOCKING for name, _ in _methods(function))
        return is_waiting or not all(map(self.is_catalogued, named))


def _functions(started: Closure, receiver: Instance) -> Iterator[Function]:
    """What a thread runs, and the methods of the same class that this leads to."""
    yield started.function
    owner = receiver.cls
    for name in leads_to(owner, started.function.qualname.rpartition(".")[2])[1:]:
        function = function_of(owner.methods[name][-1], owner)
        if function is not None:
            yield function


def _methods(function: Function) -> list[tuple[str, ir.Call]]:
    """The calls of methods in a function, with the names of these."""
    return [(call.func.attr, call) for call in calls_in(function.code) if isinstance(call.func, ir.Attribute)]


def _is_own(node: ir.Expr, function: Function) -> bool:
    """Whether an expression is an attribute of the object, whichever thread asks."""
    while isinstance(node, ir.Attribute):
        node = node.value
        if isinstance(node, ir.Name):
            return node.id == function.receiver
    return False
