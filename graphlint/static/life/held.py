"""A class and the names of classes that capture in, what it keeps of those and calls later out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import partial

from graphlint.static.index.module import ClassDefinition, Definition
from graphlint.static.life.opened import attribute_of
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import assignments_in, called_name, calls_in, is_one_of

CALL = "__call__"


@remembered_in_run
def holders_of(owner: ClassDefinition, names: frozenset[str]) -> frozenset[str]:
    """The attributes in which a class keeps objects of classes with these names, itself or in dicts and lists."""
    found: set[str | None] = set()
    for definitions in owner.methods.values():
        made = _assigned(definitions[-1], lambda value: isinstance(value, ir.Call) and called_name(value) in names)
        local = _names(made)
        kept = _assigned(definitions[-1], partial(is_one_of, names=local))
        found.update(map(attribute_of, (*made, *kept)))
    return frozenset(one for one in found if one is not None)


def calls_held(definition: Definition, holders: Set[str]) -> Iterator[str]:
    """The names of the methods that a function calls of what attributes hold, also of one that it has taken out."""
    local = _names(_assigned(definition, lambda value: attribute_of(value) in holders))

    def is_held(node: ir.Expr) -> bool:
        return is_one_of(node, local) or attribute_of(node) in holders

    for call in calls_in(definition.code) if definition.code is not None else ():
        if isinstance(call.func, ir.Attribute) and is_held(call.func.value):
            yield call.func.attr
        elif isinstance(call.func, ir.Name | ir.Subscript) and is_held(call.func):
            yield CALL


def _assigned(definition: Definition, is_chosen: Callable[[ir.Expr], bool]) -> list[ir.Expr]:
    """What a function assigns such values to."""
    assigned = assignments_in(definition.code) if definition.code is not None else ()
    return [target for one in assigned if one.value is not None and is_chosen(one.value) for target in one.targets]


def _names(targets: list[ir.Expr]) -> set[str]:
    return {one.id for one in targets if isinstance(one, ir.Name)}
