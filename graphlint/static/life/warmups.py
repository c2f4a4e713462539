"""Whether what a region calls was called before it, and on which stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import FirstCall, OutsideDependency
from graphlint.static.domain.program import function_of, owner_of
from graphlint.static.index.module import Module
from graphlint.static.life.ledger import Listener, Tell, tensors_in
from graphlint.static.life.objects import Capture, Frame, Object, Place, Thing
from graphlint.static.life.silence import Silence
from graphlint.static.life.streams import CALLERS, DEFAULT, Streams
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk, words_in


@dataclass
class WarmUps(Listener):
    """Follows one run, as far as it calls what comes from outside of the program: models, mostly.

    Pieces of names that are about `gradients` speak of them; classes that derive from `operators` say how those of one
    operation are computed, whoever may call for them.
    """

    tell: Tell
    streams: Streams
    silence: Silence
    gradients: frozenset[str]
    operators: frozenset[str]
    eager: dict[Thing, list[Place]] = field(default_factory=dict)  # calls outside of captures
    tied: dict[Thing, Place] = field(default_factory=dict)  # those on the stream of the caller, with gradients
    captured: dict[Capture, dict[Thing, Place]] = field(default_factory=dict)
    served: set[Place] = field(default_factory=set)  # of these, whose results went to who called
    told: list[tuple[Place, Capture]] = field(default_factory=list)
    cold: dict[Capture, Frame] = field(default_factory=dict)  # whose callees nothing has called, by what was called

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        if type(callee) is not Thing or not given:
            return
        capture = self.ledger.capture
        if capture is not None:
            self.captured.setdefault(capture, {}).setdefault(callee, place)
            return
        self.eager.setdefault(callee, []).append(place)
        if not self.silence.is_silent and self.streams.now in (DEFAULT, CALLERS):
            self.tied[callee] = place

    def finished(self) -> None:
        for place, capture in self.told:
            self.tell(OutsideDependency("request" if place in self.served else "warm-up"), place, capture)

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        self.served |= {
            one.made for one in tensors_in(value) if one.made is not None and one.made in self.tied.values()
        }

    def ended(self, capture: Capture) -> None:
        called = self.captured.pop(capture, {})
        for callee in called:
            if callee in self.tied and self._may_train(capture.place.function.module):
                self.told.append((self.tied[callee], capture))
        warm = {(place.path, place.span) for places in self.eager.values() for place in places}
        is_warm = self.eager.keys() & called.keys() or any((one.path, one.span) in warm for one in called.values())
        parts = {source for one in self.eager for source in one.source}  # another layer of the same model, such as
        is_warm = is_warm or any(not parts.isdisjoint(one.source) for one in called)
        is_cold = called and not self.ledger.is_whole and not is_warm
        if is_cold and all(self._is_only_captured(place, capture) for place in called.values()):
            self.tell(FirstCall("callable", False), capture.place, capture)
            is_model = all(one.source for one in called)  # which has parts; a plain callable may need nothing
            is_method = isinstance(capture.owner, Frame) and capture.owner.receiver is not None
            if is_model and is_method and all(self._is_only_captured(p, capture, behind=True) for p in called.values()):
                self.cold[capture] = self.ledger.frames[0]

    def replayed(self, capture: Capture, place: Place) -> None:
        """Tell of a graph that is captured when it is needed: no other call comes between."""
        entry = self.cold.pop(capture, None)
        if entry is not None and entry in self.ledger.frames and not _is_run_elsewhere(capture):
            self.tell(FirstCall("request", False), capture.place, capture)

    def _may_train(self, module: Module) -> bool:
        """Whether the file that captures has anything to do with gradients: else it runs no backward pass."""
        for definition in module.index.all_functions():
            owner = owner_of(definition)
            if owner is not None and any(base.rpartition(".")[2] in self.operators for base in owner.bases):
                continue
            about = [word for word in self.gradients if module.holds(definition.segment, word)]
            code = definition.code if about else None
            if code is not None and any(word in name for name in words_in(code.body) for word in about):
                return True
        return False

    def _is_only_captured(self, place: Place, capture: Capture, behind: bool = False) -> bool:
        """Whether what is called is called nowhere before in its file by these words, nor in functions behind it."""
        node = place.node
        if not isinstance(node, ir.Call):
            return False
        spelt, module = place.function.source(node.func), place.function.module
        last = spelt.rpartition(".")[2]
        word, end = last if last.isidentifier() else "", min(capture.place.line, place.line)
        for definition in module.index.all_functions():
            first = definition.segment.first
            is_asked = first < end or behind
            function = function_of(definition) if is_asked and module.holds(definition.segment, word) else None
            for part in calls_in(function.code) if function is not None else ():
                is_other = first + part.pos[0] < end or (behind and first > place.line)
                if function is not None and is_other and function.source(part.func) == spelt:
                    return False
        return True


def _is_run_elsewhere(capture: Capture) -> bool:
    """Whether the file makes a call of the region somewhere else by the same words, in eager steps before, perhaps."""
    function = capture.place.function
    opened = (one for one in walk(function.code.body) if isinstance(one, ir.With))
    block = next((one for one in opened if any(part is capture.place.node for part in walk(one.items))), None)
    inside = [one for one in walk(block.body) if isinstance(one, ir.Call)] if block is not None else []
    module = function.module
    spelt = {function.source(one.func) for one in inside if isinstance(one.func, ir.Attribute)}
    spelt = {one for one in spelt if one.partition(".")[0] not in module.index.imports}
    for definition in module.index.all_functions() if spelt else ():
        words = {one.rpartition(".")[2] for one in spelt}
        other = function_of(definition) if any(module.holds(definition.segment, word) for word in words) else None
        for call in calls_in(other.code) if other is not None else ():
            is_other = call not in inside and isinstance(call.func, ir.Attribute)
            if other is not None and is_other and other.source(call.func) in spelt:
                return True
    return False
