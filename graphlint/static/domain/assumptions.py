"""A condition that is not known and how it came out in, what is assumed behind it out, in the words of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from graphlint.finding import Condition
from graphlint.static.domain.defaults import by_default
from graphlint.static.domain.program import Function
from graphlint.static.index.parts import rebound_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, branches_in, parts_got, walk

_NEGATED = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
_AS_IT_IS = "{}"
FIRST_CALL = "{} is called for the first time"
FIRST_READ = "{} is read for the first time"
FIRST_MOVE = "{} is moved for the first time"
RAISED = "except {}"
_LOOSE = (ir.Boolean, ir.Compare, ir.Conditional, ir.Walrus, ir.Lambda)  # what a word beside it would cut in two


@dataclass(unsafe_hash=True)  # not frozen, as values are not
class Assumption:
    """What a test of a function came to, where it was not known what: true or false, or what `form` says of it.

    `known` are the parts of it that are known all the same. `is_named` is false of what nothing speaks for: what the
    program would have to name to choose it, and does not, and a tensor of a region that lies on the host. Of the first
    call of a cache, `was_asked` tells that the run before has asked it the same, since it is given no tensor.
    """

    function: Function = field(compare=False)
    test: ir.Expr
    outcome: bool = True
    form: str = _AS_IT_IS
    known: Mapping[ir.Expr, bool] = field(default_factory=dict, compare=False)
    is_named: bool = field(default=True, compare=False)
    was_asked: bool = False

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The same for a report, without what is known."""
        return tuple(self._condition(test, outcome) for test, outcome in self.asked)

    @cached_property
    def asked(self) -> tuple[tuple[ir.Expr, bool], ...]:
        """The tests that it is made of, each with what it came to, without what is known."""
        return tuple(self._asked(self.test, self.outcome))

    @property
    def is_plain(self) -> bool:
        """Whether it is about the truth of the test, and not about what that is."""
        return self.form == _AS_IT_IS

    @property
    def is_unfilled(self) -> bool:
        """Whether state that is filled once is not there, or not large enough: `self.x is None`, `not self.ready`,
        `key not in cache`, `key not in state[p]`, `len(state) == 0`, `n > self.size`, `x.numel() < n`, a global that is
        None, what a table was asked for and has not; `self.x is None or self.x.device != y.device`, too. So is what the
        branch behind the test puts out: `if self.state == NEW: self.state = READY`, and `self.x = self.x.to(...)`.
        """
        return self.form in (FIRST_CALL, FIRST_READ, FIRST_MOVE) or self._lacks(self.test, self.outcome)

    def _lacks(self, test: ir.Expr, outcome: bool) -> bool:
        match test:
            case ir.Attribute():
                return not outcome or is_put_out(test, self._behind(), self.function)
            case ir.Call(func=ir.Name(id="hasattr")):
                return not outcome
            case ir.Compare(left=ir.Attribute(), comparisons=(("==" | "!=", _),)) if outcome:
                return is_put_out(test, self._behind(), self.function)
            case ir.Unary(operator="not"):
                return self._lacks(test.operand, not outcome)
            case ir.Boolean(operator="or") if outcome:
                sides = tuple(_alternatives(test))
                lacking = [side for side in sides if self._lacks(side, True)]
                return bool(lacking) and all(s in lacking or self._asks_more(s, lacking) for s in sides)
            case ir.Boolean():
                return any(self._lacks(side, outcome) for side in parts(test))
            case ir.Compare(left=ir.Call(func=ir.Name(id="len")), comparisons=(("==", ir.Literal(value=0)),)):
                return outcome
            case ir.Compare(left=kept, comparisons=(("is" | "is not" as sign, ir.Literal(value=None)),)):
                return outcome is (sign == "is") and self._lasts(kept)
            case ir.Compare(left=ir.Name(), comparisons=((">", ir.Attribute(value=ir.Name(id="self"))),)):
                return outcome
            case ir.Compare(left=ir.Call(func=ir.Attribute(attr="numel" | "size")), comparisons=(("<", _),)):
                return outcome
            case ir.Compare(left=kept, comparisons=(("<", _),)) if any(map(_is_asked_for, walk(kept))):
                return outcome
            case ir.Compare(comparisons=(("in" | "not in" as sign, ir.Attribute() | ir.Name() | ir.Subscript()),)):
                return outcome is (sign == "not in")
        return False

    def _asks_more(self, test: ir.Expr, lacking: list[ir.Expr]) -> bool:
        """Whether a comparison asks if state still fits, once it is there: `or self.x.device != y.device`, of what is
        asked for beside it or what the branch behind it makes; `or (self.training and self.x.is_inference())`, too.
        """
        source = self.function.source
        kept = {source(one.left) for one in lacking if isinstance(one, ir.Compare)}
        made = (source(t) for one in walk(self._behind()) if isinstance(one, ir.Assign) for t in one.targets)
        match test:
            case ir.Compare(left=ir.Attribute(value=owner), comparisons=(("!=", _),)) if source(owner) in made:
                return True
            case ir.Boolean(operator="and"):
                return any(self._asks_more(side, lacking) for side in parts(test))
            case ir.Call(func=ir.Attribute(value=owner), arguments=()):
                return source(owner) in kept
        return isinstance(test, ir.Compare) and any(
            isinstance(part, (ir.Name, ir.Attribute)) and source(part) in kept for part in walk(test)
        )

    def _behind(self) -> ir.Block:
        """The branch behind the test."""
        branches = branches_in(self.function.code).get(self.test)
        return () if branches is None else branches.body if self.outcome else branches.orelse

    def _lasts(self, kept: ir.Expr) -> bool:
        """Whether something outlives a call: an attribute, a global that is set anew, what a table has under a key."""
        if isinstance(kept, ir.Name):
            return kept.id in rebound_in(self.function.module) or _is_looked_up(kept.id, self.function)
        return isinstance(kept, ir.Attribute) or _is_got(kept)

    def _asked(self, test: ir.Expr, outcome: bool) -> Iterator[tuple[ir.Expr, bool]]:
        sides = [side for side in parts(test) if side not in self.known]
        if isinstance(test, ir.Unary) and test.operator == "not":
            yield from self._asked(test.operand, not outcome)
        elif isinstance(test, ir.Boolean) and ((test.operator == "and") is outcome or len(sides) == 1):
            for side in sides:
                yield from self._asked(side, outcome)
        else:
            yield test, outcome

    def _condition(self, test: ir.Expr, outcome: bool) -> Condition:
        function = self.function
        said = _said(function, test, outcome)
        words = self.form.format(f"({said})" if isinstance(test, _LOOSE) and not self.is_plain else said)
        line = function.first_line + test.pos[0]
        is_default = self.is_named and (not self.is_plain or by_default(function, test) in (None, outcome))
        opposite = _said(function, test, not outcome) if self.is_plain else ""
        return Condition(words, str(function.module.path), line, is_default, opposite)


