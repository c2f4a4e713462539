"""A condition that is not known and how it came out in, what is assumed behind it out, in the words of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from graphlint.finding import Condition
from graphlint.static.domain.program import Function
from graphlint.static.syntax import ir

_NEGATED = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
_LOOSE = (ir.Boolean, ir.Compare, ir.Conditional, ir.Walrus, ir.Lambda)  # what `not` in front would cut in two


class Assumption:
    """What an expression of a function came to, where it was not known what: true or false, or what `form` says."""

    def __init__(self, function: Function, node: ir.Expr, outcome: bool = True, form: str = "{}") -> None:
        self.function = function
        self.node = node
        self.outcome = outcome
        self.form = form

    @cached_property
    def condition(self) -> Condition:
        """The same for a report."""
        line = self.function.first_line + self.node.pos[0]
        words = self.form.format(_said(self.function, self.node, self.outcome))
        return Condition(words, str(self.function.module.path), line)


def assume(
    function: Function, test: ir.Expr, outcome: bool, known: Mapping[ir.Expr, bool | None]
) -> Iterator[Assumption]:
    """What is assumed behind a test: what of it is not known by itself. `known` are the tests that were asked."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        yield from assume(function, test.operand, not outcome, known)
    elif isinstance(test, ir.Boolean):
        sides = [side for side in (test.left, test.right) if known.get(side) is None]
        if (test.operator == "and") is outcome or len(sides) == 1:
            for side in sides:
                yield from assume(function, side, outcome, known)
        else:
            yield Assumption(function, test, outcome)
    elif known.get(test) is None:
        yield Assumption(function, test, outcome)


def _said(function: Function, node: ir.Expr, outcome: bool) -> str:
    """An expression, or its negation, as one would write it."""
    if outcome:
        return function.source(node)
    if isinstance(node, ir.Unary) and node.operator == "not":
        return function.source(node.operand)
    if isinstance(node, ir.Compare) and len(node.comparisons) == 1:
        sign, right = node.comparisons[0]
        return f"{function.source(node.left)} {_NEGATED[sign]} {function.source(right)}"
    said = function.source(node)
    return f"not ({said})" if isinstance(node, _LOOSE) else f"not {said}"
