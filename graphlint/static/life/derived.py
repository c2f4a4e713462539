"""What was computed before a capture out of what is filled later: a graph that reads it gets nothing of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import StaleResult
from graphlint.static.life.inputs import place_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Place, Tensor, Thing
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

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        for root, read in capture.reads.items():
            if not isinstance(root, Tensor) or not root.source or root.made is None or root.made_in is not None:
                continue
            if (
                self._is_trained(read)
                or (capture, root) in self.told
                or root in self.ledger.escaped
                or self.ledger.writes.get(root)
            ):
                continue
            for origin in self._origins(root):
                filled = next((one for one in self.ledger.since(origin, last) if one.is_sure), None)
                if filled is not None and origin not in capture.reads and origin not in capture.writes:
                    where = place_in(capture.owner, read) if isinstance(capture.owner, Frame) else None
                    self.told.add((capture, root))
                    self.tell(StaleResult(root.made.line, filled.place.text), where or read, capture)
                    break

    def _is_trained(self, read: Place) -> bool:
        func = read.node.func if isinstance(read.node, ir.Call) else None
        return isinstance(func, ir.Attribute) and func.attr in self.training

    def _origins(self, root: Tensor) -> Iterator[Thing]:
        """The memory that a tensor was computed from."""
        seen: set[Thing] = {root}
        pending: list[Thing] = [root]
        for one in pending:  # which grows meanwhile
            if not isinstance(one, Tensor) or self.shaped(one.factory):
                continue
            for source in one.source:
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
                    if isinstance(source, Tensor) and source.root is not root:
                        yield source.root
