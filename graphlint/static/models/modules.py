"""Methods of torch's modules, and of a few other objects, that change or describe the object."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from graphlint.finding import Confidence
from graphlint.rule import ModuleMove
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import ANY, Instance
from graphlint.static.index.parts import parts_with, spelling
from graphlint.static.models.hooks import Hooks
from graphlint.static.models.tensors import of_module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import names_in, walk
from graphlint.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    ExternalObject,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Value,
    members,
    union,
)
from graphlint.values.predicates import names_device
from graphlint.values.queries import place_of_device

_PARAMETER = Tensor(Place.DEVICE, None, None, Confidence.HIGH)
_CONTENTS: dict[str, Value] = {
    "parameters": Sequence("iterator", None, _PARAMETER),
    "named_parameters": Sequence("iterator", None, Sequence("tuple", (Host("str"), _PARAMETER))),
    "states": Mapping((), _PARAMETER),
}


class Modules:
    """What methods of modules return and change."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.hooks = Hooks(evaluator)

    def call_method(
        self, name: str, receiver: Value, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        """Call a method by its qualified name; None if it is for somebody else to say."""
        method = name.rpartition(".")[2]
        values = arguments.positional
        if (handle := self.hooks.call_method(method, receiver, arguments, node, frame)) is not None:
            return handle
        if isinstance(receiver, Instance):
            does = self.evaluator.lexicon.methods.get(method)
            if does in ("registers", "registers_tensors") and values:
                self._register(receiver, does, arguments, node, frame)
                return NONE
            if method == "__setattr__" and len(values) == 2:
                write_named(self.evaluator, receiver, values[0], values[1], node, frame)
                return NONE
            if does in ("children", "named_children"):
                held = union(value for _, value in self._children(receiver))
                return Sequence("iterator", None, Sequence("tuple", (Host("str"), held)) if "named" in does else held)
        if method == "enter_context" and values:
            return self.evaluator.enter(node, values[0], frame)
        if method == "forward" and isinstance(receiver, ExternalObject):
            return self.evaluator.call(receiver, arguments, node, frame)
        return self._call_module(method, receiver, arguments, node, frame) if self._is_module(receiver) else None

    def _children(self, receiver: Instance) -> list[tuple[str, Value]]:
        """The modules that an object holds, by their names."""
        kinds = (ExternalObject, Instance, Sequence, Mapping)
        held = self.evaluator.held(receiver).items()
        return [(name, value) for name, value in held if any(isinstance(m, kinds) for m in members(value))]

    def _call_module(
        self, method: str, receiver: Value, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        match self.evaluator.lexicon.methods.get(method):
            case "evaluates":
                return _with_argument(receiver, "training", FALSE)
            case "trains":
                return _with_argument(receiver, "training", next(arguments.all_values(), TRUE))
            case "moves":
                named = next((v for v in arguments.all_values() if names_device(v)), None)
                default = None if self.evaluator.lexicon.place(method) is None else Const(method)
                return self._move(receiver, named or default, node, frame)
            case str(does):
                return _CONTENTS.get(does)
            case _:
                return receiver if gives_itself(self.evaluator, method) else None

    def _register(
        self, receiver: Instance, does: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> None:
        name = arguments.positional[0] if arguments.positional else (arguments.keyword("name") or UNKNOWN)
        value = arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN
        for keyword in ("tensor", "param", "module"):
            value = arguments.keyword(keyword) or value
        if does == "registers_tensors" and value != NONE:
            optional = [NONE] if NONE in members(value) else []
            value = union([of_module(value, receiver.in_region), *optional])
        write_named(self.evaluator, receiver, name, value, node, frame)

    def _move(self, receiver: Value, named: Value | None, node: ir.Call | None, frame: Frame) -> Value:
        """`module.cuda()`: copies the parameters of a module of torch, if it is on the other side until then."""
        if not isinstance(receiver, ExternalObject) or named is None:
            return receiver
        held, target = place_of_device(receiver.argument("device")), place_of_device(named)
        moved = node.func.value if node is not None and isinstance(node.func, ir.Attribute) else None
        if moved is not None and self._has_parameters(receiver) and frame.in_region:
            self.evaluator.observe(frame, moved, ModuleMove(held, target, self._is_new(moved, frame)))
        return _with_argument(receiver, "device", named)

    def _is_module(self, receiver: Value) -> bool:
        if isinstance(receiver, ExternalObject):
            return self.evaluator.lexicon.is_module(receiver.cls)
        return isinstance(receiver, Instance)

    def _has_parameters(self, module: ExternalObject) -> bool:
        """Whether a module of torch has anything to copy: those that do take a device."""
        operation = self.evaluator.catalogue.find(module.cls)
        return operation is not None and any(parameter.name == "device" for parameter in operation.params or ())

    def _is_new(self, module: ir.Expr, frame: Frame) -> bool:
        """Whether a module is made where it is moved, or under a name that is moved nowhere else in the file."""
        if isinstance(module, ir.Call):
            return not any(isinstance(value, DeviceName) for value in frame.around)
        if not isinstance(module, ir.Name):
            return False
        moving = {method for method, does in self.evaluator.lexicon.methods.items() if does == "moves"}
        if module.id in frame.env:
            return _is_made_in(frame.function.code, module.id, moving)
        moves = {
            part.place(method)
            for part in parts_with(frame.module, module.id)
            for method in part.writes.called
            if method.attr in moving and spelling(method.value) == module.id
        }
        return len(moves) == 1 and module.id in frame.module.index.assignments


def gives_itself(evaluator: Evaluator, method: str) -> bool:
    """Whether a method of modules, such as one that takes them to a device, gives the module itself."""
    if evaluator.lexicon.methods.get(method) in ("evaluates", "moves", "trains"):
        return True
    found = (evaluator.catalogue.find(f"{base}.{method}") for base in evaluator.lexicon.modules["base"])
    return any(operation is not None and operation.returns == "self" for operation in found)


def named(name: Value) -> str:
    """The attribute that a value names."""
    return name.value if isinstance(name, Const) and isinstance(name.value, str) else ANY


def write_named(
    evaluator: Evaluator, receiver: Instance, name: Value, value: Value, node: ir.Call | None, frame: Frame
) -> None:
    """Set an attribute whose name is a value."""
    evaluator.write_attribute(
        receiver, named(name), value, ir.Literal(ir.NOWHERE, None) if node is None else node, frame
    )


def _is_made_in(code: ir.Code, name: str, moving: Collection[str]) -> bool:
    """Whether a function makes what it has under a name, and moves it once."""
    parts = list(walk(code.body))
    made = [p.value for p in parts if isinstance(p, ir.Assign) for t in p.targets if name in names_in(t)]
    called = [p.func for p in parts if isinstance(p, ir.Call) and isinstance(p.func, ir.Attribute)]
    moves = [f for f in called if f.attr in moving and isinstance(f.value, ir.Name) and f.value.id == name]
    return len(made) == len(moves) == 1 and isinstance(made[0], ir.Call)


def _with_argument(module: Value, name: str, value: Value) -> Value:
    """A module of torch as if it had been made with that argument."""
    if not isinstance(module, ExternalObject):
        return module
    others = tuple(argument for argument in module.arguments if argument[0] != name)
    return replace(module, arguments=(*others, (name, value)))
