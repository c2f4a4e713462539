"""On which device a region works, and on which one its capture was begun."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import WorkOutside
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Object, Place, Tensor, Thing
from graphlint.static.life.record import Call


@dataclass
class Devices(Listener):
    """Follows one run; the first device is current until something that is `choosing` makes another one so."""

    tell: Tell
    choosing: frozenset[str]
    moves: frozenset[str]
    current: list[Object] = field(default_factory=lambda: [0])
    numbers: dict[Thing, int] = field(default_factory=dict)
    managers: list[Object] = field(default_factory=list)
    told: set[Capture] = field(default_factory=set)
    begun_on: dict[Capture, Object] = field(default_factory=dict)

    def surrounded(self, manager: Object, place: Place) -> None:
        call = self.ledger.origin(manager)
        if call is not None and call.name in self.choosing:
            self.managers.append(manager)
            self.current.append(_number(call.given.get(0, "device")))

    def exited(self, manager: Object, place: Place) -> None:
        if self.managers and self.managers[-1] is manager:
            self.managers.pop()
            self.current.pop()

    def answered(self, call: Call) -> None:
        if call.last == "set_device":
            self.current[-1] = _number(call.given.get(0, "device"))
        asked = call.given.keywords.get("device")
        if call.last in self.moves and asked is None:
            asked = call.given.get(0)
        number = _number(asked) if asked is not None else None
        if isinstance(number, int) and isinstance(call.result, Thing):
            self.numbers[call.result] = number

    def began(self, capture: Capture) -> None:
        self.begun_on[capture] = self.current[-1] if self.ledger.is_whole else None

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        capture = self.ledger.capture
        if capture is None or capture in self.told or not isinstance(self.begun_on.get(capture), int):
            return
        for thing in things:
            number = self.numbers.get(thing.root) if isinstance(thing, Tensor) else None
            if number is not None and number != self.begun_on[capture]:
                self.told.add(capture)
                self.tell(WorkOutside("device"), capture.place, capture)
                return


def _number(device: Object) -> int | None:
    """The number of a device; None if it is not known."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    number = device.partition(":")[2] if isinstance(device, str) else ""
    return int(number) if number.isdigit() else None
