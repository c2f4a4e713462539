"""The expressions of a rehearsed run."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from graphlint.static.domain.program import Function
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.frames import Decisions
from graphlint.static.life.globals import Globals
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.objects import (
    PLAIN,
    ClassRef,
    Closure,
    Container,
    Frame,
    Object,
    Outside,
    Symbol,
    Tensor,
    Thing,
)
from graphlint.static.life.players import Player
from graphlint.static.life.questions import (
    Opposite,
    Question,
    holds,
    identity,
    is_plain,
    positive,
    same,
)
from graphlint.static.syntax import ir
from graphlint.values import MAX_ELEMENTS
from graphlint.values.bounds import are_short, is_small

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Expressions(Globals):
    """Evaluates the expressions of one run."""

    def __init__(self, interpreter: Interpreter, ledger: Ledger, decisions: Decisions, player: Player) -> None:
        super().__init__(interpreter, ledger, decisions, player)
        self._expressions: dict[type, Callable[[Any, Frame], Object]] = {
            ir.Literal: lambda node, frame: node.value if isinstance(node.value, PLAIN) else Symbol(),
            ir.Name: self._name,
            ir.Attribute: self._attribute,
            ir.Subscript: self._subscript,
            ir.Slice: lambda node, frame: Symbol(),
            ir.Call: self._call,
            ir.Display: self._display,
            ir.DictDisplay: self._dict,
            ir.Starred: lambda node, frame: self.eval(node.value, frame),
            ir.Binary: self._binary,
            ir.Unary: self._unary,
            ir.Boolean: self._boolean,
            ir.Compare: self._compare,
            ir.Conditional: self._conditional,
            ir.Comprehension: self._comprehension,
            ir.Formatted: self._formatted,
            ir.Walrus: self._walrus,
            ir.Yield: self._yield,
            ir.Await: lambda node, frame: self.eval(node.value, frame),
            ir.Lambda: self._lambda,
        }

    def eval(self, node: ir.Expr, frame: Frame) -> Object:
        """The value of an expression."""
        self.step()
        return self._expressions[type(node)](node, frame)

    # Displays

    def _display(self, node: ir.Display, frame: Frame) -> Object:
        made = Container(frame.place(node), self.ledger.capture, kind=node.kind)
        for element in node.elements:
            value = self.eval(element, frame)
            if isinstance(element, ir.Starred):
                made.take(value.elements if isinstance(value, Container) else (Thing(),))
                made.is_open = made.is_open or not isinstance(value, Container)
            else:
                made.elements.append(value)
        return made

    def _dict(self, node: ir.DictDisplay, frame: Frame) -> Object:
        made = Container(frame.place(node), self.ledger.capture, kind="dict")
        for key, value in node.items:
            held = self.eval(value, frame)
            if key is None:
                made.keyed.update(held.keyed if isinstance(held, Container) else {})
                made.is_open = True
            else:
                name = self.eval(key, frame)
                made.keyed[identity(name)] = (name, held)
        return made

    def _comprehension(self, node: ir.Comprehension, frame: Frame) -> Object:
        kind = "dict" if node.key is not None else "set" if node.kind == "set" else "list"
        made = Container(frame.place(node), self.ledger.capture, kind=kind)
        inner = Frame(frame.function, frame, receiver=frame.receiver, way=frame.way, caller=frame)

        def clause(number: int) -> None:
            if number == len(node.clauses):
                value = self.eval(node.element, inner)
                key = None if node.key is None else self.eval(node.key, inner)
                if node.key is not None:
                    made.keyed[identity(key)] = (key, value)
                else:
                    made.elements.append(value)
                self.ledger.collected(made, key, value, frame.place(node))
                return
            target, iterable, tests = node.clauses[number]

            def body(value: Object) -> None:
                loop.value, loop.began = value, self.ledger.now
                self.store(target, value, inner, node)
                answers = [self.known_truth(self.eval(test, inner)) for test in tests]
                made.is_sifted |= None in answers
                if False not in answers:
                    clause(number + 1)

            iterated = self.eval(iterable, inner)
            made.is_guessed |= not isinstance(iterated, (Container, range)) or getattr(iterated, "is_guessed", False)
            with self.ledger.loop(frame.place(node)) as loop:
                self.iterate(iterated, inner, node, body)

        clause(0)
        return made

    @abstractmethod
    def store(self, target: ir.Expr, value: Object, frame: Frame, node: ir.Node) -> None: ...

    # Operators

    def _binary(self, node: ir.Binary, frame: Frame) -> Object:
        left, right = self.eval(node.left, frame), self.eval(node.right, frame)
        return self.combined(node.operator, left, right, node, frame)

    def combined(self, sign: str, left: Object, right: Object, node: ir.Node, frame: Frame) -> Object:
        """What an operator gives."""
        if isinstance(left, PLAIN) and isinstance(right, PLAIN) and sign in _ARITHMETIC:
            with suppress(TypeError, ValueError, ArithmeticError):
                if is_small(sign, left, right):
                    return _ARITHMETIC[sign](left, right)
        if isinstance(left, Container) and sign == "+":
            more = right.elements if isinstance(right, Container) else []
            joined = Container(frame.place(node), kind=left.kind, elements=list(left.elements), is_open=not more)
            joined.take(more)
            return joined
        if isinstance(left, Container) and sign == "*" and not isinstance(right, (Container, Tensor)):
            is_known = type(right) is int and right * len(left.elements) <= MAX_ELEMENTS
            held = left.elements * right if is_known else list(left.elements)
            return Container(frame.place(node), kind=left.kind, elements=held, is_open=left.is_open or not is_known)
        return self.operated((left, right), frame.place(node))

    def changed_in_place(self, node: ir.AugAssign, before: Object, value: Object, frame: Frame) -> Object | None:
        """The target of `target += value` if it is changed in place, as tensors and lists are; else None."""
        if isinstance(before, Tensor):
            self.ledger.read(value, frame.place(node))
            self.ledger.wrote(before, (before, value), frame.place(node))
            return before
        if isinstance(before, Container) and before.kind != "tuple":
            before.take(value.elements if isinstance(value, Container) else (Thing(),))
            if isinstance(node.value, ir.Display) and isinstance(value, Container):
                for one in value.elements:
                    self.ledger.collected(before, None, one, frame.place(node))
            return before
        return None

    def _unary(self, node: ir.Unary, frame: Frame) -> Object:
        value = self.eval(node.operand, frame)
        if node.operator == "not":
            return self._negated(value)
        if isinstance(value, (int, float)) and node.operator == "-":
            return -value
        return self.operated((value,), frame.place(node))

    def _negated(self, value: Object) -> Object:
        known = self.known_truth(value)
        return (not known) if known is not None else Opposite(value)

    def _boolean(self, node: ir.Boolean, frame: Frame, likely: bool = True, is_guard: bool = False) -> Object:
        is_or = node.operator == "or"
        decides = is_or is not likely  # whether the whole comes out so only if the left does
        left = self.condition(node.left, frame, likely or not is_or, is_guard and decides)
        truth = self.known_truth(left)
        if truth is None:
            truth = self.decide_on(left, frame.place(node.left), likely or not is_or, is_guard and decides)
        if truth is is_or:
            return left
        return self.condition(node.right, frame, likely, is_guard)

    def condition(self, node: ir.Expr, frame: Frame, likely: bool, is_guard: bool = False) -> Object:
        """The value of a condition; its parts come out so that the whole comes out as it is likely to."""
        match node:
            case ir.Boolean():
                self.step()
                return self._boolean(node, frame, likely, is_guard)
            case ir.Unary(operator="not"):
                self.step()
                return self._negated(self.condition(node.operand, frame, not likely, is_guard))
        return self.eval(node, frame)

    def _compare(self, node: ir.Compare, frame: Frame) -> Object:
        left = self.eval(node.left, frame)
        result: Object = True
        for sign, expression in node.comparisons:
            right = self.eval(expression, frame)
            result = self.compared(sign, left, right, node, frame)
            if self.known_truth(result) is False:
                return False
            left = right
        return result

    def compared(self, sign: str, left: Object, right: Object, node: ir.Node, frame: Frame) -> Object:
        """What a comparison gives; the same question about the same objects has the same answer in one run."""
        if sign in ("is", "is not"):
            known = same(left, right)
            if known is not None:
                return known is (sign == "is")
        elif sign in ("in", "not in") and isinstance(right, Container):
            known = holds(right, left)
            if known is not None:
                return known is (sign == "in")
        elif left is right and isinstance(left, Container) and sign in ("==", "!="):
            return sign == "=="
        elif isinstance(left, Container) and isinstance(right, Container) and is_plain(left) and is_plain(right):
            if sign in ("==", "!="):
                return (identity(left) == identity(right)) is (sign == "==")
        elif isinstance(left, PLAIN) and isinstance(right, PLAIN) and sign in _ORDER:
            with suppress(TypeError):
                return bool(_ORDER[sign](left, right))
        elif isinstance(left, (Outside, ClassRef)) and left == right and sign in ("==", "!="):
            return sign == "=="  # a member of an enumeration
        elif isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.operated((left, right), frame.place(node))
        base, is_opposite = positive(sign)
        spelt = (node.left, *(side for _, side in node.comparisons)) if isinstance(node, ir.Compare) else (node,)
        is_counted = not any(isinstance(side, ir.Literal) for side in spelt)
        asked = Question((base, identity(left), identity(right)), is_counted)
        return Opposite(asked) if is_opposite else asked

    def _conditional(self, node: ir.Conditional, frame: Frame) -> Object:
        return self.eval(node.body if self.test(node.test, frame, True) else node.orelse, frame)

    def _formatted(self, node: ir.Formatted, frame: Frame) -> Object:
        parts = [part if isinstance(part, str) else self.eval(part, frame) for part in node.parts]
        self.ledger.read([part for part in parts if isinstance(part, Thing)], frame.place(node))
        if node.plain and all(isinstance(part, (str, int)) for part in parts) and are_short(parts):
            return "".join(map(str, parts))
        return Symbol()

    def _walrus(self, node: ir.Walrus, frame: Frame) -> Object:
        value = self.eval(node.value, frame)
        self.store(node.target, value, frame, node)
        return value

    def _yield(self, node: ir.Yield, frame: Frame) -> Object:
        value = None if node.value is None else self.eval(node.value, frame)
        self.ledger.returned(value, frame.place(node), frame)
        if frame.on_yield is not None:
            return frame.on_yield(value)
        return Thing()

    def _lambda(self, node: ir.Lambda, frame: Frame) -> Object:
        name = f"{frame.function.qualname}.<locals>.<lambda>"
        return Closure(Function(node.code, frame.function.module, name, frame.function.first_line), frame)
