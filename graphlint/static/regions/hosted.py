"""A function in, whether what it gives is made on the host out: nobody captures one that works there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphlint.rulebook.operations import FUNCTIONS
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, calls_in, defined_in, last_name, walk
from graphlint.values import External, Place

_STEPS = 1  # functions that give what another one gives


def makes_on_host(interpreter: Interpreter, code: ir.Code, steps: int = _STEPS) -> bool:
    """Whether a function returns what it has made on the host by name, or what one returns that does."""
    inner = {id(part) for one in defined_in(code) for part in walk(one.body)}
    returned = (part.value for part in walk(code.body) if isinstance(part, ir.Return) and id(part) not in inner)
    return any(_is_on_host(interpreter, code, value, steps) for value in returned if value is not None)


def works_on_host(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function first brings what it is handed to the host, or does so for a function of another library."""
    names, brings = {parameter.name for parameter in code.parameters}, interpreter.lexicon.phases["brings"]
    for statement in code.body:
        if isinstance(statement, ir.Assign) and any(
            isinstance(target, ir.Name) and target.id in names and _brought(value, brings) == target.id
            for target, value in _pairs(statement)
        ):
            return True
    for call in calls_in(code):
        given = {_brought(argument.value, brings) for argument in call.arguments} & names
        called = interpreter.static_value(call.func, module) if given else None
        if isinstance(called, External) and not called.name.startswith(f"{FUNCTIONS}."):
            return True
    return False


def _brought(value: ir.Expr | None, brings: re.Pattern[str]) -> str | None:
    """The name of what an expression brings to the host: `x` of `x.cpu().numpy()`."""
    is_brought = False
    while isinstance(value, ir.Call) and isinstance(value.func, ir.Attribute):
        is_brought |= brings.match(value.func.attr) is not None
        value = value.func.value
    return value.id if is_brought and isinstance(value, ir.Name) else None


def _pairs(statement: ir.Assign) -> Iterator[tuple[ir.Expr, ir.Expr | None]]:
    for target in statement.targets:
        match target, statement.value:
            case ir.Display(elements=targets), ir.Display(elements=values) if len(targets) == len(values):
                yield from zip(targets, values, strict=True)
            case _:
                yield target, statement.value


def _is_on_host(interpreter: Interpreter, code: ir.Code, value: ir.Expr, steps: int) -> bool:
    match value:
        case ir.Name(id=name):
            made = [one.value for one in assignments_to(code, name)]
            return len(made) == 1 and isinstance(made[0], ir.Call) and _names_host(interpreter, made[0])
        case ir.Call(func=func) if not _names_host(interpreter, value):
            called = list(_called(interpreter, last_name(func) or "")) if steps else []
            return bool(called) and all(makes_on_host(interpreter, one, steps - 1) for one in called)
    return isinstance(value, ir.Call)


def _names_host(interpreter: Interpreter, call: ir.Call) -> bool:
    """Whether a call says that what it makes shall lie on the host: `torch.zeros(n, device="cpu")`."""
    named = (one.value for one in call.arguments if one.keyword == "device")
    texts = (one.value for one in named if isinstance(one, ir.Literal))
    return any(interpreter.lexicon.place(text) is Place.HOST for text in texts)


def _called(interpreter: Interpreter, name: str) -> Iterator[ir.Code]:
    """The functions of a name, those inside of others among them."""
    project = interpreter.project
    for module in map(project.module_at, project.defining(name)):
        for definition in module.index.all_functions():
            if definition.code is None or not module.holds(definition.segment, name):
                continue
            if definition.name == name:
                yield definition.code
            yield from (one for one in defined_in(definition.code) if one.name == name)
