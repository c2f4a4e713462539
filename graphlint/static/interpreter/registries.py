"""A module-level dict in, the same dict with what the decorators of its module put into it out.

And a dict and a key in, what of it the program does not choose out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Function
from graphlint.static.index.module import Definition, Module
from graphlint.static.index.parts import filled, parts_with, spelling
from graphlint.static.models.containers import with_item
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.static.syntax.traversal import names_in
from graphlint.values import Const, Mapping, Value, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


def fill(interpreter: Interpreter, module: Module, name: str, registry: Value) -> Value:
    """Run the decorators of a module that store into one of its dicts."""
    if not any(isinstance(member, Mapping) for member in members(registry)):
        return registry
    writers = _writers(module, name)
    if not writers:
        return registry
    interpreter.names.globals[(module, name)] = registry
    for cls in module.index.classes.values():
        for source in cls.decorators:
            if names_in(lower_expression(source)) & writers:
                frame = interpreter.names.module_frame(module, cls.segment.first)
                interpreter.decorators.run_on_class(source, cls, frame)
    for definition in _functions(module):
        if any(module.holds(definition.segment, writer) for writer in writers):
            code = definition.code
            if code is not None and names_in(code.decorators) & writers:
                interpreter.names.definition(definition)
    return interpreter.names.globals[(module, name)]


def _writers(module: Module, name: str) -> set[str]:
    """The functions of a module that store into one of its dicts, and those that use one of them."""
    found = {
        part.definition.name
        for part in parts_with(module, name, filled)
        if part.definition is not None and name in map(spelling, part.writes.filled)
    }
    new = found
    while new:
        holding = {f for f in _functions(module) if any(module.holds(f.segment, writer) for writer in new)}
        users = {f.name for f in holding if (code := f.code) is not None and names_in(code.body) & new}
        new = users - found
        found |= new
    return found


def _functions(module: Module) -> Iterator[Definition]:
    return (definition for found in module.index.functions.values() for definition in found)


def keep(interpreter: Interpreter, container: ir.Expr, key: Value, value: Value, frame: Frame) -> None:
    """A class or function that a function stores into a dict of its module stays there when the function returns."""
    if not isinstance(container, ir.Name) or not isinstance(value, (Class, Function)):
        return
    known = interpreter.names.globals.get((frame.module, container.id))
    if isinstance(known, Mapping) and container.id not in frame.env:
        interpreter.names.globals[(frame.module, container.id)] = with_item(known, key, value)


def note_unnamed(interpreter: Interpreter, registry: Mapping, key: Value, frame: Frame) -> None:
    """Remember what a package that is followed may choose by a key that nobody knows, and that the program never names.

    Whoever uses a package says what it is to choose, or gets what it chooses by itself.
    """
    project = interpreter.project
    if all(isinstance(member, Const) for member in members(key)) or project.is_checked(frame.module):
        return
    for name, held in registry.items:
        if isinstance(name, Const) and isinstance(name.value, str) and not project.says(name.value):
            interpreter.unnamed.update(member for member in members(held) if isinstance(member, (Class, Function)))
