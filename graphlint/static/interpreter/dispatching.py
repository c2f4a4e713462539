"""A call of a `functools.singledispatch` in, the implementations that the class of its argument picks out.

They are registered by decorators of any file: `@scale.register`, or `@scale.register(Mul)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Function, Instance
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name
from graphlint.values import UNKNOWN, Arguments, ExternalObject, Value, members, union
from graphlint.values.queries import truth

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_OF_FUNCTIONS = "functools.singledispatch"
_OF_METHODS = "functools.singledispatchmethod"
DISPATCHING = frozenset({_OF_FUNCTIONS, _OF_METHODS})


class Implementation(NamedTuple):
    """What is called for arguments of a class; of one that nobody knows, the class is unknown."""

    cls: Value
    function: Value


class Dispatching:
    """Picks implementations; those of a function are looked for once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._known: dict[Function, tuple[Implementation, ...]] = {}

    def call(self, dispatched: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call what the first argument picks, behind the object of a method; all that may be meant if nobody knows."""
        function, position = dispatched.argument("function"), int(dispatched.cls == _OF_METHODS)
        assert isinstance(function, Function)
        if function.is_nested:
            self.interpreter.calls.unresolved(node, frame, arguments)  # who registers there is not looked for
        given = arguments.positional[position] if len(arguments.positional) > position else UNKNOWN
        picked = dict.fromkeys(one for member in members(given) for one in self._picked(function, member, frame))
        return self.interpreter.calls.call(union(picked), arguments, node, frame)

    def _picked(self, function: Function, given: Value, frame: Frame) -> Iterable[Value]:
        """The implementation of the closest class; all that it may be, if nobody knows the value."""
        if function not in self._known:
            self._known[function] = ()
            self._known[function] = tuple(self._registered(function))
        asked = [(one, self._is_of(given, one.cls, frame)) for one in self._known[function]]
        sure = [one for one, answer in asked if answer is True]
        if sure and isinstance(given, Instance):
            order = [*self.interpreter.classes.order(given.cls)]
            sure.sort(key=lambda one: order.index(one.cls.definition) if isinstance(one.cls, Class) else len(order))
        if sure:
            return [sure[0].function]
        return [function, *(one.function for one, answer in asked if answer is None)]

    def _is_of(self, given: Value, cls: Value, frame: Frame) -> bool | None:
        answer = self.interpreter.builtins.call("builtins.isinstance", Arguments((given, cls)), None, frame)
        return None if answer is None else truth(answer)

    def _registered(self, function: Function) -> Iterator[Implementation]:
        """What decorators register for a function: of a method, those in its class."""
        name, owner = function.code.name, function.owner
        modules = (function.module,) if owner else (function.module, *self.interpreter.project.registering(name))
        for module in dict.fromkeys(modules):
            for definition in chain(*owner.methods.values()) if owner is not None else module.index.own_functions():
                code = definition.code if module.holds(definition.segment, name) else None
                for decorator in code.decorators if code is not None else ():
                    call = decorator.func if isinstance(decorator, ir.Call) else decorator
                    if not isinstance(call, ir.Attribute) or call.attr != "register":
                        continue
                    if self._stands_for(call.value, function, module):
                        made = self.interpreter.names.definition(definition, owner)
                        yield from (Implementation(cls, made) for cls in self._classes(decorator, definition, owner))

    def _stands_for(self, holder: ir.Expr, function: Function, module: Module) -> bool:
        """Whether what has the method `register` is a function; that of a method is known by its name in the class."""
        if function.owner is not None:
            return last_name(holder) == function.code.name
        found = self.interpreter.names.static_value(holder, module)
        return isinstance(found, ExternalObject) and found.argument("function") == function

    def _classes(self, decorator: ir.Expr, definition: Definition, owner: ClassDefinition | None) -> Iterator[Value]:
        """The classes that a decorator names, or else the annotation of the first argument."""
        given = decorator.arguments if isinstance(decorator, ir.Call) else ()
        parameters = definition.code.parameters[owner is not None :] if definition.code is not None else ()
        node = given[0].value if given else parameters[0].annotation if parameters else None
        for name in _alternatives(node):
            yield self.interpreter.names.static_value(name, definition.module)


def _alternatives(node: ir.Expr | None) -> Iterator[ir.Expr]:
    """The classes of `int | list` and of `Union[int, list]`."""
    match node:
        case ir.Binary(operator="|", left=left, right=right):
            yield from (*_alternatives(left), *_alternatives(right))
        case ir.Subscript(value=value, index=ir.Display(elements=elements)) if last_name(value) == "Union":
            yield from elements
        case ir.Subscript(value=value):
            yield value
        case ir.Name() | ir.Attribute():
            yield node
