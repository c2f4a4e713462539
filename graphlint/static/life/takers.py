"""Who was given a tensor, and may keep it or write to it: what a graph runs as well takes its inputs and lets go."""

from __future__ import annotations

from graphlint.static.life.ledger import Ledger
from graphlint.static.life.objects import Capture, Place, Thing
from graphlint.static.life.record import Write
from graphlint.static.syntax import ir


def may_be_kept(ledger: Ledger, root: Thing, capture: Capture, read: Place | None = None) -> bool:
    """Whether a call that nobody can follow may have kept a tensor, other than one that the region makes as well.

    That is the one that has `read` it, which an object may have been given that holds the tensor.
    """
    if root not in ledger.escaped:
        return False
    calls = [write for write in ledger.writes.get(root, ()) if not write.is_sure]
    return not calls or not all(is_run(write, root, capture, read) for write in calls)


def is_run(write: Write, root: Thing, capture: Capture, read: Place | None = None) -> bool:
    """Whether what may have written to a tensor is a call that the region makes as well: a model, to warm it up."""
    if write.is_sure or write.by not in capture.callees:
        return False
    read = read or capture.reads.get(root)
    return read is not None and _called(read) == _called(write.place) != ""


def _called(place: Place) -> str:
    """How the callee of a call is written."""
    return place.function.source(place.node.func) if isinstance(place.node, ir.Call) else ""
