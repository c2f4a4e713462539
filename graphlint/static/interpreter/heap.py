"""Objects of project classes: attributes from the constructor, from methods, from assignments seen on the way.

Long, because what one attribute holds comes from all of these.
"""

from __future__ import annotations

from dataclasses import replace
from operator import contains
from typing import TYPE_CHECKING, TypeAlias

from graphlint.finding import Confidence
from graphlint.static.domain.contexts import Env, Frame, Mode
from graphlint.static.domain.program import ANY, Bound, Function, Instance
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import is_word, parts_with, rebound_in, setters, stores
from graphlint.static.interpreter.constructions import WITH_CODE
from graphlint.static.interpreter.escapes import has, may_escape
from graphlint.static.interpreter.modes import Modes
from graphlint.static.interpreter.names import MODULE_CODE, loosened
from graphlint.static.interpreter.recent import Recent
from graphlint.static.models import results
from graphlint.static.syntax import ir
from graphlint.static.writes.states import CAPTURES
from graphlint.values import (
    MAX_EXAMPLES,
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    Host,
    Place,
    Tensor,
    Value,
    join,
    limit_depth,
    members,
    union,
)
from graphlint.values.queries import host_tensor

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

SEARCH_DEPTH = 2  # calls before a region in which methods are no longer searched for attributes
_Places: TypeAlias = "dict[tuple[Module, tuple[int, int]], Definition | None]"  # with the function of each
_EMPTY = frozenset({"abc.ABC", "builtins.object", "typing.Generic", "typing.Protocol"})  # bases without attributes


