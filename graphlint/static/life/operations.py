"""What is outside of the project, in a rehearsed run: tensors, modules, graphs.

Long, because a method with a telling name is asked of each kind of object in turn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from graphlint.rulebook.operations import TENSOR
from graphlint.rulebook.operators import OPERATORS
from graphlint.static.interpreter.classes import Base
from graphlint.static.life.expressions import Expressions
from graphlint.static.life.objects import (
    Arguments,
    Container,
    Frame,
    Instance,
    Made,
    MethodOf,
    Object,
    Outside,
    Place,
    Symbol,
    Tensor,
    Thing,
    duplicate,
    things_in,
    wrapper,
)
from graphlint.static.life.questions import identity, is_class, read_in, spelt
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import parts_of, several, shape_of, sizes_asked
from graphlint.static.syntax import ir

_ARRAY = "host-array"
_HOST_KINDS = frozenset({"int", "float", "bool", "number", "str", "list", "shape", "device", "dtype", _ARRAY})


class Operations(Expressions):
    """Evaluates what is outside of the project."""

    @abstractmethod
    def call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object: ...

    @abstractmethod
    def unknown_call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object: ...

    @abstractmethod
    def call_builtin(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object: ...

    @abstractmethod
    def call_container(self, owner: Container, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object: ...

    @abstractmethod
    def _finish(self, inner: Frame) -> Object: ...

    def operated(self, values: Iterable[Object], place: Place, name: str = "", is_sure: bool = True) -> Object:
        """What an operation gives of values: a tensor if one of them is, something of the host if all are."""
        values = tuple(values)
        self.ledger.read(list(values), place, is_sure)
        source = tuple(value for value in values if isinstance(value, Thing))
        if any(isinstance(value, Tensor) for value in values) or (source and name):
            return Tensor(place, self.ledger.capture, source=source, factory=name)
        if any(isinstance(value, Made) or (isinstance(value, Instance) and value.is_module) for value in source):
            return Tensor(place, self.ledger.capture, source=source, factory=name)
        symbols = tuple(value for value in values if isinstance(value, Symbol))
        if source:
            return Thing(place, self.ledger.capture, source=source, numbers=symbols)
        return Symbol(frozenset(thing for one in symbols for thing in one.of), read=read_in(symbols))

    # Functions and classes

    def call_outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call by qualified name."""
        result = self._outside(name, given, node, frame)
        self.ledger.answered(Call(name, None, given, result, frame.place(node)))
        return result

    def _outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        package, _, last = name.partition(".")
        if package == "builtins":
            return self.call_builtin(last, given, node, frame)
        place = frame.place(node)
        if (entry := self.interpreter.entries.find(name)) is not None:
            return self.call_entry(name, entry, given, node, frame)
        guard = self.interpreter.lexicon.guard(name)
        if guard is not None:
            return self.concrete(guard[0 if self.ledger.capture is None else 1])
        if name == "contextlib.nullcontext":
            return Made(place, cls=name)
        if name in self.interpreter.lexicon.life["weak"]:
            self.ledger.escaped.difference_update(things_in(given.get(0)))  # which nothing else is meant to keep
            return Made(place, cls=name, state={"target": given.get(0)})
        if name in ("copy.copy", "copy.deepcopy"):
            return duplicate(given.get(0), capture=self.ledger.capture)
        if name == "functools.wraps":  # a decorator that changes nothing that matters here
            return Outside(f"{name}()")
        if name == "functools.wraps()":
            return given.get(0)
        if not self.interpreter.lexicon.is_catalogued(name) or name.startswith(OPERATORS):
            self.ledger.may_write(given.all(), place)  # it may share memory with what it gives, or write to it
        if name in self.interpreter.lexicon.tensors["parameters"]:
            return Tensor(place, self.ledger.capture, factory=name, is_leaf=True)
        catalogue = self.interpreter.catalogue
        operation = catalogue.find(name)
        if operation is None:
            if catalogue.is_class(name) or self.interpreter.lexicon.is_module(name) or is_class(name):
                return self.made(name, given, place)
            if self.interpreter.lexicon.is_familiar(name) and not name.startswith(OPERATORS):
                return self.operated(given.all(), place, is_sure=False)
            return self.unknown_call(Outside(name), given, node, frame)
        if "." in operation.returns:
            return self.made(operation.returns, given, place)
        first = given.get(0)
        if last in catalogue.views and isinstance(first, Tensor):  # `torch.split(x, 2)` is `x.split(2)`
            return self.call_tensor(first, last, given, node, frame)
        return self.result(operation.returns, name, given, place)

    def made(self, cls: str, given: Arguments, place: Place) -> Made:
        """An object of a class outside of the project."""
        held: dict[str | int, Object] = dict(enumerate(given.positional))
        held.update(given.keywords)
        return Made(place, self.ledger.capture, cls=cls, given=held)

    def result(self, returns: str, name: str, given: Arguments, place: Place) -> Object:
        """What an operation of the catalogue gives, by the kind of its result."""
        out = given.keywords.pop("out", None)
        values = given.all()
        if isinstance(out, Thing):
            self.ledger.wrote(out, values, place)
            return out
        if returns == "self":
            return values[0] if values else Thing(place)
        is_host = returns in _HOST_KINDS or returns == "none"
        self.ledger.read(values, place, is_sure=not (is_host or returns == "like" or name.startswith(OPERATORS)))
        if is_host:
            return None if returns == "none" else Symbol(frozenset(v for v in values if isinstance(v, Thing)))
        if returns == "object":
            return self.made(name, given, place)
        made = Tensor(place, self.ledger.capture, source=tuple(v for v in values if isinstance(v, Thing)), factory=name)
        made.pinned = returns in ("factory", "like") and given.keywords.get("pin_memory") is True
        if returns == "factory":
            made.place = self._device(given.keywords.get("device"), place)
            made.sizes = sizes_asked(self.interpreter.catalogue.find(name), given)
            made.is_leaf = given.keywords.get("requires_grad") is True
        return made

    def _device(self, device: Object, place: Place) -> str | None:
        """Whether data lies on the host, to judge by what was asked for; a file may choose another device for all."""
        if device is None:
            is_known = not self.interpreter.tensors.default_device.may_hold_in(place.function.module)
            return "host" if is_known else None
        return None if not isinstance(device, str) else "host" if device.startswith("cpu") else "device"

    # Tensors

    def of_tensor(self, owner: Tensor, name: str, frame: Frame, node: ir.Node) -> Object:
        """An attribute of a tensor."""
        if name in owner.attributes:
            return owner.attributes[name]
        if name in ("T", "mT", "data", "real", "H"):
            return self.view(owner, frame.place(node))
        operation = self.interpreter.catalogue.method(name)
        if operation is not None and operation.attribute:
            if name == "shape":
                return owner.attributes.setdefault(name, shape_of(owner, self.interpreter.lexicon.life["sized"]))
            if name in ("dtype", "device"):
                return owner.attributes.setdefault(name, Symbol())
            return Tensor(source=(owner,)) if name == "grad" else Symbol()
        if name in ("is_leaf", "grad_fn"):
            return Thing(source=(owner,))
        return MethodOf(owner, name)

    def call_method(self, receiver: Object, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call of a method of what is not of the project."""
        if isinstance(receiver, Container):
            return self.call_container(receiver, name, given, node, frame)
        result = self._method_of(receiver, name, given, node, frame)
        self.ledger.answered(Call(f"{self._class_of(receiver)}.{name}", receiver, given, result, frame.place(node)))
        return result

    def _class_of(self, receiver: Object) -> str:
        """The name of a class outside of the project that an object is of; `?` if nobody knows."""
        match receiver:
            case Made():
                return receiver.cls
            case Tensor():
                return TENSOR
            case Instance(is_module=True):
                return self.interpreter.lexicon.base_module
        return "?"

    def _method_of(self, receiver: Object, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        match receiver:
            case Tensor():
                return self.call_tensor(receiver, name, given, node, frame)
            case Made():
                return self.call_made_method(receiver, name, given, node, frame)
            case Instance():
                return self.call_module(receiver, name, given, node, frame)
            case Thing():
                return self.call_thing(receiver, name, given, node, frame)
        return Symbol(receiver.of, read=receiver.read) if isinstance(receiver, Symbol) else Symbol()

    def is_telling(self, name: str) -> bool:
        """Whether hardly anything but a tensor or a graph has a method of this name."""
        catalogue = self.interpreter.catalogue
        is_inplace = name.endswith("_") and not name.endswith("__") and catalogue.method(name) is not None
        return (
            is_inplace
            or name in catalogue.telling
            or name in self.interpreter.lexicon.life["telling"]
            or name in self.interpreter.lexicon.life["training"]
            or name in self.interpreter.lexicon.life["replays"]
            or name in self.interpreter.lexicon.life["ordering"]
            or name in self.interpreter.entries.by_last_name
        )

    def call_thing(self, owner: Thing, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method with a telling name, of something of which nothing else is known."""
        entry = self.interpreter.entries.by_last_name.get(name)
        if entry is not None:
            return self.call_entry(entry.names[0], entry, given, node, frame, owner)
        if name in self.interpreter.lexicon.life["replays"]:
            self.ledger.replay(owner, frame.place(node))
            return None
        if name in self.interpreter.lexicon.life["training"]:
            self.ledger.trained(owner, name, given, frame.place(node))
            return Thing(source=(owner,))
        if name in self.interpreter.lexicon.life["ordering"]:
            return Thing(source=(owner,))
        return self.call_tensor(owner, name, given, node, frame)

    def call_tensor(self, owner: Thing, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of a tensor."""
        place, values = frame.place(node), given.all()
        if name in self.interpreter.lexicon.life["training"]:
            self.ledger.trained(owner, name, given, place)
        if name.endswith("_") and not name.endswith("__"):
            if name not in ("requires_grad_", "retain_grad_"):
                self.ledger.wrote(owner, [owner, *values] if self.is_adding(name) else values, place)
            elif isinstance(owner, Tensor):
                owner.is_leaf = name == "requires_grad_" and given.get(0, "requires_grad") is not False
            return owner
        if name == "to" and type(owner) is Thing and not any(map(self.is_dtype, values)):
            return self.unknown_call(owner, given, node, frame)
        if name in ("pin_memory", *self.interpreter.lexicon.life["casting"]):
            self.ledger.read([owner, *values], place)
            pins = name == "pin_memory"
            return Tensor(place, self.ledger.capture, source=(owner,), factory=f"{TENSOR}.{name}", pinned=pins)
        if name in self.interpreter.catalogue.views or name == "view":
            part = ir.Slice(node.mark, (None, node, None)) if name in ("narrow", "select") else None  # type: ignore[arg-type]
            made = self.view(owner, place, part)
            return made if name not in ("chunk", "split", "unbind") else several(made)
        operation = self.interpreter.catalogue.method(name)
        is_pinned = isinstance(owner.root, Tensor) and owner.root.pinned
        if operation is None and not is_pinned:
            return self.unknown_call(owner, given, node, frame)
        if is_pinned and operation is not None and operation.returns == _ARRAY:
            return self.view(owner, place)  # of the same memory
        is_host = operation is None or operation.returns in _HOST_KINDS or operation.returns == "none"
        if not is_host or operation is None or operation.told:  # a size is no data
            self.ledger.read([owner, *values], place, not is_host or name in self.interpreter.catalogue.telling)
        if is_host:
            read = place if name in ("item", "tolist") else None
            is_none = operation is not None and operation.returns == "none"
            return None if is_none else Symbol(frozenset({owner}), read=read)
        source = tuple(value for value in (owner, *values) if isinstance(value, Thing))
        return Tensor(place, self.ledger.capture, source=source, factory=f"{TENSOR}.{name}")

    def is_dtype(self, value: Object) -> bool:
        """Whether a value is a dtype of torch."""
        return isinstance(value, Outside) and value.name in self.interpreter.lexicon.dtypes

    # Objects of other classes

    def call_made(self, callee: Made, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call of an object: a module computes, a bound super class is asked for its method."""
        if "target" in callee.state:
            return callee.state["target"]
        if "wrapped" in callee.state:
            return self._call_wrapped(callee, given, node, frame)
        values = given.all()
        if self.interpreter.lexicon.is_module(callee.cls):
            self.ledger.ran_module(callee, values, frame.place(node))
            return self.ledger.ran(callee, values, self._through_module(callee, given, node, frame), frame.place(node))
        return self.ledger.ran(callee, values, self.unknown_call(callee, given, node, frame), frame.place(node))

    def _call_wrapped(self, callee: Made, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call of what was compiled or graphed, or of a decorator that waits for what it compiles."""
        target = callee.state["wrapped"]
        if target is None:
            return wrapper(callee.cls, given.get(0), callee.state["given"], callee.made or frame.place(node))
        values, place = given.all(), frame.place(node)
        self.ledger.ran_module(callee, values, place)
        return self.ledger.ran(callee, values, self.call(target, given, node, frame), place)

    def _through_module(self, callee: Made, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a module gives; one that holds others calls them one after the other."""
        kind = self.interpreter.lexicon.containers.get(callee.cls)
        value = given.get(0)
        if kind == "sequential" and not given.is_open:
            for position in sorted(key for key in callee.given if isinstance(key, int)):
                given.positional = [value]
                value = self.call(callee.given[position], given, node, frame)
            return value
        return self.operated((callee, *given.all()), frame.place(node), callee.cls)

    def call_made_method(self, owner: Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of an object of a class outside of the project."""
        place = frame.place(node)
        if owner.cls == "<super>":
            return self._super_method(owner, name, given, node, frame)
        if name in self.interpreter.lexicon.life["training"] and not self.interpreter.lexicon.is_module(owner.cls):
            self.ledger.trained(owner, name, given, place)
        entry = self.interpreter.entries.find_method(self.interpreter.lexicon.owners(owner.cls), name)
        if entry is not None:
            return self.call_entry(f"{owner.cls}.{name}", entry, given, node, frame, owner)
        if name == "reset" and owner in self.ledger.latest:
            self.ledger.dropped(owner, place)
            return None
        if name in self.interpreter.lexicon.life["replays"] and owner in self.ledger.latest:
            self.ledger.replay(owner, place)
            return None
        if self.interpreter.lexicon.is_module(owner.cls):
            return self.call_module(owner, name, given, node, frame)
        operation = self.interpreter.catalogue.find(f"{owner.cls}.{name}")
        if operation is None and name in self.interpreter.lexicon.life["ordering"]:
            return Thing(source=(owner,))
        if operation is None:
            return self.unknown_call(owner, given, node, frame)
        if "." in operation.returns:
            return self.made(operation.returns, given, place)
        if operation.returns == "self":
            return owner
        return self.result(operation.returns, operation.name, given, place)

    def _super_method(self, owner: Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        receiver = owner.state["receiver"]
        found = self.interpreter.classes.find(owner.state["of"], name, owner.state["after"])
        method = None if found is None else self.bound_method(*found, receiver, frame)
        if method is None:
            return None if name == "__init__" else self._method_of(receiver, name, given, node, frame)
        return self.call(method, given, node, frame)

    @abstractmethod
    def bound_method(self, owner: Base, member: object, receiver: Object, frame: Frame) -> Object | None: ...

    def call_module(self, owner: Instance | Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method that every module of torch has."""
        place = frame.place(node)
        if name in self.interpreter.lexicon.life["training"]:
            self.ledger.trained(owner, name, given, place)
            return owner
        match methods := self.interpreter.lexicon.methods.get(name):
            case "registers_tensors" | "registers":
                key = given.get(0, "name")
                if isinstance(key, str):
                    self.set_attribute(owner, key, given.get(1, "tensor", "param", "module"), place)
                return None
            case "moves" | "evaluates" | "trains":
                is_other = any(self.is_dtype(value) or value == "cpu" for value in given.all())  # memory, for certain
                if methods == "moves" and (name == "cpu" or is_other):
                    self.ledger.trained(owner, "to", given, place)
                return owner
            case "children" | "named_children":
                return parts_of(owner, place, methods == "named_children")
            case "parameters" | "named_parameters" | "states":
                return Thing(place, self.ledger.capture, source=(owner,))
        if name == "requires_grad_":
            for thing in things_in(owner):
                if isinstance(thing, (Made, Instance)):
                    thing.state["frozen"] = given.get(0, "requires_grad") is False
        if name in ("float", "half", "bfloat16", "double"):
            self.ledger.trained(owner, "to", given, place)
        elif name not in ("requires_grad_", "type", "apply"):
            return self.unknown_call(owner, given, node, frame)
        return owner

    @abstractmethod
    def set_attribute(self, owner: Object, name: str, value: Object, place: Place) -> None: ...

    def delete(self, owner: Object, name: str, place: Place) -> None:
        """`del owner.name`."""
        if isinstance(owner, Thing):
            self.ledger.deleted(owner, name, owner.attributes.pop(name, None), place)

    def delete_item(self, owner: Object, index: Object, place: Place) -> None:
        """`del owner[index]`."""
        if isinstance(owner, Container):
            _, before = owner.keyed.pop(identity(index), (None, None))
            self.ledger.deleted(owner, spelt(index), before, place)

    @abstractmethod
    def call_entry(
        self, name: str, entry: Any, given: Arguments, node: ir.Node, frame: Frame, owner: Thing | None = None
    ) -> Object: ...
