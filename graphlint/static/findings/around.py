"""A condition of a way in, whether a block around its region puts None where it asks for something out.

`with serving(model, state, None): with torch.cuda.graph(graph): ...`, where `serving` gives each layer what it is
handed for as long as it is open: what layers do with a clock of theirs is no part of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Bound, Function
from graphlint.static.findings.origins import handed_in
from graphlint.static.index.parts import stores
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import (
    assignments_in,
    attribute_in,
    fills_attribute,
    given_for,
    holds,
    is_none,
    targets_of,
    walk,
)
from graphlint.values import members


def is_put_out_around(assumed: Iterable[Assumption], sites: tuple[Site, ...], evaluator: Evaluator) -> bool:
    """Whether something is asked for on a way that a block around the region has set to None."""
    nothing = _set_to_none(sites[0], evaluator) if sites else frozenset()
    return bool(nothing) and any(
        attribute_in(handed_in(asked, one.function, sites)) in nothing
        for one in assumed
        if one.is_plain
        for test, outcome in one.asked
        if (asked := _asked_for(test, outcome)) is not None
    )


def _asked_for(test: ir.Expr, outcome: bool) -> ir.Expr | None:
    """What a test says is there."""
    match test:
        case ir.Compare(left=asked, comparisons=[("is" | "is not" as sign, none)]) if is_none(none):
            return asked if outcome is (sign == "is not") else None
        case ir.Name() | ir.Attribute():
            return test if outcome else None
    return None


@remembered_in_run
def _set_to_none(opener: Site, evaluator: Evaluator) -> Set[str]:
    """The attributes that blocks around a call in a region give None, and that nothing else gives anything."""
    node = opener.node
    around = [one for one in walk(opener.function.code.body) if isinstance(one, ir.With)] if node is not None else []
    entered = (call for one in around if node is not None and holds(one.body, node) for call, _ in one.items)
    found: set[str] = set()
    for call in (one for one in entered if isinstance(one, ir.Call)):
        for value in members(evaluator.static_value(call.func, opener.function.module)):
            manager = value.receiver if isinstance(value, Bound) else value  # `contextmanager` holds the function
            if isinstance(manager, Function):
                found |= {name for name in _given_none(call, manager) if _is_set_there_alone(name, manager, evaluator)}
    return found


def _given_none(call: ir.Call, manager: Function) -> Iterator[str]:
    """The attributes that a context manager gives a parameter which a call gives None."""
    names = [one.name for one in manager.code.parameters]
    handed = {name for at, name in enumerate(names) if is_none(given_for(call, name, at))}
    for one in assignments_in(manager.code):
        if isinstance(one.value, ir.Name) and one.value.id in handed:
            yield from (target.attr for target in targets_of(one) if isinstance(target, ir.Attribute))


def _is_set_there_alone(name: str, manager: Function, evaluator: Evaluator) -> bool:
    """Whether all others that assign an attribute give it None."""
    project = evaluator.project
    codes = {
        part.definition.code
        for module in map(project.module_at, {*project.storing(name), *project.owning(name)})
        for part, _ in stores(module, name)
        if part.definition is not None
    }
    others = (code for code in codes if code is not None and code is not manager.code)
    return not any(fills_attribute(code, name) for code in others)
