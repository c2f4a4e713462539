"""What is kept of a use of a value, of a tensor that a region keeps, and of a branch on whether one is captured."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.rule import StateWrite
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.sources import Place, State
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name, walk
from graphlint.values import External

CALLED = "called"  # the use of what is called, and was drawn
_ORDER = frozenset({"<", "<=", ">", ">=", "==", "!="})


@dataclass(frozen=True, slots=True)
class Use:
    """What a value decides: `bound`, `index`, `count`, `branch`, `loop`, `operand`, `argument` or `called`.

    What is `handed` to a call that nobody knows may decide nothing.
    """

    kind: str
    place: Place

    @property
    def settles(self) -> bool:
        """Whether it only asks whether a count has come to some number, as for the first calls of a function."""
        node = self.place.node
        signs = [sign for sign, _ in node.comparisons] if isinstance(node, ir.Compare) else []
        is_bare = isinstance(node, ir.Compare) and isinstance(node.left, (ir.Name, ir.Attribute))
        return self.kind == "branch" and is_bare and any(sign in _ORDER for sign in signs)

    @property
    def begins(self) -> bool:
        """Whether it only asks whether a count is still 0."""
        node = self.place.node
        return self.settles and isinstance(node, ir.Compare) and _is_zero(node.comparisons)


def ends_wait(evaluator: Evaluator, use: Use) -> bool:
    """Whether a value only says how long a loop waits: `while time.monotonic() < deadline: time.sleep(0.1)`."""
    function, waits = use.place.function, evaluator.lexicon.host_state["waits"]
    loops = (part for part in walk(function.code.body) if isinstance(part, ir.While) and part.test is use.place.node)
    calls = (part for loop in loops for part in walk(loop.body) if isinstance(part, ir.Call))
    called = (evaluator.static_value(call.func, function.module) for call in calls)
    return any(isinstance(one, External) and waits.match(one.name) is not None for one in called)


def _is_zero(comparisons: tuple[tuple[str, ir.Expr], ...]) -> bool:
    """Whether something is compared with 0, which a count is first: no count is less."""
    return all(isinstance(one, ir.Literal) and one.value == 0 and sign not in ("<", ">=") for sign, one in comparisons)


@dataclass(frozen=True, slots=True)
class Keeping:
    """A tensor of the region is kept, and as which state, where that is known."""

    place: Place
    event: StateWrite
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A branch on whether a capture is under way, and what it comes to there; `is_flag` is the program's own."""

    node: ir.If | ir.Conditional
    place: Place
    outcome: bool
    is_flag: bool


def chosen_of(node: ir.Conditional, lexicon: Lexicon) -> tuple[ir.Expr, ...]:
    """What the value of a choice depends on where a graph is captured: a test for graphs by its name comes out so."""
    test, sides = node.test, (node.body, node.orelse)
    if isinstance(test, ir.Unary) and test.operator == "not":
        test, sides = test.operand, (node.orelse, node.body)
    asked = test.func if isinstance(test, ir.Call) else test
    is_of_graphs = lexicon.phases["graphs"].match((last_name(asked) or "").lower()) is not None
    return (node.test, sides[0]) if is_of_graphs else (node.test, *sides)
