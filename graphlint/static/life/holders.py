"""What a graph reads and the program lets go after its capture: a name is deleted, or given something else.

Where one tensor takes the place of another, `inputs` speaks of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field

from graphlint.rule import InputFreed, InputReplaced
from graphlint.static.life.ledger import Ledger, Listener, Tell
from graphlint.static.life.objects import (
    MAX_REACH,
    Capture,
    Container,
    Instance,
    Made,
    Object,
    Place,
    Tensor,
    Thing,
    held_by,
    is_made_up,
    is_tensor,
    things_in,
)
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import history
from graphlint.static.syntax import ir


@dataclass
class Holders(Listener):
    """Follows one run."""

    tell: Tell
    may_keep: Callable[[str], bool]  # whether objects of a class may keep tensors of their own, by its name
    given: dict[Capture, set[Made]] = field(default_factory=dict)
    filled: dict[Container, None] = field(default_factory=dict)  # into which something was put: who has one keeps it
    allocated: int = 0  # when something got memory last, which may be that of what is lost
    lost: dict[Capture, dict[Place, Place]] = field(default_factory=dict)
    """Where what nobody holds was made, and where a graph reads it, until something else may have its memory."""
    moved: set[Thing] = field(default_factory=set)  # memory whose names or holders have changed, of which others tell
    released: dict[Capture, dict[Thing, tuple[object, str, Object, Place]]] = field(default_factory=dict)
    """What no longer lies behind a name: the owner of the name, the name, what it held, and where it was given up."""

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note objects of other libraries that a region hands to what nobody knows, which reads what they hold."""
        capture = self.ledger.capture
        if capture is not None:
            kept = (one for one in given if isinstance(one, Made) and self.may_keep(one.cls))
            self.given.setdefault(capture, set()).update(kept)

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if self.ledger.capture is None and isinstance(place.node, ir.Binary):
            self.allocated = self.ledger.now

    def answered(self, call: Call) -> None:
        if self.ledger.capture is None and isinstance(call.result, Tensor) and not call.last.endswith("_"):
            self.allocated = self.ledger.now

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if self.ledger.latest:  # what is dropped later was filled before
            self.filled[container] = None

    def _reaches(self, capture: Capture, value: Object) -> bool:
        """Whether a region calls something, or has handed it on."""
        return _calls(capture, value) or value in self.given.get(capture, ())

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        self.moved.update(one.root for one in things_in(before) if is_tensor(one))
        is_next = isinstance(place.node, ir.For)  # a loop comes to the next one, in whose place the last one stood
        is_callable = type(value) is Thing and any(_calls(one, before) for one in self.ledger.latest.values())
        is_other = value is None or isinstance(value, (Container, Instance, Made)) or is_callable
        if is_other and not is_next and not is_made_up(before):
            self.deleted(owner, name, before, place)

    def deleted(self, owner: object, name: str, before: Object, place: Place) -> None:
        behind = [*things_in(before)]
        self.moved.update(one.root for one in behind if is_tensor(one))
        for capture in self.ledger.latest.values() if len(behind) < MAX_REACH else ():
            for root in {one.root for one in behind}:
                is_read = root in capture.reads and isinstance(root, Tensor)
                if (is_read or self._reaches(capture, root)) and root.made_in is None:
                    self.released.setdefault(capture, {})[root] = owner, name, before, place

    def replayed(self, capture: Capture, place: Place) -> None:
        """Tell of what nobody holds by now."""
        released = self.released.pop(capture, {})
        if self.ledger.is_whole and not capture.replays:
            self.lost[capture] = dict(self._lost(capture))
        for lost, read in self.lost.pop(capture, {}).items() if self.allocated > (capture.ended or 0) else ():
            self.tell(InputFreed(lost.line), read, capture)
        held = held_now(self.ledger, *self.filled, capture.manager) if released else None
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        if held is None:
            return
        for root, (owner, name, before, where) in released.items():
            again = held_by(owner, name)
            if root in held:
                continue
            if self._reaches(capture, root):
                if again is not None and isinstance(owner, Thing):
                    is_known = isinstance(root, (Instance, Made)) and isinstance(again, (Instance, Made))
                    self.tell(InputReplaced(name, capture.region.line, is_known), where, capture)
                continue
            if root.made is None or is_tensor(again):
                continue
            paths = (one for (holder, one), value in capture.paths.items() if holder is before and value.root is root)
            attribute = next(paths, "")
            if attribute and is_tensor(now := held_by(again, attribute)):
                if not self.ledger.since(root, last):
                    is_known = isinstance(now, Tensor)
                    self.tell(InputReplaced(f"{name}.{attribute}", capture.region.line, is_known), where, capture)
            elif root not in self.ledger.escaped:
                self.tell(InputFreed(root.made.line, is_given_up=True), where, capture)

    def _lost(self, capture: Capture) -> Iterator[tuple[Place, Place]]:
        """What was made to be handed to the function that captures, and that nobody holds once that is over."""
        held = held_now(self.ledger, *self.filled, capture.manager)
        if held is None:
            return
        for root, place in capture.reads.items():
            if not isinstance(root, Tensor) or root.made is None or root.made_in is not None:
                continue
            if root.made.function.module is not self.ledger.frames[0].function.module:
                continue  # a variable of another file may hold it
            if root in held or root in self.moved or root in self.ledger.escaped:
                continue
            if any(value.root is root and isinstance(owner, Thing) for (owner, _), value in capture.paths.items()):
                continue  # an object held it, and is given something else
            results = (one for one in held if isinstance(one, Tensor) and one.made_in is not capture)
            if not any(root in history(one) for one in results):  # which autograd may need it for
                yield root.made, place


def held_now(ledger: Ledger, *more: Object) -> Set[Thing] | None:
    """The memory that the functions which run lead to, and more; None if it is too much to look through."""
    held: set[Thing] = set()
    frames = [value for frame in ledger.frames for value in (*frame.bound(), *frame.given, frame.receiver)]
    globals_ = (value for frame in ledger.frames[:1] if frame.caller for value in frame.caller.env.values())
    for value in (*frames, *globals_, *more):
        behind = [one.root for one in things_in(value)]
        if len(behind) >= MAX_REACH:
            return None
        held.update(behind)
    return held


def _calls(capture: Capture, value: Object) -> bool:
    """Whether a region calls something that has memory of its own: a module, or what nobody knows."""
    return isinstance(value, Thing) and (value in capture.modules or value in capture.callees)
