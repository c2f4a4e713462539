"""Outputs of compiled callables that replay graphs: kept over the next call, or called in a way that never replays."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.finding import Region
from graphlint.rule import CaptureMisused, NeverReplayed, OutputKept, Uncaptured
from graphlint.rulebook.entries import Entries
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    Container,
    Instance,
    Made,
    Object,
    Outside,
    Place,
    Tensor,
    Thing,
)
from graphlint.static.life.record import Call
from graphlint.static.life.silence import Silence
from graphlint.static.life.tensors import has_gradient, tensors_of

MARKS = frozenset({"cudagraph_mark_step_begin", "mark_step_begin"})


@dataclass
class Soft(Listener):
    """Follows one run."""

    tell: Tell
    entries: Entries
    silence: Silence
    outputs: dict[Thing, Made] = field(default_factory=dict)  # of the latest call of each callable
    kept: list[tuple[Made, Container, Thing, Place]] = field(default_factory=list)
    loops: dict[Made, tuple[Place, int]] = field(default_factory=dict)  # where calls are repeated, and how often
    marked: set[Thing] = field(default_factory=set)  # tensors whose address is promised to stay
    is_stepped: bool = False  # a step is marked, or a backward pass ends it
    held: dict[Thing, tuple[Made, Place]] = field(default_factory=dict)  # outputs that attributes hold, and since where
    stale: dict[Thing, tuple[Made, Place]] = field(default_factory=dict)  # of these, whose callable was called again

    def answered(self, call: Call) -> None:
        self.is_stepped = self.is_stepped or call.last in MARKS
        if call.last == "mark_static_address":
            self.marked.update(one for value in call.given.all() for one in tensors_of(value))

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        self.is_stepped = self.is_stepped or name == "backward"

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if not isinstance(module, Made) or not self._graphs(module):
            return
        if self.ledger.capture is not None:
            is_sure = not self.ledger.decided  # another way may compile without graphs
            self.tell(CaptureMisused("replay", is_sure), place, self.ledger.capture)
            return
        self._examine(module, given, place)
        given_again = {one for value in given for one in tensors_of(value)}  # which may be what the state of it is
        self.stale |= {one: kept for one, kept in self.held.items() if kept[0] is module and one not in given_again}
        self.held = {one: kept for one, kept in self.held.items() if kept[0] is not module}
        for known, container, value, where in [one for one in self.kept if one[0] is module]:
            if any(held is value for held in container.values()):
                self.tell(OutputKept("collected", True), where, self._region(module))
                self.kept.remove((known, container, value, where))
        self.outputs = {one: made for one, made in self.outputs.items() if made is not module}
        self.outputs |= dict.fromkeys(tensors_of(result), module)
        is_trained = self.ledger.loops and not self.silence.is_silent
        if is_trained and any(has_gradient(one, ()) for one in tensors_of(result)):
            _, number = self.loops.get(module, (place, 0))
            self.loops[module] = self.ledger.loops[-1].place, number + 1

    def _examine(self, module: Made, given: tuple[Object, ...], place: Place) -> None:
        """Tell of arguments for which nothing is graphed: those of the host, and those that are written to."""
        tensors = [one for value in given for one in tensors_of(value)]
        is_device = any(isinstance(one, Tensor) and one.place == "device" for one in tensors)
        for one in tensors:
            if is_device and isinstance(one, Tensor) and one.place == "host" and one.made is not None:
                self.tell(Uncaptured("host"), one.made, self._region(module))
            for write in self.ledger.writes.get(one.root, ()) if one not in self.marked else ():
                inner = write.place.way[len(place.way) :]
                if write.is_sure and inner and inner[0].line == place.line and inner[0].path == place.path:
                    self.tell(Uncaptured("written"), write.place, self._region(module))
                    break

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        if isinstance(owner, Instance) and isinstance(value, Thing) and value in self.outputs:
            self.held[value] = self.outputs[value], place

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        module, where = self.stale.pop(thing, (None, place))
        if module is not None and is_sure and self.ledger.capture is None:
            self.tell(OutputKept("collected", True), where, self._region(module))

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if isinstance(value, Thing) and value in self.outputs and self.ledger.capture is None:
            self.kept.append((self.outputs[value], container, value, place))

    def finished(self) -> None:
        for module, (place, number) in self.loops.items():
            if number > 1 and not self.is_stepped:
                self.tell(NeverReplayed(), place, self._region(module))

    def _region(self, module: Made) -> Capture:
        place = module.made
        assert place is not None
        return Capture(module, Region(module.cls, place.path, place.line), place, 0)

    def _graphs(self, module: Made) -> bool:
        """Whether what was compiled replays graphs, by the options that it was compiled with."""
        entry = self.entries.find(module.cls)
        if entry is None or entry.form != "compile" or "wrapped" not in module.state:
            return False
        keywords = module.state["given"].keywords
        return any(_is_graphing(keywords.get(name), values) for name, values in entry.graphing)


def _is_graphing(value: Object, values: tuple[str | bool, ...]) -> bool:
    if isinstance(value, Container):
        return any(key in values and held is True for key, held in value.keyed.values())
    return isinstance(value, (str, bool)) and not isinstance(value, Outside) and value in values
