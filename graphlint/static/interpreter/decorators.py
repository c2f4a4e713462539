"""A decorator and what it decorates in, what it makes of it out; caches are called here, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from graphlint.rule import CachedCall
from graphlint.static.domain.assumptions import FIRST_CALL, Assumption
from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.contexts import Context, Frame, Mode
from graphlint.static.domain.program import Bound, Class, Function, Instance, Partial
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.dispatching import DISPATCHING
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import (
    assignments_in,
    assignments_to,
    given_for,
    is_one_of,
    last_name,
    names_in,
    walk,
)
from graphlint.values import NONE, UNKNOWN, Arguments, Const, External, ExternalObject, Value, members, union
from graphlint.values.queries import tensors_in

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_TRANSPARENT_DEPTH = 3  # a decorator may hand its wrapper to helpers; one that does more is taken as it stands
KEPT_PROPERTY = "functools.cached_property"
PROPERTIES = frozenset({"builtins.property", KEPT_PROPERTY})
METHOD_KINDS = PROPERTIES | {"builtins.staticmethod", "builtins.classmethod"}
_OF_ALL = frozenset({"device", "dtype"})  # what the tensors of all requests have alike
_SIZES = frozenset({"len", "numel", "size"})
_PLAIN = frozenset({"int", "device"})  # what is called to make one of something
_HANDED_ON = 3  # how far it is looked for where a number comes from
CACHES = frozenset({"functools.lru_cache", "functools.cache"})


class Decorators:
    """Applies decorators."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
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

    def call_cached(self, cache: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call a cached function; a bounded cache drops device tensors that a graph still reads."""
        function, maxsize = cache.argument("function") or UNKNOWN, cache.argument("maxsize")
        if not isinstance(function, Function):
            return self.interpreter.calls.call(function, arguments, node, frame)
        assumed = frame.assumed
        given = (*arguments.positional, *(value for _, value in arguments.keywords))
        takes_tensors = any(True for value in given for _ in tensors_in(value))
        if node is not None:
            first = Assumption(frame.function, node.func, form=FIRST_CALL, was_asked=not takes_tensors)
            frame.assumed = (*assumed, first)
        result = self.interpreter.calls.context(function, arguments, node, frame).result
        frame.assumed = assumed
        if frame.in_region and any(True for _ in tensors_in(result)):
            # What the cache keeps, it keeps at every call.
            kept = Context(f"{function.module.name}:{function.qualname}", str(function.module.path))
            inside = Frame(function, kept, frame.mode, frame.depth)
            decorator = next((d for d in function.code.decorators if self._is_cache(d, inside)), None)
            is_settled = node is not None and self._asks_for_few(node, frame.function)
            is_settled = is_settled and self._is_asked_for_few(function)
            varies = takes_tensors or (
                node is not None and any(_varies(one.value, frame.function) for one in node.arguments)
            )
            event = CachedCall(result, UNKNOWN if maxsize is None else maxsize, is_settled, varies)
            if decorator is not None:
                frame.sink.reach(kept, frame.site(node), frame.assumptions)
                self.interpreter.observe(inside, decorator, event)
            elif node is not None:
                self.interpreter.observe(frame, node, event)
        return result

    def _is_cache(self, decorator: ir.Expr, frame: Frame) -> bool:
        name = decorator.func if isinstance(decorator, ir.Call) else decorator
        return any(isinstance(m, External) and m.name in CACHES for m in members(self.interpreter.eval(name, frame)))

    def _is_asked_for_few(self, cached: Function) -> bool:
        """Whether all calls of a function give the same for all requests, as far as they can be found by its name."""
        return all(self._asks_for_few(call, caller) for call, caller in self._other_calls_of(cached))

    def _asks_for_few(self, call: ir.Call, function: Function) -> bool:
        """Whether a call in a function gives the same for all requests: numbers of other objects, too, where an object
        keeps the result beside the cache.
        """
        depth = _HANDED_ON - _is_kept(call, function.code)
        return bool(call.arguments) and all(self._is_one_of_few(one.value, function, depth) for one in call.arguments)

    def _is_one_of_few(self, node: ir.Expr, function: Function, depth: int = _HANDED_ON) -> bool:
        """Whether a value is the same for all requests; who calls says so of what is handed in, as far as it is known.

        What is handed in may be a number of any object, such as a configuration.
        """
        handed: set[str] = set()
        if depth < _HANDED_ON and isinstance(node, ir.Attribute) and node.attr != "shape":
            return True
        if not _is_settled(node, function, handed):
            return False
        positions = {one.name: at for at, one in enumerate(function.code.parameters) if one.name != function.receiver}
        shift = len(function.code.parameters) - len(positions)
        for name in handed:
            for call, caller in self._other_calls_of(function):
                given = given_for(call, name, positions[name] - shift)
                if given is not None and depth and not self._is_one_of_few(given, caller, depth - 1):
                    return False
        return True

    def _other_calls_of(self, called: Function) -> Iterator[tuple[ir.Call, Function]]:
        """The calls of a function that it does not make itself, as far as they can be found by its name."""
        for call, caller in calls_by_name(self.interpreter.project, called.code.name):
            if caller.code is not called.code:
                yield call, caller


@remembered
def _is_kept(call: ir.Call, code: ir.Code) -> bool:
    """Whether a function gives what a call makes to an attribute, by whatever local names."""
    assigned, names, before = assignments_in(code), set[str](), -1
    while len(names) > before:
        before = len(names)
        given = [one for one in assigned if one.value is call or any(is_one_of(part, names) for part in _parts(one))]
        names |= {target.id for one in given for target in one.targets if isinstance(target, ir.Name)}
    return any(isinstance(target, ir.Attribute) for one in given for target in one.targets)


def _parts(assignment: ir.Assign) -> tuple[ir.Expr | None, ...]:
    """What is assigned, or what stands in it if that is a tuple or a list."""
    value = assignment.value
    return value.elements if isinstance(value, ir.Display) else (value,)


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


def _is_settled(node: ir.Expr, function: Function, handed: set[str], depth: int = 3) -> bool:
    """Whether a value is the same for all requests, if the parameters are that are `handed` in: of the object itself,
    or a size that is counted from the last.
    """
    match node:
        case ir.Literal():
            return True
        case ir.Attribute(value=holder, attr=name):
            is_own = isinstance(holder, ir.Name) and holder.id == function.receiver
            is_of_device = name == "index" and _is_settled(holder, function, handed, depth)
            return name in _OF_ALL or is_of_device or (is_own and name != "shape")
        case ir.Subscript(value=ir.Attribute(attr="shape"), index=ir.Unary(operator="-") | ir.Attribute()):
            return True
        case ir.Subscript(value=ir.Attribute(attr="shape"), index=ir.Literal(value=int() as index)):
            return index < 0
        case ir.Call(func=func, arguments=()):
            return last_name(func) == "current_device"
        case ir.Call(func=func, arguments=arguments) if last_name(func) in _PLAIN:
            return all(_is_settled(one.value, function, handed, depth) for one in arguments)
        case ir.Binary(left=left, right=right) | ir.Boolean(left=left, right=right):
            return all(_is_settled(one, function, handed, depth) for one in (left, right))
        case ir.Name(id=name) if depth:
            given = assignments_to(function.code, name)
            if not given and any(one.name == name for one in function.code.parameters):
                handed.add(name)
                return True
            values = [one.value for one in given if one.value is not None]
            return bool(values) and all(_is_settled(value, function, handed, depth - 1) for value in values)
    return False


def _varies(node: ir.Expr, function: Function, depth: int = 3) -> bool:
    """Whether a value surely comes to something else for some requests: a length, or a size that is not the last."""
    for part in walk(node):
        match part:
            case ir.Subscript(value=ir.Attribute(attr="shape"), index=ir.Literal(value=int() as index)) if index >= 0:
                return True
            case ir.Call(func=func) if last_name(func) in _SIZES:
                return True
            case ir.Name(id=name) if depth:
                given = assignments_to(function.code, name)
                if any(one.value is not None and _varies(one.value, function, depth - 1) for one in given):
                    return True
    return False
