"""Methods that replay a graph and are run by several threads at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import ConcurrentReplay, Event
from graphlint.static.life.ledger import Call, Listener
from graphlint.static.life.objects import Capture, Closure, Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

Tell = Callable[[Event, Place, Capture], None]
LOCKS = ("lock", "mutex", "semaphore")


@dataclass
class Threads(Listener):
    """Follows one run; `replays` are the methods that launch a graph."""

    tell: Tell
    replays: frozenset[str]
    started: list[tuple[Closure, bool]] = field(default_factory=list)  # with whether there are several

    def answered(self, call: Call) -> None:
        target = None
        if call.name == "threading.Thread":
            target = call.given.keywords.get("target")
        elif call.last in ("submit", "map") and "Executor" in call.name:
            target = call.given.get(0)
        if isinstance(target, Closure):
            several = bool(self.ledger.loops) or call.last == "map"
            several = several or any(one.function.code is target.function.code for one, _ in self.started)
            self.started.append((target, several))

    def finished(self) -> None:
        captures = self.ledger.captures
        for target, several in self.started if captures else ():
            for statement in _unlocked(target.function.code.body, self.replays) if several else ():
                self.tell(ConcurrentReplay(), Place(target.function, statement), captures[0])


def _unlocked(block: ir.Block, replays: frozenset[str]) -> Iterator[ir.Stmt]:
    """The statements that replay a graph while no lock is held."""
    if any(isinstance(part, ir.Attribute) and part.attr == "acquire" for part in walk(block)):
        return
    for statement in block:
        match statement:
            case ir.With():
                if not any(_is_lock(expression) for expression, _ in statement.items):
                    yield from _unlocked(statement.body, replays)
            case ir.If():
                yield from _unlocked(statement.body, replays)
                yield from _unlocked(statement.orelse, replays)
            case ir.For() | ir.While():
                yield from _unlocked(statement.body, replays)
            case ir.Try():
                yield from _unlocked(statement.body, replays)
            case ir.Evaluate(value=ir.Call(func=ir.Attribute(attr=name))) if name in replays:
                yield statement


def _is_lock(expression: ir.Expr) -> bool:
    parts = [part for part in walk(expression) if isinstance(part, (ir.Attribute, ir.Name))]
    names = [part.attr if isinstance(part, ir.Attribute) else part.id for part in parts]
    return any(lock in name.lower() for name in names for lock in LOCKS)
