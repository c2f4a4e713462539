"""Attributes that a region asks for, as in `if self.bias is not None`: that is decided once, at the capture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from graphlint.rule import HostStateRead
from graphlint.static.life.forms import asks_for
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import (
    PLAIN,
    Capture,
    Frame,
    Instance,
    Object,
    Place,
    Symbol,
    Thing,
    held_by,
    things_in,
)
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk


@dataclass
class Decided(Listener):
    """Follows one run."""

    tell: Tell
    last: tuple[Thing | Frame, str] | None = None  # what was read last
    asked: defaultdict[Capture, dict[tuple[Instance, str], tuple[Object, bool, Place]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Attributes that conditions of a region have asked for, what they held, if None is asked for, and where."""
    changed: dict[tuple[Instance, str], Place] = field(default_factory=dict)  # where they were given something since

    def looked(self, owner: Thing | Frame, name: str) -> None:
        self.last = owner, name

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        capture, asked = self.ledger.capture, _asked_by(place.node)
        if not is_known or capture is None or asked is None or self.last is None:
            return
        owner, name = self.last
        if not isinstance(owner, Instance) or name != asked.attr or owner.made_in is capture:
            return
        if _computes(self.ledger.frames[-1].statement, name):
            question = isinstance(place.node, ir.Compare), place._replace(node=asked)
            self.asked[capture].setdefault((owner, name), (held_by(owner, name), *question))

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """Note what is assigned elsewhere than in the methods that capture, which keep there what they have made."""
        for capture in self.ledger.latest.values():
            stack = capture.owner.stack() if isinstance(capture.owner, Frame) else ()
            is_own = any(
                one.function.code is place.function.code for one in stack if isinstance(one.receiver, Instance)
            )
            if isinstance(owner, Instance) and (owner, name) in self.asked.get(capture, {}) and not is_own:
                self.changed[owner, name] = place

    def replayed(self, capture: Capture, place: Place) -> None:
        for (owner, name), (was, is_none, where) in self.asked.get(capture, {}).items():
            now = held_by(owner, name)
            if (owner, name) not in self.changed or not _comes_out_otherwise(is_none, was, now, capture):
                continue
            if not any(asks_for(one.function.code, (name,)) for one in self.ledger.frames):  # for another graph
                self.tell(self._event(self.changed[owner, name]), where, capture)

    def _event(self, written: Place) -> HostStateRead:
        return HostStateRead(
            use="branch",
            written=(f"{written.function.module.path.name}:{written.line}",),
            is_surely_late=True,
            by_region=False,
            kind="flag",
            counts=False,
            is_handed=False,
            settles=not self.ledger.is_whole,
        )


def _asked_by(test: ir.Node) -> ir.Attribute | None:
    """The attribute that a condition asks for alone: whether it is there, or true."""
    match test:
        case ir.Compare(left=ir.Attribute() as asked, comparisons=[("is" | "is not", ir.Literal(value=None))]):
            return asked
        case ir.Attribute() as asked:
            return asked
        case ir.Unary(operand=ir.Attribute() as asked):
            return asked
    return None


def _computes(statement: Place | None, name: str) -> bool:
    """Whether a branch computes something, and does not keep an attribute by this name: a memo is another mistake."""
    node = statement.node if statement is not None else None
    if not isinstance(node, ir.If):
        return True
    parts = [one for one in walk((*node.body, *node.orelse)) if isinstance(one, (ir.Assign, ir.AugAssign, ir.Return))]
    targets = (target for one in parts if isinstance(one, ir.Assign) for target in one.targets)
    return bool(parts) and not any(isinstance(one, ir.Attribute) and one.attr == name for one in targets)


def _comes_out_otherwise(is_none: bool, was: Object, now: Object, capture: Capture) -> bool:
    """Whether a condition surely has another outcome by now, and for nothing that the graph itself has made."""
    if type(now) is Thing or isinstance(now, Symbol):
        return False
    if any(one is capture.graph or one.made_in is capture for one in things_in(now)):
        return False
    if is_none:
        return (was is None) is not (now is None)
    return isinstance(was, PLAIN) and isinstance(now, PLAIN) and bool(was) is not bool(now)
