"""Attributes that a region asks for: `if self.bias is not None` is decided once, and a number kept, at the capture.

`writes` tells of these by who calls what writes them. Here they are told in a program that is run as a whole, in the
order of the run: where a call captures if nothing has before, what is set in front of each call may be set too late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from graphlint.rule import HostStateRead
from graphlint.static.life.forms import asks_for
from graphlint.static.life.hosts import number_given
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import (
    PLAIN,
    Capture,
    Frame,
    Instance,
    Object,
    Place,
    Symbol,
    Tensor,
    Thing,
    held_by,
    things_in,
)
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import walk


class Asked(NamedTuple):
    """What a region did with an attribute, in the words of the event, what that held, where, and if for None."""

    use: str
    value: Object
    place: Place
    is_for_none: bool = False


@dataclass
class Decided(Listener):
    """Follows one run."""

    tell: Tell
    last: tuple[Thing | Frame, str] | None = None  # what was read last
    owners: dict[str, Instance] = field(default_factory=dict)  # which object an attribute was read of last
    asked: defaultdict[Capture, dict[tuple[Instance, str], Asked]] = field(default_factory=lambda: defaultdict(dict))
    changed: dict[tuple[Instance, str], Place] = field(default_factory=dict)  # where they were given something since
    own: set[tuple[Capture, Thing, str]] = field(default_factory=set)  # attributes that a region has set itself

    def looked(self, owner: Thing | Frame, name: str) -> None:
        self.last = owner, name
        capture = self.ledger.capture
        if not isinstance(owner, Instance) or capture is None or not self.ledger.is_whole:
            return
        self.owners[name] = owner
        where = self.ledger.frames[-1].statement if type(owner.attributes.get(name)) is int else None
        for node, use in _picking(where.node) if where is not None else ():
            if where is not None and node.attr == name:
                self._note(use, owner, node, where)

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        asked = _asked_by(place.node)
        if not is_known or asked is None or self.last is None:
            return
        owner, name = self.last
        if isinstance(owner, Instance) and name == asked.attr and _computes(self.ledger.frames[-1].statement, name):
            self._note("branch", owner, asked, place, isinstance(place.node, ir.Compare))

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if not isinstance(place.node, ir.Call):
            self._note_operands(place)

    def answered(self, call: Call) -> None:
        """What a call does with a number is known where it is one of torch that gives a tensor."""
        if not call.name.startswith("?") and isinstance(call.result, Tensor):
            self._note_operands(call.place)

    def _note_operands(self, place: Place) -> None:
        """Note numbers that an operation of the region is given beside a tensor."""
        for node in _operands(place.node) if self.ledger.capture is not None else ():
            owner = self.owners.get(node.attr)
            if owner is not None and isinstance(held_by(owner, node.attr), (int, float)):
                self._note("operand", owner, node, place)

    def _note(self, use: str, owner: Instance, node: ir.Attribute, place: Place, is_for_none: bool = False) -> None:
        capture = self.ledger.capture
        is_before = owner.made_in is not capture and (capture, owner, node.attr) not in self.own
        if capture is not None and is_before:
            asked = Asked(use, held_by(owner, node.attr), place._replace(node=node), is_for_none)
            self.asked[capture].setdefault((owner, node.attr), asked)

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        if (capture := self.ledger.capture) is not None:
            self.own.add((capture, owner, name))

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """Note what is assigned elsewhere than in the methods that capture, which keep there what they have made."""
        if not isinstance(owner, Instance):
            return
        for capture in self.ledger.latest.values():
            asked = self.asked.get(capture, {}).get((owner, name))
            if asked is None:
                continue
            stack = capture.owner.stack() if isinstance(capture.owner, Frame) else ()
            own = (one.function.code for one in stack if isinstance(one.receiver, Instance))
            if asked.use != "branch" and number_given(value, place, self.ledger.frames) is not None:
                continue  # which is told where it is given
            if asked.use != "branch" or place.function.code not in own:
                self.changed[owner, name] = place

    def replayed(self, capture: Capture, place: Place) -> None:
        for (owner, name), asked in self.asked.get(capture, {}).items():
            now = held_by(owner, name)
            if (owner, name) not in self.changed or not _is_otherwise(asked, now, capture):
                continue
            if not any(asks_for(one.function.code, (name,)) for one in self.ledger.frames):  # for another graph
                self.tell(self._event(asked.use, self.changed[owner, name]), asked.place, capture)

    def _event(self, use: str, written: Place) -> HostStateRead:
        return HostStateRead(
            use=use,
            written=(f"{written.function.module.path.name}:{written.line}",),
            is_surely_late=True,
            by_region=False,
            kind="flag" if use == "branch" else "number",
            counts=False,
            is_handed=False,
            settles=not self.ledger.is_whole,
        )


@remembered
def _picking(statement: ir.Node) -> tuple[tuple[ir.Attribute, str], ...]:
    """The attributes by which a statement cuts, picks an item, or counts rounds, and which of these."""
    match statement:
        case ir.For(iterable=head) | ir.If(test=head) | ir.While(test=head):
            parts = [*walk(head)]
        case ir.With(items=items):
            parts = [*walk(items)]
        case _:
            parts = [*walk(statement)]
    found: list[tuple[object, str]] = []
    for one in parts:
        match one:
            case ir.Slice(bounds=bounds):
                found += [(bound, "bound") for bound in bounds]
            case ir.Subscript(index=ir.Attribute() as index):
                found.append((index, "index"))
            case ir.Call(func=ir.Name(id="range"), arguments=arguments):
                found += [(argument.value, "count") for argument in arguments]
    return tuple((node, use) for node, use in found if isinstance(node, ir.Attribute))


def _operands(node: ir.Node) -> Iterator[ir.Attribute]:
    """The attributes that an operation is given as they are."""
    given: tuple[object, ...] = ()
    match node:
        case ir.Binary(left=left, right=right):
            given = left, right
        case ir.AugAssign(value=value):
            given = (value,)
        case ir.Call(arguments=arguments):
            given = tuple(one.value for one in arguments)
    yield from (one for one in given if isinstance(one, ir.Attribute))


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


def _is_otherwise(asked: Asked, now: Object, capture: Capture) -> bool:
    """Whether an attribute is surely something else by now, as far as that counts, and nothing that the graph has made.

    It counts for a branch whether it comes out otherwise.
    """
    if type(now) is Thing or isinstance(now, Symbol):
        return False
    if any(one is capture.graph or one.made_in is capture for one in things_in(now)):
        return False
    was = asked.value
    if asked.is_for_none:
        return (was is None) is not (now is None)
    is_plain = isinstance(was, PLAIN) and isinstance(now, PLAIN)
    return is_plain and (bool(was) is not bool(now) if asked.use == "branch" else was != now)
