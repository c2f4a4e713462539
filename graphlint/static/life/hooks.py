"""A class that captures in, the classes out whose methods it calls back: by names that speak of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

MAX_PLAYERS = 12  # classes that are tried for what nobody knows


@dataclass
class Hooks:
    """Models bring their part of a runner as methods: `self.model.make_buffers_cudagraph(...)`."""

    interpreter: Interpreter
    files: list[Path]

    def players(self, owner: ClassDefinition) -> list[ClassDefinition]:
        """The classes of the project that have a method which a class calls of something else, named after graphs."""
        names = {name for name in _called(owner) if is_hook(self.interpreter, name)}
        return list(self._defining(names))[:MAX_PLAYERS] if names else []

    def _defining(self, names: set[str]) -> Iterator[ClassDefinition]:
        question = HoldsAny(sorted(f"def {name}(" for name in names))
        for path in self.files:
            if self.interpreter.project.ask(path, question):
                for one in classes_of(self.interpreter.project.module_at(path)):
                    if names & one.methods.keys():
                        yield one


def is_hook(interpreter: Interpreter, name: str) -> bool:
    """Whether a method has a name that only means something to who captures."""
    return any(mark in name for mark in interpreter.lexicon.life["hooks"])


def classes_of(module: Module) -> Iterator[ClassDefinition]:
    """The classes of a file, and those inside of them."""
    pending = list(module.index.classes.values())
    while pending:
        one = pending.pop(0)
        yield one
        pending += one.classes.values()


def _called(owner: ClassDefinition) -> Iterator[str]:
    """The names of the methods that a class calls of other objects."""
    for definitions in owner.methods.values():
        code = definitions[-1].code
        for part in walk(code.body) if code is not None else ():
            if isinstance(part, ir.Call) and isinstance(part.func, ir.Attribute):
                holder = part.func.value
                if not (isinstance(holder, ir.Name) and holder.id == "self") and part.func.attr not in owner.methods:
                    yield part.func.attr
            elif isinstance(part, ir.Literal) and isinstance(part.value, str):  # of `getattr`
                yield part.value
