"""What was computed before a capture out of what is filled later: a graph that reads it gets nothing of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import StaleResult
from graphlint.static.life.inputs import place_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Instance, Object, Place, Tensor, Thing
from graphlint.static.life.record import Write
from graphlint.static.life.takers import is_run, may_be_kept
from graphlint.static.life.tensors import is_copied, is_of_host
from graphlint.static.syntax import ir


@dataclass
class Derived(Listener):
    """Follows one run; what a `shaped` operation makes has nothing but the shape of what it is given.

    A loss whose backward pass alone is captured is another matter: `training` are the names of such methods.
    """

    tell: Tell
    shaped: Callable[[str], bool]
    training: frozenset[str]
    told: set[tuple[Capture, Thing]] = field(default_factory=set)
    held: dict[Capture, dict[Thing, Place]] = field(default_factory=dict)  # by objects that unknown calls are given

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note what objects hold that a region gives to a call which nobody can follow, and that were made for that."""
        capture = self.ledger.capture
        if capture is None:
            return
        for one in given:
            if isinstance(one, Instance) and not one.is_module and one.made is not None and one.made_in is None:
                tensors = (value.root for value in one.attributes.values() if isinstance(value, Tensor))
                held = (root for root in tensors if not is_of_host(root))
                self.held.setdefault(capture, {}).update(dict.fromkeys(held, place))

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        for root, read in {**self.held.get(capture, {}), **capture.reads}.items():
            if not isinstance(root, Tensor) or root.made is None or root.made_in is not None:
                continue
            late = (one for one in self.ledger.writes.get(root, ()) if one.moment >= capture.began or not one.is_sure)
            if (
                self._is_trained(read)
                or (capture, root) in self.told
                or root in capture.writes
                or may_be_kept(self.ledger, root, capture, read)
                or any(not is_run(write, root, capture, read) for write in late)
            ):
                continue
            filled = next(self._filled(root, capture, last), None)
            if filled is not None:
                owner = capture.owner if isinstance(capture.owner, Frame) else None
                made, where = ((owner and place_in(owner, one)) or one for one in (root.made, read))
                self.told.add((capture, root))
                is_kept = root.made.function.code is read.function.code and made is not root.made  # by what reads it
                event = StaleResult(where.line, filled.place.text, made.line if is_kept else None)
                self.tell(event, where if is_kept else made, capture)

    def _filled(self, root: Tensor, capture: Capture, last: int) -> Iterator[Write]:
        """What was written since a moment to what a tensor was computed from; a copy keeps the old on purpose."""
        for origin in self._origins(root, capture.began):
            is_kept = origin in capture.reads and (is_copied(root) or origin.made == root.made)
            if origin not in capture.writes and not is_kept:
                yield from (write for write in self.ledger.since(origin, last) if write.is_sure)

    def _is_trained(self, read: Place) -> bool:
        func = read.node.func if isinstance(read.node, ir.Call) else None
        return isinstance(func, ir.Attribute) and func.attr in self.training

    def _origins(self, root: Tensor, began: int) -> Iterator[Thing]:
        """The memory that a tensor was computed from, or what was written to it by a moment."""
        seen: set[Thing] = {root}
        pending: list[Thing] = [root]
        for one in pending:  # which grows meanwhile
            if not isinstance(one, Tensor):
                continue
            before = (write for write in self.ledger.writes.get(one, ()) if write.is_sure and write.moment < began)
            written = (value for write in before for value in write.values)
            sources = () if self.shaped(one.factory) else one.source
            for source in (*sources, *(value for value in written if isinstance(value, Thing))):
                if source not in seen and source.root is not one:
                    seen.add(source)
                    pending.append(source)
                    if isinstance(source, Tensor) and source.root is not root:
                        yield source.root
