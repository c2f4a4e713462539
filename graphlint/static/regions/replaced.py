"""Files in, the functions of theirs out that another package runs in the place of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from graphlint.rulebook.lexicon import package_of
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import WORD
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import is_called, takes_tensors

PASSES = frozenset({"apply", "forward"})  # what the methods begin with that run what an object is for
_PUT_IN = re.compile(r"^[ \t]*([A-Za-z_]\w*)(?:\.\w+)*\.\w+ = (\w+)[ \t]*$", re.MULTILINE)
_IMPORT = r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b[^\n]*\b{0}\b|import[ \t]+([\w.]+)[ \t]+as[ \t]+{0}\b)"


def replacing(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """What is put into a module or class of another package, and the passes of what derives from its classes.

    Modules of torch are models, and no part of this; what is made here is run by what makes it, and what takes
    no tensors is run in front of captures.
    """
    for module in modules:
        for definition, owner in (*_put_in(interpreter, module), *_of_kinds(interpreter, module)):
            if takes_tensors(interpreter, definition, owner):
                yield f"{module.name}:{definition.qualname}"


def _put_in(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, None]]:
    """The functions of a module that another package has from it, as `attention.forward = own_forward` says."""
    for root, name in dict.fromkeys(_PUT_IN.findall(module.text)):
        if name in module.index.functions and _is_elsewhere(interpreter, module, root):
            yield module.index.functions[name][-1], None


def _of_kinds(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition]]:
    """What another package runs of classes that derive from its own, and that it makes by itself."""
    for cls in module.index.classes.values():
        passes = [name for name in cls.methods if PASSES.intersection(WORD.findall(name)[:1])]
        if passes and _is_kind_of_another(interpreter, cls) and not is_called(interpreter, cls.name):
            run = (name for name in passes if name in PASSES or not is_called(interpreter, name))
            yield from ((cls.methods[name][-1], cls) for name in run)


def _is_kind_of_another(interpreter: Interpreter, cls: ClassDefinition) -> bool:
    """Whether a class derives from one of another package, and is no model."""
    bases = interpreter.classes.external_bases(cls)
    return any(_is_foreign(interpreter, base) for base in bases) and not interpreter.classes.is_model(cls)


def _is_elsewhere(interpreter: Interpreter, module: Module, root: str) -> bool:
    """Whether a name is imported from another package, at the top of a file or in a function."""
    sources = {one.module for one in module.index.imports.get(root, ())}
    sources |= {one or other for one, other in re.findall(_IMPORT.format(root), module.text, re.MULTILINE)}
    return any(_is_foreign(interpreter, source) for source in sources)


def _is_foreign(interpreter: Interpreter, name: str) -> bool:
    """Whether a name is one of a package that is neither here nor known."""
    package = package_of(name)
    known = {"", "builtins", *interpreter.lexicon.libraries["catalogued"], *sys.stdlib_module_names}
    return package not in known and interpreter.project.module(package) is None
