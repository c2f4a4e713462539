"""Patterns of names in, the functions out that they mean: `module:qualname`, with globs on both sides of the colon.

A function within another one is meant as Python calls it: `patch_layers.<locals>.forward`. It is what it is once the
one around it has run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from pathlib import Path

from graphlint.errors import UsageError, nearest
from graphlint.static.domain.contexts import Context, Frame, Mode
from graphlint.static.domain.program import (
    LOCALS,
    Bound,
    Function,
    InnerDefinition,
    Instance,
    function_of,
    inner_definition,
)
from graphlint.static.index.module import ClassDefinition, Definition, Module, nested_class
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax.remembered import remembered
from graphlint.values import Value


@dataclass(frozen=True, slots=True)
class Named:
    """A function by the name that a pattern gave it: its definition, and the class whose object it runs on."""

    module: Module
    qualname: str
    definition: Definition
    defined_in: ClassDefinition | None = None
    owner: ClassDefinition | None = None

    @property
    def entry(self) -> str:
        return f"{self.module.name}:{self.qualname}"

    @property
    def runs_as(self) -> str:
        """What a context of it is called: by where it is written, not by the class that has it."""
        return f"{self.definition.module.name}:{self.definition.qualname}"

    def signature(self) -> Function | None:
        """The function as it is written, without its decorators."""
        return function_of(self.definition, self.defined_in)

    def callee(self, interpreter: Interpreter) -> tuple[Value, Instance | None]:
        """What a call of it goes to, with its decorators, and the object that it is called on."""
        if isinstance(self.definition, InnerDefinition):
            return _made(interpreter, self.definition), None
        method = interpreter.names.definition(self.definition, self.defined_in)
        if self.owner is None or isinstance(method, Bound):
            return method, None
        return method, interpreter.heap.instance(self.owner, None, False)


def find_functions(interpreter: Interpreter, pattern: str, files: Sequence[Path], what: str) -> list[Named]:
    """The functions that a pattern means. Raises UsageError, which says what the pattern is for, if there are none."""
    module_name, colon, qualname = pattern.partition(":")
    if not colon or not module_name or not qualname:
        raise UsageError(f"{what} `{pattern}`: write it as module:qualname, as in `serve.model:Decoder.forward`")
    found = matching(interpreter, pattern, files)
    if found:
        return found
    modules = _modules(interpreter, module_name, files)
    if not modules:
        known = list(dict.fromkeys(interpreter.project.module_at(path).name for path in files))  # scripts share names
        hint = _meant(module_name, known) or nearest(module_name, known)
        raise UsageError(f"{what} `{pattern}`: no module `{module_name}` in the checked paths{hint}")
    known = [name for module in modules for name in _qualnames(module)]
    raise UsageError(f"{what} `{pattern}`: nothing in `{module_name}` is called `{qualname}`{nearest(qualname, known)}")


def _meant(name: str, known: Sequence[str]) -> str:
    """The modules of that name in another package, or that a path means, as the end of a sentence."""
    name = name.removesuffix(".py").strip("./").replace("/", ".")
    alike = [one for one in known if f".{one}".endswith(f".{name}") or f".{name}".endswith(f".{one}")]
    return f"; did you mean {' or '.join(f'`{one}`' for one in alike[:3])}?" if alike else ""


def matching(interpreter: Interpreter, pattern: str, files: Sequence[Path]) -> list[Named]:
    """The functions that a pattern means, if there are any."""
    module_name, _, qualname = pattern.partition(":")
    modules = _modules(interpreter, module_name, files)
    return [named for module in modules for named in functions_in(interpreter, module, qualname)]


@remembered
def is_named(name: str, pattern: str) -> bool:
    """Whether a pattern means what is called `module:qualname`."""
    sides = zip(name.split(":"), pattern.split(":"), strict=True)
    return all(fnmatchcase(side, glob) for side, glob in sides)


def functions_in(interpreter: Interpreter, module: Module, qualname: str) -> list[Named]:
    """The functions of a module that a qualified name, or a glob, means; a method may be that of a base class."""
    index = module.index
    if is_glob(qualname):
        matches = dict.fromkeys(d.qualname for d in index.all_functions() if fnmatchcase(d.qualname, qualname))
        return [named for name in matches for named in functions_in(interpreter, module, name)]
    outer, inner, name = qualname.rpartition(LOCALS)
    if inner:
        return list(_inner(interpreter, module, outer, name))
    if qualname in index.functions:
        return [Named(module, qualname, one) for one in interpreter.names.alternatives(index.functions[qualname])]
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
                return [Named(module, f"{owner.qualname}.{name}", definitions[-1], found[0], owner)]
    return []


def _inner(interpreter: Interpreter, module: Module, outer: str, name: str) -> Iterator[Named]:
    """The functions of a name within those that a qualified name means."""
    for around in functions_in(interpreter, module, outer):
        found = inner_definition(around.definition, name)
        if found is not None:
            yield Named(module, f"{outer}{LOCALS}{name}", found)


def _made(interpreter: Interpreter, definition: InnerDefinition) -> Value:
    """The function that the one around it makes when it runs, with what it holds from there."""
    around = function_of(definition.around)
    if around is not None:
        context = Context(f"{around.module.name}:{around.qualname}", str(around.module.path))
        frame = Frame(around, context, Mode.OUTSIDE, 0)
        interpreter.block(around.code.body, frame)
        if definition.name in frame.env:
            return frame.env[definition.name]
    return interpreter.names.definition(definition)


def is_glob(name: str) -> bool:
    return any(c in name for c in "*?[")


def _modules(interpreter: Interpreter, name: str, files: Sequence[Path]) -> list[Module]:
    project = interpreter.project
    if is_glob(name):
        matches = re.compile(translate(name))
        return [module for path in files if matches.match((module := project.module_at(path)).name)]
    named = project.module(name)
    return [named] if named is not None else []


def _qualnames(module: Module) -> list[str]:
    names = [definition.qualname for definition in module.index.all_functions()]
    return [*names, *(cls.qualname for cls in module.index.classes.values())]
