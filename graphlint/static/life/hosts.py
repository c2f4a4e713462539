"""Numbers of the host that come with each request: the graph keeps those that it was captured with.

They come in an object that is made anew, and that is told where one code makes it for the capture and for replays:
where the capture has code of its own, it may choose numbers that are large enough for all. Or the call that replays
keeps what it is given in the object that the region has read, as if that were the copy of a tensor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphlint.rule import RequestNumber
from graphlint.static.life.forms import asks_for, is_number, keeps_number
from graphlint.static.life.growth import directly_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import (
    Capture,
    Container,
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
class Hosts(Listener):
    """Follows one run."""

    tell: Tell
    numbers: defaultdict[Capture, dict[tuple[Instance, str], Place]] = field(default_factory=lambda: defaultdict(dict))
    later: dict[Instance, Instance] = field(default_factory=dict)  # what has taken the place of an object
    seen: defaultdict[Capture, dict[tuple[Instance, str], Place]] = field(default_factory=lambda: defaultdict(dict))
    kept: dict[tuple[Instance, str], tuple[Frame, Place, int]] = field(default_factory=dict)  # of what a call is given
    entries: defaultdict[Capture, dict[tuple[Container, str], tuple[Object, Place]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """What a region has read out of dictionaries that its functions were handed, and where."""
    filled: dict[tuple[Container, str], Place] = field(default_factory=dict)  # where those got other numbers
    unpacked: defaultdict[int, dict[tuple[Container, str], Object]] = field(default_factory=lambda: defaultdict(dict))
    """Numbers that may be unpacked in a region, by the call."""

    def looked(self, owner: Thing | Frame, name: str) -> None:
        """Note numbers that a region reads out of objects that were there before."""
        capture = self.ledger.capture
        if capture is not None and isinstance(owner, Container) and owner.made_in is not capture:
            self._looked_up(owner, name, capture)
        if capture is None or not isinstance(owner, Instance) or owner.made_in is capture:
            return
        where = self.ledger.frames[-1].statement if self.ledger.frames else None
        if where is not None:
            self.seen[capture].setdefault((owner, name), where)
        if where is not None and not owner.is_module and _is_number(owner.attributes.get(name)):
            self.numbers[capture].setdefault((owner, name), where)

    def _looked_up(self, owner: Container, name: str, capture: Capture) -> None:
        """Note a number in a dictionary that a function of the region has its own name for, or that a call unpacks."""
        frame = self.ledger.frames[-1]
        value = held_by(owner, name)
        if owner.kind != "dict" or frame.statement is None or not (_is_number(value) or isinstance(value, float)):
            return
        parts = [*walk(frame.statement.node)]
        items = (one for one in parts if isinstance(one, ir.Subscript))
        names = (one.value.id for one in items if isinstance(one.value, ir.Name) and _is_key(one.index, name))
        if any(_is_own(one, frame) for one in names) and _is_used(frame.statement):
            self.entries[capture].setdefault((owner, name), (value, frame.statement))
        for one in parts:
            if isinstance(one, ir.Call) and any(argument.star == "**" for argument in one.arguments):
                self.unpacked[id(one)][owner, name] = value

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note the numbers that a call of what nobody knows has unpacked; where it is known, what it does is seen."""
        capture = self.ledger.capture
        if capture is not None and isinstance(place.node, ir.Call) and id(place.node) in self.unpacked:
            where = next(place._replace(node=one.value) for one in place.node.arguments if one.star == "**")
            for key, value in self.unpacked.pop(id(place.node)).items():
                self.entries[capture].setdefault(key, (value, where))

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        is_local = isinstance(owner, Frame) and owner.caller is not None  # where no region looks it up
        if isinstance(before, Instance) and isinstance(value, Instance) and before.cls is value.cls and not is_local:
            self.later[before] = value
        if isinstance(owner, Container) and any((owner, name) in known for known in self.entries.values()):
            self.filled[owner, name] = place

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        """Note what a call keeps of its numbers, unless it asks for another graph if they are others."""
        given = number_given(value, place, self.ledger.frames) if self.ledger.capture is None else None
        callers = [one.function.code for one in self.ledger.frames]
        if (
            given is not None
            and isinstance(owner, Instance)
            and not any(asks_for(one, (given, name)) for one in callers)
        ):
            self.kept[owner, name] = self.ledger.frames[-1], place, self.ledger.now

    def left(self, frame: Frame) -> None:
        self.kept = {key: one for key, one in self.kept.items() if one[0] is not frame}

    def replayed(self, capture: Capture, place: Place) -> None:
        for key, (_, kept, since) in self.kept.items():
            if key in self.seen.get(capture, {}) and capture.ended is not None and capture.ended <= since:
                self.tell(RequestNumber(key[1], _at(self.seen[capture][key])), kept, capture)
        for (held, name), (was, where) in self.entries.get(capture, {}).items():
            now = held_by(held, name)
            is_other = now is not was and (isinstance(now, Symbol) or now != was)
            if (held, name) in self.filled and is_other and not self._is_asked(now, capture):
                self.tell(RequestNumber(name, "", _at(self.filled[held, name])), where, capture)
        for (owner, name), where in self.numbers.get(capture, {}).items():
            now = self._now(owner)
            if now is owner or owner.made is None or now.made is None or now.made.node is not owner.made.node:
                continue
            before, value = owner.attributes.get(name), now.attributes.get(name)
            if value is before or not _is_number(value) or (value == before and not isinstance(value, Symbol)):
                continue
            if capture.graph in things_in(owner):
                continue  # it has the graph, and its successor has one of its own
            if not self._is_asked(value, capture):
                self.tell(RequestNumber(name, _at(where)), _given_at(now.made, name), capture)

    def _now(self, owner: Instance) -> Instance:
        """What is where an object was."""
        seen = {owner}
        while owner in self.later and self.later[owner] not in seen:
            owner = self.later[owner]
            seen.add(owner)
        return owner

    def _is_asked(self, value: Object, capture: Capture) -> bool:
        """Whether graphs, of which this is one, were picked by a value."""
        asked = (one for held, (one, _) in self.ledger.guessed.items() if capture.graph in directly_in(held))
        return any(value is part for one in asked for part in _parts(one))


