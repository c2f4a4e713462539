"""A branch that asks whether a capture is under way in, what its way leaves out of what the other one computes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from graphlint.rule import CaptureBranch, Event
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.sources import Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name, names_in, walk
from graphlint.static.writes.stores import MUTATORS
from graphlint.static.writes.traces import Traces
from graphlint.static.writes.uses import Asked

_ON_HOST = frozenset({
    "bool", "float", "getattr", "hasattr", "int", "isinstance", "len", "max", "min", "print", "range", "str",
})  # fmt: skip
_ORDER = frozenset({"+", "-", "*", "/", "//", "@", "**", "%", "&", "|", "^"})
_OF_COUNTS = frozenset({"//", "%"})  # more of numbers than of tensors


class Branches:
    """Compares the two ways of branches that have been traced."""

    def __init__(self, evaluator: Evaluator, traces: Traces) -> None:
        self.catalogue = evaluator.catalogue
        self.same = evaluator.lexicon.host_state["copies"]
        self.looks = evaluator.lexicon.host_state["looks"]
        self.traces = traces

    def events(self) -> Iterator[tuple[Place, Event]]:
        """The branches whose way under capture does less, and nothing else."""
        for asked in self.traces.branches.values():
            captured, other, rest = _ways(asked)
            if captured and isinstance(captured[-1], ir.Raise):
                continue  # no graph comes of it
            taken, skipped = self._work(captured, rest), self._work(other, rest, _items_set(captured))
            if taken is None or skipped is None or taken - skipped or self._runs(captured) - self._runs(other):
                continue
            left_out = tuple((skipped - taken).keys())
            if left_out:
                computes = (n in _ORDER - _OF_COUNTS or self.catalogue.method(n) is not None for n in left_out)
                yield asked.place, CaptureBranch(left_out, asked.is_flag, any(computes))

    def _work(self, way: ir.Block, rest: ir.Block, set_else: Set[str] = frozenset()) -> Counter[str] | None:
        """The operations whose results count on a way; None where the host asks for some, which a capture refuses.

        What changes parts of something in place is none of them if the other way sets items of that.
        """
        found: Counter[str] = Counter()
        read = names_in(rest) | names_in(way)
        for value in _results(way, read):
            for part in walk(value):
                match part:
                    case ir.Call(func=ir.Attribute(attr=name, value=ir.Subscript(value=ir.Name(id=whole)))) if (
                        name.endswith("_") and whole in set_else
                    ):
                        continue
                    case ir.Call(func=ir.Name(id=name)) | ir.Call(func=ir.Attribute(attr=name)):
                        if _asks_host(part) or name in self.catalogue.telling:
                            return None
                        if not self._keeps(name) and not self.looks.match(name):
                            found[name] += 1
                    case ir.Binary(operator=sign) if sign in _ORDER:
                        found[sign] += 1
        return found

    def _runs(self, way: ir.Block) -> Set[str]:
        """What a way calls for what it does, and not for a result: a kernel that writes to what it is given."""
        called = (part.value for part in walk(way) if isinstance(part, ir.Evaluate))
        names = (last_name(one.func) for one in called if isinstance(one, ir.Call))
        return {name for name in names if name is not None and name not in MUTATORS and not self.looks.match(name)}

    def _keeps(self, name: str) -> bool:
        """Whether an operation gives what it is given, or memory that nothing was written to."""
        if name in self.catalogue.views or self.same.match(name):
            return True
        operation = self.catalogue.function(name)
        return operation is not None and operation.returns == "factory"


def _items_set(block: ir.Block) -> frozenset[str]:
    """The names of which a block sets items: `x[mask] = 0`."""
    targets = (target for one in walk(block) if isinstance(one, ir.Assign) for target in one.targets)
    held = (one.value for one in targets if isinstance(one, ir.Subscript))
    return frozenset(one.id for one in held if isinstance(one, ir.Name))


def _asks_host(call: ir.Call) -> bool:
    """Whether one of Python's own functions is asked of something else than what stands in the source."""
    is_written = all(isinstance(argument.value, ir.Literal) for argument in call.arguments)
    return isinstance(call.func, ir.Name) and call.func.id in _ON_HOST and not is_written


def sides(node: ir.If, outcome: bool) -> tuple[ir.Block, ir.Block]:
    """What runs where a test comes out like this, and what runs else."""
    return (node.body, node.orelse) if outcome else (node.orelse, node.body)


def _ways(asked: Asked) -> tuple[ir.Block, ir.Block, ir.Block]:
    """What runs under capture and else, and what runs behind both."""
    node = asked.node
    if isinstance(node, ir.Conditional):
        first, second = ((ir.Return(side.mark, side),) for side in (node.body, node.orelse))
        return (first, second, ()) if asked.outcome else (second, first, ())
    captured, other = sides(node, asked.outcome)
    rest = _behind(node, asked.place.function.code.body)
    if _leaves(captured) and not _leaves(other):
        return captured, (*other, *rest), ()
    if _leaves(other) and not _leaves(captured):
        return (*captured, *rest), other, ()
    return captured, other, rest


def _behind(node: ir.If, body: ir.Block) -> ir.Block:
    """The statements of the same block behind a branch."""
    for part in walk(body):
        if isinstance(part, tuple) and node in part:
            return part[part.index(node) + 1 :]
    return ()


def _leaves(block: ir.Block) -> bool:
    return bool(block) and isinstance(block[-1], (ir.Return, ir.Raise, ir.Jump))


def _results(block: ir.Block, read: Set[str]) -> Iterator[ir.Expr]:
    """The expressions of a block whose values are returned, kept, read later, or that change something in place."""
    for statement in block:
        match statement:
            case ir.Return(value=value) if value is not None:
                yield value
            case ir.Assign(targets=targets, value=value) if value is not None:
                if any(not isinstance(target, ir.Name) or target.id in read for target in targets):
                    yield value
            case ir.AugAssign(value=value, target=target):
                yield ir.Binary(statement.mark, statement.operator, target, value)
            case ir.Evaluate(value=ir.Call(func=ir.Attribute(attr=name)) as call):
                if name.endswith("_") and not name.endswith("__"):
                    yield call
            case ir.If(test=test, body=body, orelse=orelse):
                if not _is_lazy(test):
                    yield from _results(body, read)
                    yield from _results(orelse, read)
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body) | ir.Try(body=body):
                yield from _results(body, read)


def _is_lazy(test: ir.Expr) -> bool:
    """Whether a condition asks for what is not there yet: `self.x is None`, `not hasattr(...)`, `key not in cache`."""
    for part in walk(test):
        if isinstance(part, ir.Compare) and part.comparisons[0][0] in ("is", "not in"):
            return True
    return isinstance(test, ir.Unary) and test.operator == "not"
