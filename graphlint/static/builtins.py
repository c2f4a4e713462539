"""Python's own functions, and the functions of torch that are about objects instead of tensors.

One short handler for each function that does more than the catalogue can say: their number is what makes this long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from graphlint.finding import Confidence
from graphlint.static import ir
from graphlint.static.containers import Containers
from graphlint.static.frames import Frame
from graphlint.static.modules import Modules
from graphlint.static.objects import ANY
from graphlint.static.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    External,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    ModuleValue,
    Partial,
    Place,
    Sequence,
    Super,
    Tensor,
    Unknown,
    Value,
    device_tensor,
    join_all,
    members,
    truth,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter

Handler: TypeAlias = "Callable[[Builtins, Arguments, ir.Call | None, Frame], Value | None]"

# What a guard answers: outside a region, while capturing, in a compiled function.
_GUARDS: dict[str, tuple[Value, Value, Value]] = {
    "torch.cuda.is_current_stream_capturing": (Host("bool"), TRUE, Host("bool")),
    "torch.cuda.graphs.is_current_stream_capturing": (Host("bool"), TRUE, Host("bool")),
    "torch._C._cuda_isCurrentStreamCapturing": (Host("bool"), TRUE, Host("bool")),
    "torch.compiler.is_compiling": (Host("bool"), FALSE, TRUE),
    "torch.compiler.is_dynamo_compiling": (Host("bool"), FALSE, TRUE),
    "torch._dynamo.is_compiling": (Host("bool"), FALSE, TRUE),
    "torch._dynamo.external_utils.is_compiling": (Host("bool"), FALSE, TRUE),
    "torch._utils.is_compiling": (Host("bool"), FALSE, TRUE),
    "torch.compiler.is_exporting": (FALSE, FALSE, FALSE),
    "torch.jit.is_tracing": (FALSE, FALSE, FALSE),
    "torch.jit.is_scripting": (FALSE, FALSE, FALSE),
    "torch._C._get_tracing_state": (NONE, NONE, NONE),
    "torch.onnx.is_in_onnx_export": (FALSE, FALSE, FALSE),
    "torch.fx._symbolic_trace.is_fx_tracing": (FALSE, FALSE, FALSE),
    "torch.cuda.is_available": (TRUE, TRUE, TRUE),
    "torch.cuda.is_initialized": (TRUE, TRUE, TRUE),
    "torch.overrides.has_torch_function": (FALSE, FALSE, FALSE),
    "torch.overrides.has_torch_function_unary": (FALSE, FALSE, FALSE),
    "torch.overrides.has_torch_function_variadic": (FALSE, FALSE, FALSE),
}
_SCALAR_TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str", "complex": "float"}
_HOST_RESULTS = {
    "len": "int", "id": "int", "hash": "int", "ord": "int", "chr": "str", "callable": "bool", "repr": "str",
    "issubclass": "bool", "input": "str", "open": "object", "vars": "object", "dir": "object", "format": "str",
    "ascii": "str", "type": "object", "bytes": "str", "memoryview": "object", "slice": "object",
}  # fmt: skip
_TENSOR_TYPES = frozenset({"torch.Tensor", "torch._C.TensorBase", "torch.is_tensor"})
_CALLS_FIRST = frozenset({
    "torch.utils.checkpoint.checkpoint", "torch.func.functional_call", "builtins.map", "builtins.filter",
    "torch.cond", "torch.while_loop", "functools.reduce",
})  # fmt: skip
_MODULE_LISTS = {"ModuleList": "list", "Sequential": "sequential", "ParameterList": "list"}


class Builtins:
    """Calls that the catalogue of operations does not speak of."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.containers = Containers(interpreter)
        self.modules = Modules(interpreter)
        self.call_method = self.containers.call_method
        self.call_object_method = self.modules.call_method

    def call(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """The result of a call by name; None if it is for somebody else to say."""
        guard = _GUARDS.get(name)
        if guard is not None:
            return guard[frame.mode.value]
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, arguments, node, frame)
        module, _, member = name.rpartition(".")
        if module == "builtins":
            return self._builtin(member, arguments, node, frame)
        if member in _MODULE_LISTS and module in ("torch.nn", "torch.nn.modules.container", "torch.nn.modules"):
            return self._module_list(_MODULE_LISTS[member], arguments)
        if member in ("ModuleDict", "ParameterDict") and module.startswith("torch.nn"):
            first = arguments.positional[0] if arguments.positional else Mapping()
            return first if isinstance(first, Mapping) else Mapping((), UNKNOWN)
        if name in _CALLS_FIRST and arguments.positional:
            rest = Arguments(arguments.positional[1:], (), arguments.star, arguments.double_star)
            return self.interpreter.calls.call(arguments.positional[0], rest, node, frame)
        return None

    def content_of(self, arguments: Arguments) -> Value:
        """What a container class is given by its constructor."""
        if arguments.star is not None or len(arguments.positional) != 1:
            return self._module_list("sequential", arguments)
        first = arguments.positional[0]
        if isinstance(first, (Sequence, Mapping)):
            return first
        return Sequence("sequential", (first,))

    @staticmethod
    def _module_list(kind: str, arguments: Arguments) -> Value:
        if arguments.star is not None:
            return Sequence(kind, None, union((*arguments.positional, arguments.star)))
        if len(arguments.positional) == 1 and kind == "list":
            first = arguments.positional[0]
            if isinstance(first, Sequence):
                return Sequence(kind, first.elements, first.element)
            return Sequence(kind, None, UNKNOWN)
        if len(arguments.positional) == 1 and isinstance(arguments.positional[0], Mapping):
            return Sequence(kind, tuple(value for _, value in arguments.positional[0].items))
        return Sequence(kind, arguments.positional)

    def made_by_unknown(self, name: str, arguments: Arguments) -> Value:
        """What a call of an external name gives: an object of that class if it is spelled as one."""
        member = name.rpartition(".")[2]
        top = name.partition(".")[0]
        if top in ("numpy", "math", "os", "time", "json", "re", "random", "sys", "platform", "packaging"):
            return Host("object")
        if member[:1].isupper():
            keywords: list[tuple[str | int, Value]] = list(enumerate(arguments.positional))
            return ExternalObject(name, (*keywords, *arguments.keywords))
        return UNKNOWN

    # Built-in functions

    def _builtin(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        values = arguments.positional
        first = values[0] if values else UNKNOWN
        if name in ("int", "float", "bool", "len", "abs", "iter", "next") and node is not None:
            given = self.interpreter.methods.special(first, f"__{name}__", Arguments(values[1:]), node, frame)
            if given is not None:
                return given
        if name in ("int", "float", "complex", "bool"):
            return self._number(name, first, node, frame)
        if name in ("str", "repr", "format", "ascii", "print"):
            self._printed(arguments, node, frame)
            return (
                NONE
                if name == "print"
                else first
                if isinstance(first, Const) and name == "str" and isinstance(first.value, str)
                else Host("str")
            )
        if name in ("any", "all", "max", "min", "sorted"):
            return self._reducing(name, arguments, node, frame)
        if name in ("list", "tuple", "set", "frozenset", "iter", "reversed"):
            return self._converted(
                {"iter": "iterator", "reversed": "iterator", "frozenset": "set"}.get(name, name), first, values
            )
        if name == "len" and isinstance(first, Sequence) and first.elements is not None and first.kind != "iterator":
            return Const(len(first.elements))
        if name in ("round", "abs", "pow", "divmod"):
            if device_tensor(first) is not None:
                if name == "round":
                    return first
                return self.interpreter.tensors.call_operation(f"torch.{name}", None, arguments, node, frame)
            return Host("float" if name == "round" and len(values) > 1 else "int" if name == "round" else "number")
        if name == "range":
            return self._range(arguments, node, frame)
        if name == "sum":
            return self._sum(first, frame)
        if name == "type" and len(values) == 1:
            return union(_type_of(member) for member in members(first))
        if name in _HOST_RESULTS:
            return Host(_HOST_RESULTS[name])
        if name.endswith(("Error", "Exception", "Warning", "StopIteration")) or name == "object":
            return Host("object")
        return None

    def _number(self, name: str, value: Value, node: ir.Call | None, frame: Frame) -> Value:
        tensor = device_tensor(value)
        if tensor is not None and node is not None:
            self.interpreter.event(frame, node, "tensor-branch" if name == "bool" else "scalar-readback", tensor.sure)
        if isinstance(value, Const) and isinstance(value.value, (int, float, str)):
            try:
                return Const({"int": int, "float": float, "bool": bool, "complex": complex}[name](value.value))
            except (ValueError, OverflowError):
                return Host(name)
        if name == "bool":
            known = truth(value)
            return Host("bool") if known is None else Const(known)
        return Host(_SCALAR_TYPES[name])

    def _printed(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> None:
        for value in arguments.positional:
            if node is not None:
                self.interpreter.tensors.check_printed(node, value, frame)

    def _reducing(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        pool = values if len(values) > 1 else [self.interpreter.expressions.element(values[0])] if values else []
        single = values[0] if len(values) == 1 else None
        if single is not None and isinstance(single, Sequence) and single.elements is not None:
            pool = list(single.elements)
        key = arguments.keyword("key")
        judged = pool
        if key is not None and key != NONE and pool:
            judged = [self.interpreter.calls.call(key, Arguments((join_all(pool),)), node, frame)]
        is_known = isinstance(single, Sequence) and single.elements is not None
        if is_known and len(pool) <= 1 and name in ("max", "min", "sorted"):
            return pool[0] if pool and name != "sorted" else UNKNOWN
        tensors = [tensor for value in judged if (tensor := device_tensor(value)) is not None]
        if tensors and node is not None:
            self.interpreter.event(frame, node, "tensor-branch", min(tensor.sure for tensor in tensors))
        if name in ("any", "all"):
            return Host("bool")
        if name == "sorted":
            return Sequence("list", None, join_all(pool) if pool else UNKNOWN)
        extra = arguments.keyword("default")
        return join_all([*pool, extra] if extra is not None else pool) if pool else UNKNOWN

    def _converted(self, kind: str, first: Value, values: tuple[Value, ...]) -> Value:
        if not values:
            return Sequence(kind, ())
        results = []
        for member in members(first):
            if isinstance(member, Sequence):
                results.append(Sequence(kind, member.elements, member.element))
            elif member != NONE:
                results.append(Sequence(kind, None, self.interpreter.expressions.element(member)))
        return union(results) if results else Sequence(kind, None, UNKNOWN)

    def _range(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        for value in arguments.positional:
            tensor = device_tensor(value)
            if tensor is not None and node is not None:
                self.interpreter.event(frame, node, "tensor-loop", tensor.sure)
        bounds = [v.value if isinstance(v, Const) and type(v.value) is int else None for v in arguments.positional]
        if bounds and None not in bounds and len(range(*bounds)) <= 16:  # type: ignore[arg-type]
            return Sequence("iterator", tuple(Const(i) for i in range(*bounds)))  # type: ignore[arg-type]
        return Sequence("iterator", None, Host("int"))

    def _sum(self, first: Value, frame: Frame) -> Value:
        element = self.interpreter.expressions.element(first)
        tensors = [m for m in members(element) if isinstance(m, Tensor)]
        return tensors[0] if tensors else Host("number") if not isinstance(element, Unknown) else UNKNOWN

    # Handlers by qualified name

    def _super(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        owner = frame.function.owner
        if len(arguments.positional) == 2:
            cls, receiver = arguments.positional
            if isinstance(cls, Class):
                return Super(cls.definition, receiver)
        parameters = frame.function.code.parameters
        held = frame.env.get(parameters[0].name) if parameters else None
        if held is None:
            held = dict(frame.function.closure).get("self")
        return Super(owner, held) if owner is not None and held is not None else UNKNOWN

    def _isinstance(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if len(arguments.positional) < 2:
            return Host("bool")
        value, classes = arguments.positional[:2]
        wanted = classes.elements if isinstance(classes, Sequence) and classes.elements is not None else (classes,)
        answers = {self.is_instance(member, cls) for member in members(value) for cls in wanted}
        if len(wanted) > 1 and len(list(members(value))) == 1:
            return TRUE if True in answers else FALSE if answers == {False} else Host("bool")
        return Const(answers.pop()) if len(answers) == 1 and None not in answers else Host("bool")

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether a value is an instance of a class, as far as both are known."""
        if isinstance(cls, Class):
            if isinstance(value, Instance):
                if cls.definition in self.interpreter.classes.order(value.cls):
                    return True
                return None if value.arguments is None else False
            return False if isinstance(value, (Tensor, Const, Host, Sequence, Mapping, Function)) else None
        if not isinstance(cls, External):
            return None
        if isinstance(value, Tensor):
            if cls.name in _TENSOR_TYPES:
                return True
            return None if cls.name.endswith(("Parameter", "Buffer", "DTensor", "Tensor")) else False
        if isinstance(value, Const):
            kind = {"builtins.int": int, "builtins.float": float, "builtins.str": str, "builtins.bool": bool}.get(
                cls.name
            )
            if kind is not None:
                return isinstance(value.value, kind)
            return False if cls.name in _TENSOR_TYPES or cls.name.startswith("builtins.") else None
        if isinstance(value, Host):
            if cls.name == f"builtins.{value.kind}":
                return True
            return False if cls.name in _TENSOR_TYPES else None
        if isinstance(value, Sequence):
            if cls.name == f"builtins.{value.kind}":
                return True
            return (
                False
                if cls.name in _TENSOR_TYPES or cls.name in ("builtins.dict", "builtins.str", "builtins.int")
                else None
            )
        if isinstance(value, Mapping):
            return True if cls.name == "builtins.dict" else False if cls.name in _TENSOR_TYPES else None
        if isinstance(value, Instance):
            bases = self.interpreter.classes.external_bases(value.cls)
            if cls.name in bases:
                return True
            return (
                False
                if cls.name in _TENSOR_TYPES and not any("Tensor" in base or "Parameter" in base for base in bases)
                else None
            )
        return None

    def _hasattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if len(arguments.positional) == 2:
            value, name = arguments.positional
            if isinstance(name, Const) and isinstance(name.value, str):
                if isinstance(value, ModuleValue):
                    return Const(self.interpreter.names.member(value.module, name.value) is not None)
                if (
                    isinstance(value, External)
                    and self.interpreter.catalogue.find(f"{value.name}.{name.value}") is not None
                ):
                    return TRUE
                if isinstance(value, Instance) and name.value in self.interpreter.objects.attributes(value):
                    return TRUE if value.arguments is not None else Host("bool")
                if (
                    isinstance(value, Tensor)
                    and self.interpreter.catalogue.find(f"torch.Tensor.{name.value}") is not None
                ):
                    return TRUE
        return Host("bool")

    def _getattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        if len(values) < 2:
            return UNKNOWN
        results = list(values[2:3])
        for name in members(values[1]):
            if isinstance(name, Const) and isinstance(name.value, str):
                results.append(self.interpreter.attributes.load(values[0], name.value, frame))
            elif isinstance(values[0], Instance):
                held = self.interpreter.objects.attributes(values[0])
                results.append(held.get(ANY, UNKNOWN))
            else:
                results.append(UNKNOWN)
        return union(results)

    def _setattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        receiver, name, value, *_ = *arguments.positional, UNKNOWN, UNKNOWN, UNKNOWN
        if isinstance(receiver, Instance):
            self.modules.write(receiver, name, value)
        return NONE

    def _enumerate(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        element = self.interpreter.expressions.element(arguments.positional[0] if arguments.positional else UNKNOWN)
        return Sequence("iterator", None, Sequence("tuple", (Host("int"), element)))

    def _zip(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if arguments.star is not None:
            return Sequence(
                "iterator", None, Sequence("tuple", None, self.interpreter.expressions.element(arguments.star))
            )
        elements = tuple(self.interpreter.expressions.element(value) for value in arguments.positional)
        return Sequence("iterator", None, Sequence("tuple", elements))

    def _next(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first, *default = arguments.positional or (UNKNOWN,)
        return union((self.interpreter.expressions.element(first), *default))

    def _import_module(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        names = [v.value for v in arguments.positional if isinstance(v, Const) and isinstance(v.value, str)]
        package = arguments.keyword("package")
        if isinstance(package, Const) and isinstance(package.value, str):
            names.append(package.value)
        if not names or len(names) < len(arguments.positional):
            return UNKNOWN
        name = names[0]
        if name.startswith(".") and len(names) > 1:
            level = len(name) - len(name.lstrip("."))
            base = names[1].split(".")
            name = ".".join([*base[: len(base) - level + 1], name.lstrip(".")])
        return self.interpreter.names.module_value(name)

    def _map(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if not arguments.positional:
            return UNKNOWN
        elements = tuple(self.interpreter.expressions.element(value) for value in arguments.positional[1:])
        result = self.interpreter.calls.call(arguments.positional[0], Arguments(elements), node, frame)
        return Sequence("iterator", None, result)

    def _dict(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first = arguments.positional[0] if arguments.positional else None
        if isinstance(first, Sequence) and first.elements is not None:
            pairs = [e.elements for e in first.elements if isinstance(e, Sequence) and e.elements is not None]
            if all(len(pair) == 2 for pair in pairs) and len(pairs) == len(first.elements):
                first = Mapping(tuple((pair[0], pair[1]) for pair in pairs))
        items = list(first.items) if isinstance(first, Mapping) else []
        other = first.other if isinstance(first, Mapping) else None if first is None else UNKNOWN
        items += [(Const(key), value) for key, value in arguments.keywords]
        if arguments.double_star is not None:
            other = arguments.double_star if other is None else union((other, arguments.double_star))
        return Mapping(tuple(dict(items).items()), other)

    def _partial(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if not arguments.positional:
            return UNKNOWN
        return Partial(arguments.positional[0], arguments.positional[1:], arguments.keywords)

    def _parameter(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first = next(iter(arguments.positional), arguments.keyword("data"))
        tensor = next((m for m in members(first) if isinstance(m, Tensor)), None) if first is not None else None
        return Tensor(Place.DEVICE, tensor.ndim if tensor else None, tensor.dtype if tensor else None, Confidence.HIGH)

    def _last(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return arguments.positional[-1] if arguments.positional else UNKNOWN

    def _device_module(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return External("torch.cuda")

    def _wraps(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return UNKNOWN

    def _backward(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        self.interpreter.calls.run_backward(node, frame)
        return None

    def _first(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return arguments.positional[0] if arguments.positional else UNKNOWN


def _type_of(value: Value) -> Value:
    if isinstance(value, Instance):
        return Class(value.cls)
    if isinstance(value, Const):
        return External(f"builtins.{type(value.value).__name__}")
    if isinstance(value, (Mapping, Sequence)):
        return External(f"builtins.{value.kind if isinstance(value, Sequence) else 'dict'}")
    return External("torch.Tensor") if isinstance(value, Tensor) else UNKNOWN


def _cache(name: str) -> Handler:
    """`lru_cache(f)`, `lru_cache(maxsize=8)` as a decorator, and `lru_cache(maxsize=8)(f)`."""

    def make(builtins: Builtins, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if node is not None and any(argument.star for argument in node.arguments):
            return Partial(External(name), (UNKNOWN,), ())  # a wrapper hands on the bound, whatever it is
        *options, last = arguments.positional or (NONE,)
        if not isinstance(last, Function):
            return Partial(External(name), arguments.positional, arguments.keywords)
        decorator: Value = External(name)
        if options or arguments.keywords:
            decorator = Partial(decorator, tuple(options), arguments.keywords)
        return builtins.interpreter.decorators.apply(decorator, last, frame)

    return make


_HANDLERS: dict[str, Handler] = {
    "builtins.super": Builtins._super, "builtins.isinstance": Builtins._isinstance,
    "builtins.hasattr": Builtins._hasattr, "builtins.getattr": Builtins._getattr,
    "builtins.setattr": Builtins._setattr, "builtins.enumerate": Builtins._enumerate, "builtins.zip": Builtins._zip,
    "builtins.next": Builtins._next, "builtins.map": Builtins._map, "builtins.dict": Builtins._dict,
    "collections.OrderedDict": Builtins._dict, "copy.copy": Builtins._last, "typing.cast": Builtins._last,
    "functools.partial": Builtins._partial, "functools.wraps": Builtins._wraps,
    "functools.lru_cache": _cache("functools.lru_cache"), "functools.cache": _cache("functools.cache"),
    "importlib.import_module": Builtins._import_module, "torch.get_device_module": Builtins._device_module,
    "torch.nn.Parameter": Builtins._parameter, "torch.nn.Buffer": Builtins._parameter,
    "torch.nn.parameter.Parameter": Builtins._parameter, "torch.nn.parameter.Buffer": Builtins._parameter,
    "torch.autograd.backward": Builtins._backward, "torch.autograd.grad": Builtins._backward,
    "torch.vmap": Builtins._first, "torch.func.vmap": Builtins._first, "torch.compiler.disable": Builtins._first,
    "torch.compiler.allow_in_graph": Builtins._first, "torch.jit.script": Builtins._first,
    "torch.jit.ignore": Builtins._first,
}  # fmt: skip
