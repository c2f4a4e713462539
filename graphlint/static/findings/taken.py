"""What a region keeps in an attribute and the calls on the way there in, whether a caller takes it up again out.

`layer(x)` leaves what is still to be added in `layer.pending`, and behind that call the model adds it and puts None
there: nothing of it outlives the pass. What is taken up in front of the call is of the run before.
"""

from __future__ import annotations

from graphlint.static.domain.contexts import Occurrence, Site
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, stands_before, targets_of, walk

_KEEPING = "escaping-allocation"


def is_taken_up(occurrence: Occurrence, sites: tuple[Site, ...]) -> bool:
    """Whether a caller reads the attribute that is kept behind its call, and puts None there."""
    _, dot, name = occurrence.operation.rpartition(".")
    if occurrence.effect != _KEEPING or not dot or not name.isidentifier():
        return False
    return any(site.node is not None and _takes_up(site.function.code, site.node, name) for site in sites)


def _takes_up(code: ir.Code, call: ir.Node, name: str) -> bool:
    targets = {id(target) for one in assignments_in(code) for target in targets_of(one)}
    read = any(
        isinstance(part, ir.Attribute) and part.attr == name and id(part) not in targets and stands_before(call, part)
        for part in walk(code.body)
    )
    return read and any(
        isinstance(one.value, ir.Literal)
        and one.value.value is None
        and stands_before(call, one)
        and any(isinstance(target, ir.Attribute) and target.attr == name for target in targets_of(one))
        for one in assignments_in(code)
    )
