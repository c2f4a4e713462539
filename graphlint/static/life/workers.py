"""Compiled callables that replay graphs and that several threads call: their graphs belong to the thread that records.

Each thread that calls one records graphs of its own, in memory that all of them share. What is told are two threads
that are under way at once, and not behind a lock: behind one, all answers are right once the main thread has recorded,
or where each call waits for the device; two threads that record one after the other without that fail aloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from graphlint.finding import Region
from graphlint.rule import ConcurrentCall
from graphlint.rulebook.entries import Entries
from graphlint.static.domain.program import function_of
from graphlint.static.life.ledger import Tell
from graphlint.static.life.objects import Capture, Closure, Container, Instance, Made, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.soft import is_graphing
from graphlint.static.life.threads import ENDS, Running, has_one_worker
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk

POOLS = frozenset({"concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool"})
LOCKS = frozenset({"multiprocessing.Lock", "threading.Condition", "threading.Lock", "threading.RLock"})
_CALLED = ("__call__", "forward")  # of an object that is called itself
_DEPTH = 4  # calls from what a thread runs to what was compiled


@dataclass
class Workers(Running):
    """Follows one run."""

    tell: Tell
    entries: Entries
    calling: dict[Thing, set[Made]] = field(default_factory=dict, init=False)  # what threads call, of those under way

    def answered(self, call: Call) -> None:
        owner, given = call.owner, call.given
        if call.last == "start" and isinstance(owner, Made) and owner.cls == "threading.Thread":
            passed = owner.given.get("args", owner.given.get(3))
            values = passed.elements if isinstance(passed, Container) else []
            self._begins(owner, owner, owner.given.get("target", owner.given.get(1)), values, call.place)
        elif call.last in ("map", "submit") and _is_pool(owner):
            if isinstance(call.result, Thing):
                values = given.positional[1:] if call.last == "submit" else []
                for _ in range(2 if call.last == "map" else 1):
                    self._begins(call.result, owner, given.get(0), values, call.place)
        elif call.last in ENDS:
            self._ended(owner)

    def _ended(self, owner: Object) -> None:
        super()._ended(owner)
        self.calling = {one: known for one, known in self.calling.items() if one in self.running}

    def _begins(self, thread: Thing, owner: Thing, started: Object, values: list[Object], place: Place) -> None:
        """Note what a thread calls, and tell of what another one calls that is under way."""
        found = dict(self._compiled(started, values, place))
        for module, where in found.items():
            if any(module in called for called in self.calling.values()):
                made = module.made
                assert made is not None
                self.tell(
                    ConcurrentCall("compiled"),
                    where,
                    Capture(module, Region(module.cls, made.path, made.line), made, 0),
                )
        self.calling.setdefault(thread, set()).update(found)
        if found and thread not in self.running:
            self.running[thread] = started, owner

    def _compiled(
        self, called: Object, values: list[Object], place: Place, depth: int = _DEPTH
    ) -> Iterator[tuple[Made, Place]]:
        """The compiled callables that a call leads to, and where they are called."""
        if isinstance(called, Made) and called.made is not None and is_graphing(called, self.entries):
            yield called, place
        function = _function(called)
        if function is None or depth == 0:
            return
        names = [one.name for one in function.function.code.parameters][function.is_bound :]
        given = dict(zip(names, values, strict=False))
        for call in self._unlocked(function, given):
            value = self._held(call.func, function, given)
            passed = [self._held(one.value, function, given) for one in call.arguments]
            yield from self._compiled(value, passed, Place(function.function, call), depth - 1)

    def _unlocked(self, closure: Closure, given: dict[str, Object]) -> Iterator[ir.Call]:
        """The calls of a function that no lock keeps from being made at the same time."""
        code = closure.function.code
        blocks = (part for part in walk(code.body) if isinstance(part, ir.With))
        locked = {
            part
            for block in blocks
            if any(_is_lock(self._held(manager, closure, given)) for manager, _ in block.items)
            for part in walk(block.body)
        }
        return (call for call in calls_in(code) if call not in locked)

    def _held(self, node: ir.Expr, closure: Closure, given: dict[str, Object]) -> Object:
        """What a name or an attribute stands for in a function that has not run."""
        if isinstance(node, ir.Name):
            if node.id == closure.function.receiver:
                return closure.receiver
            if node.id in given:
                return given[node.id]
            scope = closure.scope
            while scope is not None and node.id not in scope.env:
                scope = scope.scope
            return scope.env[node.id] if scope is not None else self.ledger.global_of(closure.function.module, node.id)
        if isinstance(node, ir.Attribute):
            owner = self._held(node.value, closure, given)
            if isinstance(owner, Thing) and node.attr in owner.attributes:
                return owner.attributes[node.attr]
            return _method(owner, node.attr) if isinstance(owner, Instance) else None
        return None


def _is_lock(held: Object) -> bool:
    return isinstance(held, Made) and held.cls in LOCKS


def _is_pool(owner: Object) -> TypeGuard[Made]:
    """Whether an object is a pool of several threads."""
    return isinstance(owner, Made) and owner.cls in POOLS and not has_one_worker(owner)


def _function(called: Object) -> Closure | None:
    """The function of the project that runs when something is called."""
    if isinstance(called, Instance):
        return next((made for name in _CALLED if (made := _method(called, name)) is not None), None)
    return called if isinstance(called, Closure) else None


def _method(owner: Instance, name: str) -> Closure | None:
    definitions = owner.cls.methods.get(name)
    function = function_of(definitions[-1], owner.cls) if definitions else None
    return Closure(function, receiver=owner, is_bound=True) if function is not None else None
