"""A cached function and the arguments of a call in, its result out, with whether the cache may drop a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.rule import CachedCall
from graphlint.static.domain.assumptions import FIRST_CALL, Assumption
from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.contexts import Context, Frame
from graphlint.static.domain.program import Function
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, assignments_to, given_for, is_one_of, last_name, walk
from graphlint.values import UNKNOWN, Arguments, External, ExternalObject, Value, members
from graphlint.values.queries import tensors_in

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

CACHES = frozenset({"functools.lru_cache", "functools.cache"})
_OF_ALL = frozenset({"device", "dtype"})  # what the tensors of all requests have alike
_SIZES = frozenset({"len", "numel", "size"})
_PLAIN = frozenset({"int", "device"})  # what is called to make one of something
_HANDED_ON = 3  # how far it is looked for where a number comes from


class Caches:
    """Calls of functions whose results are kept."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def call(self, cache: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
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
