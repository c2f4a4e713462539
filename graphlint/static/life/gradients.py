"""Whether a captured backward writes the gradients that parameters have: what had one before, and who drops them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from graphlint.rule import GradientDropped, GradientFound, InputReplaced
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Arguments, Capture, Instance, Made, Object, Place, Tensor, Thing, things_in
from graphlint.static.life.record import Call
from graphlint.static.life.silence import Silence
from graphlint.static.life.tensors import is_detached, is_parallel, tensors_of
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk


@dataclass
class _Found:
    """A backward that adds to gradients: whose, and whose hold something that the next replay adds to.

    Replays that follow each other may gather gradients on purpose, until something outside of the graph zeroes them.
    """

    place: Place
    owners: set[Thing]
    left: set[Thing]
    is_replayed: bool = False
    adds_up: bool = False
    is_gathering: bool = False


@dataclass
class Gradients(Listener):
    """Follows one run. Gradients are known by what owns their parameters: modules, and tensors that are leaves."""

    tell: Tell
    is_trained: Callable[[str], bool]  # whether a class outside of the project is one of modules with parameters
    silence: Silence
    held: set[Thing] = field(default_factory=set)  # owners whose parameters have a gradient
    zeroed: set[Thing] = field(default_factory=set)  # of these, whose gradients were zeroed in place
    found: dict[Capture, _Found] = field(default_factory=dict)
    cleared: dict[Capture, set[Thing]] = field(default_factory=dict)  # whose gradients a graph sets to zero in place
    lost: dict[Capture, Place] = field(default_factory=dict)
    unknown: dict[Thing, dict[Capture, Place]] = field(default_factory=dict)
    """Where something of which nobody knows whose gradients it has drops them, behind captures that compute some."""
    computed: dict[Capture, set[Thing]] = field(default_factory=dict)  # whose gradients a region computes
    exchanged: dict[Capture, Place] = field(default_factory=dict)  # parameters
    models: set[Thing] = field(default_factory=set)  # what was called, of that which nobody knows
    constant: set[Thing] = field(default_factory=set)  # what modules gave in silent blocks: no gradient goes further

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if self.silence.managers:
            self.constant.update(tensors_of(result))

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        if type(callee) is Thing:
            self.models.add(callee)

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        owners = self._owners((owner, *given.all()) if name == "backward" else (owner,))
        match name:
            case "backward":
                self._backward(owners, place)
            case "zero_grad":
                is_known = type(owner) is not Thing or owner in self.models
                if not is_known and isinstance(owner, Thing):
                    self._maybe_lost(owner, given.get(0, "set_to_none") is not False, place)
                self._zeroed(owners if is_known else set(), given.get(0, "set_to_none") is not False, place)
            case "to" if self.ledger.capture is None:
                self._exchanged(owners, place)
            case "load_state_dict" if given.get(2, "assign") is True:
                self._exchanged(owners, place)

    def _backward(self, owners: set[Thing], place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None:
            self.computed.setdefault(capture, set()).update(owners)
            before = self.held & owners
            if before and not _handles_gradients(place):
                self.found.setdefault(capture, _Found(place, before, before - self.zeroed))
        else:
            self.zeroed -= owners
        self.held |= owners

    def _zeroed(self, owners: set[Thing], to_none: bool, place: Place) -> None:
        if not owners:
            self.held.clear()  # an optimizer of which nothing is known
        if self.ledger.capture is None and not to_none:
            self.zeroed |= owners
            for found in self.found.values():
                found.left = found.left - owners if owners else set()
                found.is_gathering |= found.is_replayed and not found.left
        if self.ledger.capture is not None and not to_none:
            self.cleared.setdefault(self.ledger.capture, set()).update(owners)
        if to_none or self.ledger.capture is not None:
            self.held -= owners
            self.held -= self.models  # who drops some gradients has none where nobody knows: of a loss, say
        if to_none and self.ledger.capture is None:
            for capture in self.ledger.latest.values():
                if self.computed.get(capture, set()) & owners:
                    self.lost[capture] = place

    def _maybe_lost(self, owner: Thing, to_none: bool, place: Place) -> None:
        """Note what an optimizer may drop that no region steps."""
        lost = self.unknown.setdefault(owner, {})
        if to_none and self.ledger.capture is None:
            computing = (one for one in self.ledger.latest.values() if self.computed.get(one))
            lost |= {one: place for one in computing if all(owner not in method.source for method in one.callees)}

    def answered(self, call: Call) -> None:
        if call.last.endswith("zero_") and _zeroes_gradients(call.place.node, call.place):
            self._zeroed(self._owners((call.owner, *call.given.all())), False, call.place)

    def _exchanged(self, owners: set[Thing], place: Place) -> None:
        for capture in self.ledger.latest.values():
            if owners & (self._owners(capture.modules) | capture.callees):
                self.exchanged[capture] = place

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        if name == "grad":
            owners = self._owners((owner,))
            self._zeroed(owners, value is None or self._was_captured(owners), place)
            self.held -= owners
        elif isinstance(value, Tensor) and value.factory.endswith("Parameter"):
            self._exchanged({owner} if isinstance(owner, Made) else self._owners((owner,)) & self.models, place)
        elif name == "data" and self.ledger.capture is None:
            self._exchanged(self._owners((owner,)), place)

    def _was_captured(self, owners: set[Thing]) -> bool:
        return any(self.computed.get(capture, set()) & owners for capture in self.ledger.latest.values())

    def _owners(self, values: Iterable[Object]) -> set[Thing]:
        """The modules and leaves whose gradients values lead to."""
        return {one for one in _closure(values, self.constant) if self._has_gradients(one)}

    def _has_gradients(self, thing: Thing) -> bool:
        match thing:
            case Tensor():
                return thing.is_leaf or thing.factory.endswith("Parameter")
            case Instance():
                return thing.is_module and not thing.state.get("frozen")
            case Made() if is_parallel(thing) and isinstance(thing.given.get(0), (Instance, Made)):
                return False  # it has those of what it wraps, and whoever drops these drops them all
            case Made():
                return not thing.state.get("frozen") and self.is_trained(thing.cls)
        return thing in self.models

    def replayed(self, capture: Capture, place: Place) -> None:
        found = self.found.get(capture)
        if found is not None:
            if found.left and not found.is_replayed:
                self._tell_found(capture)
            found.adds_up |= bool(found.left)
            if found.is_replayed and not found.is_gathering:
                found.is_gathering = _may_begin_anew(place, capture.place)
            found.is_replayed, found.left = True, set(found.owners)
        if capture in self.lost:
            self.tell(GradientDropped(), self.lost.pop(capture), capture)
        elif len(self.unknown) == 1 and (where := next(iter(self.unknown.values())).pop(capture, None)) is not None:
            self.tell(GradientDropped(is_known=False), where, capture)  # the only optimizer that there is
        if capture in self.exchanged:
            self.tell(InputReplaced("", capture.region.line, True), self.exchanged.pop(capture), capture)

    def finished(self) -> None:
        for capture, found in self.found.items():
            is_unknown = not capture.replays and not _handles_gradients(capture.place)
            if is_unknown or (found.adds_up and not found.is_gathering):
                self._tell_found(capture)

    def _tell_found(self, capture: Capture) -> None:
        found = self.found[capture]
        others = (owners for one, owners in self.cleared.items() if one is not capture)
        if not found.owners <= set().union(*others):  # else it gathers what several replays give, on purpose
            self.tell(GradientFound(), found.place, capture)


def _closure(values: Iterable[Object], ends: Collection[Thing]) -> set[Thing]:
    """What values hold, and what they were computed from, as far as gradients go."""
    found: set[Thing] = set()
    pending = [thing for value in values for thing in things_in(value)]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            further = (source for source in one.source if source not in ends and not is_detached(source))
            pending += [thing for source in further for thing in things_in(source)]
    return found


def _handles_gradients(place: Place) -> bool:
    """Whether a function speaks of gradients by itself, so that it may zero them in a way that is not followed."""
    return any(_zeroes_gradients(call, place) for call in calls_in(place.function.code))


def _may_begin_anew(place: Place, captured: Place) -> bool:
    """Whether a function that replays zeroes gradients in place, be it under a condition that nobody knows."""
    function = place.function
    is_home = function.code is captured.function.code
    zeroing = (call for call in calls_in(function.code) if _zeroes_in_place(call, place))
    return any(not is_home or function.line_of(call) > captured.line for call in zeroing)


def _zeroes_in_place(call: ir.Call, place: Place) -> bool:
    settings = {one.keyword: one.value for one in call.arguments}
    match call.func, settings.get("set_to_none"):
        case ir.Attribute(attr="zero_grad"), ir.Literal(value=False):
            return True
    return _zeroes_gradients(call, place)


def _zeroes_gradients(node: object, place: Place) -> bool:
    """Whether a call zeroes what is spelt as a gradient."""
    if not isinstance(node, ir.Call) or "zero" not in place.function.source(node.func):
        return False
    return any(isinstance(part, ir.Attribute) and part.attr == "grad" for part in walk(node))
