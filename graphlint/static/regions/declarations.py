"""Declarations in, regions out: patterns of names, and decorators, whose functions are run as the entries of graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import reduce
from pathlib import Path

from graphlint.errors import UsageError, nearest
from graphlint.finding import Region
from graphlint.static.domain.contexts import Context, Mode, OpenRegion
from graphlint.static.domain.program import Bound, Function
from graphlint.static.index.module import ClassDefinition, Definition, Module, nested_class
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.models.inputs import entry_arguments
from graphlint.static.syntax import ir
from graphlint.values import External, Value, members


def declare(interpreter: Interpreter, patterns: Iterable[str], files: list[Path]) -> None:
    """Run the declared regions. Raises UsageError for a pattern that names nothing."""
    for pattern in patterns:
        module_name, colon, qualname = pattern.partition(":")
        if not colon or not module_name or not qualname:
            raise UsageError(f"region `{pattern}`: write it as module:qualname, as in `serve.model:Decoder.forward`")
        modules = _modules(interpreter, module_name, files, pattern)
        found = [(module, target) for module in modules for target in targets(interpreter, module, qualname)]
        if not found:
            known = [name for module in modules for name in _qualnames(module)]
            raise UsageError(
                f"region `{pattern}`: nothing in `{module_name}` is called `{qualname}`{nearest(qualname, known)}"
            )
        for module, target in found:
            run_declared(interpreter, module, target)


@dataclass(frozen=True, slots=True)
class _Target:
    """What a declared region names: the qualified name, its definition, and the class whose object it runs on."""

    qualname: str
    definition: Definition
    defined_in: ClassDefinition | None
    owner: ClassDefinition | None


def _modules(interpreter: Interpreter, name: str, files: list[Path], pattern: str) -> list[Module]:
    project = interpreter.project
    if any(c in name for c in "*?["):
        matches = re.compile(translate(name))
        found = [module for path in files if matches.match((module := project.module_at(path)).name)]
    else:
        named = project.module(name)
        found = [named] if named is not None else []
    if not found:
        known = [project.module_at(path).name for path in files]
        raise UsageError(f"region `{pattern}`: no module `{name}` in the checked paths{nearest(name, known)}")
    return found


def _qualnames(module: Module) -> list[str]:
    names = [definition.qualname for definition in module.index.all_functions()]
    return [*names, *(cls.qualname for cls in module.index.classes.values())]


def targets(interpreter: Interpreter, module: Module, qualname: str) -> list[_Target]:
    """The functions that a qualified name, or a glob over them, means; a method may be that of a base class."""
    index = module.index
    if any(c in qualname for c in "*?["):
        matches = dict.fromkeys(d.qualname for d in index.all_functions() if fnmatchcase(d.qualname, qualname))
        return [target for name in matches for target in targets(interpreter, module, name)]
    if qualname in index.functions:
        return [_Target(qualname, index.functions[qualname][-1], None, None)]
    *path, last = qualname.split(".")
    whole = nested_class(index.classes, [*path, last])
    owner, names = (
        (whole, ["forward", "__call__"]) if whole is not None else (nested_class(index.classes, path), [last])
    )
    for name in names:
        found = interpreter.classes.find(owner, name) if owner is not None else None
        if owner is not None and found is not None and isinstance(found[0], ClassDefinition):
            definitions = found[0].methods.get(name)
            if definitions:
                return [_Target(f"{owner.qualname}.{name}", definitions[-1], found[0], owner)]
    return []


def run_declared(interpreter: Interpreter, module: Module, target: _Target) -> None:
    definition = target.definition
    code = definition.code
    if code is None:
        return
    entry, path = f"{module.name}:{target.qualname}", str(definition.module.path)
    region = OpenRegion(Region("declared", path, definition.line, entry), Context(entry, path), Mode.CAPTURE)
    interpreter.regions[("declared", path, definition.line, entry)] = region
    frame = interpreter.names.module_frame(definition.module, definition.segment.first)
    frame.context = Context(entry, path)
    frame.regions.append(region)
    # The signature is that of the function as it is written; the call goes through its decorators.
    signature = Function(code, definition.module, definition.qualname, definition.segment.first, target.defined_in)
    method = interpreter.names.definition(definition, target.defined_in)
    receiver: Value | None = None
    if target.owner is not None and not isinstance(method, Bound):
        receiver = interpreter.heap.instance(target.owner, None, False)
    arguments = entry_arguments(interpreter, signature, receiver)
    call = ir.Call(code.mark, ir.Name(code.mark, ""), ())
    interpreter.outside = 0
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
