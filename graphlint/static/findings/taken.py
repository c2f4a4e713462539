"""What a region keeps in an attribute and the calls on the way there in, whether a caller takes it up again out.

`layer(x)` leaves what is still to be added in `layer.pending`, and behind that call the model adds it and puts None
there: nothing of it outlives the pass. What is taken up in front of the call is of the run before. An object may do so
itself: `scale.measure(x); y = scale(x); scale.free()`.
"""

from __future__ import annotations

from itertools import pairwise

from graphlint.static.domain.contexts import Occurrence, Site
from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import attributes_read, attributes_set, calls_in, form, is_none, stands_before

_KEEPING = "escaping-allocation"


def is_taken_up(occurrence: Occurrence, sites: tuple[Site, ...]) -> bool:
    """Whether a caller reads the attribute that is kept behind its call, and puts None there, or has the object do so
    behind another call of it.
    """
    _, dot, name = occurrence.operation.rpartition(".")
    if occurrence.effect != _KEEPING or not dot or not name.isidentifier():
        return False
    if any(site.node is not None and _takes_up(site.function.code, site.node, name) for site in sites):
        return True
    return any(
        isinstance(site.node, ir.Call) and _is_emptied(site.function.code, site.node, below.function.owner, name)
        for site, below in pairwise(sites)
    )


def _takes_up(code: ir.Code, call: ir.Node, name: str) -> bool:
    is_read = any(stands_before(call, one) for one in attributes_read(code, name))
    return is_read and any(is_none(one.value) and stands_before(call, one) for one in attributes_set(code, name))


def _is_emptied(code: ir.Code, call: ir.Call, owner: ClassDefinition | None, name: str) -> bool:
    """Whether an object is used behind a call of one of its methods, and then a method that puts None there."""
    if owner is None or not isinstance(call.func, ir.Attribute):
        return False
    own = (one.code for methods in owner.methods.values() for one in methods)
    codes = (one for one in own if one is not None)
    emptying = {one.name for one in codes if any(is_none(given.value) for given in attributes_set(one, name))}
    spelt = form(call.func.value)
    behind = [one for one in calls_in(code) if stands_before(call, one)]
    used = [one for one in behind if form(one.func) == spelt]
    emptied = (
        one
        for one in behind
        if isinstance(one.func, ir.Attribute) and one.func.attr in emptying and form(one.func.value) == spelt
    )
    return any(stands_before(one, last) for last in emptied for one in used)
