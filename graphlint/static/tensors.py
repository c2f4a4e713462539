"""Operations on tensors: what the catalogue says they return and do, and what Python's operators and items do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.operations import Operation
from graphlint.static import conditions, indexing, ir
from graphlint.static.frames import Frame, Mode
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Bound,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Instance,
    Method,
    Partial,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    device_tensor,
    host_tensor,
    members,
    place_of_device,
    tensors_in,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter

# Methods that hardly anything but a tensor has: worth a report when the receiver is not known.
TELLING_METHODS = frozenset({"item", "cpu", "numpy", "tolist", "nonzero", "argwhere", "masked_select", "is_nonzero"})
_CASTS = {
    "bool": "bool", "long": "int64", "int": "int32", "float": "float32", "half": "float16", "double": "float64",
    "bfloat16": "bfloat16", "byte": "uint8", "char": "int8", "short": "int16",
}  # fmt: skip
_VIEWS = frozenset({
    "view", "reshape", "permute", "transpose", "squeeze", "unsqueeze", "expand", "detach", "flatten", "narrow", "select",
    "chunk", "split", "unbind", "t", "contiguous", "view_as", "expand_as", "movedim", "swapaxes", "unflatten", "to", "type",
})  # fmt: skip
_KEEPS_DTYPE = frozenset({
    "tensor", "same-shape", "self", "like", "moved", "host-tensor", "tensors", "pair", "extremum", "unique",
})  # fmt: skip
_HOST_KINDS = {"int": "int", "float": "float", "bool": "bool", "number": "number", "str": "str", "list": "object"}
_TUPLES = {"pair": 2, "triple": 3, "quad": 4}
_FLOAT = "float32"


class Tensors:
    """What happens to tensors."""

    telling_methods = TELLING_METHODS

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.catalogue = interpreter.catalogue

    # Calls

    def call_method(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method of a tensor, or of something that is not known."""
        operation = self.catalogue.find(f"torch.Tensor.{name}")
        if isinstance(receiver, Unknown):
            return self._call_on_unknown(operation, name, arguments, node, frame)
        if operation is None:
            return self.interpreter.expressions.element(UNKNOWN)
        if name == "cuda" and not arguments.positional and arguments.keyword("device") is None:
            arguments = Arguments((Const("cuda"),), arguments.keywords, arguments.star, arguments.double_star)
        result = self.apply(operation, receiver, arguments, node, frame)
        if name in _CASTS and isinstance(receiver, Tensor):
            return union(_with_dtype(m, _CASTS[name]) for m in members(result))
        return result

    def _call_on_unknown(
        self, operation: Operation | None, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        entered = self.interpreter.entries.call_method(
            self.interpreter, f"torch.cuda.CUDAGraph.{name}", UNKNOWN, arguments, node, frame
        )
        if entered is not None:
            return entered
        if name == "to" and arguments.positional and place_of_device(arguments.positional[0]) is Place.HOST:
            return Tensor(Place.HOST, sure=Confidence.MEDIUM)
        if operation is None or (name not in TELLING_METHODS and not self._has_tensor(arguments)):
            if operation is None:
                self.interpreter.calls.unresolved(node, frame)
            return _UNKNOWN_RESULTS.get(name, UNKNOWN)
        if name in TELLING_METHODS:
            return self.apply(operation, Tensor(Place.ANYWHERE, sure=Confidence.MEDIUM), arguments, node, frame)
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

    def apply(
        self, operation: Operation, receiver: Value | None, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Report the effects of an operation and give its result."""
        positional = list(arguments.positional)
        if receiver is not None and operation.params and operation.params[0].name == "self":
            positional.insert(0, receiver)
        bound = operation.bind(positional, dict(arguments.keywords))
        if arguments.star is not None:
            self._spread(operation, bound, arguments.star)
        facts = conditions.Facts(bound, receiver)
        if node is not None and frame.mode is not Mode.OUTSIDE:
            self._report(operation, facts, node, frame)
        return self._result(operation, facts, receiver, frame)

    @staticmethod
    def _spread(operation: Operation, bound: dict[str, tuple[Value, ...]], star: Value) -> None:
        for parameter in operation.params or ():
            if parameter.name not in bound and parameter.name not in ("out", "device", "dtype"):
                bound[parameter.name] = (star,)
                return

    def _report(self, operation: Operation, facts: conditions.Facts, node: ir.Call, frame: Frame) -> None:
        reported: dict[str, Confidence] = {}
        for effect in operation.effects:
            confidence = facts.confidence(effect)
            if confidence is not None and confidence > reported.get(effect.name, Confidence.LOW - 1):
                reported[effect.name] = confidence
                self.interpreter.event(frame, node, effect.name, confidence, effect.message, effect.help)
        if frame.is_foreign and operation.name.startswith("torch.") and facts.device() is not None:
            self.interpreter.event(frame, node, "foreign-allocation", Confidence.MEDIUM)

    # Results

    def _result(self, operation: Operation, facts: conditions.Facts, receiver: Value | None, frame: Frame) -> Value:
        returns = operation.returns
        short = operation.name.rpartition(".")[2]
        if returns in _HOST_KINDS:
            return Host(_HOST_KINDS[returns])
        if returns in _PLAIN:
            return _PLAIN[returns]
        if returns == "device":
            return DeviceName(self._device_named(facts))
        if returns == "self":
            return receiver if receiver is not None else facts.first() or UNKNOWN
        if "." in returns:
            return ExternalObject(returns, tuple((name, values[0]) for name, values in facts.bound.items() if values))
        if returns == "host-tensor":
            first = facts.first_tensor()
            return Tensor(
                Place.HOST,
                first.ndim if first else None,
                first.dtype if first else None,
                Confidence.HIGH,
                short == "pin_memory",
                _in_region(frame),
            )
        if returns == "factory":
            return self._made(operation, facts, short, frame)
        if returns in ("like", "moved"):
            return self._moved(facts, returns, frame)
        return self._computed(operation, facts, returns, short, frame)

    @staticmethod
    def _device_named(facts: conditions.Facts) -> Place:
        first = facts.first()
        return place_of_device(first) or Place.ANYWHERE

    def _made(self, operation: Operation, facts: conditions.Facts, short: str, frame: Frame) -> Value:
        place = place_of_device(facts.value("device"))
        sure = Confidence.HIGH if place is not Place.ANYWHERE else Confidence.MEDIUM
        data = facts.value("data") or facts.value("obj")
        if place is None and data is not None and short in ("as_tensor", "asarray", "tensor"):
            tensor = next((m for m in members(data) if isinstance(m, Tensor)), None)
            if tensor is not None:
                return union(m for m in members(data) if isinstance(m, Tensor))
            if any(isinstance(m, Unknown) for m in members(data)) and short != "tensor":
                place, sure = Place.ANYWHERE, Confidence.MEDIUM
        if place is None and not any(isinstance(value, Const) for value in facts.bound.get("device", ())):
            place = Place.HOST
        place = place or Place.HOST
        dtype = dtype_name(facts.value("dtype")) or self._dtype_of(short, facts)
        literal = short in ("tensor", "scalar_tensor") and data is not None and not any(True for _ in tensors_in(data))
        pinned = facts.value("pin_memory") == Const(True)
        return Tensor(place, self._rank(short, facts), dtype, sure, pinned, _in_region(frame), literal)

    @staticmethod
    def _dtype_of(short: str, facts: conditions.Facts) -> str | None:
        if short in ("arange", "randint", "randperm", "tril_indices", "triu_indices"):
            floats = [
                v
                for values in facts.bound.values()
                for v in values
                if isinstance(v, Const) and isinstance(v.value, float)
            ]
            return None if floats else "int64"
        if short in ("zeros", "ones", "empty", "rand", "randn", "linspace"):
            return _FLOAT
        return None

    @staticmethod
    def _rank(short: str, facts: conditions.Facts) -> int | None:
        if short in ("arange", "linspace", "randperm", "logspace"):
            return 1
        if short in ("eye", "tril_indices", "triu_indices"):
            return 2
        if short == "scalar_tensor":
            return 0
        if short in ("tensor", "as_tensor", "asarray"):
            return _literal_rank(facts.value("data") or facts.value("obj"))
        sizes = facts.bound.get("size") or ()
        if len(sizes) == 1 and isinstance(sizes[0], Sequence):
            return None if sizes[0].elements is None else len(sizes[0].elements)
        if len(sizes) == 1 and not isinstance(sizes[0], (Const, Host)):
            return None
        return len(sizes) or None

    def _moved(self, facts: conditions.Facts, returns: str, frame: Frame) -> Value:
        """`x.to(...)`, `torch.zeros_like(x, device=...)`: on the device that is named, else where `x` is."""
        named, dtype = self._target(facts, returns)
        results: list[Value] = []
        first = facts.first() or UNKNOWN
        for member in members(first):
            if isinstance(member, Tensor):
                place = member.place if named is None else named
                sure = (
                    member.sure
                    if named is None
                    else Confidence.HIGH
                    if named is not Place.ANYWHERE
                    else Confidence.MEDIUM
                )
                if named is Place.ANYWHERE and member.place is Place.DEVICE:
                    place, sure = Place.DEVICE, member.sure
                pinned = member.pinned and place is Place.HOST
                fresh = _in_region(frame) if returns == "like" or place is not member.place else member.fresh
                results.append(Tensor(place, member.ndim, dtype or member.dtype, sure, pinned, fresh, member.literal))
        if not results:
            place = named or Place.ANYWHERE
            results = [Tensor(place, None, dtype, Confidence.MEDIUM, fresh=_in_region(frame))]
        return union(results)

    @staticmethod
    def _target(facts: conditions.Facts, returns: str) -> tuple[Place | None, str | None]:
        if returns == "like":
            return place_of_device(facts.value("device")), dtype_name(facts.value("dtype"))
        named: Place | None = None
        dtype: str | None = None
        for name, values in facts.bound.items():
            if name in ("self", "input", "non_blocking", "copy", "memory_format"):
                continue
            for value in values:
                dtype = dtype_name(value) or dtype
                if conditions.names_device(value):
                    named = place_of_device(value)
        return named, dtype

    def _computed(self, operation: Operation, facts: conditions.Facts, returns: str, short: str, frame: Frame) -> Value:
        """A tensor, or several, where the tensor arguments are."""
        ndim = self._result_rank(operation, facts, returns)
        first = facts.first_tensor()
        dtype = None
        if returns in ("bool-tensor", "bool-reduction"):
            dtype = "bool"
        elif returns in ("int-tensor", "int-reduction"):
            dtype = "int64"
        elif returns in _KEEPS_DTYPE and first is not None:
            dtype = first.dtype
        dtype = dtype_name(facts.value("dtype")) or dtype
        fresh = _in_region(frame) and not (short in _VIEWS and first is not None and not first.fresh)
        made = [
            Tensor(place, ndim, dtype, sure, False, fresh, first is not None and first.literal and place is Place.HOST)
            for place, sure in self.places(facts.all_values())
        ]
        result: Value = union(made)
        if returns in _TUPLES:
            return Sequence("tuple", (result,) * _TUPLES[returns])
        if returns == "tensors" or (returns == "where" and facts.value("input") is None):
            return Sequence("tuple", None, result)
        if returns == "extremum":
            return self._extremum(facts, result, ndim)
        return result

    def _extremum(self, facts: conditions.Facts, result: Value, ndim: int | None) -> Value:
        given = facts.bound.get("dim") or facts.bound.get("1") or ()
        others = [value for value in given if not any(isinstance(m, Tensor) for m in members(value))]
        if others and others[0] != NONE:
            first = facts.first_tensor()
            rank = first.ndim - 1 if first is not None and first.ndim else None
            values = union(_ranked(m, rank) for m in members(result))
            return Sequence("tuple", (values, union(_with_dtype(m, "int64") for m in members(values))))
        return result

    @staticmethod
    def _result_rank(operation: Operation, facts: conditions.Facts, returns: str) -> int | None:
        first = facts.first_tensor()
        if returns == "scalar-tensor":
            return 0
        if returns in ("reduction", "bool-reduction", "int-reduction", "extremum"):
            if facts.value("dim") is None and "1" not in facts.bound:
                return 0
            keeps = facts.value("keepdim") == Const(True)
            dim = facts.value("dim")
            if first is None or first.ndim is None or not isinstance(dim, (Const, Host)):
                return None
            return first.ndim if keeps else max(first.ndim - 1, 0)
        if returns == "loss":
            return 0 if facts.value("reduction") is None else None
        if returns in ("same-shape", "int-tensor"):
            return first.ndim if first is not None else None
        if returns in ("elementwise", "bool-tensor", "where"):
            return _broadcast_rank(facts.all_values())
        return None

    def places(self, values: list[Value]) -> list[tuple[Place, Confidence]]:
        """Where the result of an operation on these values can be, and how sure that is."""
        found: dict[Place, Confidence] = {}
        unknown = False
        for value in values:
            tensors = list(tensors_in(value))
            sure_on_device = [t for t in tensors if t.place is Place.DEVICE]
            if sure_on_device and len(sure_on_device) == len(tensors):
                return [(Place.DEVICE, max(t.sure for t in sure_on_device))]
            for tensor in tensors:
                found[tensor.place] = max(found.get(tensor.place, Confidence.LOW), tensor.sure)
            unknown = unknown or (not tensors and isinstance(value, Unknown))
        if not found:
            return [(Place.ANYWHERE, Confidence.MEDIUM)]
        return list(found.items())

    def like_arguments(self, arguments: Arguments, frame: Frame) -> Value:
        """A tensor where the arguments are: what a module that the catalogue does not describe returns."""
        return union(
            Tensor(place, None, None, min(sure, Confidence.MEDIUM), fresh=_in_region(frame))
            for place, sure in self.places(list(arguments.all_values()))
        )

    # Attributes

    def attribute(self, value: Tensor, name: str) -> Value:
        """An attribute of a tensor."""
        if name == "device":
            return DeviceName(value.place)
        if name == "shape":
            if value.ndim is not None:
                return Sequence("tuple", (Host("int"),) * value.ndim)
            return Sequence("tuple", None, Host("int"))
        if name == "ndim":
            return Host("int") if value.ndim is None else Const(value.ndim)
        if name in ("is_cuda", "is_cpu"):
            wanted = Place.DEVICE if name == "is_cuda" else Place.HOST
            return Const(value.place is wanted) if value.place is not Place.ANYWHERE else Host("bool")
        if name == "dtype":
            return External(f"torch.{value.dtype}") if value.dtype else Host("dtype")
        if name == "grad":
            return union((NONE, value))
        if name in ("T", "mT", "H", "mH", "data", "real", "imag"):
            return value
        operation = self.catalogue.find(f"torch.Tensor.{name}")
        if operation is not None and operation.attribute:
            return self.plain_result(operation.returns)
        return Method(value, name) if operation is not None else UNKNOWN

    @staticmethod
    def plain_result(returns: str) -> Value:
        """The value of an attribute by its kind."""
        if returns in _HOST_KINDS:
            return Host(_HOST_KINDS[returns])
        return _PLAIN.get(returns, UNKNOWN)

    @staticmethod
    def parameter() -> Tensor:
        return Tensor(Place.DEVICE, None, None, Confidence.HIGH)

    @staticmethod
    def row(tensor: Tensor) -> Tensor:
        """What iterating over a tensor gives."""
        ndim = tensor.ndim - 1 if tensor.ndim else None
        return Tensor(tensor.place, ndim, tensor.dtype, tensor.sure, tensor.pinned, tensor.fresh)

    # Operators

    def binary(self, node: ir.Node, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        """An arithmetic operator with a tensor on at least one side."""
        self._check_host_operand(node, left, right, frame)
        ndim = _broadcast_rank([left, right]) if sign != "@" else None
        dtypes = {m.dtype for side in (left, right) for m in members(side) if isinstance(m, Tensor)}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        if sign == "/" or (dtype is not None and not sign.strip("&|^") == "" and dtype == "bool"):
            dtype = _FLOAT if sign == "/" else "int64"
        literal = all(m.literal for side in (left, right) for m in members(side) if isinstance(m, Tensor))
        return union(
            Tensor(place, ndim, dtype, sure, False, _in_region(frame), literal and place is Place.HOST)
            for place, sure in self.places([left, right])
        )

    def compare(self, node: ir.Node, left: Value, right: Value, frame: Frame) -> Value:
        """A comparison with a tensor on at least one side."""
        ndim = _broadcast_rank([left, right])
        return union(
            Tensor(place, ndim, "bool", sure, False, _in_region(frame)) for place, sure in self.places([left, right])
        )

    @staticmethod
    def unary(value: Value, sign: str) -> Value:
        return union(m for m in members(value) if isinstance(m, Tensor))

    def _check_host_operand(self, node: ir.Node, left: Value, right: Value, frame: Frame) -> None:
        """A host tensor of rank 0 that the program keeps: its value is frozen into the kernel's arguments."""
        for one, other in ((left, right), (right, left)):
            held, device = host_tensor(one), device_tensor(other)
            if held is None or device is None or device.place is not Place.DEVICE or device_tensor(one) is not None:
                continue
            if held.ndim == 0 and not held.fresh and not held.literal:
                self.interpreter.event(frame, node, "host-operand", min(held.sure, device.sure))

    @staticmethod
    def sureness(value: Value, tensor: Tensor) -> Confidence:
        """How sure it is that a value is that tensor: less so if it can be a host value."""
        others = [m for m in members(value) if not isinstance(m, (Tensor, Unknown)) and m != NONE]
        return min(tensor.sure, Confidence.MEDIUM) if others or host_tensor(value) is not None else tensor.sure

    # Items

    def index(self, value: Value, node: ir.Subscript, index: Value, frame: Frame) -> Value:
        """`value[index]`."""
        return indexing.load(self, value, node, index, frame)

    def store_item(self, value: Value, target: ir.Subscript, index: Value, stored: Value, frame: Frame) -> None:
        """`value[index] = stored`."""
        indexing.store(self, value, target, index, stored, frame)

    def check_bound(self, node: ir.Expr, value: Value, frame: Frame) -> None:
        """A slice bound is read on the host."""
        tensor = device_tensor(value)
        if tensor is not None:
            self.interpreter.event(frame, node, "tensor-size", self.sureness(value, tensor))

    def check_list_index(self, node: ir.Subscript, index: Value, frame: Frame) -> None:
        """An index into a list or tuple is read on the host."""
        tensor = device_tensor(index)
        if tensor is not None:
            self.interpreter.event(frame, node, "tensor-size", self.sureness(index, tensor))


_PLAIN: dict[str, Value] = {
    "shape": Sequence("tuple", None, Host("int")), "dtype": Host("dtype"), "none": NONE, "host-array": Host("array"),
    "device": DeviceName(Place.ANYWHERE), "object": UNKNOWN,
}  # fmt: skip
_UNKNOWN_RESULTS: dict[str, Value] = {
    "size": Sequence("tuple", None, Host("int")), "dim": Host("int"), "numel": Host("int"), "element_size": Host("int"),
    "data_ptr": Host("int"), "is_contiguous": Host("bool"),
}  # fmt: skip


def dtype_name(value: Value | None) -> str | None:
    """The dtype that a value names: `torch.int64`, or the old tensor type of that name."""
    if isinstance(value, External) and value.name.startswith("torch."):
        name = value.name.removeprefix("torch.").removeprefix("cuda.")
        return {"long": "int64", "half": "float16", "int": "int32", "float": "float32", "LongTensor": "int64"}.get(
            name, name if name in _DTYPES else None
        )
    if value == External("builtins.bool"):
        return "bool"
    return (
        {External("builtins.int"): "int64", External("builtins.float"): _FLOAT}.get(value)
        if isinstance(value, External)
        else None
    )


_DTYPES = frozenset(
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
    ]
)


def _in_region(frame: Frame) -> bool:
    return frame.mode is not Mode.OUTSIDE


def _with_dtype(value: Value, dtype: str) -> Value:
    if not isinstance(value, Tensor):
        return value
    return Tensor(value.place, value.ndim, dtype, value.sure, value.pinned, value.fresh, value.literal)


def _ranked(value: Value, ndim: int | None) -> Value:
    if not isinstance(value, Tensor):
        return value
    return Tensor(value.place, ndim, value.dtype, value.sure, value.pinned, value.fresh, value.literal)


def _literal_rank(value: Value | None) -> int | None:
    if isinstance(value, Sequence):
        if value.elements is None:
            inner = _literal_rank(value.element)
        else:
            inner = _literal_rank(value.elements[0]) if value.elements else 0
        return None if inner is None else inner + 1
    if isinstance(value, Host):
        return 0 if value.kind in ("int", "float", "bool", "number") else None
    return 0 if isinstance(value, Const) and value != NONE else None


def _broadcast_rank(values: list[Value]) -> int | None:
    """The rank of an elementwise result; numbers have rank 0."""
    rank = 0
    for value in values:
        for member in members(value):
            if isinstance(member, Tensor):
                if member.ndim is None:
                    return None
                rank = max(rank, member.ndim)
            elif isinstance(member, (Unknown, Method, Bound, Partial, Instance)):
                return None
    return rank
