"""A call in a method in, the method of the same class that it calls out, with the parameters that it is given."""

from __future__ import annotations

from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import ClassDefinition
from graphlint.static.models.asked import is_name
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name

Called = tuple[Function, tuple[ir.Parameter, ...]]


def own_methods(evaluator: Evaluator, func: ir.Expr, function: Function) -> list[Called]:
    """`self.step` in a method: that of its class, whatever decorates it, without the parameter for the object."""
    parameters = function.code.parameters
    if not (isinstance(func, ir.Attribute) and function.owner is not None and parameters):
        return []
    if not is_name(func.value, parameters[0].name):
        return []
    for cls in evaluator.class_order(function.owner):
        if isinstance(cls, ClassDefinition) and func.attr in cls.methods:
            found = function_of(cls.methods[func.attr][-1], cls)
            if found is None:
                return []
            is_static = any(last_name(one) == staticmethod.__name__ for one in found.code.decorators)
            return [(found, tuple(found.code.parameters if is_static else found.code.parameters[1:]))]
    return []
