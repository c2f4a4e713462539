"""Outputs of compiled callables that replay graphs: kept over the next step, or called in a way that never replays.

A step begins with each call, of whichever of them, until the program marks steps itself: then only there. Outputs of a
step that is over are written over, or refused while graphs are still being recorded; so are those that a call is given
which begins a step. What waits for a backward pass begins none: it does not replay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field

from graphlint.finding import Region
from graphlint.rule import CaptureMisused, GraphCollected, NeverReplayed, Uncaptured
from graphlint.rulebook.entries import Entries, Entry
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.lent import Lent, Output
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    Container,
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
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name, last_name, walk

MARKS = frozenset({"cudagraph_mark_step_begin", "mark_step_begin"})


@dataclass
class Soft(Lent):
    """Follows one run."""

    entries: Entries
    silence: Silence
    varying: Set[str] = frozenset()  # functions that say of a tensor that its size varies
    sized: set[Thing] = field(default_factory=set)  # tensors of which they have said that
    loops: dict[Made, tuple[Place, int]] = field(default_factory=dict)  # where calls are repeated, and how often
    marked: set[Thing] = field(default_factory=set)  # tensors whose address is promised to stay
    is_stepped: bool = False  # a step is marked, or a backward pass ends it
    marks_steps: bool = False
    is_waiting: bool = False  # outputs wait for a backward pass

    def answered(self, call: Call) -> None:
        if call.last in MARKS:
            self.is_stepped = self.marks_steps = True
            self._step()
        if call.last == "mark_static_address":
            self.marked.update(one for value in call.given.all() for one in tensors_of(value))
        if call.last in self.varying:
            self.sized.update(tensors_of(call.given.get(0)))

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        if name == "backward":
            self.is_stepped, self.is_waiting = True, False

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if not isinstance(module, Made) or not is_graphing(module, self.entries):
            return
        if self.ledger.capture is not None:
            is_sure = not self.ledger.decided  # another way may compile without graphs
            self.tell(CaptureMisused("replay", is_sure), place, self.ledger.capture)
            return
        self._examine(module, given, place)
        if module.made is not None and not self.sized.isdisjoint(tensors_of(Container(elements=list(given)))):
            self.tell(GraphCollected(True, True, by_size=True), module.made, self._region(module))
        arguments = place.node.arguments if isinstance(place.node, ir.Call) else ()
        if any(self._counts(one, value, place) for one, value in zip(arguments, given, strict=False)):
            self.tell(GraphCollected(True, True, by_number=True), place, self._region(module))
        is_waiting = not self.silence.is_silent and any(has_gradient(one, ()) for one in tensors_of(result))
        if not self.marks_steps and not (self.is_waiting and is_waiting):
            self._step([one.root for value in given for one in tensors_of(value)])
        self.is_waiting = is_waiting
        self.outputs |= dict.fromkeys(
            [one.root for one in tensors_of(result)], Output(self._region(module), place, self.silence.is_silent)
        )
        if is_waiting and self.ledger.loops and not self._is_lent(module):
            _, number = self.loops.get(module, (place, 0))
            self.loops[module] = self.ledger.loops[-1].place, number + 1

    def _step(self, given: Collection[Thing] = ()) -> None:
        """A step is over, and the call that begins the next one is given these."""
        self.over(lambda output: True, given)

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

    def _counts(self, argument: ir.Argument, value: Object, place: Place) -> bool:
        """Whether a call is given the number of a round, of which nobody knows how many there are."""
        for loop in (one for one in self.ledger.loops if not isinstance(one.value, int)):
            node = loop.place.node
            if isinstance(node, ir.For) and value is loop.value:
                return isinstance(node.iterable, ir.Call) and called_name(node.iterable) == "range"
            if type(value) is int and isinstance(node, (ir.For, ir.While)):
                counted = {last_name(part.target) for part in walk(node.body) if isinstance(part, ir.AugAssign)}
                if last_name(argument.value) in counted - {None}:
                    return True
        return False

    def finished(self) -> None:
        for module, (place, number) in self.loops.items():
            if number > 1 and not self.is_stepped:
                self.tell(NeverReplayed(), place, self._region(module))

    def _is_lent(self, module: Made) -> bool:
        """Whether callers that nobody sees decide on gradients: it was made for all who import its file."""
        is_script = self.ledger.frames[0].function.code is MODULE_CODE
        return not is_script and module.made is not None and module.made.function.code is MODULE_CODE

    def _region(self, module: Made) -> Capture:
        place = module.made
        assert place is not None
        return Capture(module, Region(module.cls, place.path, place.line), place, 0)


def is_graphing(module: Made, entries: Entries) -> bool:
    """Whether what was compiled replays graphs, by the options that it was compiled with."""
    entry = entries.find(module.cls)
    if entry is None or entry.form != "compile" or "wrapped" not in module.state:
        return False
    return asks_for_graphs(entry, module.state["given"].keywords)


def asks_for_graphs(entry: Entry, keywords: Mapping[str, Object]) -> bool:
    """Whether options ask what compiles for graphs."""
    return any(_asks_for(keywords.get(name), values) for name, values in entry.graphing)


def _asks_for(value: Object, values: tuple[str | bool, ...]) -> bool:
    if isinstance(value, Container):
        return any(key in values and held is True for key, held in value.keyed.values())
    return isinstance(value, (str, bool)) and not isinstance(value, Outside) and value in values
