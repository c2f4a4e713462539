"""A callee and the function around it in, the expression out that a local name stands for.

What a region runs often has a name of its own by then: `run = torch.compile(part.step)`, and `run(x)` in the region.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from graphlint.static.domain.program import Function
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, last_name, walk

MAX_STEPS = 4  # names that stand for each other


def meant(callee: ir.Expr, function: Function, wrappers: Set[str]) -> ir.Expr:
    """The attribute that a callee is or was given, maybe in a call of a wrapper; the callee itself if there is none."""
    code, pending = _whole(function), [callee]
    for _ in range(MAX_STEPS):
        inside = [value for one in pending for value in _inside(one, wrappers)]
        found = next((one for one in inside if isinstance(one, ir.Attribute)), None)
        if found is not None:
            return found
        pending = [value for one in inside if isinstance(one, ir.Name) for value in _given(one.id, code)]
    return callee


def _whole(function: Function) -> ir.Code:
    """The code of the outermost function around one; the lines of all inside are counted from there."""
    if function.is_nested:
        for definition in function.module.index.all_functions():
            if definition.segment.first == function.first_line and definition.code is not None:
                return definition.code
    return function.code


def _given(name: str, code: ir.Code) -> Iterator[ir.Expr]:
    """What assignments, and defaults of functions inside, give a name."""
    yield from (one.value for one in assignments_to(code, name) if one.value is not None)
    inside = (part for part in walk(code.body) if isinstance(part, ir.Code))
    parameters = (parameter for part in inside for parameter in part.parameters)
    yield from (one.default for one in parameters if one.name == name and one.default is not None)


def _inside(value: ir.Expr, wrappers: Set[str]) -> Iterator[ir.Expr]:
    """The names and attributes that a value is, or wraps."""
    match value:
        case ir.Name() | ir.Attribute():
            yield value
        case ir.Conditional(body=body, orelse=orelse):
            yield from _inside(body, wrappers)
            yield from _inside(orelse, wrappers)
        case ir.Call(func=ir.Name(id="getattr"), arguments=(held, ir.Argument(value=ir.Literal(value=str(name))), *_)):
            yield ir.Attribute(value.mark, held.value, name)
        case ir.Call(func=func, arguments=(wrapped, *_)) if last_name(func) in wrappers:
            yield from _inside(wrapped.value, wrappers)
