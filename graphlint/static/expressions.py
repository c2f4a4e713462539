"""Expressions in, values out: names, attributes, items, operators, conditions, and the targets of assignments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphlint.static import growth, ir, narrowing, registries, results
from graphlint.static.containers import with_item
from graphlint.static.frames import Env, Frame, Mode
from graphlint.static.objects import CONTENT
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Bound,
    Class,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    PackageValue,
    Partial,
    Place,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    device_tensor,
    join,
    join_all,
    members,
    placed_by_name,
    tensors_in,
    truth,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "/": operator.truediv,
    "%": operator.mod,
}  # fmt: skip
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SPECIAL = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_SPECIAL_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_SPECIAL_COMPARE = {
    "==": "__eq__", "!=": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
    "in": "__contains__", "not in": "__contains__",
}  # fmt: skip
MAX_KNOWN = 1024  # elements of a comprehension over constants
_HOST_KINDS = ("int", "float", "bool", "str", "number")
# The `type` of a device that is not the host: "cuda" as far as it is asked for, or that of another accelerator.
_ACCELERATOR = External("torch.device:type")
_DEVICE_TYPES: dict[Place, Value] = {
    Place.HOST: Const("cpu"), Place.DEVICE: _ACCELERATOR, Place.ANYWHERE: Host("str"),
}  # fmt: skip
# What every tensor, and hardly anything else, has: enough to go by when the object is not known.
_TENSOR_ATTRIBUTES: dict[str, Value] = {
    "device": DeviceName(Place.ANYWHERE), "dtype": Host("dtype"), "shape": Sequence("tuple", None, Host("int")),
    "ndim": Host("int"), "is_cuda": Host("bool"), "is_cpu": Host("bool"),
}  # fmt: skip
_SEQUENCE_KINDS = ("list", "tuple", "set", "iterator", "sequential")


class Expressions:
    """Evaluates expressions and stores into targets."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.tensors = interpreter.tensors

    def eval(self, node: ir.Expr, frame: Frame) -> Value:
        return _EXPRESSIONS[type(node)](self, node, frame)

    # Atoms

    def _literal(self, node: ir.Literal, frame: Frame) -> Value:
        return Const(node.value)

    def _name(self, node: ir.Name, frame: Frame) -> Value:
        return self.interpreter.names.load(node.id, frame)

    def _lambda(self, node: ir.Lambda, frame: Frame) -> Value:
        return self.interpreter.calls.closure(node.code, frame)

    def _display(self, node: ir.Display, frame: Frame) -> Value:
        elements: list[Value] = []
        known = True
        for element in node.elements:
            if not isinstance(element, ir.Starred):
                elements.append(self.eval(element, frame))
                continue
            value = self.eval(element.value, frame)
            if isinstance(value, Sequence) and value.elements is not None:
                elements.extend(value.elements)
            else:
                known = False
                elements.append(self.element(value))
        if known:
            return Sequence(node.kind, tuple(elements))
        return Sequence(node.kind, None, join_all(elements))

    def _dict(self, node: ir.DictDisplay, frame: Frame) -> Value:
        mapping = Mapping()
        for key, item in node.items:
            value = self.eval(item, frame)
            if key is not None:
                mapping = with_item(mapping, self.eval(key, frame), value)
                continue
            for member in members(value):
                if isinstance(member, Mapping):
                    other = member.other if mapping.other is None else union((mapping.other, member.any_value))
                    mapping = Mapping(tuple((dict(mapping.items) | dict(member.items)).items()), other)
                elif member != NONE:
                    mapping = Mapping(mapping.items, UNKNOWN)
        return mapping

    def _slice(self, node: ir.Slice, frame: Frame) -> Value:
        for bound in node.bounds:
            if bound is not None:
                self.tensors.check_bound(bound, self.eval(bound, frame), frame)
        return Host("slice")

    def _starred(self, node: ir.Starred, frame: Frame) -> Value:
        return self.element(self.eval(node.value, frame))

    def _formatted(self, node: ir.Formatted, frame: Frame) -> Value:
        texts: list[str] | None = [] if node.plain else None
        for part in node.parts:
            value = Const(part) if isinstance(part, str) else self.eval(part, frame)
            if not isinstance(part, str):
                self.tensors.check_printed(part, value, frame)
            if texts is not None and isinstance(value, Const) and isinstance(value.value, (str, int)):
                texts.append(str(value.value))
            else:
                texts = None
        return Host("str") if texts is None else Const("".join(texts))

    def _walrus(self, node: ir.Walrus, frame: Frame) -> Value:
        value = self.eval(node.value, frame)
        self.store(node.target, value, frame)
        return value

    def _await(self, node: ir.Await, frame: Frame) -> Value:
        return self.eval(node.value, frame)

    def _yield(self, node: ir.Yield, frame: Frame) -> Value:
        value = NONE if node.value is None else self.eval(node.value, frame)
        frame.yields.append(self.element(value) if node.delegated else value)
        if frame.regions:
            frame.context.open_at_yield = list(frame.regions)
        return UNKNOWN

    def _comprehension(self, node: ir.Comprehension, frame: Frame) -> Value:
        before = frame.env
        frame.env = dict(before)
        known = self._known_comprehension(node, frame)
        if known is not None:
            frame.env = before
            return known
        for target, iterable, tests in node.clauses:
            value = self.eval(iterable, frame)
            self.store(target, self.iterate(iterable, value, frame), frame)
            for test in tests:
                self.condition(test, frame)
                frame.env = narrowing.narrow(self.interpreter, test, True, frame)
        element = self.eval(node.element, frame)
        key = self.eval(node.key, frame) if node.key is not None else None
        frame.env = before
        if key is not None:
            return Mapping((), element)
        return Sequence(node.kind, None, element)

    def _known_comprehension(self, node: ir.Comprehension, frame: Frame) -> Value | None:
        """A comprehension over constants, element by element: what registries are made of."""
        target, iterable, tests = node.clauses[0]
        if len(node.clauses) > 1 or node.kind == "iterator":
            return None
        value = self.eval(iterable, frame)
        if not isinstance(value, Sequence) or value.elements is None or len(value.elements) > MAX_KNOWN:
            return None
        if not value.elements or not all(_is_constant(element) for element in value.elements):
            return None
        items: dict[Value, Value] = {}
        elements: list[Value] = []
        for element in value.elements:
            self.store(target, element, frame)
            outcomes = [self.condition(test, frame) for test in tests]
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

    # Attributes

    def _attribute(self, node: ir.Attribute, frame: Frame) -> Value:
        return placed_by_name(self.attribute(self.eval(node.value, frame), node.attr, frame), node.attr)

    def attribute(self, value: Value, name: str, frame: Frame) -> Value:
        """An attribute of a value."""
        found = [self._attribute_of(member, name, frame) for member in members(value) if member != NONE]
        return union(found) if found else UNKNOWN

    def _attribute_of(self, value: Value, name: str, frame: Frame) -> Value:
        interpreter = self.interpreter
        if isinstance(value, Instance):
            return self._instance_attribute(value, name, frame)
        if isinstance(value, External) and name == "__name__":
            return Const(value.name.rpartition(".")[2])
        if isinstance(value, (ModuleValue, PackageValue, External)):
            return interpreter.names.attribute_of_module(value, name)
        if isinstance(value, Tensor):
            return self.tensors.attribute(value, name)
        if isinstance(value, DeviceName) and name == "type":
            return _DEVICE_TYPES[value.place]
        if isinstance(value, Class):
            return self._class_member(value, name, frame)
        if isinstance(value, Super):
            if isinstance(value.receiver, Instance):
                found = interpreter.objects.member(value.receiver, name, frame, value.after)
                return found if found is not None else UNKNOWN
            return UNKNOWN
        if isinstance(value, ExternalObject):
            return self._external_attribute(value, name)
        if isinstance(value, (Sequence, Mapping, Const, Host)):
            return Method(value, name) if not isinstance(value, Host) or value.kind != "object" else UNKNOWN
        if isinstance(value, Partial) and name == "func":
            return value.function
        if isinstance(value, Function) and name == "__code__":
            names = tuple(Const(parameter.name) for parameter in value.code.parameters)
            return ExternalObject("types.CodeType", (("co_varnames", Sequence("tuple", names)),))
        if isinstance(value, (Function, Bound, Partial)):
            return (
                value
                if name == "__call__"
                else value.receiver
                if isinstance(value, Bound) and name == "__self__"
                else UNKNOWN
            )
        return _TENSOR_ATTRIBUTES.get(name, UNKNOWN)

    def _instance_attribute(self, value: Instance, name: str, frame: Frame) -> Value:
        objects = self.interpreter.objects
        if name == "__class__":
            return Class(value.cls)
        if name == "__dict__":
            return Mapping(tuple((Const(k), v) for k, v in objects.attributes(value).items()), UNKNOWN)
        if name == "__call__":
            return value
        found = objects.load(value, name, frame)
        if found == UNKNOWN and name in _TENSOR_ATTRIBUTES:
            return _TENSOR_ATTRIBUTES[name]
        return found

    def _class_member(self, value: Class, name: str, frame: Frame) -> Value:
        objects = self.interpreter.objects
        cls = value.definition
        method = objects.method(cls, name)
        if method is not None:
            return union(objects.bind(m, value, frame) for m in members(method))
        found = objects.class_attribute(cls, name)
        if found is not None:
            return found
        if name == "apply" and any("autograd" in base for base in objects.external_bases(cls)):
            return Bound(External("autograd.apply"), value)
        return Const(cls.name) if name in ("__name__", "__qualname__") else UNKNOWN

    def _external_attribute(self, value: ExternalObject, name: str) -> Value:
        operation = self.interpreter.catalogue.find(f"{value.cls}.{name}")
        if operation is not None and operation.attribute:
            return results.plain(operation.returns)
        if value.cls.startswith("torch.nn.") and name in ("weight", "bias", "running_mean", "running_var"):
            return self.tensors.parameter()
        for key, held in value.arguments:
            if key == name:
                return held
        return Method(value, name)

    # Items

    def _subscript(self, node: ir.Subscript, frame: Frame) -> Value:
        value = self.eval(node.value, frame)
        index = self.eval(node.index, frame)
        results = []
        for member in members(value):
            if isinstance(member, (Tensor, Unknown)):
                results.append(self.tensors.index(member, node, index, frame))
            elif isinstance(member, Instance):
                results.append(self._instance_item(member, index, node, frame))
            elif member != NONE:
                if isinstance(member, Sequence):
                    self.tensors.check_list_index(node, index, frame)
                if isinstance(member, Sequence) and isinstance(node.index, ir.Slice):
                    results.append(self._sliced(member, node.index, frame))
                else:
                    results.append(self.item(member, index))
        return union(results) if results else UNKNOWN

    def _sliced(self, value: Sequence, node: ir.Slice, frame: Frame) -> Value:
        """`value[start:stop:step]` of a list or tuple."""
        bounds = [NONE if bound is None else self.eval(bound, frame) for bound in node.bounds]
        if not all(isinstance(b, Const) and (b.value is None or type(b.value) is int) for b in bounds):
            return Sequence(value.kind, None, value.any_element)
        start, stop, step = (bound.value for bound in bounds if isinstance(bound, Const))
        if value.elements is not None:
            return Sequence(value.kind, value.elements[slice(start, stop, step or None)])
        rest = value.prefix[start or 0 :] if stop is None and step in (None, 1) and (start or 0) >= 0 else ()
        return Sequence(value.kind, None, value.element, rest)

    def _instance_item(self, value: Instance, index: Value, node: ir.Subscript, frame: Frame) -> Value:
        objects = self.interpreter.objects
        call = ir.Call(node.pos, node.value, ())
        if objects.method(value.cls, "__getitem__") is not None:
            return self.interpreter.calls.call_method(value, "__getitem__", Arguments((index,)), call, frame)
        content = objects.attributes(value).get(CONTENT)
        return self.item(content, index) if content is not None else UNKNOWN

    def item(self, value: Value, index: Value, missing: list[Value] | None = None) -> Value:
        """`value[index]` of a container; `missing` is what a mapping gives for a key that it may not have."""
        if isinstance(value, Sequence):
            if isinstance(index, Const) and isinstance(index.value, int):
                if value.elements is not None:
                    inside = -len(value.elements) <= index.value < len(value.elements)
                    return value.elements[index.value] if inside else UNKNOWN
                if 0 <= index.value < len(value.prefix):
                    return value.prefix[index.value]
            if index == Host("slice"):
                return Sequence(value.kind, None, value.any_element)
            return value.any_element
        if isinstance(value, Mapping):
            return self._mapped(value, index, missing or [])
        if value == Host("str") or (isinstance(value, Const) and isinstance(value.value, str)):
            return Host("str")
        if isinstance(value, Host):
            return Host("array") if value.kind == "array" else Host("object")
        return UNKNOWN

    @staticmethod
    def _mapped(value: Mapping, index: Value, missing: list[Value]) -> Value:
        keys = list(members(index))
        held = dict(value.items)
        found = [held[key] for key in keys if key in held]
        if len(found) < len(keys):
            found += [value.other] if value.other is not None else missing
        if not all(isinstance(key, (Const, External, Class)) for key in keys):
            found.append(value.any_value)
        return union(found) if found else UNKNOWN

    def element(self, value: Value) -> Value:
        """What iterating over a value gives."""
        found = []
        for member in members(value):
            if isinstance(member, Sequence):
                found.append(member.any_element)
            elif isinstance(member, Mapping):
                found.append(union([key for key, _ in member.items] or [UNKNOWN]))
            elif isinstance(member, Tensor):
                found.append(self.tensors.row(member))
            elif isinstance(member, Instance):
                content = self.interpreter.objects.attributes(member).get(CONTENT)
                found.append(self.element(content) if content is not None else UNKNOWN)
            elif member != NONE:
                found.append(Host("str") if member == Host("str") else UNKNOWN)
        return union(found) if found else UNKNOWN

    def iterate(self, node: ir.Expr, value: Value, frame: Frame) -> Value:
        """What a loop over an evaluated expression binds; objects are asked for their iterator."""
        for member in members(value):
            if isinstance(member, Instance) and self.interpreter.objects.method(member.cls, "__iter__") is not None:
                call = ir.Call(node.pos, node, ())
                return self.element(self.interpreter.calls.call_method(member, "__iter__", Arguments(), call, frame))
        return self.element(value)

    # Calls

    def _call(self, node: ir.Call, frame: Frame) -> Value:
        calls = self.interpreter.calls
        if isinstance(node.func, ir.Attribute):
            receiver = self.eval(node.func.value, frame)
            arguments = self.arguments(node, frame)
            return calls.call_method(receiver, node.func.attr, arguments, node, frame)
        target = self.eval(node.func, frame)
        return calls.call(target, self.arguments(node, frame), node, frame)

    def arguments(self, node: ir.Call, frame: Frame) -> Arguments:
        positional: list[Value] = []
        keywords: dict[str, Value] = {}
        star: Value | None = None
        double_star: Value | None = None
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
        return Arguments(tuple(positional), tuple(keywords.items()), star, double_star)

    # Operators

    def _binary(self, node: ir.Binary, frame: Frame) -> Value:
        return self.binary(node, node.operator, self.eval(node.left, frame), self.eval(node.right, frame), frame)

    def binary(self, node: ir.Node, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        """`left sign right`."""
        name = _SPECIAL.get(sign, sign)
        special = self.interpreter.calls.special
        for value, other, prefix in ((left, right, ""), (right, left, "r")):
            given = special(value, f"__{prefix}{name}__", Arguments((other,)), node, frame)
            if given is not None:
                return given
        if sign == "%" and (left == Host("str") or (isinstance(left, Const) and isinstance(left.value, str))):
            self.tensors.check_printed(node, right, frame)
            return Host("str")
        if any(isinstance(m, Tensor) for side in (left, right) for m in members(side)):
            return self.tensors.binary(node, sign, left, right, frame)
        if isinstance(left, Const) and isinstance(right, Const) and sign in _ARITHMETIC:
            return _folded(_ARITHMETIC[sign], left.value, right.value)
        if sign in "|&" and Const(sign == "|") in (left, right):  # whatever the other side is, if it is a bool
            return Const(sign == "|")
        if isinstance(left, Sequence) and sign in ("+", "*"):
            return self._concatenated(sign, left, right)
        if isinstance(left, Mapping) and isinstance(right, Mapping) and sign == "|":
            return Mapping(tuple((dict(left.items) | dict(right.items)).items()), left.other or right.other)
        kinds = [_host_kind(value) for value in (left, right)]
        if None not in kinds:
            if "array" in kinds:
                return Host("array")
            return Host("str" if "str" in kinds else "float" if sign == "/" or "float" in kinds else "int")
        return UNKNOWN

    def _concatenated(self, sign: str, left: Sequence, right: Value) -> Value:
        if sign == "*":
            return Sequence(left.kind, None, left.any_element)
        if not isinstance(right, Sequence):
            return Sequence(left.kind, None, join(left.any_element, UNKNOWN), left.first)
        if left.elements is not None and right.elements is not None:
            return Sequence(left.kind, left.elements + right.elements)
        prefix = left.prefix if left.elements is None else left.elements + right.prefix
        parts = [s.any_element for s in (left, right) if s.elements is None or s.elements]
        return Sequence(left.kind, None, join_all(parts) if parts else UNKNOWN, prefix)

    def _unary(self, node: ir.Unary, frame: Frame) -> Value:
        if node.operator == "not":
            outcome = self.condition(node.operand, frame)
            return Host("bool") if outcome is None else Const(not outcome)
        value = self.eval(node.operand, frame)
        given = self.interpreter.calls.special(value, _SPECIAL_UNARY[node.operator], Arguments(), node, frame)
        if given is not None:
            return given
        if any(isinstance(m, Tensor) for m in members(value)):
            return self.tensors.unary(value, node.operator)
        kind = _host_kind(value)
        return Host(kind) if kind else UNKNOWN

    def _boolean(self, node: ir.Boolean, frame: Frame) -> Value:
        left = self.eval(node.left, frame)
        outcome = self.test(node.left, left, frame)
        goes_on = node.operator == "and"
        if outcome is not None and outcome is not goes_on:
            return left
        with self._behind(node, outcome, goes_on, frame):
            right = self.eval(node.right, frame)
        if outcome is goes_on:
            return right
        kept = [m for m in members(left) if truth(m) is not goes_on]
        return union((*kept, right)) if kept else right

    @contextmanager
    def _behind(self, node: ir.Boolean, outcome: bool | None, goes_on: bool, frame: Frame) -> Iterator[None]:
        """The right side of `and` and `or`: what the left side says holds there, and if that is not known, it is a doubt.

        `x is not None and x.any()` leaves none: the left side only says what kind of value the right side asks.
        """
        before, doubtful = frame.env, frame.doubtful
        frame.env = narrowing.narrow(self.interpreter, node.left, goes_on, frame)
        if outcome is None and isinstance(node.left, ir.Compare):
            says_kind = node.left.comparisons[0][0] in ("is", "is not")
            frame.doubtful = doubtful or not says_kind or ir.names(node.left).isdisjoint(ir.names(node.right))
        yield
        frame.env, frame.doubtful = _with_new_names(before, frame.env), doubtful

    def _conditional(self, node: ir.Conditional, frame: Frame) -> Value:
        outcome = self.condition(node.test, frame)
        before = frame.env
        results = []
        for answer, branch in ((True, node.body), (False, node.orelse)):
            if outcome is not None and outcome is not answer:
                continue
            frame.env = narrowing.narrow(self.interpreter, node.test, answer, frame)
            results.append(self.eval(branch, frame))
            before = frame.env = _with_new_names(before, frame.env)
        return union(results)

    def condition(self, node: ir.Expr, frame: Frame, effect: str = "tensor-branch") -> bool | None:
        """The truth of a condition if it is known; a device tensor asked for its truth is an event."""
        if isinstance(node, ir.Boolean):
            goes_on = node.operator == "and"
            left = self.condition(node.left, frame, effect)
            if left is not None and left is not goes_on:
                return left
            with self._behind(node, left, goes_on, frame):
                right = self.condition(node.right, frame, effect)
            if left is goes_on:
                return right
            return right if right is not None and right is not goes_on else None
        if isinstance(node, ir.Unary) and node.operator == "not":
            outcome = self.condition(node.operand, frame, effect)
            return None if outcome is None else not outcome
        return self.test(node, self.eval(node, frame), frame, effect)

    def test(self, node: ir.Expr, value: Value, frame: Frame, effect: str = "tensor-branch") -> bool | None:
        """The truth of an evaluated expression."""
        tensor = device_tensor(value)
        if tensor is not None:
            self.interpreter.event(frame, node, effect, self.tensors.sureness(value, tensor))
            return None
        given = None
        for name in ("__bool__", "__len__"):
            if given is None:
                given = self.interpreter.calls.special(value, name, Arguments(), node, frame)
        return truth(value) if given is None else truth(given)

    def _compare(self, node: ir.Compare, frame: Frame) -> Value:
        left = self.eval(node.left, frame)
        outcomes: list[bool | None] = []
        result: Value = UNKNOWN
        for index, (sign, right_node) in enumerate(node.comparisons):
            right = self.eval(right_node, frame)
            result = self._compared(node, sign, left, right, frame)
            if index + 1 < len(node.comparisons):
                self.test(node, result, frame)
            outcomes.append(truth(result))
            left = right
        if len(outcomes) == 1:
            return result
        if False in outcomes:
            return Const(False)
        tensor = [m for m in members(result) if isinstance(m, Tensor)]
        return union(tensor) if tensor else Const(True) if None not in outcomes else Host("bool")

    def _compared(self, node: ir.Compare, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        if sign in ("is", "is not"):
            same = self.same(left, right)
            return Host("bool") if same is None else Const(same is (sign == "is"))
        holder, other = (right, left) if sign in ("in", "not in") else (left, right)
        given = self.interpreter.calls.special(holder, _SPECIAL_COMPARE[sign], Arguments((other,)), node, frame)
        if given is not None:
            return given if sign not in ("!=", "not in") else Host("bool")
        if sign in ("in", "not in"):
            return self._contained(node, sign, left, right, frame)
        compared_with_none = sign in ("==", "!=") and NONE in (left, right)  # which is no operation of a tensor
        if not compared_with_none and any(isinstance(m, Tensor) for side in (left, right) for m in members(side)):
            return self.tensors.compare(node, left, right, frame)
        if sign in ("==", "!="):
            same = self.same(left, right)
            return Host("bool") if same is None else Const(same is (sign == "=="))
        if isinstance(left, Const) and isinstance(right, Const):
            return _folded(_ORDER[sign], left.value, right.value)
        return Host("bool")

    def same(self, left: Value, right: Value) -> bool | None:
        """Whether two values are the same constant, if that is known."""
        answers: set[bool | None] = set()
        for one in members(left):
            for other in members(right):
                answers.add(_same_member(one, other))
        return answers.pop() if len(answers) == 1 else None

    def _contained(self, node: ir.Compare, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        tensor = device_tensor(right)
        if tensor is None and isinstance(right, Sequence) and any(True for _ in tensors_in(right)):
            tensor = device_tensor(left)
        if tensor is not None:
            self.interpreter.event(frame, node, "tensor-branch", tensor.sure)
            return Host("bool")
        answer: bool | None = None
        if isinstance(right, Sequence) and right.elements is not None:
            answers = {self.same(left, element) for element in right.elements}
            answer = True if True in answers else False if answers <= {False} else None
        elif isinstance(right, Mapping) and isinstance(left, (Const, Class, External)):
            held = left in dict(right.items)
            answer = True if held else False if right.other is None else None
        return Host("bool") if answer is None else Const(answer is (sign == "in"))

    # Targets

    def store(self, target: ir.Expr, value: Value, frame: Frame) -> None:
        """Assign a value to a name, attribute, item, or several of these."""
        if isinstance(target, ir.Name):
            if frame.scopes.get(target.id) == "global":
                self._keep(target, value, frame)
            frame.env[target.id] = value
        elif isinstance(target, ir.Display):
            self._unpack(target, value, frame)
        elif isinstance(target, ir.Starred):
            self.store(target.value, Sequence("list", None, value), frame)
        elif isinstance(target, ir.Attribute):
            self._store_attribute(target, value, frame)
        elif isinstance(target, ir.Subscript):
            self._store_item(target, value, frame)

    def _unpack(self, target: ir.Display, value: Value, frame: Frame) -> None:
        rows = [self._columns(target, member) for member in members(value) if member != NONE]
        fitting = [row for row in rows if row]
        columns = [union(column) for column in zip(*fitting, strict=True)] or [UNKNOWN] * len(target.elements)
        for element, column in zip(target.elements, columns, strict=True):
            self.store(element.value if isinstance(element, ir.Starred) else element, column, frame)

    def _columns(self, target: ir.Display, value: Value) -> list[Value]:
        """What each target gets of a value; nothing if the value is too long or too short."""
        count = len(target.elements)
        star = next((i for i, element in enumerate(target.elements) if isinstance(element, ir.Starred)), None)
        if isinstance(value, Sequence) and value.elements is not None:
            behind = 0 if star is None else count - star - 1
            middle = len(value.elements) - behind
            if star is None:
                return list(value.elements) if len(value.elements) == count else []
            if middle < star:
                return []
            starred = Sequence("list", value.elements[star:middle])
            return [*value.elements[:star], starred, *value.elements[middle:]]
        rest = self.element(value)
        columns = [rest] * count
        if isinstance(value, Sequence):
            known = value.prefix[: count if star is None else star]
            columns[: len(known)] = known
        if star is not None:
            columns[star] = Sequence("list", None, rest)
        return columns

    def _store_attribute(self, target: ir.Attribute, value: Value, frame: Frame) -> None:
        receiver = self.eval(target.value, frame)
        for member in members(receiver):
            if isinstance(member, Instance):
                frame.env[(member, target.attr)] = value
                self.interpreter.objects.write(member, target.attr, value)
                if not member.in_region:
                    self._keep(target, value, frame)
            elif isinstance(member, Class):
                self.interpreter.objects.patch(member.definition, target.attr, value)
            elif isinstance(member, Tensor) and target.attr == "data" and isinstance(target.value, ir.Name):
                frame.env[target.value.id] = value

    def _store_item(self, target: ir.Subscript, value: Value, frame: Frame) -> None:
        container = self.eval(target.value, frame)
        index = self.eval(target.index, frame)
        for member in members(container):
            if isinstance(member, (Tensor, Unknown)):
                self.tensors.store_item(member, target, index, value, frame)
            elif isinstance(member, Mapping):
                registries.keep(self.interpreter, target.value, index, value, frame)
                if self.outlives_region(target.value, frame):
                    self._keep(target, value, frame)
                self.put_back(target.value, member, with_item(member, index, value), frame)
            elif isinstance(member, Sequence) and not isinstance(target.index, ir.Slice):
                self.put_back(target.value, member, _with_element(member, index, value), frame)
            elif isinstance(member, Instance):
                call = ir.Call(target.pos, target.value, ())
                self.interpreter.calls.call_method(member, "__setitem__", Arguments((index, value)), call, frame)

    def put_back(self, target: ir.Expr, old: Value, new: Value, frame: Frame) -> None:
        """Store a changed container where the old one was read from; its other alternatives stay."""
        if isinstance(target, ir.Name):
            frame.env[target.id] = new
        elif isinstance(target, ir.Attribute):
            for member in members(self.eval(target.value, frame)):
                if isinstance(member, Instance):
                    frame.env[(member, target.attr)] = new
                    self.interpreter.objects.write(member, target.attr, new)
        elif isinstance(target, ir.Subscript) and isinstance(target.value, (ir.Name, ir.Attribute)):
            outer = self.eval(target.value, frame)
            index = self.eval(target.index, frame)
            if isinstance(outer, Mapping):
                self.put_back(target.value, outer, with_item(outer, index, new), frame)
            elif isinstance(outer, Sequence):
                self.put_back(target.value, outer, _with_element(outer, index, new), frame)

    def _keep(self, target: ir.Expr, value: Value, frame: Frame) -> None:
        """A tensor allocated in the region and kept by something that outlives it.

        The function that opens the region is the one to keep its static outputs; whatever it calls is not.
        """
        if frame.mode is Mode.OUTSIDE or frame.regions:
            return
        fresh = [tensor for tensor in tensors_in(value) if tensor.fresh and tensor.place is Place.DEVICE]
        if fresh:
            effect = "growing-memory" if growth.enlarges(target, frame.tests) else "escaping-allocation"
            self.interpreter.event(frame, target, effect, fresh[0].sure)

    def outlives_region(self, node: ir.Expr, frame: Frame) -> bool:
        """Whether a container is held by an object or module that was there before the region."""
        if isinstance(node, ir.Attribute):
            return any(isinstance(m, Instance) and not m.in_region for m in members(self.eval(node.value, frame)))
        return isinstance(node, ir.Name) and node.id not in frame.env and frame.mode is not Mode.OUTSIDE


def _with_new_names(before: Env, after: Env) -> Env:
    """The environment before an operand that may not be evaluated, with the names that only `:=` in it binds."""
    new = {key: value for key, value in after.items() if key not in before}
    return {**before, **new} if new else before


def _with_element(sequence: Sequence, index: Value, value: Value) -> Sequence:
    """The sequence after `sequence[index] = value`; an unknown index may be any of them."""
    if sequence.elements is None:
        return Sequence(sequence.kind, None, join(sequence.element, value))
    elements = list(sequence.elements)
    if isinstance(index, Const) and isinstance(index.value, int):
        if -len(elements) <= index.value < len(elements):
            elements[index.value] = value
        return Sequence(sequence.kind, tuple(elements))
    return Sequence(sequence.kind, tuple(join(element, value) for element in elements))


def _is_constant(value: Value) -> bool:
    if isinstance(value, Sequence):
        return value.elements is not None and all(_is_constant(element) for element in value.elements)
    return isinstance(value, (Const, Class, External))


def _folded(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Value:
    try:
        result = function(left, right)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return UNKNOWN
    if isinstance(result, (str, bytes)) and len(result) > 1000:
        return Host("str")
    return Const(result) if isinstance(result, (bool, int, float, str)) else UNKNOWN


def _host_kind(value: Value) -> str | None:
    if isinstance(value, Host) and value.kind in (*_HOST_KINDS, "array"):
        return value.kind
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, str)):
        return type(value.value).__name__
    return None


def _same_member(left: Value, right: Value) -> bool | None:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return None
    if left == NONE or right == NONE:
        return left == right
    if isinstance(left, Const) and isinstance(right, Const):
        return bool(left.value == right.value)
    if _ACCELERATOR in (left, right) and left != right:
        other = left if right == _ACCELERATOR else right
        return {"cpu": False, "meta": False, "cuda": True}.get(getattr(other, "value", ""))
    if isinstance(left, External) and isinstance(right, External):
        # Members of one enum, or two constants of one module, differ where their names do.
        return True if left == right else False if ":" in left.name and ":" in right.name else None
    if isinstance(left, (Class, Function)) and isinstance(right, (Class, Function)):
        return left == right
    return None


_EXPRESSIONS: dict[type, Callable[[Expressions, Any, Frame], Value]] = {
    ir.Literal: Expressions._literal, ir.Name: Expressions._name, ir.Attribute: Expressions._attribute,
    ir.Subscript: Expressions._subscript, ir.Slice: Expressions._slice, ir.Call: Expressions._call,
    ir.Display: Expressions._display, ir.DictDisplay: Expressions._dict, ir.Starred: Expressions._starred,
    ir.Binary: Expressions._binary, ir.Unary: Expressions._unary, ir.Boolean: Expressions._boolean,
    ir.Compare: Expressions._compare, ir.Conditional: Expressions._conditional,
    ir.Comprehension: Expressions._comprehension, ir.Formatted: Expressions._formatted, ir.Walrus: Expressions._walrus,
    ir.Yield: Expressions._yield, ir.Await: Expressions._await, ir.Lambda: Expressions._lambda,
}  # fmt: skip

__all__ = ["_SEQUENCE_KINDS", "Expressions"]
