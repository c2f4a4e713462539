"""A parameter that may be a tensor in, whether its function leaves that open, or where it lies, out."""

from __future__ import annotations

from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.models.asked import called_by, is_name
from graphlint.static.models.uses import MAX_HANDS, handed_to
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, stands_before, walk

_CONVERTING = frozenset({"builtins.bool", "builtins.float", "builtins.int"})
_SAME = ("is", "is not")


def is_only_converted(evaluator: Evaluator, function: Function, name: str, hands: int = MAX_HANDS) -> bool:
    """Whether a parameter is only made a number or a flag of, and asked for None: whatever it is, that can be done.

    So can what is reckoned with it first: `int(share * count)`.
    """
    parts = list(walk(function.code.body))
    calls = [part for part in parts if isinstance(part, ir.Call) and any(_takes(a.value, name) for a in part.arguments)]
    made = [call for call in calls if not _CONVERTING.isdisjoint(called_by(evaluator, call, function.module))]
    handed = {call: list(handed_to(evaluator, call, name, function)) for call in calls if hands and call not in made}
    made += [
        call
        for call, taken in handed.items()
        if taken and all(is_only_converted(evaluator, callee, one.name, hands - 1) for callee, one in taken)
    ]
    allowed = [part for call in made for argument in call.arguments for part in _sides(argument.value)]
    allowed += [part.left for part in parts if isinstance(part, ir.Compare) and part.comparisons[0][0] in _SAME]
    assigned = assignments_to(function.code, name)
    allowed += [target for one in assigned for target in one.targets]
    number = next((one for one in assigned if one.value in made), None)  # what follows reads that
    read = [part for part in parts if is_name(part, name) and part not in allowed]
    return bool(made) and all(isinstance(part, ir.Name) and number and stands_before(number, part) for part in read)


def _takes(node: ir.Expr, name: str) -> bool:
    return any(is_name(side, name) for side in _sides(node))


def _sides(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """An expression, or what is added up or multiplied in it."""
    return (*_sides(node.left), *_sides(node.right)) if isinstance(node, ir.Binary) else (node,)


def is_made_on_host(evaluator: Evaluator, code: ir.Code, module: Module, name: str) -> bool:
    """Whether a function makes a tensor of the host of a parameter, where that is none: `lens = torch.tensor(lens)`.

    One that is given as a tensor is hardly on the device, or what follows would get both.
    """
    for one in assignments_to(code, name):
        for made in (one.value.body, one.value.orelse) if isinstance(one.value, ir.Conditional) else (one.value,):
            if isinstance(made, ir.Call) and any(is_name(a.value, name) for a in made.arguments[:1]):
                factories = [evaluator.lexicon.factories.get(called) for called in called_by(evaluator, made, module)]
                if all(a.keyword not in ("device", None) for a in made.arguments[1:]):
                    return any(factory is not None and factory.data for factory in factories)
    return False
