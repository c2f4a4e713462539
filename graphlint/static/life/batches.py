"""A loop that takes batches apart and does nothing with a part, where an input of the graph stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.rule import StaleReplay
from graphlint.static.life.inputs import Inputs
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Place, Tensor
from graphlint.static.life.unrefreshed import speaks_of
from graphlint.static.syntax import ir


@dataclass
class Batches(Listener):
    """Follows one run."""

    tell: Tell
    inputs: Inputs

    def replayed(self, capture: Capture, place: Place) -> None:
        here = (one for one in reversed(self.ledger.loops) if one.place.function.code is place.function.code)
        node = next((one.place.node for one in here), None)
        if not isinstance(node, ir.For) or not capture.replays:
            return
        names = tuple(name for name in _parts(node) if not any(speaks_of(name, one) for one in node.body))
        filled = {root: bool(self.ledger.since(root, capture.replays[-1])) for root in self.inputs.inputs(capture)}
        made = (root for root in filled if isinstance(root, Tensor) and root.factory and root not in capture.writes)
        if names and any(filled.values()) and not all(filled[root] for root in made):
            self.tell(StaleReplay(names, is_known=False), place, capture)


def _parts(node: ir.For) -> Iterator[str]:
    """The names that a loop takes what it goes through apart into: `for n, (x, y) in enumerate(loader)`."""
    target, iterable = node.target, node.iterable
    if isinstance(iterable, ir.Call) and isinstance(iterable.func, ir.Name) and iterable.func.id == "enumerate":
        target = target.elements[-1] if isinstance(target, ir.Display) else target
    elif not isinstance(iterable, (ir.Name, ir.Attribute)):
        return
    parts = target.elements if isinstance(target, ir.Display) else ()
    yield from (one.id for one in parts if isinstance(one, ir.Name) and not one.id.startswith("_"))
