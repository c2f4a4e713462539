"""Operations on tensors: what the catalogue says they return and do, and what Python's operators and items do.

Long, because calls, operators and items of tensors tell of the same events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from graphlint.finding import Confidence, Related
from graphlint.rule import Hit, HostRead, Made, Operands, OperationCall
from graphlint.rulebook.lexicon import spelled
from graphlint.rulebook.signatures import Operation
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Instance, Method
from graphlint.static.facts import writes
from graphlint.static.index.imports import Settings
from graphlint.static.models import extents, indexing, results
from graphlint.static.models.capture import Capture
from graphlint.static.models.presets import left_out, with_presets
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import words_in
from graphlint.static.writes.hyperparameters import with_values_of_groups
from graphlint.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    join,
    members,
    union,
)
from graphlint.values.predicates import Facts
from graphlint.values.queries import device_tensor, fresh_tensor, is_number, place_of_device, placed_by_name, tensors_in


class Tensors:
    """What happens to tensors."""

    def __init__(self, evaluator: Evaluator, capture: Capture) -> None:
        self.evaluator = evaluator
        self.capture = capture
        self.catalogue = evaluator.catalogue
        self.lexicon = evaluator.lexicon
        setters = {name for name, does in self.lexicon.callables.items() if does == "default_device"}
        self.default_device = Settings(evaluator.project, setters)

    # Calls

    def call_method(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method of a tensor, or of something that is not known."""
        operation = self.catalogue.method(name)
        if isinstance(receiver, Unknown):
            return self._call_on_unknown(operation, name, arguments, node, frame)
        if operation is None:
            return self.evaluator.element(UNKNOWN)
        is_moved = self.lexicon.place(name) is Place.DEVICE
        if is_moved and not arguments.positional and arguments.keyword("device") is None:
            arguments = Arguments((Const(name),), arguments.keywords, arguments.star, arguments.double_star)
        result = self.apply(operation, receiver, arguments, node, frame)
        if self.lexicon.callables.get(operation.name) == "backward":
            self.evaluator.run_backward(node, frame)
        cast = self.lexicon.dtypes.get(operation.name)
        return result if cast is None else results.with_dtype(result, cast)

    def _call_on_unknown(
        self, operation: Operation | None, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        entered = self.capture.call_method(name, UNKNOWN, arguments, node, frame)
        if entered is not None:
            return entered
        if (answers := self.lexicon.guard(name)) is not None:
            return answers[frame.mode.value]
        moves = self.lexicon.methods.get(name) == "moves"
        if moves and arguments.positional and place_of_device(arguments.positional[0]) is Place.HOST:
            return Tensor(Place.HOST, sure=Confidence.MEDIUM)
        telling = name in self.catalogue.telling
        if operation is None or (not telling and not self._has_tensor(arguments)):
            if operation is None:
                self.evaluator.unresolved(node, frame, arguments)
            if operation is None or name not in self.lexicon.unknown["methods"]:
                return UNKNOWN
            given = results.plain(operation.returns)
            return join(given, Host("int")) if name in self.lexicon.unknown["counts"] else given
        if telling:
            held: Value = Tensor(Place.ANYWHERE, sure=Confidence.MEDIUM)
            for word in words_in(node.func) if node is not None else ():
                held = placed_by_name(held, word)
            return self.apply(operation, held, arguments, node, frame)
        return UNKNOWN

    @staticmethod
    def _has_tensor(arguments: Arguments) -> bool:
        return any(True for value in arguments.all_values() for _ in tensors_in(value))

    def call_operation(
        self, name: str, receiver: Value | None, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        """Call an operation by its qualified name; None if the catalogue does not have it."""
        operation = self.catalogue.find(name)
        if operation is None:
            return None
        return self.apply(operation, receiver, arguments, node, frame)

    def call_function(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """Call a function on tensors; None if there is none."""
        operation = self.catalogue.function(name)
        return None if operation is None else self.apply(operation, None, arguments, node, frame)

    def apply(
        self, operation: Operation, receiver: Value | None, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Report the effects of an operation and give its result."""
        positional = list(arguments.positional)
        if isinstance(receiver, ExternalObject) and self.lexicon.is_optimizer(receiver.cls):
            receiver = with_values_of_groups(receiver, frame.module)
        if isinstance(receiver, ExternalObject):
            receiver = with_presets(receiver, frame, self.evaluator)
        if receiver is not None and operation.params and operation.params[0].name == "self":
            positional.insert(0, receiver)
        bound = operation.bind(positional, dict(arguments.keywords))
        if arguments.star is not None:
            self._spread(operation, bound, arguments.star)
        is_open = arguments.star is not None or arguments.double_star is not None
        factory = self.lexicon.factories.get(operation.name)
        if factory is not None and factory.data == "shared":
            bound = {name: tuple(map(self._shown, values)) for name, values in bound.items()}
        if operation.returns == "factory" and "device" not in bound:
            hidden = [DeviceName(Place.ANYWHERE)] if arguments.double_star is not None else []
            bound |= [("device", (default,)) for default in hidden or self._default_devices(frame)]
        if not is_open:
            presets = left_out(operation, frame, self.evaluator)
            bound |= {name: (value,) for name, value in presets.items() if name not in bound}
        watched = node if frame.in_region else None
        matters = watched is not None and (operation.effects or operation.is_elementwise)
        written = writes.written(operation, watched, receiver) if watched is not None and matters else {}
        facts = Facts(bound, writes.names(written), frame.surroundings, is_open)
        is_view = operation.name.rpartition(".")[2] in self.catalogue.views
        is_compiled = frame.mode is Mode.SOFT
        applied = results.Application(operation, facts, self.lexicon, receiver, frame.in_region, is_view, is_compiled)
        result = self._placed(results.result(applied), node, frame)
        if watched is not None:
            self._take(watched, operation, facts, result, frame)
            self._report(operation, facts, watched, frame)
            self.evaluator.observe(frame, watched, OperationCall(operation.name, bound, result))
            if operation.is_elementwise:
                self._meet(watched, writes.operands(bound, written), frame)
            if operation.returns != "self" and facts.value("out") is None:
                self._check_made(watched, result, facts.all_values(), frame)
        return result

    def _shown(self, value: Value) -> Value:
        """An argument whose memory is shared: an object that shows memory of the device is as good as a tensor."""
        if isinstance(value, Instance):
            held, cls = self.evaluator.held(value), value.cls
            shows = self.lexicon.tensors["interfaces"]
            if any(name in held or self.evaluator.class_method(cls, name) is not None for name in shows):
                return Tensor(Place.DEVICE)
        return value

    def _placed(self, made: Value, node: ir.Call | None, frame: Frame) -> Value:
        """What a call has made; an optimizer with the line that makes it."""
        if node is None or not isinstance(made, ExternalObject) or not self.lexicon.is_optimizer(made.cls):
            return made
        span = frame.span(node)
        return replace(made, made=(span.path, span.line))

    def _take(self, node: ir.Call, operation: Operation, facts: Facts, result: Value, frame: Frame) -> None:
        """Plain values that an operation on the device is given stay what they are."""
        if device_tensor(result) is None and facts.device() is None:
            return
        self.evaluator.worked()
        kind = "operand" if operation.is_elementwise else "argument"
        for argument in node.arguments:
            self.evaluator.used(kind, argument.value, TRUE, frame)

    def _default_devices(self, frame: Frame) -> list[Value]:
        """Where a factory makes tensors that is not told: nobody knows where it may have been set for the process."""
        around: list[Value] = [default for default in frame.around if isinstance(default, DeviceName)]
        if around or not self.default_device.may_hold_in(frame.module):
            return around
        return [DeviceName(Place.ANYWHERE)]

    @staticmethod
    def _spread(operation: Operation, bound: dict[str, tuple[Value, ...]], star: Value) -> None:
        for parameter in operation.params or ():
            if parameter.name not in bound and parameter.name not in ("out", "device", "dtype"):
                bound[parameter.name] = (star,)
                return

    def _costs_nothing(self, operation: Operation, facts: Facts) -> bool:
        """Whether a compiler makes an operation a constant, or leaves out what it waits for.

        What nobody knows is likelier a number that an object holds than an array.
        """
        if operation.name in self.lexicon.compilers["validating"]:
            return True
        moved = facts.value("self")
        if isinstance(moved, Tensor) and moved.literal and moved.fresh:
            return self.lexicon.methods.get(operation.name.rpartition(".")[2]) == "moves"
        is_literal = operation.name in self.lexicon.compilers["literals"]
        data = [member for one in _data(operation, facts) for member in members(one)]
        return is_literal and all(is_number(one) or isinstance(one, (Sequence, Unknown)) for one in data)

    def _raises(self, operation: Operation, facts: Facts) -> bool:
        """Whether there is no such tensor: one that is made of None, which another branch is for."""
        factory = self.lexicon.factories.get(operation.name)
        return factory is not None and bool(factory.data) and any(map(_holds_none, _data(operation, facts)))

    def _report(self, operation: Operation, facts: Facts, node: ir.Call, frame: Frame) -> None:
        if self._raises(operation, facts) or (frame.mode is Mode.SOFT and self._costs_nothing(operation, facts)):
            return
        reported: dict[str, Confidence] = {}
        related = tuple(_made_of(facts.value("self")))
        for effect in operation.effects:
            confidence = facts.confidence(effect)
            if confidence is not None and confidence > reported.get(effect.name, Confidence.LOW - 1):
                reported[effect.name] = confidence
                self.evaluator.report(frame, node, effect.name, Hit(confidence, effect.message, effect.help, related))

    def _meet(self, node: ir.Node, operands: list[writes.Operand], frame: Frame) -> None:
        """Values meet elementwise."""
        if frame.in_region:
            expressions, values = zip(*operands, strict=True)
            self.evaluator.observe(
                frame, node, Operands(values, partial(writes.is_written_to, expressions, frame, self.evaluator.project))
            )

    def _check_made(self, node: ir.Node, made: Value, given: Iterable[Value], frame: Frame) -> None:
        """What a new tensor on the device means under the context managers around it."""
        if fresh_tensor(made) is None:
            return
        within = frozenset(manager.cls for manager in frame.around if isinstance(manager, ExternalObject))
        self.evaluator.observe(frame, node, Made(made, tuple(given), within, frame.is_foreign))

    def like_arguments(self, arguments: Arguments, frame: Frame) -> Value:
        """A tensor where the arguments are: what a module that the catalogue does not describe returns."""
        return union(
            Tensor(place, None, None, min(sure, Confidence.MEDIUM), fresh=frame.in_region)
            for place, sure in results.places(list(arguments.all_values()))
        )

    # Attributes

    def attribute(self, value: Tensor, name: str) -> Value:
        """An attribute of a tensor."""
        operation = self.catalogue.method(name)
        if operation is None or not operation.attribute:
            return UNKNOWN if operation is None else Method(value, name)
        if name == "ndim":
            return Host("int") if value.ndim is None else Const(value.ndim)
        asked = self.lexicon.place_asked(name)
        if asked is not None and value.place is not Place.ANYWHERE:
            return Const(value.place is asked)
        match operation.returns:
            case "device":
                return DeviceName(value.place)
            case "shape":
                return extents.shape(value)
            case "dtype" if value.dtype is not None:
                return External(spelled(value.dtype))
            case "same-shape":
                return replace(value, ones=())
            case "tensor":
                return union((NONE, value))
        return results.plain(operation.returns)

    @staticmethod
    def parameter() -> Tensor:
        return Tensor(Place.DEVICE, None, None, Confidence.HIGH)

    @staticmethod
    def row(tensor: Tensor) -> Tensor:
        """What iterating over a tensor gives."""
        ndim = tensor.ndim - 1 if tensor.ndim else None
        ones = tuple(one - 1 for one in tensor.ones if one)
        return Tensor(tensor.place, ndim, tensor.dtype, tensor.sure, tensor.pinned, tensor.fresh, ones=ones)

    # Operators

    def binary(self, node: ir.Node, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        """An arithmetic operator with a tensor on at least one side."""
        self._meet(node, writes.sides(node, left, right), frame)
        if self._works(left, right, frame):
            for side, value in writes.sides(node, left, right):
                self.evaluator.used("operand", side, value, frame)
        ndim = extents.broadcast_rank([left, right]) if sign != "@" else None
        dtypes = {m.dtype for side in (left, right) for m in members(side) if isinstance(m, Tensor)}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        if sign == "/" or (dtype is not None and sign.strip("&|^") and dtype == results.BOOLEAN):
            dtype = results.number_dtype("float" if sign == "/" else "int", self.lexicon)
        literal = all(m.literal for side in (left, right) for m in members(side) if isinstance(m, Tensor))
        made = union(
            Tensor(place, ndim, dtype, sure, False, frame.in_region, literal and place is Place.HOST)
            for place, sure in results.places([left, right])
        )
        if isinstance(node, ir.Binary):
            self._check_made(node, made, (left, right), frame)
        return join(made, Host("number")) if _can_be_numbers(left, right) else made

    def _works(self, left: Value, right: Value, frame: Frame) -> bool:
        """Whether two values meet on the device, in a region."""
        works = frame.in_region and (device_tensor(left) is not None or device_tensor(right) is not None)
        if works:
            self.evaluator.worked()
        return works

    def compare(self, left: Value, right: Value, frame: Frame) -> Value:
        """A comparison with a tensor on at least one side."""
        self._works(left, right, frame)
        ndim = extents.broadcast_rank([left, right])
        made = union(
            Tensor(place, ndim, results.BOOLEAN, sure, False, frame.in_region)
            for place, sure in results.places([left, right])
        )
        return join(made, Host("bool")) if _can_be_numbers(left, right) else made

    @staticmethod
    def unary(value: Value) -> Value:
        return union(m for m in members(value) if isinstance(m, Tensor))

    def check_printed(self, node: ir.Node, value: Value, frame: Frame) -> None:
        """The text of a tensor, or of a container that holds one, has its values in it."""
        if any(True for _ in tensors_in(value)):
            self.evaluator.observe(frame, node, HostRead(value, "text"))

    # Items

    def index(self, value: Value, node: ir.Subscript, index: Value, frame: Frame) -> Value:
        """`value[index]`."""
        return indexing.load(self.evaluator, value, node, index, frame)

    def store_item(self, value: Value, target: ir.Subscript, index: Value, stored: Value, frame: Frame) -> None:
        """`value[index] = stored`."""
        self._works(value, stored, frame)
        indexing.store(self.evaluator, value, target, index, stored, frame)

    def check_bound(self, node: ir.Expr, value: Value, frame: Frame) -> None:
        """A slice bound is read on the host."""
        if device_tensor(value) is not None:
            self.evaluator.observe(frame, node, HostRead(value, "bound"))

    def check_list_index(self, node: ir.Node, index: Value, frame: Frame) -> None:
        """An index into a list or tuple is read on the host, and so is how often one is repeated."""
        if device_tensor(index) is not None:
            self.evaluator.observe(frame, node, HostRead(index, "index"))


def _data(operation: Operation, facts: Facts) -> list[Value]:
    """What is given for the first parameter of an operation."""
    return [value for parameter in (operation.params or ())[:1] for value in facts.bound.get(parameter.name, ())]


def _holds_none(value: Value) -> bool:
    return value == NONE or (isinstance(value, Sequence) and NONE in (value.elements or ()))


def _made_of(value: Value | None) -> Iterable[Related]:
    """Where an optimizer is made, which is where its effects are mended."""
    made = {one.made for one in members(value or UNKNOWN) if isinstance(one, ExternalObject) and one.made is not None}
    return (Related(*place, "the optimizer is made here") for place in sorted(made))


def _can_be_numbers(*sides: Value) -> bool:
    """Whether an operator on these can have nothing to do with tensors."""
    return all(any(is_number(member) for member in members(side)) for side in sides)


def of_module(value: Value, is_new: bool) -> Tensor:
    """A tensor that a module holds: it lies where a captured module does, but in one that the region makes."""
    given = next((member for member in members(value) if isinstance(member, Tensor)), Tensor())
    if is_new:
        return given
    return Tensor(Place.DEVICE, given.ndim, given.dtype, Confidence.HIGH, fresh=given.fresh, literal=given.literal)
