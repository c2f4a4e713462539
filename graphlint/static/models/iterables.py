"""`range`, `zip`, `map`, `dict`, `max`, `sorted` and the like: iterables in, iterables and their elements out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from graphlint.finding import Confidence
from graphlint.rule import HostRead, Truth
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.models.containers import by_name, updated
from graphlint.static.syntax import ir
from graphlint.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.queries import device_tensor, truth

MAX_KNOWN = 16  # numbers of a `range` that are told apart
_MADE: dict[str, Value] = {  # by the factories of dicts, of what is not there yet
    **dict.fromkeys(("builtins.list", "builtins.set", "collections.deque"), Sequence("list", None)),
    **dict.fromkeys(("builtins.dict", "collections.OrderedDict", "collections.defaultdict"), Mapping((), UNKNOWN)),
    **{f"builtins.{kind}": Host(kind) for kind in ("bool", "float", "int", "str")},
}


class Iterables:
    """Makes and reduces iterables."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def reducing(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        pool = values if len(values) > 1 else [self.evaluator.element(values[0])] if values else []
        single = values[0] if len(values) == 1 else None
        if single is not None and isinstance(single, Sequence) and single.elements is not None:
            pool = list(single.elements)
        key = arguments.keyword("key")
        judged = pool
        if key is not None and key != NONE and pool:
            judged = [self.evaluator.call(key, Arguments((union(pool),)), node, frame)]
        is_known = isinstance(single, Sequence) and single.elements is not None
        if is_known and len(pool) <= 1 and name in ("max", "min", "sorted"):
            return pool[0] if pool and name != "sorted" else UNKNOWN
        tensors = [(tensor.sure, value) for value in judged if (tensor := device_tensor(value)) is not None]
        # A compiler turns it into an operation.
        is_turned = frame.mode is Mode.SOFT and name in ("max", "min") and key is None
        if tensors and node is not None and not is_turned:
            _, least_sure = min(tensors, key=lambda found: found[0])
            self.evaluator.observe(frame, node, Truth(least_sure, "search"))
        if name in ("any", "all"):
            known = {truth(value) for value in pool}
            if not is_known and known != {name == "all"}:  # what there is none of decides nothing
                known = {None}
            decided = (name == "any") in known
            return Const(name == "any") if decided else Const(name == "all") if None not in known else Host("bool")
        if name == "sorted":
            return Sequence("list", None, union(pool))
        extra = arguments.keyword("default")
        return union([*pool, extra] if extra is not None else pool) if pool else UNKNOWN

    def converted(self, kind: str, first: Value, values: tuple[Value, ...]) -> Value:
        if not values:
            return Sequence(kind, ())
        results = []
        for member in members(first):
            if isinstance(member, Sequence):
                results.append(Sequence(kind, member.elements, member.element))
            elif member != NONE:
                results.append(Sequence(kind, None, self.evaluator.element(member)))
        return union(results) if results else Sequence(kind, None, UNKNOWN)

    def range(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        for value in arguments.positional:
            if device_tensor(value) is not None and node is not None:
                self.evaluator.observe(frame, node, HostRead(value, "count"))
        for argument in node.arguments if node is not None else ():
            self.evaluator.used("count", argument.value, TRUE, frame)
        values = (v.value for v in arguments.positional if isinstance(v, Const))
        bounds = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if bounds and len(bounds) == len(arguments.positional):
            with suppress(TypeError, ValueError, OverflowError):  # too many, a step of zero, or longer than there is
                if len(known := range(*bounds)) <= MAX_KNOWN:
                    return Sequence("iterator", tuple(map(Const, known)))
        return Sequence("iterator", None, Host("int"))

    def sum(self, first: Value) -> Value:
        element = self.evaluator.element(first)
        tensors = [m for m in members(element) if isinstance(m, Tensor)]
        if tensors and Host("array") in members(first):  # it may be one, and then so is what it comes to
            return replace(tensors[0], sure=Confidence.LOW)
        return tensors[0] if tensors else Host("number") if not isinstance(element, Unknown) else UNKNOWN

    def enumerate(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        element = self.evaluator.element(arguments.positional[0] if arguments.positional else UNKNOWN)
        return Sequence("iterator", None, Sequence("tuple", (Host("int"), element)))

    def zip(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if arguments.star is not None:
            return self._columns(arguments.star)
        elements = tuple(self.evaluator.element(value) for value in arguments.positional)
        return Sequence("iterator", None, Sequence("tuple", elements))

    def _columns(self, row: Value) -> Value:
        """What rows are when they are zipped: a tuple for each place of a row."""
        rows = [m.elements for m in members(row) if isinstance(m, Sequence) and m.elements is not None]
        if len(rows) == len(list(members(row))) and len({len(one) for one in rows}) == 1:
            columns = (Sequence("tuple", None, union(column)) for column in zip(*rows, strict=True))
            return Sequence("iterator", tuple(columns))
        return Sequence("iterator", None, Sequence("tuple", None, self.evaluator.element(row)))

    def chain(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """One iterable after the other."""
        parts = arguments.positional
        known = [p.elements for p in parts if isinstance(p, Sequence) and p.elements is not None]
        if arguments.star is None and len(known) == len(parts):
            return Sequence("iterator", tuple(element for elements in known for element in elements))
        behind = () if arguments.star is None else (self.evaluator.element(arguments.star),)
        return Sequence("iterator", None, union([*(self.evaluator.element(part) for part in parts), *behind]))

    def flattened(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        return Sequence("iterator", None, self.evaluator.element(self.evaluator.element(first)))

    def passed(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Some of the elements of the first argument, in their order."""
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        return Sequence("iterator", None, self.evaluator.element(first))

    def grouped(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Tuples of elements of the first argument."""
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        return Sequence("iterator", None, Sequence("tuple", None, self.evaluator.element(first)))

    def queue(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return self.converted("list", next(iter(arguments.positional), UNKNOWN), arguments.positional[:1])

    def reduce(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`functools.reduce` calls a function with what it gave before, and the next element."""
        function, iterable, *start = *arguments.positional, UNKNOWN, UNKNOWN
        element = self.evaluator.element(iterable)
        first = start[0] if len(arguments.positional) > 2 else element
        return self.evaluator.call(function, Arguments((first, element)), node, frame)

    def next(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first, *default = arguments.positional or (UNKNOWN,)
        if node is not None:
            self.evaluator.consumed(node, frame)
        return union((self.evaluator.element(first), *default))

    def map(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if not arguments.positional:
            return UNKNOWN
        elements = tuple(self.evaluator.element(value) for value in arguments.positional[1:])
        result = self.evaluator.call(arguments.positional[0], Arguments(elements), node, frame)
        return Sequence("iterator", None, result)

    def filter(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        predicate, *rest = arguments.positional or (UNKNOWN,)
        element = self.evaluator.element(rest[0]) if rest else UNKNOWN
        judged = element
        if predicate != NONE:
            judged = self.evaluator.call(predicate, Arguments((element,)), node, frame)
        if node is not None:
            self.evaluator.test(node, judged, frame)
        return Sequence("iterator", None, element)

    def dict(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first = arguments.positional[0] if arguments.positional else None
        if isinstance(first, Sequence) and first.elements is not None:
            pairs = [e.elements for e in first.elements if isinstance(e, Sequence) and e.elements is not None]
            if all(len(pair) == 2 for pair in pairs) and len(pairs) == len(first.elements):
                first = Mapping(tuple((pair[0], pair[1]) for pair in pairs))
        begun = first if isinstance(first, Mapping) else Mapping((), None if first is None else UNKNOWN)
        return updated(begun, by_name(arguments))

    def default_dict(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """A dict that makes containers or numbers for the keys that it lacks; of others, nothing is known."""
        factory, *rest = arguments.positional or (UNKNOWN,)
        made = _MADE.get(factory.name) if isinstance(factory, External) else None
        begun = self.dict(replace(arguments, positional=tuple(rest)), node, frame)
        return UNKNOWN if made is None or not isinstance(begun, Mapping) else replace(begun, other=made)
