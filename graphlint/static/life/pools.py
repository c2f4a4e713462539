"""The memory of graphs: a pool that several captures share, and a pool of its own for the graph of each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphlint.rule import SeparatePools, SharedPool
from graphlint.static.life.growth import directly_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Frame, Made, Object, Place, Tensor, Thing
from graphlint.static.life.streams import Streams
from graphlint.static.syntax import ir


@dataclass
class Pools(Listener):
    """Follows one run: memory of a pool that several captures share is only used again on the stream that took it."""

    tell: Tell
    streams: Streams
    used: dict[Thing, Made] = field(default_factory=dict)  # pools, and the stream that took their memory

    def began(self, capture: Capture) -> None:
        if not isinstance(capture.manager, Made) or not isinstance(capture.owner, Frame):
            return
        given, owner = capture.manager.given, capture.owner
        pool, stream = given.get(1, given.get("pool")), given.get(2, given.get("stream"))
        if not isinstance(pool, Thing) or not isinstance(stream, Made) or stream.made is None:
            return
        if stream in self.streams.aliases:
            return  # the current one, or that of the device
        if self.used.setdefault(pool, stream) is not stream and self.used[pool].made == stream.made:
            self.tell(SharedPool(), stream.made, capture)  # each round of a loop makes one
            return
        is_new = stream.made.function.code is owner.function.code and stream.made.way == owner.way and owner.way
        made = pool.made
        is_own = made is not None and made.function.code is owner.function.code
        if is_new and not is_own and owner.function.code.name != "__init__":
            self.tell(SharedPool(), stream.made, capture)


@dataclass
class OwnPools(Listener):
    """Follows one run: of graphs for several sizes one is replayed at a time, and each keeps all that it needs.

    Graphs that are captured when they are asked for come one by one, and nobody knows how many.
    """

    tell: Tell
    is_foreign: Callable[[Capture], bool]  # a capture of another library, which has pools of its own kind
    kept: dict[ir.Node, Capture] = field(default_factory=dict)  # by what opens the region

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        for graph in directly_in(value) if self.ledger.capture is None else ():
            capture = self.ledger.latest.get(graph)
            if capture is None or not isinstance(capture.manager, Made) or self.is_foreign(capture):
                continue
            if _has_pool(capture.manager):
                continue
            before = self.kept.setdefault(capture.place.node, capture)
            if before is not capture and not before.replays and _is_of_other_size(capture, before):
                self.tell(SeparatePools(), capture.place, capture)


def _has_pool(manager: Made) -> bool:
    return 1 in manager.given or "pool" in manager.given


def _is_of_other_size(capture: Capture, other: Capture) -> bool:
    """Whether two captures read tensors that the same call has made, with another number of rows."""
    rows = {one.made: one.sizes[0] for one in other.reads if isinstance(one, Tensor) and one.sizes}
    for one in capture.reads:
        if isinstance(one, Tensor) and one.sizes and one.made in rows:
            before, now = rows[one.made], one.sizes[0]
            is_known = isinstance(before, int) and isinstance(now, int)
            if before != now if is_known else before is not now:
                return True
    return False
