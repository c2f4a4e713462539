"""A class of the project and a name in, the member out: bases in order, methods, class bodies, subclasses.

Long, because a member may come from each of these.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.program import Bound, Class, Function
from graphlint.static.index.module import ClassDefinition, Definition
from graphlint.static.interpreter import registries
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Host,
    Mapping,
    Tensor,
    Value,
    join,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

Base: TypeAlias = "ClassDefinition | str"
MAX_OVERRIDES = 40  # modules with subclasses; a class with more is a framework's root, and says nothing about a call
MAX_BELOW = 100  # subclasses, and theirs, that are asked what they choose
_CALLABLE = (Function, Bound)
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


class Classes:
    """The classes of the project, as their definitions say."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.orders: dict[ClassDefinition, tuple[Base, ...]] = {}
        self._patches: dict[ClassDefinition, dict[str, Value]] = {}
        self.attributes: dict[tuple[ClassDefinition, str], Value] = {}
        self.members: dict[External, ClassDefinition] = {}  # of enums
        self.overrides: dict[ClassDefinition, tuple[ClassDefinition, ...]] = {}
        self.below: dict[ClassDefinition, list[ClassDefinition]] = {}

    def order(self, cls: ClassDefinition) -> tuple[Base, ...]:
        """The class and its bases in the order in which attributes are looked up; external bases by name."""
        known = self.orders.get(cls)
        if known is None:
            self.orders[cls] = (cls,)  # for a class that inherits from itself by mistake
            parents = [base for source in cls.bases for base in self._bases(source, cls)]
            chains: list[list[Base]] = [
                list(self.order(base)) if isinstance(base, ClassDefinition) else [base] for base in parents
            ]
            known = (cls, *(chains[0] if len(chains) == 1 else _linearise([*chains, parents])))
            self.orders[cls] = known
        return known

    def _bases(self, source: str, cls: ClassDefinition) -> list[Base]:
        node = lower_expression(source)
        if isinstance(node, ir.Subscript):
            node = node.value
        if node is None:
            return []
        found: list[Base] = []
        names = self.interpreter.names
        if isinstance(node, ir.Call):  # `class Size(namedtuple("Size", "height width"))`
            frame = names.module_frame(cls.module, cls.segment.first)
            base = self.interpreter.eval(node, frame)
        else:
            base = names.static_value(node, cls.module, names.scopes.get(cls))
        for value in members(base):
            if isinstance(value, Class):
                found.append(value.definition)
            elif isinstance(value, External):
                found.append(value.name)
        return found[:1]

    def external_bases(self, cls: ClassDefinition) -> list[str]:
        return [base for base in self.order(cls) if isinstance(base, str)]

    def is_a(self, cls: ClassDefinition, name: str) -> bool:
        return any(name in (base, base.rpartition(".")[2]) for base in self.external_bases(cls))

    def is_model(self, cls: ClassDefinition) -> bool:
        """Whether a class derives from a module or model of some package."""
        called = tuple(self.interpreter.lexicon.modules["called"])
        return any(base.endswith(called) for base in self.external_bases(cls))

    def maker(self, cls: ClassDefinition) -> Value | None:
        """The `__call__` of the metaclass, if it is one of the project that has its own."""
        for base in self.order(cls):
            node = lower_expression(base.metaclass) if isinstance(base, ClassDefinition) and base.metaclass else None
            if isinstance(base, ClassDefinition) and node is not None:
                metaclass = self.interpreter.names.static_value(node, base.module)
                return self.method(metaclass.definition, "__call__") if isinstance(metaclass, Class) else None
        return None

    def applied_as(self, cls: ClassDefinition) -> Value:
        """What the `forward` and the `backward` of an autograd function are given first; unknown if it is none."""
        callables = self.interpreter.lexicon.callables
        bases = (base for base in self.external_bases(cls) if callables.get(base) == "applied")
        return next(map(ExternalObject, bases), UNKNOWN)

    def is_enum(self, cls: ClassDefinition) -> bool:
        return any(self.is_a(cls, base) for base in _ENUMS)

    def member_meant(self, cls: ClassDefinition, value: Value) -> Value | None:
        """The member that a call of an enum gives: what is one stays itself, and what is spelt out is looked for."""
        meant: list[Value] = []
        given = tuple(members(value))
        for member in given:
            if isinstance(member, Const):
                named = (name for name in cls.assignments if self._spells(cls, name, member))
                meant += [found for name in named if (found := self.class_attribute(cls, name)) is not None]
            elif isinstance(member, External) and self.members.get(member) is cls:
                meant.append(member)
        return union(meant) if len(meant) == len(given) else None

    def _spells(self, cls: ClassDefinition, name: str, value: Const) -> bool:
        lowered = (one for segment in cls.assignments[name] for one in cls.module.lowered(segment))
        values = (one.value for one in lowered if isinstance(one, ir.Assign))
        return any(isinstance(one, ir.Literal) and one.value == value.value for one in values)

    def find(self, cls: ClassDefinition, name: str, after: ClassDefinition | None = None) -> tuple[Base, object] | None:
        """The first class in order that defines a member, and the definitions, segments or nested class of it."""
        order = self.order(cls)
        start = order.index(after) + 1 if after in order else 0
        for base in order[start:]:
            if isinstance(base, str):
                if self._has_member(base, name):
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

    def _has_member(self, cls: str, name: str) -> bool:
        """Whether a class outside the project has a member."""
        interpreter = self.interpreter
        owners = interpreter.lexicon.owners(cls)
        if interpreter.entries.find_method(owners, name) is not None:
            return True
        return any(interpreter.catalogue.find(f"{owner}.{name}") is not None for owner in owners)

    def method(self, cls: ClassDefinition, name: str, after: ClassDefinition | None = None) -> Value | None:
        """A method of a class as it stands there: bound to nothing, its decorators applied."""
        found = self.find(cls, name, after)
        if found is None:
            return None
        owner, definitions = found
        if isinstance(owner, str):
            return None
        if isinstance(definitions, _CALLABLE):
            return definitions
        if not isinstance(definitions, list) or not definitions or not isinstance(definitions[0], Definition):
            return None
        return union(self.interpreter.names.definition(d, owner) for d in self._real(definitions))

    def patches(self, cls: ClassDefinition) -> dict[str, Value]:
        """The members that take the place of those in the body: those of class decorators of the project, of statements
        of its file, and of what the class that it stands in runs for itself.
        """
        known = self._patches.get(cls)
        if known is None:
            known = self._patches[cls] = {}
            for source in reversed(cls.decorators):
                frame = self.interpreter.names.module_frame(cls.module, cls.segment.first)
                self.interpreter.decorators.apply_to_class(source, cls, frame)
            registries.patch(self.interpreter, cls)
        return known

    def patch(self, cls: ClassDefinition, name: str, value: Value) -> None:
        """An assignment to an attribute of a class; what is not known takes no method's place.

        Other values join what the body of the class says: the only object of a class is often kept so.
        """
        is_own = isinstance(value, Class) and name not in cls.assignments
        if is_own or (isinstance(value, _CALLABLE) and not (isinstance(value, Bound) and value.receiver == UNKNOWN)):
            self._patches.setdefault(cls, {})[name] = value
        elif value != UNKNOWN:
            known = self.class_attribute(cls, name)
            found = self.find(cls, name)
            owner = found[0] if found is not None else None
            if known is not None and isinstance(owner, ClassDefinition):
                self.attributes[owner, name] = join(known, value)

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
        if found is None:
            return None
        owner, what = found
        if isinstance(owner, str):
            return None
        if isinstance(what, ClassDefinition):
            return Class(what)
        if isinstance(what, Class):
            return what
        key = (owner, name)
        if key not in self.attributes:
            self.attributes[key] = UNKNOWN
            value = self.attributes[key] = self._evaluate_class_attribute(owner, name)
            if isinstance(value, Mapping):
                registries.fill_member(self.interpreter, owner, name)
        return self.attributes[key]

    def chosen_below(self, cls: ClassDefinition, name: str) -> Value | None:
        """The classes that subclasses name in a member that a class leaves to them: `layer_class = None`."""
        given = (self.class_attribute(one, name) for one in self._below(cls))
        chosen = [one for value in given if value is not None for one in members(value) if isinstance(one, Class)]
        return union(chosen) if chosen else None

    def _below(self, cls: ClassDefinition) -> list[ClassDefinition]:
        """The subclasses of a class, and theirs; searched once, since each unknown attribute asks for them."""
        if cls not in self.below:
            below = self.below[cls] = list(self.subclasses(cls))
            for one in below:  # which grows meanwhile
                below += [derived for derived in self.subclasses(one) if derived not in below][: MAX_BELOW - len(below)]
        return self.below[cls]

    def put(self, cls: ClassDefinition, name: str, value: Value) -> None:
        """What a container that a class has holds from now on; another time, there may be none, as before."""
        found = self.find(cls, name)
        if found is not None and isinstance(found[0], ClassDefinition):
            known = self.attributes.get((found[0], name), value)
            self.attributes[found[0], name] = union((value, NONE)) if NONE in members(known) else value

    def _evaluate_class_attribute(self, owner: ClassDefinition, name: str) -> Value:
        if self.is_enum(owner) and name in owner.assignments:
            member = External(f"{owner.module.name}:{owner.qualname}.{name}")
            self.members[member] = owner
            return member
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
            is_left_open = value in (UNKNOWN, NONE) or value in self.members  # a member of an enum is one of several
            if promised != UNKNOWN:
                return promised if is_left_open else _general(value)
            return UNKNOWN if value in self.members else _general(value)
        return value

    def field_default(self, cls: ClassDefinition, name: str, mode: Mode = Mode.OUTSIDE) -> Value | None:
        """What an annotated field holds where its object is made without it; None if it has no default."""
        found = self.find(cls, name)
        owner = found[0] if found is not None else None
        if not isinstance(owner, ClassDefinition):
            return None
        for segment in owner.assignments.get(name, ()):
            frame = self.interpreter.names.module_frame(owner.module, segment.first)
            frame.outer_mode = mode
            for statement in owner.module.lowered(segment):
                value = statement.value if isinstance(statement, ir.Assign) else None
                if value is not None:
                    return self._made_default(value, frame)
        return None

    def _made_default(self, node: ir.Expr, frame: Frame) -> Value:
        """`x: int = 1`, `x: int = field(default=1)` and `x: list = field(default_factory=list)`."""
        keywords = {a.keyword: a.value for a in node.arguments} if isinstance(node, ir.Call) else {}
        if "default_factory" in keywords:
            factory = self.interpreter.eval(keywords["default_factory"], frame)
            return self.interpreter.call(factory, Arguments(), None, frame)
        return self.interpreter.eval(keywords.get("default", node), frame)

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
