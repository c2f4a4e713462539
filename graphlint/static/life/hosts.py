"""Numbers of the host in an object that is made anew for each request: the graph keeps those that it was captured with.

Told where one code makes the object for the capture and for replays. Where the capture has code of its own,
it may choose numbers that are large enough for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphlint.rule import RequestNumber
from graphlint.static.life.growth import directly_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Frame, Instance, Object, Place, Symbol, Thing, things_in
from graphlint.static.syntax import ir


@dataclass
class Hosts(Listener):
    """Follows one run."""

    tell: Tell
    numbers: defaultdict[Capture, dict[tuple[Instance, str], Place]] = field(default_factory=lambda: defaultdict(dict))
    later: dict[Instance, Instance] = field(default_factory=dict)  # what has taken the place of an object

    def looked(self, owner: Thing | Frame, name: str) -> None:
        """Note numbers that a region reads out of objects that were there before."""
        capture = self.ledger.capture
        if capture is None or not isinstance(owner, Instance) or owner.is_module or owner.made_in is capture:
            return
        where = self.ledger.frames[-1].statement if self.ledger.frames else None
        if where is not None and _is_number(owner.attributes.get(name)):
            self.numbers[capture].setdefault((owner, name), where)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        is_local = isinstance(owner, Frame) and owner.caller is not None  # where no region looks it up
        if isinstance(before, Instance) and isinstance(value, Instance) and before.cls is value.cls and not is_local:
            self.later[before] = value

    def replayed(self, capture: Capture, place: Place) -> None:
        for (owner, name), where in self.numbers.get(capture, {}).items():
            now = self._now(owner)
            if now is owner or owner.made is None or now.made is None or now.made.node is not owner.made.node:
                continue
            before, value = owner.attributes.get(name), now.attributes.get(name)
            if value is before or not _is_number(value) or (value == before and not isinstance(value, Symbol)):
                continue
            if capture.graph in things_in(owner):
                continue  # it has the graph, and its successor has one of its own
            if not any(value is one for asked in self._asked(capture) for one in _parts(asked)):
                at = f"{where.function.module.path.name}:{where.line}"
                self.tell(RequestNumber(name, at), _given_at(now.made, name), capture)

    def _now(self, owner: Instance) -> Instance:
        """What is where an object was."""
        seen = {owner}
        while owner in self.later and self.later[owner] not in seen:
            owner = self.later[owner]
            seen.add(owner)
        return owner

    def _asked(self, capture: Capture) -> Iterator[Object]:
        """What graphs were picked by, of which this is one."""
        return (asked for one, (asked, _) in self.ledger.guessed.items() if capture.graph in directly_in(one))


def _is_number(value: Object) -> bool:
    return isinstance(value, Symbol) or type(value) is int


def _parts(value: Object) -> list[Object]:
    return [value, *value.values()] if isinstance(value, Container) else [value]


def _given_at(made: Place, name: str) -> Place:
    """Where the call that makes an object gives it something by name."""
    arguments = made.node.arguments if isinstance(made.node, ir.Call) else ()
    node = next((one.value for one in arguments if one.keyword == name), made.node)
    return made._replace(node=node)
