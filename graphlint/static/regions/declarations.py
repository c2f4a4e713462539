"""Declarations in, regions out: patterns of names, and decorators, whose functions are run as the entries of graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from graphlint.finding import Region
from graphlint.static.domain.contexts import Context, Mode, OpenRegion
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.models.inputs import entry_arguments
from graphlint.static.regions.patterns import Named, find_functions, is_glob
from graphlint.static.syntax import ir
from graphlint.values import External, Value, members


def check_names(interpreter: Interpreter, patterns: Iterable[str], files: list[Path]) -> None:
    """Raise UsageError for a pattern that surely names nothing before anything is run; `declare` finds the others."""
    for pattern in patterns:
        module_name, _, qualname = pattern.partition(":")
        module = interpreter.project.module(module_name)
        if not is_glob(pattern) and (module is None or not module.ask(_defines, qualname.partition(".")[0])):
            find_functions(interpreter, pattern, files, "region")


def _defines(text: str, name: str) -> bool:
    return re.search(rf"\b(?:class|def)\s+{re.escape(name)}\b", text) is not None


def declare(interpreter: Interpreter, patterns: Iterable[str], files: list[Path]) -> None:
    """Run the declared regions. Raises UsageError for a pattern that names nothing."""
    for pattern in patterns:
        for named in find_functions(interpreter, pattern, files, "region"):
            run_declared(interpreter, named)


def run_declared(interpreter: Interpreter, named: Named) -> None:
    definition, signature = named.definition, named.signature()
    if signature is None:
        return
    entry, path = named.entry, str(definition.module.path)
    region = OpenRegion(Region("declared", path, definition.line, entry), Context(entry, path), Mode.CAPTURE)
    interpreter.regions[("declared", path, definition.line, entry)] = region
    frame = interpreter.names.module_frame(definition.module, definition.segment.first)
    frame.context = Context(entry, path)
    frame.regions.append(region)
    # The signature is that of the function as it is written; the call goes through its decorators.
    method, receiver = named.callee(interpreter)
    arguments = entry_arguments(interpreter, signature, receiver)
    code = signature.code
    call = ir.Call(code.mark, ir.Name(code.mark, code.name), ())
    interpreter.begin()
    interpreter.calls.call(method, arguments, call, frame)


def marked(interpreter: Interpreter, module: Module) -> list[str]:
    """The qualified names of the functions and classes with a decorator that declares them."""
    names = interpreter.names
    found = []
    for definition in module.index.all_functions():
        code = definition.code if definition.segment.first < definition.line else None
        if code is not None and any(_declares(interpreter, names.static_value(d, module)) for d in code.decorators):
            found.append(definition.qualname)
    pending = list(module.index.classes.values())
    for cls in pending:
        pending.extend(cls.classes.values())
        for decorator in cls.decorators:
            first, *rest = decorator.split(".")
            if _declares(interpreter, reduce(names.attribute_of_module, rest, names.resolve(module, first))):
                found.append(cls.qualname)
    return found


def _declares(interpreter: Interpreter, decorator: Value) -> bool:
    for member in members(decorator):
        name = member.name if isinstance(member, External) else ""
        if isinstance(member, Function):  # graphlint itself is among the files that are looked at
            name = f"{member.module.name}.{member.qualname}"
        if interpreter.entries.declares(name):
            return True
    return False
