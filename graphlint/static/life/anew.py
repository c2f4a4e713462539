"""Whether an object that a region was given is still that of the request, where each call is given one of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import StaleReplay
from graphlint.static.life.inputs import place_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Object, Place, Thing, is_tensor, things_in


@dataclass
class Anew(Listener):
    """Follows one run."""

    tell: Tell
    told: set[Thing] = field(default_factory=set)
    given: dict[Thing, Place] = field(default_factory=dict)  # what calls in regions were given that nobody knows
    used: set[tuple[Frame, str]] = field(default_factory=set)  # names of functions, since a capture

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        for thing in (one for value in given for one in things_in(value)) if self.ledger.capture is not None else ():
            self.given.setdefault(thing, place)

    def loaded(self, name: str, frame: Frame) -> None:
        self.used.add((frame, name))

    def replayed(self, capture: Capture, place: Place) -> None:
        owner = capture.owner
        if isinstance(owner, Frame):
            later = (one for one in self.ledger.frames if one.function.code is owner.function.code)
            for frame in (one for one in later if one is not owner and one.receiver is owner.receiver):
                self._compare(capture, owner, frame)

    def _compare(self, capture: Capture, owner: Frame, later: Frame) -> None:
        """Tell of objects that the region was given, where a later call leaves the one that was made anew for it."""
        for parameter in owner.function.code.parameters:
            then, now = owner.before.get(parameter.name), later.env.get(parameter.name)
            if not isinstance(then, Thing) or not isinstance(now, Thing) or now is then or is_tensor(then):
                continue
            is_anew = then.made is not None and then.made == now.made
            read = (capture.reads[one] for one in things_in(then) if one in capture.reads)
            where = self.given.get(then) or next(read, None)
            if is_anew and where is not None and (later, parameter.name) not in self.used and then not in self.told:
                self.told.add(then)
                there = place_in(owner, where) or capture.place
                self.tell(StaleReplay((parameter.name,), is_unused=False, is_known=False), there, capture)