def is_put_out(test: ir.Expr, branch: object, function: Function) -> bool:
    """Whether the branch where a test holds gives the attribute that is asked another value: the next time, it does not
    hold any more.
    """
    match test:
        case ir.Attribute():
            kept, sign, value = test, "", None
        case ir.Compare(left=ir.Attribute() as kept, comparisons=(("==" | "!=" as sign, value),)):
            pass
        case _:
            return False
    for one in walk(branch):
        if isinstance(one, ir.Assign) and any(
            function.source(target) == function.source(kept) for target in one.targets
        ):
            if value is None:
                return isinstance(one.value, ir.Literal) and not one.value.value
            return one.value is not None and (function.source(one.value) == function.source(value)) is (sign == "!=")
    return sign == "!=" and value is not None and _is_moved(kept.value, value, branch, function)


def _is_moved(owner: ir.Expr, wanted: ir.Expr, branch: object, function: Function) -> bool:
    """Whether a branch gives what outlives the call a copy of the kind that is wanted: `kept = kept.to(x.device)`."""
    if not (
        isinstance(owner, ir.Attribute) or (isinstance(owner, ir.Name) and owner.id in rebound_in(function.module))
    ):
        return False
    source = function.source
    return any(
        isinstance(one, ir.Assign)
        and isinstance(one.value, ir.Call)
        and any(source(target) == source(owner) for target in one.targets)
        and any(source(argument.value) == source(wanted) for argument in one.value.arguments)
        for one in walk(branch)
    )


def _is_looked_up(name: str, function: Function) -> bool:
    """Whether a local name is what a table has under some key, or an object by a name: `kept = table.get(key)`."""
    if any(_is_asked_for(part.value) or _is_got(part.value) for part in assignments_to(function.code, name)):
        return True
    return any(True for _ in parts_got(function.code, name))


def _is_got(node: object) -> bool:
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr == "get"


def _is_asked_for(node: object) -> bool:
    """Whether an object is asked for what it has under a name, if anything."""
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "getattr"


Assumptions: TypeAlias = tuple[Assumption, ...]


def assume(
    function: Function, test: ir.Expr, outcome: bool, known: Mapping[ir.Expr, bool | None], is_likely: bool = True
) -> Assumptions:
    """What is assumed behind a test that was asked; nothing if it is known. `known` tells how tests came out."""
    if known.get(test) is not None:
        return ()
    told = {part: answer for part in _within(test) if (answer := known.get(part)) is not None}
    return (Assumption(function, test, outcome, known=told, is_named=is_likely),)


def agreed(one: Assumptions, other: Assumptions) -> Assumptions:
    """What is assumed at one time or another, without what comes out in both ways."""
    both = dict.fromkeys((*one, *other))
    return tuple(a for a in both if replace(a, outcome=not a.outcome) not in both)


def parts(test: ir.Expr) -> tuple[ir.Expr, ...]:
    """The tests that a test is made of."""
    match test:
        case ir.Boolean():
            return test.left, test.right
        case ir.Unary(operator="not"):
            return (test.operand,)
    return ()


def _alternatives(test: ir.Expr) -> Iterator[ir.Expr]:
    """The tests of which one has to hold."""
    if isinstance(test, ir.Boolean) and test.operator == "or":
        yield from _alternatives(test.left)
        yield from _alternatives(test.right)
    else:
        yield test


def _within(test: ir.Expr) -> Iterator[ir.Expr]:
    for part in parts(test):
        yield part
        yield from _within(part)


def _said(function: Function, node: ir.Expr, outcome: bool) -> str:
    """An expression, or its negation, as one would write it."""
    if outcome:
        return (isinstance(node, ir.Name) and node.id) or function.source(node)
    if isinstance(node, ir.Unary) and node.operator == "not":
        return function.source(node.operand)
    if isinstance(node, ir.Compare) and len(node.comparisons) == 1:
        sign, right = node.comparisons[0]
        return f"{function.source(node.left)} {_NEGATED[sign]} {function.source(right)}"
    said = function.source(node)
    return f"not ({said})" if isinstance(node, _LOOSE) else f"not {said}"
