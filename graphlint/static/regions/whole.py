"""Files in, the models of theirs out that no other model is built of: these are what somebody may capture whole.

A model is built of what its statement names, as its module knows that name: `MoELayer` of another package is another
one; and of what a table of that module holds of which it calls an item. What it asks an object for, as `isinstance(x,
MoELayer)` does, was made by somebody else; what only tests build on is whole all the same. To derive from a class
builds nothing of it, either, but most of such are there for that alone: one that is made somewhere, or handed on as in
`ModuleSpec(module=Router)`, is a model of its own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphlint.reading.questions import Holds
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import is_captured_whole, origin_of
from graphlint.static.regions.inherited import inherited_passes

_BESIDE = re.compile(r'"""(?:.|\n)*?"""|\bis(?:instance|subclass)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)')
_NAME = re.compile(r"(\.?)\b([A-Za-z_]\w*)(\(?)")
_PICKED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\[[^\[\]]*\]\s*\(")  # an item that is called
_BINDING = ("class ", "from ", "import ")


@dataclass
class Models:
    """The models that files define, each with those that its statement speaks of."""

    interpreter: Interpreter
    files: Sequence[Path]

    @cached_property
    def parts(self) -> dict[ClassDefinition, set[ClassDefinition]]:
        models = list(_models(self.interpreter, self.files))
        alike: dict[str, list[ClassDefinition]] = {}
        for cls in models:
            alike.setdefault(cls.name, []).append(cls)
        return {cls: set(_named_in(self.interpreter, cls, alike)) for cls in models}

    def whole(self, shown: Set[Path], reached: Container[str]) -> dict[ClassDefinition, int]:
        """The models that no other one uses and no region has `reached`, but for what is only `shown`.

        Each is told with how many others it is built of.
        """
        built_on, derived = set[ClassDefinition](), set[ClassDefinition]()
        for cls, held in self.parts.items():
            if cls.module.path not in shown:
                bases = {base for base in self.interpreter.classes.order(cls)[1:] if isinstance(base, ClassDefinition)}
                built_on |= held - bases
                derived |= held & bases
        return {
            cls: len(_built_of(cls, self.parts))
            for cls in self.parts
            if cls not in built_on
            and entry_of(cls) not in reached
            and not is_test(cls.module.name)
            and cls.module.path not in shown
            and self.interpreter.project.is_named(cls.module)
            and (cls not in derived or self._is_made(cls, shown))
        }

    def _is_made(self, cls: ClassDefinition, shown: Set[Path]) -> bool:
        """Whether a file makes objects of a class that has a `forward`, or assigns it to something."""
        if "forward" not in cls.methods:
            return False
        making = re.compile(rf"=\s*{cls.name}\b(?!\s*[.\[])|(?<![\w.]){cls.name}\(")
        project = self.interpreter.project
        for path in self.files:
            if path not in shown and project.ask(path, Holds([cls.name])):
                module = project.module_at(path)
                lines = (line for line in module.text.splitlines() if not line.lstrip().startswith(_BINDING))
                is_it = not is_test(module.name) and origin_of(self.interpreter, module, cls.name) is cls
                if is_it and any(making.search(line) for line in lines):
                    return True
        return False


def entry_of(cls: ClassDefinition) -> str:
    """What a model runs, as `module:Class.forward`."""
    return f"{cls.module.name}:{cls.qualname}.forward"


def _built_of(cls: ClassDefinition, parts: Mapping[ClassDefinition, set[ClassDefinition]]) -> set[str]:
    """The models of its file that a model names, those that they name, and the names of models elsewhere."""
    found, pending = set[ClassDefinition](), [cls]
    while pending:
        for part in parts[pending.pop()] - found:
            found.add(part)
            pending += [part] if part.module is cls.module else []
    return {part.name for part in found}


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


def _named_in(
    interpreter: Interpreter, cls: ClassDefinition, alike: Mapping[str, list[ClassDefinition]]
) -> Iterator[ClassDefinition]:
    """The models that the statement of a class names besides itself, and that whose `forward` it has; those of its
    other bases are among them.
    """
    base = _forward_of(interpreter, cls)
    own = {cls.name} if base is None else {cls.name, base.name}
    text = _BESIDE.sub(" ", cls.module.source_of(cls.segment, is_exact=True))
    text = "\n".join((text, *_tables(cls.module, text)))
    imports = cls.module.index.imports
    for dot, name, bracket in dict.fromkeys(_NAME.findall(text)):
        if name in own or not (name in alike or any(one.member in alike for one in imports.get(name, ()))):
            continue
        meant = None if dot else origin_of(interpreter, cls.module, name)
        if isinstance(meant, ClassDefinition):
            yield from (one for one in alike.get(meant.name, ()) if one is meant)
        elif meant is None and (dot or bracket):  # of a module, or from somewhere that is not seen
            yield from alike.get(name, ())


def _tables(module: Module, text: str) -> Iterator[str]:
    """What the tables of a module are made of that a text picks an item of, to call it: `LAYERS[kind](...)`."""
    for name in dict.fromkeys(_PICKED.findall(text)):
        yield from map(module.source_of, module.index.assignments.get(name, ()))
