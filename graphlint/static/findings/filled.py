"""A test for None and the calls on its way in, whether who calls has put something there where there was nothing out.

`if layout == "packed": if longest is None: longest = ...` stands before `self.attend(x, longest)`, so that `longest is
None` does not hold behind `layout == "packed"` in `attend`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.findings.origins import handed_on_way
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import (
    excludes,
    form,
    holds,
    is_none,
    last_name,
    stands_before,
    targets_of,
    walk,
)

_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", "<=": ">"}

Asked = tuple[ir.Expr, bool]


def is_filled_in(
    test: ir.Expr, outcome: bool, function: Function, sites: tuple[Site, ...], assumed: Iterable[Asked]
) -> bool:
    """Whether a caller on the way fills in what a test finds missing, under nothing that is not `assumed` there."""
    match test:
        case ir.Unary(operator="not", operand=inner):
            return is_filled_in(inner, not outcome, function, sites, assumed)
        case ir.Boolean(operator=operator, left=left, right=right):
            sides = (is_filled_in(one, outcome, function, sites, assumed) for one in (left, right))
            return any(sides) if (operator == "and") is outcome else all(sides)
        case ir.Compare(left=ir.Name() as asked, comparisons=(("is" | "is not" as sign, right),)):
            if is_none(right) and outcome is (sign == "is"):
                known = {_sense(*one) for one in assumed}
                _, *handed = handed_on_way(asked, function, sites)
                return any(_fills(holder.code, given, known) for given, holder in handed)
    return False


def _fills(code: ir.Code, given: ir.Expr, known: set[Hashable]) -> bool:
    """Whether a function has filled in a name by the time that it hands it on."""
    if not isinstance(given, ir.Name):
        return False
    return any(
        stands_before(choice, given)
        and not excludes(code, choice, given)
        and all(_sense(test, outcome) in known for test, outcome in _around(code, choice, given))
        for choice in _filling(code, given.id)
    )


@remembered
def _filling(code: ir.Code, name: str) -> tuple[ir.If, ...]:
    """The branches of a function that are taken where a name is None, and that surely give it something."""
    choices = (part for part in walk(code.body) if isinstance(part, ir.If))
    return tuple(one for one in choices if _asks_for_none(one.test, name) and _gives(one.body, name))


def _asks_for_none(test: ir.Expr, name: str) -> bool:
    match test:
        case ir.Compare(left=ir.Name(id=asked), comparisons=(("is", right),)):
            return asked == name and is_none(right)
        case ir.Boolean(operator="or", left=left, right=right):
            return _asks_for_none(left, name) or _asks_for_none(right, name)
    return False


def _gives(block: ir.Block, name: str) -> bool:
    """Whether a block gives a name something, or does not come to its end."""
    for part in block:
        match part:
            case ir.Assign(value=value):
                given = (one for one in targets_of(part) if isinstance(one, ir.Name))
                if any(one.id == name for one in given) and not is_none(value):
                    return True
            case ir.Raise() | ir.Return():
                return True
            case ir.If(body=body, orelse=orelse) if _gives(body, name) and _gives(orelse, name):
                return True
    return False


def _around(code: ir.Code, choice: ir.If, given: ir.Expr) -> Iterator[Asked]:
    """The tests that a branch stands under, each with what it has to come to, but for those that hold what is given."""
    for part in walk(code.body):
        if isinstance(part, ir.If) and part is not choice and not holds(part, given) and holds(part, choice):
            yield part.test, holds(part.body, choice)


def _sense(test: ir.Expr, outcome: bool) -> Hashable:
    """What a test says by its outcome, whatever the name is called of which it says it, if it compares one."""
    match test:
        case ir.Unary(operator="not", operand=inner):
            return _sense(inner, not outcome)
        case ir.Compare(left=left, comparisons=((sign, right),)) if last_name(left) and not is_none(right):
            return _OPPOSITE.get(sign, sign), form(right), outcome is (sign not in _OPPOSITE)
    return form(test), outcome
