"""What is assumed on a way in, the places out that say whether a function ends early on it, with nothing to do.

`if count == 0: return torch.tensor(0.0)` is asked of the device, which a capture refuses: whoever mends that has no
such branch any more. What stands behind it otherwise is what the function is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.finding import Span
from graphlint.static.domain.assumptions import Assumption
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_to, branches_in, names_in, walk

# What an early end makes anew, or leaves behind.
IN_EXITS = frozenset({"escaping-allocation", "host-to-device-copy", "literal-upload"})

_NOTHING = (("==", 0), ("<=", 0), ("<", 1))
_SOMETHING = (("!=", 0), (">", 0), (">=", 1))


def exits_asked(assumed: Iterable[Assumption]) -> tuple[Span, ...]:
    """The tests by which functions end early, and what gives the names in them their values."""
    return tuple(
        one.function.span_of(node)
        for one in assumed
        if one.is_plain and _ends_early(one.function.code, one.test, one.outcome)
        for node in _asked(one.function.code, one.test)
    )


def _asked(code: ir.Code, test: ir.Expr) -> Iterator[ir.Expr]:
    yield test
    for name in names_in(test):
        yield from (one.value for one in assignments_to(code, name) if one.value is not None)


@remembered
def _ends_early(code: ir.Code, test: ir.Expr, outcome: bool) -> bool:
    """Whether a function ends in a branch, since there is nothing, or which has less in it than what comes behind.

    None is no value to ask for.
    """
    if isinstance(test, ir.Compare) and test.comparisons[0][0].startswith("is"):
        return False
    found = branches_in(code).get(test)
    block = () if found is None else found.body if outcome else found.orelse
    if found is None or not block or not isinstance(block[-1], (ir.Raise, ir.Return)):
        return False
    behind = (part for part in walk(code.body) if isinstance(part, ir.Node) and part.pos[:2] >= found.pos[2:])
    return _is_empty(test, outcome) or sum(1 for _ in walk(block)) < sum(1 for _ in behind)


def _is_empty(test: ir.Expr, outcome: bool) -> bool:
    """Whether a test that comes out like this says that there is nothing: `count == 0`, `not mask.any()`."""
    match test:
        case ir.Unary(operator="not", operand=inner):
            return _is_empty(inner, not outcome)
        case ir.Compare(comparisons=[(sign, ir.Literal(value=number))]):
            return (sign, number) in (_NOTHING if outcome else _SOMETHING)
        case ir.Call(func=ir.Attribute(attr="any")):
            return not outcome
    return False
