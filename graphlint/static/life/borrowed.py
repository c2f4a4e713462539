"""What a region is handed and does not own: callables of others with what they hold, and objects with their tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import InputFreed, PartialFill
from graphlint.static.domain.callers import hands_over
from graphlint.static.index.project import Project
from graphlint.static.life.examples import leaves_rest
from graphlint.static.life.inputs import alive_after, goes_to_the_end
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Frame, Object, Place, Tensor, Thing, things_in
from graphlint.static.life.record import Write
from graphlint.static.life.tensors import end_of

_DEPTH = 3  # steps from an object to a tensor that it holds


@dataclass
class Borrowed(Listener):
    """Follows one run."""

    tell: Tell
    project: Project
    called_bare: list[tuple[Capture, Frame, Thing, Place]] = field(default_factory=list)  # callables, with nothing
    kept: dict[Thing, Place] = field(default_factory=dict)  # where graphs are put
    handed: dict[Capture, set[Thing]] = field(default_factory=dict)  # objects that calls in a region are given
    filled: dict[Capture, list[Write]] = field(default_factory=dict)  # tensors of these, since the last replay
    padded: set[Capture] = field(default_factory=set)  # of which the tail of another input was reset since
    tails: set[Thing] = field(default_factory=set)  # that were filled to their ends since

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        capture = self.ledger.capture
        if capture is None:
            return
        if type(callee) is Thing and callee.argument is not None and not given:
            self.called_bare.append((capture, self.ledger.frames[-1], callee, place))
        objects = {one for value in given for one in things_in(value) if not isinstance(one, Tensor)}
        self.handed.setdefault(capture, set()).update(objects)

    # Callables

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if container.kind == "dict" and self.ledger.capture is None and self.called_bare:
            self.kept |= {one: place for one in things_in(value) if one in self.ledger.latest}

    def left(self, frame: Frame) -> None:
        """Tell of a graph that stays behind a function, where what it was captured by does not."""
        for one in [one for one in self.called_bare if one[1] is frame]:
            self.called_bare.remove(one)
            capture, _, callee, place = one
            where = self.kept.get(capture.graph)
            if where is None or where.function.code is not frame.function.code or not frame.way:
                continue
            if callee not in set(alive_after(frame, with_given=False)):
                given_at = hands_over(self.project, frame.function, callee.argument or "")
                self.tell(InputFreed(0, place.text, given_at), where, capture)

    # Objects

    def written(self, write: Write) -> None:
        target = write.target.root
        if not write.is_sure or write.is_whole or goes_to_the_end(write):
            if write.is_sure and not write.is_whole:
                self.tails.add(target)
                self.padded |= {one for one in self.ledger.latest.values() if target in one.reads}
            return
        for capture in self.ledger.latest.values():
            if target not in capture.reads and self._belongs(target, self.handed.get(capture, set()), _DEPTH):
                self.filled.setdefault(capture, []).append(write)

    def _belongs(self, thing: Thing, owners: set[Thing], depth: int) -> bool:
        """Whether something was taken out of one of these objects."""
        return thing in owners or (depth > 0 and any(self._belongs(one, owners, depth - 1) for one in thing.source))

    def replayed(self, capture: Capture, place: Place) -> None:
        is_padded = capture in self.padded
        self.padded.discard(capture)
        for write in self.filled.pop(capture, ()):
            end = end_of(write.target, write.place)
            if capture.replays and end is not None and write.target.root not in self.tails:
                is_left = leaves_rest(write, end)
                event = PartialFill(end.spelt, is_padded, False, is_told=not is_padded, is_rest_left=is_left)
                self.tell(event, write.place, capture)
        self.tails.clear()
