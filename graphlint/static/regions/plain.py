"""Files in, the plain classes out that compute like models: no modules of a package, but built of parts, with weights.

`logits = model(batch)` of a class that derives from nothing runs its `__call__`. What is built of other such classes,
and multiplies matrices somewhere in them, is a model that is written by hand: transforms of pictures are built like
that, too, and have no weights. What no other of these is built of may be captured whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import origin_of, takes_tensors
from graphlint.static.regions.holes import CALLED
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, last_name, walk

_INITIAL = "__init__"
_CALLED = HoldsAny([f"def {name}(" for name in CALLED])


def plain_models(interpreter: Interpreter, files: Sequence[Path], shown: Set[Path]) -> dict[str, int]:
    """What the plain models of files run, as `module:Class.__call__`, each with how many parts it has."""
    project = interpreter.project
    modules = [project.module_at(path) for path in files if path not in shown and project.ask(path, _CALLED)]
    own = [module for module in modules if not is_test(module.name) and project.is_named(module)]
    found = {cls: method for module in own for cls, method in _callable(module)}
    parts = {cls: _parts(interpreter, cls, found) for cls in found}
    inner = {part for held in parts.values() for part in held}
    built = {cls: _below(cls, parts) for cls in found if cls not in inner and parts[cls]}
    return {
        f"{cls.module.name}:{cls.qualname}.{found[cls]}": len(whole) - 1
        for cls, whole in built.items()
        if any(_multiplies(interpreter, one) for one in whole)
        and takes_tensors(interpreter, cls.methods[found[cls]][-1], cls)
    }


def _callable(module: Module) -> Iterator[tuple[ClassDefinition, str]]:
    """The classes that derive from nothing and can be called, each with what that runs."""
    for cls in module.index.classes.values():
        methods = [name for name in reversed(CALLED) if name in cls.methods]
        if methods and _INITIAL in cls.methods and not cls.bases and not cls.name.startswith("_"):
            yield cls, methods[0]


def _parts(
    interpreter: Interpreter, cls: ClassDefinition, known: Collection[ClassDefinition]
) -> frozenset[ClassDefinition]:
    """The classes that a constructor makes objects of."""
    codes = [one.code for one in cls.methods[_INITIAL] if one.code is not None]
    names = {call.func.id for code in codes for call in calls_in(code) if isinstance(call.func, ir.Name)}
    made = (origin_of(interpreter, cls.module, name) for name in sorted(names))
    return frozenset(one for one in made if isinstance(one, ClassDefinition) and one in known and one is not cls)


def _below(cls: ClassDefinition, parts: dict[ClassDefinition, frozenset[ClassDefinition]]) -> Set[ClassDefinition]:
    """A class, and all that it is built of."""
    found, pending = {cls}, [cls]
    while pending:
        new = parts[pending.pop()] - found
        found |= new
        pending += new
    return found


def _multiplies(interpreter: Interpreter, cls: ClassDefinition) -> bool:
    """Whether methods of a class multiply matrices, by the operator or by a function of such a name."""
    products = interpreter.lexicon.life["product"]
    for definition in (one for many in cls.methods.values() for one in many):
        for part in walk(definition.code.body) if definition.code is not None else ():
            if isinstance(part, ir.Binary) and part.operator in products:
                return True
            if isinstance(part, ir.Call) and last_name(part.func) in products:
                return True
    return False
