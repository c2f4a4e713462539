"""What a region keeps in an attribute and the calls on the way there in, whether a caller takes it up again out.

`layer(x)` leaves what is still to be added in `layer.pending`, and behind that call the model adds it and puts None
there: nothing of it outlives the pass. What is taken up in front of the call is of the run before.
"""

from __future__ import annotations

from graphlint.static.domain.contexts import Occurrence, Site
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import attributes_read, attributes_set, is_none, stands_before

_KEEPING = "escaping-allocation"


def is_taken_up(occurrence: Occurrence, sites: tuple[Site, ...]) -> bool:
    """Whether a caller reads the attribute that is kept behind its call, and puts None there."""
    _, dot, name = occurrence.operation.rpartition(".")
    if occurrence.effect != _KEEPING or not dot or not name.isidentifier():
        return False
    return any(site.node is not None and _takes_up(site.function.code, site.node, name) for site in sites)


def _takes_up(code: ir.Code, call: ir.Node, name: str) -> bool:
    is_read = any(stands_before(call, one) for one in attributes_read(code, name))
    return is_read and any(is_none(one.value) and stands_before(call, one) for one in attributes_set(code, name))
