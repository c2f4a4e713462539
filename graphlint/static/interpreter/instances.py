"""A class and arguments in, an object out; and what calling an object runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.program import CONTENT, Class, Function, Instance
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.classes import Base
from graphlint.static.interpreter.constructions import Constructions
from graphlint.static.models.inputs import ANYTHING
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Arguments, ExternalObject, Sequence, Union, Unknown, Value, join, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

CONSTRUCTOR_DEPTH = 7  # factories and registries stand between a constructor and the classes that it picks


class Instances:
    """Makes objects and calls them."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.constructions = Constructions(interpreter)

    def makes_in_regions(self, cls: ClassDefinition) -> bool:
        """Whether a region makes an object of a class, or of one that is derived from it."""
        made = {one for one, _, in_region in self.interpreter.heap.instances if in_region}
        return any(cls in self.interpreter.classes.order(one) for one in made)

    def construct(self, cls: ClassDefinition, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """An object of a project class, or a member of an enum; in a region its constructor is part of the region."""
        classes, given = self.interpreter.classes, arguments.positional
        if len(given) == 1 and classes.is_enum(cls) and (meant := classes.member_meant(cls, given[0])) is not None:
            return meant
        maker = self.interpreter.classes.maker(cls) if frame.in_region else None
        if maker is not None:
            made = self.interpreter.calls.call(maker, arguments.prepend(Class(cls)), node, frame)
            if any(not isinstance(member, Unknown) for member in members(made)):
                return made
        return self.make(cls, arguments, node, frame)

    def make(self, cls: ClassDefinition, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """An object as `type.__call__` makes it."""
        classes, heap = self.interpreter.classes, self.interpreter.heap
        in_region = frame.in_region
        metaclass = classes.method(cls, "__new__")
        if metaclass is not None and classes.method(cls, "__init__") is None and not isinstance(metaclass, Union):
            result = self.interpreter.calls.call(metaclass, arguments.prepend(Class(cls)), node, frame)
            if any(not isinstance(m, Unknown) for m in members(result)):
                return result
        if not in_region:
            self.constructions.note(cls, arguments)
        instance = heap.instance(cls, arguments, in_region)
        if not in_region:
            self.interpreter.placements.made(instance, frame)
            heap.recent.make(instance, node, frame.function.code)
        if in_region and instance not in heap.objects:
            heap.objects[instance] = {}
        if in_region:
            self.initialise(instance, node, frame)
        return instance

    def initialise(self, instance: Instance, node: ir.Call | None = None, frame: Frame | None = None) -> None:
        """Run the constructor; a class without one keeps its arguments under the names of its fields."""
        interpreter = self.interpreter
        cls = instance.cls
        if frame is None:
            frame = interpreter.names.module_frame(cls.module, cls.segment.first)
            frame.depth = interpreter.max_depth_outside - CONSTRUCTOR_DEPTH
            frame.around = interpreter.placements.around_constructor(instance)
        arguments = instance.arguments or ANYTHING
        constructor = interpreter.classes.method(cls, "__init__")
        if constructor is None:
            self._fill_fields(instance, arguments, frame.mode)
            self.make_inherited(instance, arguments, node, frame)
        for function in members(constructor) if constructor is not None else ():
            if isinstance(function, Function):
                self.interpreter.calls.call_function(function, arguments.prepend(instance), node, frame, instance)
        finish = interpreter.classes.method(cls, "__post_init__")
        if finish is not None:
            self.interpreter.calls.call(finish, Arguments((instance,)), node, frame)

    def make_inherited(self, instance: Instance, arguments: Arguments, node: ir.Call | None, frame: Frame) -> None:
        """Run the constructor of the first class outside of the project that the tables know."""
        if frame.in_region:
            known = map(self.interpreter.catalogue.find, self.interpreter.classes.external_bases(instance.cls))
            operation = next((found for found in known if found is not None), None)
            if operation is not None:
                self.interpreter.tensors.apply(operation, None, arguments, node, frame)

    def _fill_fields(self, instance: Instance, arguments: Arguments, mode: Mode) -> None:
        classes, heap = self.interpreter.classes, self.interpreter.heap
        order = [base for base in classes.order(instance.cls) if isinstance(base, ClassDefinition)]
        fields = [name for base in reversed(order) for name in base.annotations]
        attributes = heap.objects.setdefault(instance, {})
        for name, value in zip(dict.fromkeys(fields), arguments.positional, strict=False):
            attributes[name] = value
        attributes.update(dict(arguments.keywords))
        if instance.arguments is not None and arguments.star is None and arguments.double_star is None:
            for name in dict.fromkeys(fields):
                default = heap.field(instance.cls, name, mode) if name not in attributes else None
                if default is not None:
                    attributes[name] = default
        if classes.external_bases(instance.cls) and arguments.positional:
            attributes[CONTENT] = self.interpreter.builtins.content_of(arguments)

    def call(self, instance: Instance, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call an object, and what is hooked to it."""
        result = self._call_own(instance, arguments, node, frame)
        return self.interpreter.modules.hooks.run(instance, arguments, result, node, frame)

    def _call_own(self, instance: Instance, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call an object: its `__call__`, or the `forward` of a module."""
        classes = self.interpreter.classes
        found = classes.find(instance.cls, "__call__")
        if found is None or isinstance(found[0], str):
            forward = classes.find(instance.cls, "forward")
            found = forward if forward is not None else found
            name = "forward" if forward is not None else "__call__"
        else:
            name = "__call__"
        chain = next((base for base in classes.external_bases(instance.cls) if self.is_chain(base)), None)
        if found is None and chain is not None:
            return self.call_inherited(instance, chain, arguments, node, frame)
        if found is None:
            self.interpreter.calls.unresolved(node, frame)
            return UNKNOWN
        if isinstance(found[0], str):
            return self.call_inherited(instance, found[0], arguments, node, frame)
        return self.interpreter.methods.call(instance, name, arguments, node, frame)

    def called(self, instance: Instance) -> Value | None:
        """The method of its class that runs where an object is called, bound to nothing."""
        methods = (self.interpreter.classes.method(instance.cls, name) for name in ("__call__", "forward"))
        return next((method for method in methods if method is not None), None)

    def is_chain(self, cls: str) -> bool:
        """Whether calling an object of a class calls what it holds, one after the other."""
        return self.interpreter.lexicon.containers.get(self.interpreter.catalogue.named(cls)) == "sequential"

    def call_inherited(
        self, instance: Instance, base: Base, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call an object whose `forward` is that of an external class."""
        classes, heap = self.interpreter.classes, self.interpreter.heap
        if any(map(self.is_chain, classes.external_bases(instance.cls))):
            attributes = heap.attributes(instance)
            content = attributes.get(CONTENT)
            parts = [content] if content is not None else []
            parts += [v for k, v in attributes.items() if k != CONTENT and _is_module(v)]
            chain: list[Value] = []
            for part in parts:
                if isinstance(part, Sequence) and part.elements is not None and part is content:
                    chain.extend(part.elements)
                else:
                    chain.append(part.element if isinstance(part, Sequence) and part is content else part)
            return self.call_chain(Sequence("sequential", tuple(chain)), arguments, node, frame)
        made_with = self.interpreter.heap.attributes(instance).get(CONTENT)
        held = (("content", made_with),) if made_with is not None else ()
        made = ExternalObject(str(base), held, is_open=True)
        return self.interpreter.calls.call_external_object(made, arguments, node, frame)

    def call_chain(self, chain: Sequence, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if chain.elements is None:
            first = self.interpreter.calls.call(chain.element, arguments, node, frame)
            return join(first, self.interpreter.calls.call(chain.element, Arguments((first,)), node, frame))
        value: Value = UNKNOWN
        for index, part in enumerate(chain.elements):
            value = self.interpreter.calls.call(part, arguments if index == 0 else Arguments((value,)), node, frame)
        return value if chain.elements else (arguments.positional[0] if arguments.positional else UNKNOWN)


def _is_module(value: Value) -> bool:
    return any(
        isinstance(m, (Instance, ExternalObject)) or (isinstance(m, Sequence) and m.kind == "sequential")
        for m in members(value)
    )
