"""Expressions in, values out: literals, names, displays, comprehensions and calls; the rest has modules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import CONTENT, Class, Instance
from graphlint.static.interpreter import narrowing
from graphlint.static.interpreter.modes import in_force
from graphlint.static.models import texts
from graphlint.static.models.containers import updated, with_item
from graphlint.static.syntax import ir
from graphlint.values import (
    MAX_DEPTH,
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
    Value,
    limit_depth,
    members,
    union,
)
from graphlint.values.queries import truth

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_KNOWN = 1024  # elements of a comprehension over constants


class Expressions:
    """Evaluates expressions."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.tensors = interpreter.tensors
        self._by_type: dict[type, Callable[[Any, Frame], Value]] = {
            ir.Literal: self._literal, ir.Name: self._name, ir.Lambda: self._lambda, ir.Display: self._display,
            ir.DictDisplay: self._dict, ir.Slice: self._slice, ir.Starred: self._starred,
            ir.Formatted: self._formatted, ir.Walrus: self._walrus, ir.Await: self._await, ir.Yield: self._yield,
            ir.Comprehension: self._comprehension, ir.Call: self._call, ir.Attribute: interpreter.attributes.attribute,
            ir.Subscript: interpreter.items.subscript, ir.Binary: interpreter.operators.binary,
            ir.Unary: interpreter.operators.unary, ir.Compare: interpreter.comparisons.compare,
            ir.Boolean: interpreter.conditions.boolean, ir.Conditional: interpreter.conditions.conditional,
        }  # fmt: skip

    def eval(self, node: ir.Expr, frame: Frame) -> Value:
        return self._by_type[type(node)](node, frame)

    # Literals, names and displays

    def _literal(self, node: ir.Literal, frame: Frame) -> Value:
        return Const(node.value)

    def _name(self, node: ir.Name, frame: Frame) -> Value:
        return self.interpreter.names.load(node.id, frame)

    def _lambda(self, node: ir.Lambda, frame: Frame) -> Value:
        return self.interpreter.calls.closure(node.code, frame)

    def _display(self, node: ir.Display, frame: Frame) -> Value:
        elements: list[Value] = []
        prefix: tuple[Value, ...] | None = None  # before the first that is unpacked and whose length is not known
        for element in node.elements:
            if not isinstance(element, ir.Starred):
                elements.append(limit_depth(self.eval(element, frame), MAX_DEPTH - 1))
                continue
            value = self.eval(element.value, frame)
            if isinstance(value, Sequence) and value.elements is not None:
                elements.extend(value.elements)
            else:
                prefix = tuple(elements) if prefix is None else prefix
                elements.append(self.element(value))
        if prefix is None:
            return Sequence(node.kind, tuple(elements))
        return Sequence(node.kind, None, union(elements), prefix if node.kind in ("list", "tuple") else ())

    def _dict(self, node: ir.DictDisplay, frame: Frame) -> Value:
        made = Mapping()
        for key, item in node.items:
            value = limit_depth(self.eval(item, frame), MAX_DEPTH - 1)
            if key is not None:
                made = with_item(made, self.eval(key, frame), value)
                continue
            for member in members(value):
                if member != NONE:
                    made = updated(made, member if isinstance(member, Mapping) else Mapping((), UNKNOWN))
        return made

    def _slice(self, node: ir.Slice, frame: Frame) -> Value:
        for bound in node.bounds:
            if bound is not None:
                value = self.eval(bound, frame)
                self.tensors.check_bound(bound, value, frame)
                self.interpreter.used("bound", bound, value, frame)
        return Host("slice")

    def _starred(self, node: ir.Starred, frame: Frame) -> Value:
        return self.element(self.eval(node.value, frame))

    def _formatted(self, node: ir.Formatted, frame: Frame) -> Value:
        values = [Const(part) if isinstance(part, str) else self.eval(part, frame) for part in node.parts]
        for part, value in zip(node.parts, values, strict=True):
            if not isinstance(part, str):
                self.tensors.check_printed(part, value, frame)
        return texts.combined(texts.joined, values) if node.plain else Host("str")

    def _walrus(self, node: ir.Walrus, frame: Frame) -> Value:
        value = self.eval(node.value, frame)
        self.interpreter.assignment.store(node.target, value, frame)
        return value

    def _await(self, node: ir.Await, frame: Frame) -> Value:
        return self.eval(node.value, frame)

    def _yield(self, node: ir.Yield, frame: Frame) -> Value:
        value = NONE if node.value is None else self.eval(node.value, frame)
        frame.yields.append(self.element(value) if node.delegated else value)
        if frame.regions:
            frame.context.open_at_yield = list(frame.regions)
        frame.context.flags_at_yield = in_force(frame.around)
        return UNKNOWN

    def _comprehension(self, node: ir.Comprehension, frame: Frame) -> Value:
        before, assumed = frame.env, frame.assumed
        frame.env = dict(before)
        first = self.eval(node.clauses[0][1], frame)
        with self.interpreter.loops.repeated(len(first.first) if isinstance(first, Sequence) else 1, frame) as is_few:
            known = self._known_comprehension(node, first, frame) if is_few else None
            made = self._joined_comprehension(node, first, frame) if known is None else known
        frame.env, frame.assumed = before, assumed
        return made

    def _joined_comprehension(self, node: ir.Comprehension, first: Value, frame: Frame) -> Value:
        """A comprehension, once for all elements; `first` is what its first clause goes over, and may be nothing."""
        if isinstance(first, Sequence) and first.elements == ():
            return Sequence(node.kind, ()) if node.key is None else Mapping(())
        for number, (target, iterable, tests) in enumerate(node.clauses):
            value = self.eval(iterable, frame) if number else first
            self.interpreter.loops.assume_filled(iterable, frame)
            self.interpreter.assignment.store(target, self.iterate(iterable, value, frame), frame)
            for test in tests:
                self.interpreter.conditions.condition(test, frame)
                frame.env = narrowing.narrow(self.interpreter, test, True, frame)
                frame.assume(test, True)
        element = self.eval(node.element, frame)
        if node.key is not None:
            self.eval(node.key, frame)
            return Mapping((), element)
        is_alike = isinstance(first, Sequence) and first.is_alike and len(node.clauses) == 1
        if is_alike and _asks_for_same(node):
            return Sequence(node.kind, None, TRUE)
        return Sequence(node.kind, None, element, is_alike=is_alike and _is_part(node.element, node.clauses[0][0]))

    def _known_comprehension(self, node: ir.Comprehension, value: Value, frame: Frame) -> Value | None:
        """A comprehension over constants, element by element: what registries are made of."""
        target, _, tests = node.clauses[0]
        if len(node.clauses) > 1 or node.kind == "iterator":
            return None
        if not isinstance(value, Sequence) or value.elements is None or len(value.elements) > MAX_KNOWN:
            return None
        if not value.elements or not all(_is_constant(element) for element in value.elements):
            return None
        items: dict[Value, Value] = {}
        elements: list[Value] = []
        for element in value.elements:
            self.interpreter.assignment.store(target, element, frame)
            outcomes = [self.interpreter.conditions.condition(test, frame) for test in tests]
            if None in outcomes:
                return None
            if False in outcomes:
                continue
            held = self.eval(node.element, frame)
            if node.key is None:
                elements.append(held)
            else:
                items[self.eval(node.key, frame)] = held
        return Sequence(node.kind, tuple(elements)) if node.key is None else Mapping(tuple(items.items()))

    # Items

    def element(self, value: Value) -> Value:
        """What iterating over a value gives."""
        found = []
        for member in members(value):
            match member:
                case Sequence():
                    found.append(member.any_element)
                case Mapping():
                    found.append(union([key for key, _ in member.items] or [UNKNOWN]))
                case Tensor():
                    found.append(self.tensors.row(member))
                case Instance():
                    record = self.interpreter.records.held(member)
                    content = record or self.interpreter.heap.attributes(member).get(CONTENT)
                    found.append(self.element(content) if content is not None else UNKNOWN)
                case _ if member != NONE:
                    found.append(Host("str") if member == Host("str") else UNKNOWN)
        return union(found) if found else UNKNOWN

    def iterate(self, node: ir.Expr, value: Value, frame: Frame) -> Value:
        """What a loop over an evaluated expression binds; objects are asked for their iterator."""
        for member in members(value):
            if isinstance(member, Instance) and self.interpreter.classes.method(member.cls, "__iter__") is not None:
                call = ir.Call(node.mark, node, ())
                return self.element(self.interpreter.methods.call(member, "__iter__", Arguments(), call, frame))
        return self.element(value)

    # Calls

    def _call(self, node: ir.Call, frame: Frame) -> Value:
        if isinstance(node.func, ir.Attribute):
            receiver = self.eval(node.func.value, frame)
            arguments = self.arguments(node, frame)
            if frame.in_region:
                self.interpreter.traces.mutated(node, receiver, arguments, frame)
            return self.interpreter.methods.call(receiver, node.func.attr, arguments, node, frame)
        target = self.eval(node.func, frame)
        result = self.interpreter.calls.call(target, self.arguments(node, frame), node, frame)
        # A guard behind decorators is one by the name that it has here.
        answers = self.interpreter.lexicon.guard(node.func.id) if isinstance(node.func, ir.Name) else None
        return result if answers is None or truth(result) is not None else answers[frame.mode.value]

    def arguments(self, node: ir.Call, frame: Frame) -> Arguments:
        positional: list[Value] = []
        keywords: dict[str, Value] = {}
        star: Value | None = None
        double_star: Value | None = None
        optional: set[str] = set()
        for argument in node.arguments:
            value = self.eval(argument.value, frame)
            if argument.star == "*":
                if isinstance(value, Sequence) and value.elements is not None and star is None:
                    positional.extend(value.elements)
                else:
                    if isinstance(value, Sequence) and star is None:
                        positional.extend(value.prefix)
                    star = self.element(value) if star is None else union((star, self.element(value)))
            elif argument.star == "**":
                for member in members(value):
                    if isinstance(member, Mapping):
                        for key, held in member.items:
                            if isinstance(key, Const) and isinstance(key.value, str):
                                keywords[key.value] = held
                                optional |= {key.value} if key in member.optional else set()
                        rest = member.other
                    else:
                        rest = None if member == NONE else UNKNOWN
                    if rest is not None:
                        double_star = rest if double_star is None else union((double_star, rest))
            elif argument.keyword is not None:
                keywords[argument.keyword] = value
            elif star is not None:
                star = union((star, value))
            else:
                positional.append(value)
        return Arguments(tuple(positional), tuple(keywords.items()), star, double_star, frozenset(optional))


def _is_part(node: ir.Expr, whole: ir.Expr) -> bool:
    """Whether an expression gives a name, or what that has in a place that is written down."""
    match node, whole:
        case ir.Name(id=name), ir.Name(id=known):
            return name == known
        case ((ir.Subscript(value=held, index=ir.Literal()) | ir.Attribute(value=held)), _):
            return _is_part(held, whole)
    return False


def _asks_for_same(node: ir.Comprehension) -> bool:
    """Whether each element of what has a name is compared with one of them: `sizes[0] == size for size in sizes`."""
    match node.element, node.clauses[0]:
        case ir.Compare(left=left, comparisons=[("==", right)]), (ir.Name(id=target), ir.Name(id=iterable), _):
            sides = left, right
        case _:
            return False
    for one, other in (sides, sides[::-1]):
        match one, other:
            case ir.Subscript(value=ir.Name(id=held), index=ir.Literal()), ir.Name(id=name):
                return held == iterable and name == target
    return False


def _is_constant(value: Value) -> bool:
    if isinstance(value, Sequence):
        return value.elements is not None and all(_is_constant(element) for element in value.elements)
    return isinstance(value, (Const, Class, External))
