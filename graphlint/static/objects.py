"""Classes and their instances: bases in order, attributes from the constructor, from methods and from class bodies."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from graphlint.static import ir
from graphlint.static.frames import Env, Frame, Mode
from graphlint.static.lowering import UnparsableSource, lower_segment
from graphlint.static.names import loosened
from graphlint.static.project import ClassDefinition, Definition, Module
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Bound,
    Class,
    Const,
    External,
    Function,
    Host,
    Instance,
    Tensor,
    Unknown,
    Value,
    join,
    limit_depth,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter

Base: TypeAlias = "ClassDefinition | str"
CONTENT = "<content>"  # what an object that is a container holds
ANY = "<any>"  # what is stored under names that are not known
SEARCH_DEPTH = 2  # calls before a region in which methods are no longer searched for attributes
MAX_OVERRIDES = 40  # modules with subclasses; a class with more is a framework's root, and says nothing about a call
PROPERTIES = frozenset({"builtins.property", "functools.cached_property", "torch.utils._functools.cache_method"})
MODULE_METHODS = frozenset({
    "register_buffer", "register_parameter", "add_module", "register_module", "parameters", "buffers", "named_parameters",
    "named_buffers", "state_dict", "children", "modules", "named_children", "named_modules", "apply", "eval", "train", "to",
    "cuda", "half", "float", "bfloat16", "requires_grad_", "register_forward_hook", "register_forward_pre_hook",
})  # fmt: skip
_CALLABLE = (Function, Bound)
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


class Objects:
    """The classes of the project and everything known of their instances."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.orders: dict[ClassDefinition, tuple[Base, ...]] = {}
        self.instances: dict[tuple[ClassDefinition, Arguments | None, bool], Instance] = {}
        self.heap: dict[Instance, dict[str, Value]] = {}
        self.versions: dict[Instance, int] = {}
        self._patches: dict[ClassDefinition, dict[str, Value]] = {}
        self.class_attributes: dict[tuple[ClassDefinition, str], Value] = {}
        self.searched: set[tuple[Instance, str]] = set()
        self.overrides: dict[ClassDefinition, tuple[ClassDefinition, ...]] = {}

    # Classes

    def order(self, cls: ClassDefinition) -> tuple[Base, ...]:
        """The class and its bases in the order in which attributes are looked up; external bases by name."""
        known = self.orders.get(cls)
        if known is None:
            self.orders[cls] = (cls,)  # for a class that inherits from itself by mistake
            parents = [base for source in cls.bases for base in self._bases(source, cls.module)]
            chains = [list(self.order(base)) if isinstance(base, ClassDefinition) else [base] for base in parents]
            known = (cls, *_linearise([*chains, list(parents)]))
            self.orders[cls] = known
        return known

    def _bases(self, source: str, module: Module) -> list[Base]:
        try:
            statements = lower_segment(source + "\n")
        except UnparsableSource:
            return []
        node = statements[0].value if statements and isinstance(statements[0], ir.Evaluate) else None
        if isinstance(node, ir.Subscript):
            node = node.value
        if node is None:
            return []
        found: list[Base] = []
        for value in members(self.interpreter.names.static_value(node, module)):
            if isinstance(value, Class):
                found.append(value.definition)
            elif isinstance(value, External):
                found.append(value.name)
        return found[:1]

    def external_bases(self, cls: ClassDefinition) -> list[str]:
        return [base for base in self.order(cls) if isinstance(base, str)]

    def is_a(self, cls: ClassDefinition, name: str) -> bool:
        return any(name in (base, base.rpartition(".")[2]) for base in self.external_bases(cls))

    def find(self, cls: ClassDefinition, name: str, after: ClassDefinition | None = None) -> tuple[Base, object] | None:
        """The first class in order that defines a member, and the definitions, segments or nested class of it."""
        order = self.order(cls)
        start = order.index(after) + 1 if after in order else 0
        for base in order[start:]:
            if isinstance(base, str):
                inherited = base.startswith("torch.nn.") and name in MODULE_METHODS
                inherited = inherited or self.interpreter.entries.find_method(base, name) is not None
                if inherited or self.interpreter.catalogue.find(f"{base}.{name}") is not None:
                    return base, None
                continue
            patched = self.patches(base).get(name)
            if patched is not None:
                return base, patched
            if name in base.methods:
                return base, base.methods[name]
            if name in base.classes:
                return base, base.classes[name]
            if name in base.assignments or name in base.annotations:
                return base, base.assignments.get(name)
        return None

    def method(self, cls: ClassDefinition, name: str, after: ClassDefinition | None = None) -> Value | None:
        """A method of a class as it stands there: bound to nothing, its decorators applied."""
        found = self.find(cls, name, after)
        if found is None or not isinstance(found[0], ClassDefinition):
            return None
        owner, definitions = found
        if isinstance(definitions, _CALLABLE):
            return definitions
        if not isinstance(definitions, list) or not definitions or not isinstance(definitions[0], Definition):
            return None
        return union(self.interpreter.names.definition(d, owner) for d in self._real(definitions))

    def patches(self, cls: ClassDefinition) -> dict[str, Value]:
        """The members that a class decorator of the project put in place of those in the body."""
        known = self._patches.get(cls)
        if known is None:
            known = self._patches[cls] = {}
            for source in reversed(cls.decorators):
                frame = self.interpreter.names.module_frame(cls.module, cls.segment.first)
                self.interpreter.decorators.apply_to_class(source, cls, frame)
        return known

    def patch(self, cls: ClassDefinition, name: str, value: Value) -> None:
        """An assignment to an attribute of a class; what is not known takes no method's place."""
        if isinstance(value, _CALLABLE) and not (isinstance(value, Bound) and isinstance(value.receiver, Unknown)):
            self._patches.setdefault(cls, {})[name] = value

    def _real(self, definitions: list[Definition]) -> list[Definition]:
        """Without the setters of properties and the overloads: the first property, or the last function."""
        if len(definitions) == 1:
            return definitions
        first = self.interpreter.names.definition(definitions[0])
        is_property = isinstance(first, Bound) and isinstance(first.function, External)
        return definitions[:1] if is_property else definitions[-1:]

    def class_attribute(self, cls: ClassDefinition, name: str, after: ClassDefinition | None = None) -> Value | None:
        """A member of a class that is not a method."""
        found = self.find(cls, name, after)
        if found is None or not isinstance(found[0], ClassDefinition):
            return None
        owner, what = found
        if isinstance(what, ClassDefinition):
            return Class(what)
        key = (owner, name)
        if key not in self.class_attributes:
            self.class_attributes[key] = UNKNOWN
            self.class_attributes[key] = self._evaluate_class_attribute(owner, name)
        return self.class_attributes[key]

    def _evaluate_class_attribute(self, owner: ClassDefinition, name: str) -> Value:
        if any(self.is_a(owner, base) for base in _ENUMS) and name in owner.assignments:
            return External(f"{owner.module.name}:{owner.qualname}.{name}")
        names = self.interpreter.names
        value: Value = UNKNOWN
        for segment in owner.assignments.get(name, ()):
            frame = names.module_frame(owner.module, segment.first)
            self.interpreter.block(owner.module.lowered(segment), frame)
            value = frame.env.get(name, UNKNOWN)
        annotation = owner.annotations.get(name)
        if annotation is not None and not isinstance(value, (Function, Class)):
            # An annotated default says what kind of value it is; the instance holds another one.
            promised = self.interpreter.annotations.quoted(annotation, owner.module)
            if promised != UNKNOWN:
                return promised if value in (UNKNOWN, NONE) else _general(value)
            return _general(value)
        return value

    def annotated(self, cls: ClassDefinition, name: str) -> Value:
        """What a class says of an attribute; its methods call by that name what they keep in it."""
        for base in self.order(cls):
            if isinstance(base, ClassDefinition) and name in base.annotations:
                return self.interpreter.annotations.quoted(base.annotations[name], base.module)
        return UNKNOWN

    def subclasses(self, cls: ClassDefinition) -> tuple[ClassDefinition, ...]:
        """The classes of the project that name this one as a base, found by text first."""
        if cls not in self.overrides:
            self.overrides[cls] = ()
            modules = list(islice(self.interpreter.project.subclass_modules(cls.name), MAX_OVERRIDES + 1))
            if len(modules) <= MAX_OVERRIDES:
                candidates = (c for module in modules for c in module.deriving(cls.name))
                self.overrides[cls] = tuple(c for c in candidates if c is not cls and cls in self.order(c))
        return self.overrides[cls]

    # Instances

    def instance(self, cls: ClassDefinition, arguments: Arguments | None, in_region: bool) -> Instance:
        key = (cls, arguments, in_region)
        found = self.instances.get(key)
        if found is None:
            found = self.instances[key] = Instance(cls, arguments, in_region)
        return found

    def promised(self, cls: ClassDefinition) -> Value:
        """An object that an annotation speaks of."""
        if any(self.is_a(cls, base) for base in _ENUMS):
            return Host("object")
        return self.instance(cls, None, False)

    def version(self, instance: Instance) -> int:
        return self.versions.get(instance, 0)

    def attributes(self, instance: Instance) -> dict[str, Value]:
        """What the constructor left, run when it is first asked for."""
        known = self.heap.get(instance)
        if known is None:
            known = self.heap[instance] = {}
            if not instance.in_region:
                self.interpreter.instances.initialise(instance, Mode.OUTSIDE)
                self._loosen(instance, known)
        return known

    def _loosen(self, instance: Instance, attributes: dict[str, Value]) -> None:
        """What was None after construction may have been set since; a constant that is also assigned elsewhere may differ."""
        for name, value in attributes.items():
            if value == NONE or (isinstance(value, Const) and self._is_reassigned(instance.cls, name)):
                attributes[name] = loosened(value)

    def _is_reassigned(self, cls: ClassDefinition, name: str) -> bool:
        modules = {base.module for base in self.order(cls) if isinstance(base, ClassDefinition)}
        return sum(module.text.count(f".{name} = ") for module in modules) > 1

    def settle(self, instance: Instance, env: Env) -> None:
        """At the end of a constructor: what it assigned last is what the object holds."""
        attributes = self.heap.setdefault(instance, {})
        for key, value in env.items():
            if not isinstance(key, str) and key[0] is instance:
                attributes[key[1]] = value

    def write(self, instance: Instance, name: str, value: Value) -> None:
        """An assignment to an attribute, seen by whoever reads it later."""
        attributes = self.attributes(instance)
        known = attributes.get(name)
        joined = value if known is None else limit_depth(join(known, value))
        if joined != known:
            attributes[name] = joined
            self.versions[instance] = self.versions.get(instance, 0) + 1

    def joined(self, key: tuple[Instance, str], value: Value) -> Value:
        """A value assigned on one of two paths, with what the attribute holds on the other."""
        instance, name = key
        known = self.heap.get(instance, {}).get(name)
        return value if known is None else join(known, value)

    def load(self, instance: Instance, name: str, frame: Frame) -> Value:
        """An attribute of an object."""
        assigned = frame.env.get((instance, name))
        if assigned is not None:
            return assigned
        attributes = self.attributes(instance)
        if name in attributes:
            return attributes[name]
        value = self.member(instance, name, frame)
        if value is not None:
            return value
        skims = frame.mode is Mode.OUTSIDE and frame.depth > self.interpreter.max_depth_outside - SEARCH_DEPTH
        if (instance, name) not in self.searched and not skims:
            self.searched.add((instance, name))
            self._search_methods(instance, name)
            if name in attributes:
                return attributes[name]
        return attributes.get(ANY, UNKNOWN)

    def member(self, instance: Instance, name: str, frame: Frame, after: ClassDefinition | None = None) -> Value | None:
        """A member of the object's class: a bound method, a property's value, or a class attribute."""
        found = self.find(instance.cls, name, after)
        if found is None:
            return None
        if isinstance(found[0], str):
            return Bound(External(f"{found[0]}.{name}"), instance)
        method = self.method(instance.cls, name, after)
        if method is not None:
            return union(self.bind(member, instance, frame) for member in members(method))
        value = self.class_attribute(instance.cls, name, after)
        if isinstance(value, (Function, Bound)):
            return self.bind(value, instance, frame)
        if isinstance(value, Const) and self._is_reassigned(instance.cls, name):
            return loosened(value)
        return value

    def bind(self, method: Value, receiver: Value, frame: Frame) -> Value:
        """A function found on a class, as the object sees it."""
        if isinstance(method, Bound) and isinstance(method.function, External):
            name = method.function.name
            if name in PROPERTIES:
                return self.interpreter.calls.call(method.receiver, Arguments((receiver,)), None, frame)
            if name == "builtins.staticmethod":
                return method.receiver
            if name == "builtins.classmethod":
                cls = Class(receiver.cls) if isinstance(receiver, Instance) else receiver
                return Bound(method.receiver, cls)
        if isinstance(receiver, Class):
            return method
        return Bound(method, receiver)

    def _search_methods(self, instance: Instance, name: str) -> None:
        """Run the methods that assign an attribute which the constructor does not set, to learn its kind."""
        wanted = f"self.{name}"
        for base in self.order(instance.cls):
            if isinstance(base, str) or wanted not in base.module.text:
                continue
            for definitions in base.methods.values():
                for definition in definitions:
                    if definition.name != "__init__" and self._assigns(definition, wanted):
                        method = self.interpreter.names.definition(definition, base)
                        for function in _functions(method):
                            self.interpreter.calls.run_promised(function, instance, Mode.OUTSIDE)
                        if name in self.heap[instance]:
                            return

    @staticmethod
    def _assigns(definition: Definition, wanted: str) -> bool:
        lines = definition.module.lines[definition.segment.first - 1 : definition.segment.last]
        return any(wanted in line and "=" in line.partition(wanted)[2][:40] for line in lines)


def _functions(value: Value) -> list[Function]:
    found = []
    for member in members(value):
        if isinstance(member, Bound):
            member = member.receiver if isinstance(member.function, External) else member.function
        if isinstance(member, Function):
            found.append(member)
    return found


def _general(value: Value) -> Value:
    """The kind of a default value."""
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, str)):
        return Host(type(value.value).__name__)
    return UNKNOWN if isinstance(value, Tensor) else value


def _linearise(chains: list[list[Base]]) -> list[Base]:
    """Merge the orders of the bases so that each class comes before its own bases; where that fails, as they come."""
    merged: list[Base] = []
    chains = [chain for chain in chains if chain]
    while chains:
        head = next(
            (chain[0] for chain in chains if not any(chain[0] in other[1:] for other in chains)),
            chains[0][0],
        )
        merged.append(head)
        chains = [[c for c in chain if c is not head and c != head] for chain in chains]
        chains = [chain for chain in chains if chain]
    return merged
