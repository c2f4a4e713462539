"""Files in, the models of theirs out that no other model is built of: these are what somebody may capture whole."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphlint.reading.questions import Holds
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import is_captured_whole
from graphlint.static.regions.inherited import inherited_passes

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Models:
    """The models that files define, each with the names of those that its statement speaks of."""

    interpreter: Interpreter
    files: Iterable[Path]

    @cached_property
    def parts(self) -> dict[ClassDefinition, set[str]]:
        models = list(_models(self.interpreter, self.files))
        names = {cls.name for cls in models}
        return {cls: _names_in(self.interpreter, cls) & names for cls in models}

    def whole(self, shown: Set[Path], reached: Container[str]) -> dict[ClassDefinition, int]:
        """The models that no other one uses and no region has `reached`, but for what is only `shown`.

        Each is told with how many others it is built of.
        """
        used = {name for held in self.parts.values() for name in held}
        return {
            cls: len(_built_of(cls, self.parts))
            for cls in self.parts
            if cls.name not in used
            and entry_of(cls) not in reached
            and not is_test(cls.module.name)
            and cls.module.path not in shown
            and self.interpreter.project.is_named(cls.module)
        }


def entry_of(cls: ClassDefinition) -> str:
    """What a model runs, as `module:Class.forward`."""
    return f"{cls.module.name}:{cls.qualname}.forward"


def _built_of(cls: ClassDefinition, parts: Mapping[ClassDefinition, set[str]]) -> set[str]:
    """The models of its file that a model names, those that they name, and the names of models elsewhere."""
    near = {other.name: other for other in parts if other.module is cls.module}
    found, pending = set[str](), [cls]
    while pending:
        for name in parts[pending.pop()] - found:
            found.add(name)
            pending += [near[name]] if name in near else []
    return found


def _models(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[ClassDefinition]:
    """The classes that derive from a module or model of some package and have a `forward`, or one of a base of theirs
    that calls a method of their own.
    """
    for path in files:
        if interpreter.project.ask(path, Holds(["class "])):
            for cls in interpreter.project.module_at(path).index.classes.values():
                if is_captured_whole(interpreter, cls) or _forward_of(interpreter, cls) is not None:
                    yield cls


def _forward_of(interpreter: Interpreter, cls: ClassDefinition) -> ClassDefinition | None:
    """The model whose `forward` a class has for its own, and that calls a method of the class."""
    if "forward" in cls.methods or not cls.bases or not cls.methods:
        return None
    found = next(inherited_passes(interpreter, cls, "forward".__eq__), None)
    return found[1] if found is not None and is_captured_whole(interpreter, found[1]) else None


def _names_in(interpreter: Interpreter, cls: ClassDefinition) -> set[str]:
    """The names in the statement of a class besides its own, and that of one whose `forward` it has; those of its other
    bases are among them.
    """
    base = _forward_of(interpreter, cls)
    own = {cls.name} if base is None else {cls.name, base.name}
    return set(_WORD.findall(cls.module.source_of(cls.segment, is_exact=True))) - own
