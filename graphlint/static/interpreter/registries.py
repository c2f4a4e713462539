"""A module-level dict in, the same dict with what the decorators of its module put into it out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Function
from graphlint.static.index.module import Module
from graphlint.static.models.containers import with_item
from graphlint.static.syntax import ir
from graphlint.values import Mapping, Value, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


def fill(interpreter: Interpreter, module: Module, name: str, registry: Value) -> Value:
    """Run the decorators of a module that store into one of its dicts."""
    if not any(isinstance(member, Mapping) for member in members(registry)):
        return registry
    stores = re.compile(rf"\b{re.escape(name)}\[[^\]\n]+\] *=[^=]")
    if not stores.search(module.text):
        return registry
    writers = {
        definition.name
        for definitions in module.index.functions.values()
        for definition in definitions
        if stores.search("\n".join(module.lines[definition.segment.first - 1 : definition.segment.last]))
    }
    if not writers:
        return registry
    interpreter.names.globals[(module, name)] = registry
    for cls in module.index.classes.values():
        for source in cls.decorators:
            if re.split(r"\W", source)[0] in writers:
                frame = interpreter.names.module_frame(module, cls.segment.first)
                interpreter.decorators.apply_to_class(source, cls, frame)
    for definitions in module.index.functions.values():
        for definition in definitions:
            first_line = module.lines[definition.segment.first - 1].strip()
            if first_line.startswith("@") and re.split(r"\W", first_line[1:])[0] in writers:
                interpreter.names.definition(definition)
    return interpreter.names.globals[(module, name)]


def keep(interpreter: Interpreter, container: ir.Expr, key: Value, value: Value, frame: Frame) -> None:
    """A class or function that a function stores into a dict of its module stays there when the function returns."""
    if not isinstance(container, ir.Name) or not isinstance(value, (Class, Function)):
        return
    known = interpreter.names.globals.get((frame.module, container.id))
    if isinstance(known, Mapping) and container.id not in frame.env:
        interpreter.names.globals[(frame.module, container.id)] = with_item(known, key, value)
