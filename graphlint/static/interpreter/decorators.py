"""A decorator and what it decorates in, what it makes of it out."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Context, Frame, Mode
from graphlint.static.domain.program import Bound, Class, Function, Instance, Partial
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.caching import CACHES, Caches
from graphlint.static.interpreter.dispatching import DISPATCHING
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import names_in, walk
from graphlint.values import NONE, Arguments, Const, External, ExternalObject, Value, members, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_TRANSPARENT_DEPTH = 3  # a decorator may hand its wrapper to helpers; one that does more is taken as it stands
KEPT_PROPERTY = "functools.cached_property"
PROPERTIES = frozenset({"builtins.property", KEPT_PROPERTY})
METHOD_KINDS = PROPERTIES | {"builtins.staticmethod", "builtins.classmethod"}


class Decorators:
    """Applies decorators."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.caches = Caches(interpreter)
        self._transparent: dict[Value, bool] = {}  # whether it gives back what it was given, or is not followed
        self._altered: dict[ir.Code, bool] = {}

    def apply(self, decorator: Value, value: Value, frame: Frame, node: ir.Expr | None = None) -> Value:
        """What a decorator makes of a function; the function itself where that is not known."""
        results: list[Value] = []
        for member in members(decorator):
            kind = self._property_of(member)
            if kind is not None:
                return Bound(External(kind), value)
            if isinstance(member, External):
                if member.name in METHOD_KINDS:
                    return Bound(member, value)
                if member.name.endswith("contextmanager"):
                    return Bound(External("contextlib.contextmanager"), value)
                if member.name in CACHES:
                    maxsize: Value = NONE if member.name == "functools.cache" else Const(128)
                    return ExternalObject("functools.lru_cache", (("function", value), ("maxsize", maxsize)))
                if member.name in DISPATCHING and isinstance(value, Function):
                    return ExternalObject(member.name, (("function", value),))
                if member.name == "typing.overload" or self._is_of_kernels(member):
                    return member
                entries = self.interpreter.entries
                # Functions that are not inside of others are found without running what is around them.
                is_inner = isinstance(value, Function) and value.is_nested
                if is_inner and node is not None and entries.declares(member.name):
                    assert isinstance(value, Function)
                    self.interpreter.capture.declare(value, node, self._outside(frame))
            if isinstance(member, Partial) and isinstance(member.function, External):
                keywords = dict(member.keywords)
                if member.function.name in CACHES:
                    maxsize = member.arguments[0] if member.arguments else keywords.get("maxsize", Const(128))
                    return ExternalObject("functools.lru_cache", (("function", value), ("maxsize", maxsize)))
                if node is not None and self.interpreter.entries.find(member.function.name) is not None:
                    call = ir.Call(node.mark, node, ())
                    return self.interpreter.calls.call(member, Arguments((value,)), call, self._outside(frame))
            made = self._decorated(member, value, frame)
            if made is not None:
                results.append(made)
        return union(results) if results else value

    def _property_of(self, decorator: Value) -> str | None:
        """The kind of property that a decorator makes of a method, by its name or by that of a base, if it does."""
        match decorator:
            case External(name=name) | Partial(function=External(name=name)):
                names = [name]
            case Class(definition=cls):
                names = [cls.name, *self.interpreter.classes.external_bases(cls)]
            case _:
                return None
        kinds = (self.interpreter.lexicon.property_made_by(name) for name in names)
        return next((KEPT_PROPERTY if kind == "kept" else "builtins.property" for kind in kinds if kind), None)

    def _is_of_kernels(self, decorator: External) -> bool:
        return self.interpreter.lexicon.callables.get(decorator.name) == "kernels"

    def _decorated(self, decorator: Value, value: Value, frame: Frame) -> Value | None:
        if not isinstance(decorator, (Function, Bound, Partial, Instance, Class)) or decorator in self._transparent:
            return None
        if isinstance(decorator, Class) and not self._replaces(decorator.definition):
            return None
        outside = self._outside(frame)
        made = self.interpreter.calls.call(decorator, Arguments((value,)), None, outside)
        useful = all(isinstance(m, (Function, Bound, Partial, Instance, ExternalObject)) for m in members(made))
        if not useful or made == value:
            self._transparent[decorator] = made == value
            return None
        return made

    def _replaces(self, cls: ClassDefinition) -> bool:
        """Whether an object of a class can stand in the place of a method."""
        return any(self.interpreter.classes.method(cls, name) is not None for name in ("__call__", "__get__"))

    def may_alter_arguments(self, function: Function) -> bool:
        """Whether a decorator that is not followed may give a function other arguments than those of the call."""
        code = function.code
        if code not in self._altered:
            frame = self.interpreter.names.module_frame(function.module, function.first_line)
            decorators = (self.interpreter.eval(decorator, frame) for decorator in code.decorators)
            self._altered[code] = any(map(self._is_unfollowed, chain.from_iterable(map(members, decorators))))
        return self._altered[code]

    def _is_unfollowed(self, decorator: Value) -> bool:
        if isinstance(decorator, Partial) and isinstance(decorator.function, External):
            decorator = decorator.function
        match decorator:
            case External(name=name) | ExternalObject(cls=name):
                return not self.interpreter.calls.is_familiar(name)
            case Function() | Bound() | Partial() | Instance():
                return not self._transparent.get(decorator, True)
        return True

    def apply_to_class(self, source: str, cls: ClassDefinition, frame: Frame) -> None:
        """Run a class decorator of the project if it assigns to the class that it is given, or stores it somewhere."""
        node = lower_expression(source)
        name = node.func if isinstance(node, ir.Call) else node
        found = members(self.interpreter.eval(name, frame)) if name is not None else ()
        if any(isinstance(m, Function) and assigns_members(m.code) for m in found):
            self.run_on_class(source, cls, frame)

    def run_on_class(self, source: str, cls: ClassDefinition, frame: Frame) -> None:
        """Run a class decorator of the project."""
        node = lower_expression(source)
        if node is not None:
            self.run(self.interpreter.eval(node, frame), Arguments((Class(cls),)), cls)

    def run(self, function: Value, arguments: Arguments, cls: ClassDefinition) -> None:
        """Run what is run when a class is made."""
        frame = self.interpreter.names.module_frame(cls.module, cls.segment.first)
        self.interpreter.calls.call(function, arguments, None, self._outside(frame))

    def _outside(self, frame: Frame) -> Frame:
        """A frame for what runs before any capture, and only skims it."""
        depth = self.interpreter.max_depth_outside - _TRANSPARENT_DEPTH
        function = Function(MODULE_CODE, frame.module, "<module>", frame.function.first_line)
        return Frame(function, Context(frame.context.function, frame.context.path), Mode.OUTSIDE, depth)


@remembered
def assigns_members(code: ir.Code) -> bool:
    """Whether a function, or one inside it, assigns to an attribute of a parameter, or stores one as an item."""
    parts = list(walk(code))
    parameters = {p.name for part in parts if isinstance(part, ir.Code) for p in part.parameters}
    for statement in (part for part in parts if isinstance(part, ir.Assign)):
        for target in statement.targets:
            if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and target.value.id in parameters:
                return True
            if isinstance(target, ir.Subscript) and names_in(statement.value) & parameters:
                return True
    return False
