"""Which generators a region draws from, and which of them its graph was told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphlint.rule import GeneratorUsed, RandomState
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Made, Object, Place, Symbol, Thing
from graphlint.static.life.record import Call


@dataclass
class Generators(Listener):
    """Follows one run; `states` are the functions that seed a generator of the device, or reach for its state.

    `draws` says of an operation or a module whether it draws from one.
    """

    tell: Tell
    states: frozenset[str]
    draws: Callable[[str], bool]
    classes: frozenset[str]
    seeds: dict[Thing | None, Object] = field(default_factory=dict)  # of generators; None is that of the process
    seeded: list[Place] = field(default_factory=list)  # in the capture that is under way, with the seed in force
    registered: set[tuple[Thing, Thing]] = field(default_factory=set)  # graph, generator

    def answered(self, call: Call) -> None:
        if call.last == "register_generator_state" and isinstance(call.owner, Thing):
            generator = call.given.get(0, "generator")
            if isinstance(generator, Thing):
                self.registered.add((call.owner, generator))
        self._seeded(call)
        if self.seeded and self.draws(call.name):
            self._drawn()
        is_new = call.name in self.classes and not _is_of_host(call.given.get(0, "device"))
        if is_new and self.ledger.capture is not None:
            self.tell(RandomState(True), call.place, self.ledger.capture)
        capture, generator = self.ledger.capture, call.given.keywords.get("generator")
        if capture is None or not isinstance(generator, Made) or generator.cls not in self.classes:
            return
        device = generator.given.get(0, generator.given.get("device"))
        if _is_of_host(device) or (capture.graph, generator) in self.registered or generator in self.ledger.escaped:
            return
        if generator.made_in is not capture:
            self.tell(GeneratorUsed(isinstance(device, str)), call.place, capture)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if self.seeded and isinstance(module, Made) and self.draws(module.cls):
            self._drawn()

    def began(self, capture: Capture) -> None:
        self.seeded.clear()

    def _drawn(self) -> None:
        """Tell of seeds that each run in Python draws from anew, and each replay from where the last one ended."""
        for place in self.seeded:
            if self.ledger.capture is not None:
                self.tell(RandomState(True, is_in_force=True), place, self.ledger.capture)
        self.seeded.clear()

    def _seeded(self, call: Call) -> None:
        """A generator is seeded, or its state is read or set: in a region that is refused unless nothing changes."""
        if call.name not in self.states:
            return
        capture, owner, value = self.ledger.capture, call.owner, call.given.get(0, "seed", "new_state", "offset")
        key = owner if isinstance(owner, Thing) else None
        if isinstance(owner, Made) and _is_of_host(owner.given.get(0, owner.given.get("device"))):
            return
        if capture is not None and self._is_in_force(call, key, value):
            self.seeded += [call.place] if call.last.startswith("manual_seed") and self.ledger.is_whole else []
        elif capture is not None:
            self.tell(RandomState(not isinstance(value, (Thing, Symbol))), call.place, capture)
        if call.last.startswith("manual_seed"):
            self.seeds[key] = value

    def _is_in_force(self, call: Call, key: Thing | None, value: Object) -> bool:
        """Whether a seed is the one that was set last, or a state one that was read in this region."""
        if call.last.startswith("manual_seed"):
            if key not in self.seeds:
                return key is None and not self.ledger.is_whole  # by whoever called
            return self.seeds[key] is value or (type(value) is int and self.seeds[key] == value)
        read = self.ledger.origin(value)
        return read is not None and read.last == call.last.replace("set_", "get_")


def _is_of_host(device: Object) -> bool:
    return device is None or (isinstance(device, str) and device.startswith("cpu"))