def number_given(value: Object, place: Place, frames: Sequence[Frame]) -> str | None:
    """The parameter, by its name, of one of these calls that a value is, and that is a number: a statement keeps it."""
    named = keeps_number(place.node, place.function.code)
    if named is not None or not isinstance(value, (Symbol, Thing)):
        return named
    given = ((one, frame.env.get(one.name)) for frame in frames for one in frame.function.code.parameters)
    return next((one.name for one, held in given if held is value and is_number(one)), None)


def _is_key(index: ir.Expr, name: str) -> bool:
    return isinstance(index, ir.Literal) and index.value == name


def _is_own(name: str, frame: Frame | None) -> bool:
    """Whether a name is one of a function, and of no file."""
    while frame is not None and name not in frame.env:
        frame = frame.scope
    return frame is not None and frame.function.qualname != "<module>"


def _is_used(statement: Place) -> bool:
    """Whether a statement does more than to give a value a name that nobody asks for."""
    match statement.node:
        case ir.Assign(targets=(ir.Name(id=name) as target,)):
            return any(
                isinstance(o, ir.Name) and o.id == name and o is not target for o in walk(statement.function.code.body)
            )
    return True


def _at(place: Place) -> str:
    return f"{place.function.module.path.name}:{place.line}"


def _is_number(value: Object) -> bool:
    return isinstance(value, Symbol) or type(value) is int


def _parts(value: Object) -> list[Object]:
    return [value, *value.values()] if isinstance(value, Container) else [value]


def _given_at(made: Place, name: str) -> Place:
    """Where the call that makes an object gives it something by name."""
    arguments = made.node.arguments if isinstance(made.node, ir.Call) else ()
    node = next((one.value for one in arguments if one.keyword == name), made.node)
    return made._replace(node=node)
