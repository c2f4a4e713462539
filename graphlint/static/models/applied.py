"""The `forward` of an autograd function in, what it is applied to out: numbers, where all who apply it say so."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import ClassDefinition, nested_class
from graphlint.static.models.uses import promises_plain
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, calls_in, given_for, is_none, last_name, words_in
from graphlint.values import External, members

_APPLY = "apply"
_MADE = frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.len", "builtins.str"})
_NAMES = 2  # for names, one after the other


def is_applied_to_numbers(evaluator: Evaluator, function: Function, name: str) -> bool:
    """Whether what is handed in for a parameter is a number, a string, a flag or None wherever it is handed in."""
    owner, kinds = function.owner, evaluator.lexicon.callables
    if owner is None or function.code.name != "forward":
        return False
    if not any(kinds.get(base) == "applied" for base in evaluator.external_bases(owner)):
        return False
    position = [one.name for one in function.code.parameters].index(name) - 1  # the first is the context
    calls = list(_calls(evaluator, owner))
    given = [(given_for(call, name, position), caller) for call, caller in calls]
    handed = [(node, caller) for node, caller in given if node is not None and not is_none(node)]
    is_open = any(argument.star for call, _ in calls for argument in call.arguments)
    return bool(handed) and not is_open and all(_is_number(evaluator, node, caller) for node, caller in handed)


def _calls(evaluator: Evaluator, owner: ClassDefinition) -> Iterator[tuple[ir.Call, Function]]:
    """The calls that apply an autograd function, as far as they name it, each with the function that holds it."""
    project = evaluator.project
    for module in map(project.module_at, project.answering(HoldsAny([f"{owner.name}.{_APPLY}"]))):
        for one in module.index.all_functions():
            within = nested_class(module.index.classes, one.qualname.split(".")[:-1])
            caller = function_of(one, within) if module.holds(one.segment, owner.name) else None
            for call in calls_in(caller.code) if caller is not None else ():
                if caller is not None and last_name(call.func) == _APPLY and owner.name in words_in(call.func):
                    yield call, caller


def _is_number(evaluator: Evaluator, node: ir.Expr, caller: Function, depth: int = _NAMES) -> bool:
    match node:
        case ir.Literal():
            return True
        case ir.Call(func=func):
            called = members(evaluator.static_value(func, caller.module))
            return all(isinstance(one, External) and one.name in _MADE for one in called)
        case ir.Name(id=name) if depth:
            taken = [one for one in caller.code.parameters if one.name == name]
            bound = [one.value for one in assignments_to(caller.code, name)]
            return bool(taken or bound) and (
                all(promises_plain(evaluator, caller, one) for one in taken)
                and all(one is not None and _is_number(evaluator, one, caller, depth - 1) for one in bound)
            )
    return False