class Heap:
    """The instances of the classes of the project, and everything known of them."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.instances: dict[tuple[ClassDefinition, Arguments | None, bool], Instance] = {}
        self.objects: dict[Instance, dict[str, Value]] = {}
        self.versions: dict[Instance, int] = {}
        self.written: set[tuple[Instance, str]] = set()  # what was assigned since objects were made
        self.searched: set[tuple[Instance, str]] = set()
        self.assigned: dict[tuple[ClassDefinition, str], _Places] = {}
        self.own: dict[tuple[ClassDefinition, bool, str], bool] = {}  # whether methods give it
        self.assumed: dict[tuple[ClassDefinition, str], Value] = {}  # what a configuration says of attributes
        self.chosen: dict[tuple[Instance, str], dict[str, dict[bool, Value]]] = {}  # by a flag of the object
        self.recent = Recent(self.objects, self.replace)
        self.modes = Modes(interpreter)

    def instance(self, cls: ClassDefinition, arguments: Arguments | None, in_region: bool) -> Instance:
        key = (cls, arguments, in_region)
        found = self.instances.get(key)
        if found is None:
            found = self.instances[key] = Instance(cls, arguments, in_region)
        return found

    def promised(self, cls: ClassDefinition) -> Value:
        """An object that an annotation speaks of."""
        return Host("object") if self.interpreter.classes.is_enum(cls) else self.instance(cls, None, False)

    def version(self, instance: Instance) -> int:
        return self.versions.get(instance, 0)

    def attributes(self, instance: Instance) -> dict[str, Value]:
        """What the constructor left, run when it is first asked for."""
        known = self.objects.get(instance)
        if known is None:
            known = self.objects[instance] = {}
            if not instance.in_region:
                with self.interpreter.reserved():
                    self.interpreter.instances.initialise(instance)
                self._loosen(instance, known)
        return known

    def _loosen(self, instance: Instance, attributes: dict[str, Value]) -> None:
        """What was None after construction may have been set since, as may a constant that is assigned elsewhere."""
        for name, value in attributes.items():
            is_set = value == NONE and self._may_be_set(instance, name)
            if is_set or (isinstance(value, Const) and self._is_assigned_later(instance, name)):
                attributes[name] = loosened(value)

    def _may_be_set(self, instance: Instance, name: str) -> bool:
        """Whether anything but the constructor may assign an attribute that it leaves None."""
        if instance.arguments is None and self.interpreter.classes.subclasses(instance.cls):
            return True
        order = self.interpreter.classes.order(instance.cls)
        modules = [base.module for base in order if isinstance(base, ClassDefinition)]
        by_name = ("setattr(", f'"{name}"', f"'{name}'")
        return (
            self._is_assigned_later(instance, name)
            or self.interpreter.project.is_set_from_outside(name)
            or any(module.ask(contains, spelling) for spelling in by_name for module in modules)
        )

    def _moved(self, instance: Instance, name: str, value: Value, reader: Function) -> Value:
        """What a region reads: a tensor of the host may lie elsewhere by then, if another function moves it."""
        there = host_tensor(value)
        if there is None or not self._is_moved(instance.cls, name, value, reader):
            return value
        moved = replace(there, place=Place.ANYWHERE, sure=Confidence.LOW)
        return union((moved, *(m for m in members(value) if not isinstance(m, Tensor) or m.place is not Place.HOST)))

    def _is_moved(self, cls: ClassDefinition, name: str, value: Value, reader: Function) -> bool:
        """Whether something remakes an attribute, other than constructors that leave it on the host in any case."""
        order = [base for base in self.interpreter.classes.order(cls) if isinstance(base, ClassDefinition)]
        left = all(member.place is Place.HOST for member in members(value) if isinstance(member, Tensor))
        makers = {one for base in order for one in base.methods.get("__init__", ()) if left}
        parts = ((base.module, part) for base in order for part in parts_with(base.module, name, is_word))
        known = reader.module, reader.first_line
        return any(
            name in part.writes.remade and part.definition not in makers and (module, part.segment.first) != known
            for module, part in parts
        )

    def field(self, cls: ClassDefinition, name: str, mode: Mode) -> Value | None:
        """The default of an annotated field, as far as nothing assigns to it later; None if it has none.

        Where a module replaces its globals, an object with defaults may be the first of several under one name.
        """
        value = self.interpreter.classes.field_default(cls, name, mode)
        if isinstance(value, Const) and (
            rebound_in(cls.module)
            or self._times_assigned(cls, name)
            or self.interpreter.project.is_set_from_outside(name)
        ):
            return loosened(value)
        return value

    def is_left_out(self, instance: Instance, name: str) -> bool:
        """Whether an object was made without a field that is None by default, and nothing that was seen set it."""
        made_with = instance.arguments
        return (
            (instance, name) not in self.written
            and made_with is not None
            and made_with.star is None
            and made_with.double_star is None
            and self.interpreter.classes.method(instance.cls, "__init__") is None
            and self.interpreter.classes.field_default(instance.cls, name) == NONE
            and self.attributes(instance).get(name) == loosened(NONE)
        )

    def _is_given(self, cls: ClassDefinition, name: str, times: int) -> bool:
        """Whether an attribute is assigned at so many places, and nowhere else."""
        is_set_elsewhere = self.interpreter.project.is_set_from_outside(name)
        return self._times_assigned(cls, name) == times and not is_set_elsewhere

    def _is_assigned_later(self, instance: Instance, name: str) -> bool:
        """Whether an attribute is assigned at several places, not all of them in a constructor that was seen to run."""
        places = self._assignments(instance.cls, name)
        if instance.arguments is None or len(places) < 2:
            return len(places) > 1
        order = [base for base in self.interpreter.classes.order(instance.cls) if isinstance(base, ClassDefinition)]
        constructors = {one for base in order for one in base.methods.get("__init__", ())}
        return any(definition not in constructors for definition in places.values())

    def _times_assigned(self, cls: ClassDefinition, name: str) -> int:
        """At how many places an attribute is assigned."""
        return len(self._assignments(cls, name))

    def _assignments(self, cls: ClassDefinition, name: str) -> _Places:
        """The places where an attribute is assigned, in the files of the class and of its bases, with their functions.

        A class that has nothing to do with it may have an attribute of that name, too: what it does to its own is left
        out. What derives from it counts, since an object that is promised may be one of these.
        """
        known = self.assigned.get((cls, name))
        if known is None:
            order = [base for base in self.interpreter.classes.order(cls) if isinstance(base, ClassDefinition)]
            modules = {base.module for base in order}
            related = [*order, *(derived for module in modules for derived in module.deriving(cls.name))]
            methods = {definition for one in related for found in one.methods.values() for definition in found}
            known = self.assigned[cls, name] = {
                (module, part.place(store)): part.definition
                for module in modules
                for part, store in stores(module, name)
                if part.definition in methods or not part.is_own(store)
            }
        return known

    def choose(self, instance: Instance, test: ir.Expr, ends: dict[bool, Env]) -> None:
        """A test in a constructor: what it gives attributes by a flag of the object stays with the flag."""
        match test:
            case ir.Unary(operator="not", operand=ir.Attribute() as opposite):
                self.choose(instance, opposite, {not outcome: env for outcome, env in ends.items()})
            case ir.Attribute(value=ir.Name(id="self"), attr=flag) if self._is_given(instance.cls, flag, times=1):
                for key in set(ends[True]) & set(ends[False]):
                    given = {outcome: env[key] for outcome, env in ends.items()}
                    is_own = not isinstance(key, str) and key[0] is instance and given[True] != given[False]
                    if is_own and self._is_given(instance.cls, key[1], times=len(given)):
                        self.chosen.setdefault((instance, flag), {})[key[1]] = given

    def settle(self, instance: Instance, env: Env) -> None:
        """At the end of a constructor: what it assigned last is what the object holds."""
        attributes = self.objects.setdefault(instance, {})
        for key, value in env.items():
            if not isinstance(key, str) and key[0] is instance:
                attributes[key[1]] = value

    def write(self, instance: Instance, name: str, value: Value) -> None:
        """An assignment to an attribute, seen by whoever reads it later."""
        attributes = self.attributes(instance)
        known = attributes.get(name)
        if known == loosened(NONE) and sum(member.is_example for member in members(value)) > MAX_EXAMPLES:
            known = NONE  # what others might have put there is what is seen to be put there
        joined = value if known is None else limit_depth(join(known, value))
        if joined != known or (instance, name) not in self.written:
            self.written.add((instance, name))
            attributes[name] = joined
            self.versions[instance] = self.versions.get(instance, 0) + 1

    def replace(self, instance: Instance, name: str, value: Value) -> None:
        """What an attribute holds from now on, whatever it held before."""
        attributes = self.attributes(instance)
        if attributes.get(name) != value:
            attributes[name] = value
            self.versions[instance] = self.versions.get(instance, 0) + 1

    def is_dropped(self, instance: Instance) -> bool:
        """Whether a function has made an object for its capture, and drops it then, and no other object outlives it
        that has it. So all that is done to it is seen.

        A script drops nothing, and what replays has its objects until then.
        """
        call, code = self.recent.ever.get(instance) or (None, None)
        replays = self.interpreter.lexicon.host_state["replays"]
        if call is None or code is None or code is MODULE_CODE or may_escape(call, code, replays):
            return False
        openers = (place.function.code for place in self.interpreter.traces.openers.values())
        if CAPTURES not in code.name and not any(opener is code for opener in openers):
            return False
        lasting = (attributes for one, attributes in self.objects.items() if not one.in_region)
        return not any(has(value, instance) for attributes in lasting for value in attributes.values())

    def joined(self, key: tuple[Instance, str], value: Value) -> Value:
        """A value assigned on one of two paths, with what the attribute holds on the other."""
        known = self.objects.get(key[0], {}).get(key[1])
        return value if known is None else join(known, value)

    def load(self, instance: Instance, name: str, frame: Frame) -> Value:
        """An attribute of an object."""
        for cls in self.interpreter.classes.order(instance.cls) if self.assumed else ():
            if isinstance(cls, ClassDefinition) and (cls, name) in self.assumed:
                return self.assumed[cls, name]
        assigned = frame.env.get((instance, name))
        if assigned is not None:
            return assigned
        attributes = self.attributes(instance)
        found = self.held(instance, name, frame)
        if found is not None:
            return self._set_since(instance, name, found) if frame.in_region and found == loosened(NONE) else found
        value = self.member(instance, name, frame)
        if instance.arguments is None:
            value = self.interpreter.instances.constructions.chosen(instance.cls, name, value)
        if value is not None:
            return value
        skims = not frame.in_region and frame.depth > self.interpreter.max_depth_outside - SEARCH_DEPTH
        if (instance, name) not in self.searched and not skims:
            self.searched.add((instance, name))
            self._search_methods(instance, name)
            found = self.held(instance, name, frame)
            if found is not None:
                return found
        return UNKNOWN if ANY in attributes and self.modes.is_listed(name) else attributes.get(ANY, UNKNOWN)

    def held(self, instance: Instance, name: str, frame: Frame) -> Value | None:
        """What an attribute was given so far, as a region reads it; None if nothing gave it a value."""
        value = self.objects.get(instance, {}).get(name)
        if value is None or not frame.in_region:
            return value
        if instance.arguments is None:
            value = self.interpreter.instances.constructions.told(instance.cls, name, value)
        return self._moved(instance, name, value, frame.function)

    def _set_since(self, instance: Instance, name: str, known: Value) -> Value:
        """What is None at first, where a method has set it to something with code of its own by the time of a region.

        Other values are told by whoever fills them: a cache that is empty at first is filled by the region itself.
        """
        if (instance, name) in self.searched:
            return known
        self.searched.add((instance, name))
        attributes = self.attributes(instance)
        attributes[name] = NONE
        self._search_methods(instance, name)
        has_code = any(isinstance(member, WITH_CODE) for member in members(attributes[name]))
        attributes[name] = union((NONE, attributes[name])) if has_code else known  # nobody says that the method has run
        return attributes[name]

    def lacks(self, instance: Instance, name: str) -> bool:
        """Whether nothing in the source gives an object an attribute: no class that it is of, and nothing else.

        What is set under names that are not known, such as those of a file, is nothing that the source gives.
        """
        classes = self.interpreter.classes
        if name in self.attributes(instance) or self.attributes(instance).get(ANY, UNKNOWN) != UNKNOWN:
            return False
        if not _EMPTY.issuperset(classes.external_bases(instance.cls)) or classes.find(instance.cls, name) is not None:
            return False
        if classes.find(instance.cls, "__getattr__") is not None or self.interpreter.project.is_set_from_outside(name):
            return False
        derived = classes.subclasses(instance.cls) if instance.arguments is None else ()
        if any(classes.find(one, name) is not None for one in derived):
            return False
        key = (instance.cls, not derived, name)
        if key not in self.own:
            self.own[key] = self._is_own((instance.cls, *derived), name)
        return not self.own[key]

    def _is_own(self, related: tuple[ClassDefinition, ...], name: str) -> bool:
        """Whether a method of one of these classes, or of their bases, gives its object an attribute."""
        order = {base for one in related for base in self.interpreter.classes.order(one)}
        own = [base for base in order if isinstance(base, ClassDefinition)]
        methods = {definition for base in own for found in base.methods.values() for definition in found}
        return any(
            part.definition in methods and part.is_own(store)
            for module in {base.module for base in own}
            for part, store in stores(module, name)
        )

    def member(self, instance: Instance, name: str, frame: Frame, after: ClassDefinition | None = None) -> Value | None:
        """A member of the object's class: a bound method, a property's value, or a class attribute."""
        found = self.interpreter.classes.find(instance.cls, name, after)
        if found is None:
            return None
        if isinstance(found[0], str):
            operation = self.interpreter.catalogue.find(f"{found[0]}.{name}")
            if operation is not None and operation.attribute:
                return results.plain(operation.returns)
            return Bound(External(f"{found[0]}.{name}"), instance)
        method, bind = self.interpreter.classes.method(instance.cls, name, after), self.interpreter.attributes.bind
        if method is not None:
            return union(bind(member, instance, frame) for member in members(method))
        value = self.interpreter.classes.class_attribute(instance.cls, name, after)
        if isinstance(value, (Function, Bound)):
            return bind(value, instance, frame)
        if isinstance(value, Instance):
            given = self.interpreter.attributes.described(value, instance, frame)
            return value if given is None else given
        if isinstance(value, Const) and self._times_assigned(instance.cls, name):
            return loosened(value)
        return value

    def _search_methods(self, instance: Instance, name: str) -> None:
        """Run the methods that assign an attribute that the constructor sets to nothing, to learn its kind."""
        for base in self.interpreter.classes.order(instance.cls):
            if isinstance(base, str):
                continue
            assigning = setters(base.module, name)
            for definitions in base.methods.values():
                for definition in definitions:
                    if definition.name != "__init__" and definition in assigning and not self.is_dropped(instance):
                        method = self.interpreter.names.definition(definition, base)
                        for function in _functions(method):
                            self.interpreter.calls.run_promised(function, instance, Mode.OUTSIDE)
                        found = self.objects[instance].get(name, NONE)
                        if found != NONE:
                            self.objects[instance][name] = loosened(found)  # other methods may set another constant
                            return


def _functions(value: Value) -> list[Function]:
    found = []
    for member in members(value):
        if isinstance(member, Bound):
            member = member.receiver if isinstance(member.function, External) else member.function
        if isinstance(member, Function):
            found.append(member)
    return found
