"""Modes that a capture had and a replay does not see: autocast, training, inference; and graphs that nobody replays."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import EagerBeside, InferenceTensor, ModeIgnored
from graphlint.static.life.forms import calls_method
from graphlint.static.life.ledger import Listener, Tell, tensors_in
from graphlint.static.life.objects import Capture, Frame, Instance, Made, Object, Place, Tensor, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import modules_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk


@dataclass
class Modes(Listener):
    """Follows one run; `modal` modules compute other things in training, `replays` are methods that launch a graph."""

    tell: Tell
    modal: frozenset[str]
    replays: frozenset[str]
    managers: list[tuple[Object, Call, Place]] = field(default_factory=list)
    cast: set[Capture] = field(default_factory=set)  # captures with autocast around or in them
    training: dict[Thing, bool] = field(default_factory=dict)
    captured: dict[Thing, dict[Capture, bool]] = field(default_factory=dict)  # the mode of modules in captures
    switched: dict[Capture, dict[Thing, Place]] = field(default_factory=dict)  # modules in another mode than theirs
    inferred: dict[Thing, Place] = field(default_factory=dict)  # tensors made in inference mode, and its place
    inside: set[Place] = field(default_factory=set)  # of regions, in inference mode
    beside: dict[Thing, list[Place]] = field(default_factory=dict)  # calls of what was captured
    told: set[Capture] = field(default_factory=set)
    casting: set[Call] = field(default_factory=set)  # autocasts that have cast weights, and keep them
    cached: dict[Capture, tuple[Call, Place]] = field(default_factory=dict)  # captures that began in one of these
    has_stepped: bool = False  # whether an optimizer has stepped
    serving: list[tuple[Frame, int]] = field(default_factory=list)  # functions that may replay, and what was decided
    unserved: list[Frame] = field(default_factory=list)  # those that did not, though nothing was left to be decided
    is_doubtful: bool = False  # whether something was

    def surrounded(self, manager: Object, place: Place) -> None:
        call = self.ledger.origin(manager)
        if call is not None and call.last in ("autocast", "inference_mode"):
            self.managers.append((manager, call, place))
            if call.last == "autocast":
                self.cast.update(self.ledger.open)

    def exited(self, manager: Object, place: Place) -> None:
        self.managers = [one for one in self.managers if one[0] is not manager]

    def _around(self, name: str) -> Place | None:
        """Where a mode was entered that is in force."""
        return next((place for _, call, place in reversed(self.managers) if call.last == name), None)

    def began(self, capture: Capture) -> None:
        if self._around("autocast") is not None:
            self.cast.add(capture)
        for _, call, place in self.managers:
            if call in self.casting:
                self.cached.setdefault(capture, (call, place))

    def replayed(self, capture: Capture, place: Place) -> None:
        where = self._around("autocast")
        self._tell_cached(capture)
        if where is not None and capture not in self.cast and capture not in self.told:
            self.told.add(capture)
            self.tell(ModeIgnored("autocast"), where, capture)
        for module, switch in self.switched.pop(capture, {}).items():
            if self._depends_on_mode(module):
                self.tell(ModeIgnored("training"), switch, capture)

    def _tell_cached(self, capture: Capture) -> None:
        """Tell of weights that were cast before the region, and that are gone with their autocast, or change."""
        call, place = self.cached.pop(capture, (None, None))
        if call is not None and place is not None:
            is_over = all(one is not call for _, one, _ in self.managers)
            if is_over or self.has_stepped:
                self.tell(ModeIgnored("casts"), place, capture)
            else:
                self.cached[capture] = call, place

    # Modules

    def answered(self, call: Call) -> None:
        self.has_stepped = self.has_stepped or (isinstance(call.owner, Made) and call.last == "step")
        if isinstance(call.result, Tensor):
            given = {thing.root for thing in tensors_in([call.owner, *call.given.all()])}
            where = self._around("inference_mode") if call.result.root not in given else None
            if where is not None:  # what was there before, and views of it, may be changed as ever
                self.inferred[call.result] = where
        if call.last in ("eval", "train") and isinstance(call.owner, (Instance, Made)):
            mode = call.last == "train" and call.given.get(0, "mode") is not False
            for module in modules_in(call.owner):
                self.training[module] = mode
                for capture, known in self.captured.get(module, {}).items():
                    if known is mode:
                        self.switched.get(capture, {}).pop(module, None)
                    elif capture in self.ledger.latest.values() and not _goes_back(call, mode, capture):
                        self.switched.setdefault(capture, {})[module] = call.place

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None:
            self.captured.setdefault(module, {})[capture] = self.training.get(module, True)
            return
        if isinstance(module, (Made, Instance)) and module.state.get("frozen") is not True:
            self.casting |= {call for _, call, _ in self.managers if _caches(call)}
        if module in self.captured and self._bypasses(place):
            self.beside.setdefault(module, []).append(place)

    def _bypasses(self, place: Place) -> bool:
        """Whether a call stands in a method that neither captures nor replays."""
        code = place.function.code
        captures = any(one.place.function.code is code for one in self.ledger.captures)
        return place.function.owner is not None and not captures and not calls_method(code, self.replays)

    def _depends_on_mode(self, module: Thing) -> bool:
        """Whether a module, or one that it holds, computes other things in training."""
        for one in modules_in(module):
            if isinstance(one, Made) and one.cls.rpartition(".")[2] in self.modal:
                return True
            if isinstance(one, Instance):
                codes = [one_[-1].code for one_ in one.cls.methods.values() if one_]
                parts = (part for code in codes if code is not None for part in walk(code.body))
                if any(isinstance(part, ir.Attribute) and part.attr == "training" for part in parts):
                    return True
        return False

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if self.ledger.capture is not None and self._around("inference_mode") is not None:
            self.inside.add(place)

    def ended(self, capture: Capture) -> None:
        if self._around("inference_mode") is None:
            for root, place in capture.writes.items():
                if root in self.inferred and place not in self.inside:
                    self.tell(InferenceTensor(), self.inferred[root], capture)

    def entered(self, frame: Frame) -> None:
        is_outer = self.ledger.latest and self.ledger.capture is None and not self.serving
        if is_outer and calls_method(frame.function.code, self.replays):
            self.serving.append((frame, self.ledger.decided))

    def left(self, frame: Frame) -> None:
        if self.serving and self.serving[-1][0] is frame:
            _, decided = self.serving.pop()
            self.is_doubtful |= decided != self.ledger.decided or self.ledger.is_cut
            self.unserved.append(frame)

    def finished(self) -> None:
        """Tell of a module that was captured, and is called eagerly again and again while nobody replays its graph."""
        captures = self.ledger.latest.values()
        if not self.ledger.is_whole or any(one.replays or one.may_be_replayed for one in captures):
            return
        if self._finds_nothing():
            self.tell(EagerBeside(is_unfound=True), next(iter(captures)).place, next(iter(captures)))
        for module, places in self.beside.items():
            capture = next((one for one in self.captured[module] if one.graph not in self.ledger.escaped), None)
            is_repeated = len(places) > 1 and places[-1] == places[-2]
            if capture is not None and is_repeated and not (self.ledger.decided or self.ledger.is_cut):
                self.tell(EagerBeside(), places[-1], capture)

    def _finds_nothing(self) -> bool:
        """Whether functions that replay, and do not capture, have surely run without a graph, again and again."""
        captures = self.ledger.latest.values()
        capturing = {one.place.function.code for one in self.ledger.captures}
        is_anew = any(frame.function.code in capturing for frame in self.unserved)
        is_held = any(one.graph in self.ledger.escaped for one in captures)
        return len(self.unserved) > 1 and not (self.is_doubtful or is_anew or is_held)


def _goes_back(call: Call, mode: bool, capture: Capture) -> bool:
    """Whether what captured in inference goes back to training, as it does for a graph that is to infer."""
    return mode and call.place.function.code is capture.place.function.code


def _caches(call: Call) -> bool:
    """Whether it is an autocast that keeps the weights that it casts."""
    switches = [call.given.keywords.get(name) for name in ("enabled", "cache_enabled")]
    return call.last == "autocast" and False not in switches
