"""A context manager in, the flags of classes and modules out that it sets for as long as its block is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from graphlint.static.domain.program import Bound, Class, Function
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from graphlint.values import Const, External, ExternalObject, Value, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

KIND = "<block that sets a flag>"
Flag: TypeAlias = "tuple[ClassDefinition | Module, str]"


class Switches:
    """Knows what blocks set such a flag to: what is asked in them is known."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.markers: dict[Flag, dict[Value, Const]] = {}

    def opened_by(self, manager: Function) -> Iterator[Value]:
        """What is in force in the block of a context manager, one for each flag that it sets."""
        found: dict[Flag, Const] = {}
        for statement in _up_to_block(manager.code.body):
            found.update(self._set_by(statement, manager))
        for (owner, name), value in found.items():
            holder = owner.name if isinstance(owner, Module) else f"{owner.module.name}:{owner.name}"
            marker = ExternalObject(f"{KIND} {holder}.{name}", (("value", value),))
            self.markers.setdefault((owner, name), {})[marker] = value
            yield marker

    def value(self, owner: ClassDefinition | Module, name: str, around: frozenset[Value]) -> Value | None:
        """What a flag is where these are in force; None if none of them sets it."""
        markers = self.markers.get((owner, name))
        found = [value for marker, value in markers.items() if marker in around] if markers else []
        return union(found) if found else None

    def _set_by(self, statement: ir.Node, function: Function) -> Iterator[tuple[Flag, Const]]:
        """The flags that a statement sets, or the function that it calls."""
        match statement:
            case ir.Evaluate(value=ir.Call(func=callee, arguments=())):
                called = self._called(callee, function)
                for inner in called.code.body if called is not None else ():
                    yield from self._assigned(inner, called or function)
            case ir.Assign():
                yield from self._assigned(statement, function)

    def _assigned(self, statement: ir.Node, function: Function) -> Iterator[tuple[Flag, Const]]:
        match statement:
            case ir.Assign(targets=targets, value=ir.Literal(value=bool() as value)):
                for target in targets:
                    match target:
                        case ir.Attribute(value=ir.Name(id=holder), attr=name):
                            owner = self._owner(holder, function)
                            if owner is not None:
                                yield (owner, name), Const(value)
                        case ir.Name(id=name) if name in _globals(function.code):
                            yield (function.module, name), Const(value)

    def _owner(self, name: str, function: Function) -> ClassDefinition | None:
        """The class that a name stands for in a function: its own, in a method of it, or one of the module."""
        parameters = function.code.parameters
        if parameters and parameters[0].name == name:
            return function.owner if name == "cls" else None
        found = self.interpreter.names.resolve(function.module, name)
        return found.definition if isinstance(found, Class) else None

    def _called(self, callee: ir.Expr, function: Function) -> Function | None:
        match callee:
            case ir.Name(id=name):
                found: Value | None = self.interpreter.names.resolve(function.module, name)
            case ir.Attribute(value=ir.Name(id=holder), attr=name) if owner := self._owner(holder, function):
                found = self.interpreter.classes.method(owner, name)
            case _:
                return None
        if isinstance(found, Bound) and isinstance(found.function, External):
            found = found.receiver  # a class method, or a static one
        return found if isinstance(found, Function) else None


def _up_to_block(body: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """The statements that surely run before a function yields; all of them if it does not."""
    for statement in body:
        if isinstance(statement, ir.Try):
            yield from _up_to_block(statement.body)
        elif not any(isinstance(part, ir.Yield) for part in walk(statement)):
            yield statement
            continue
        if any(isinstance(part, ir.Yield) for part in walk(statement)):
            return


def _globals(code: ir.Code) -> set[str]:
    return {name for one in walk(code.body) if isinstance(one, ir.Scope) and one.kind == "global" for name in one.names}
