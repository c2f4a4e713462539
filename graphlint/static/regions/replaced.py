"""Files in, the functions of theirs out that others run in the place of their own.

What derives from classes of another package is such a thing, whether it has a pass of its own or what a pass of a base
calls. What the program makes of these it runs itself, unless it hands them out: where a method of such a class gives
back a new object, as `get_quant_method` does, the other package has asked for one. And a function takes the place of
the `forward` of single objects, where it is bound to one and kept there: `layer.forward = MethodType(run, layer)`. So
does a method of a model that has no `forward` but what its constructor makes one, and a hook that gives something back
takes the place of what a layer gives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from graphlint.rulebook.lexicon import package_of
from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.program import inner_definition
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import WORD, called, segments_with
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.compiled import meant_by
from graphlint.static.regions.drivers import is_driver
from graphlint.static.regions.exports import is_called, origin_of, takes_tensors
from graphlint.static.regions.inherited import inherited_passes
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    assignments_in,
    assignments_to,
    calls_in,
    is_one_of,
    last_name,
    names_in,
    walk,
)

PASSES = frozenset({"apply", "forward"})  # what the methods begin with that run what an object is for
_PUT_IN = re.compile(r"^[ \t]*([A-Za-z_]\w*)(?:\.\w+)*\.\w+ = (\w+)[ \t]*$", re.MULTILINE)
_SWITCHED_ON = re.compile(r"\b(\w+)[ \t]*=[ \t]*True\b")
_BOUND = r"(?:(?:types\.)?MethodType|(?:functools\.)?partial)\(\s*(\w+)\s*,|(\w+)\.__get__\("
_CHOSEN = re.compile(r"\bself\.forward[ \t]*=[ \t]*self\.(\w+)[ \t]*$", re.MULTILINE)
_PUT_ON = re.compile(rf"\.forward = (?:{_BOUND})")
_IMPORT = r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b[^\n]*\b{0}\b|import[ \t]+([\w.]+)[ \t]+as[ \t]+{0}\b)"


def replacing(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """What is put into a module or class of another package, and the passes of what derives from its classes.

    Modules of torch are models, and no part of this; what is made here is run by what makes it, and what takes
    no tensors is run in front of captures.
    """
    for module in modules:
        for definition, owner, qualname in (*_put_in(interpreter, module), *_of_kinds(interpreter, module)):
            if takes_tensors(interpreter, definition, owner):
                yield f"{module.name}:{qualname}"
        for definition in _put_on(interpreter, module):
            if takes_tensors(interpreter, definition, None):
                yield f"{definition.module.name}:{definition.qualname}"
        yield from _chosen(interpreter, module)
        for definition, _ in _hooks(interpreter, module):
            yield f"{definition.module.name}:{definition.qualname}"


def _put_in(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, None, str]]:
    """The functions of a module that another package has from it, as `attention.forward = own_forward` says, and those
    that functions make to put them there.

    A script that asks for no graphs itself puts nothing into captures.
    """
    if any(map(interpreter.lexicon.phases["eager"].match, _SWITCHED_ON.findall(module.text))):
        return
    for root, name in dict.fromkeys(_PUT_IN.findall(module.text)):
        if not _is_elsewhere(interpreter, module, root):
            continue
        if name in module.index.functions:
            yield module.index.functions[name][-1], None, name
        for definition in _made_for(module, root, name):
            yield definition, None, definition.qualname


def _made_for(module: Module, root: str, name: str) -> Iterator[Definition]:
    """The functions of a name that others make, and put into what a name stands for."""
    for around in module.index.all_functions():
        inner = inner_definition(around, name) if module.holds(around.segment, f" = {name}") else None
        if inner is not None and around.code is not None:
            put = (one.targets for one in assignments_in(around.code) if is_one_of(one.value, {name}))
            if any(isinstance(target, ir.Attribute) and root in names_in(target) for many in put for target in many):
                yield inner


def _put_on(interpreter: Interpreter, module: Module) -> Iterator[Definition]:
    """The functions that a module binds to objects as what they run, or that what it binds hands on to at once."""
    for name in dict.fromkeys("".join(names) for names in _PUT_ON.findall(module.text)):
        found = origin_of(interpreter, module, name) or next(_behind(interpreter, module, name), None)
        if isinstance(found, Definition) and not is_test(found.module.name):
            yield found


def _behind(interpreter: Interpreter, module: Module, name: str) -> Iterator[Definition | ClassDefinition]:
    """The functions that inner functions of a name call: nobody can name these themselves."""
    for part in walk(tuple(one.code for one in module.index.all_functions() if one.code is not None)):
        if isinstance(part, ir.Define) and part.code.name == name:
            for called in dict.fromkeys(call.func.id for call in calls_in(part.code) if isinstance(call.func, ir.Name)):
                found = origin_of(interpreter, module, called)
                yield from () if found is None else (found,)


def _chosen(interpreter: Interpreter, module: Module) -> Iterator[str]:
    """The methods of which models make their `forward`, where nothing here makes such a model."""
    for cls in module.index.classes.values() if _CHOSEN.search(module.text) else ():
        names = dict.fromkeys(_CHOSEN.findall(module.source_of(cls.segment)))
        if not names or "forward" in cls.methods or not interpreter.classes.is_model(cls):
            continue
        if not is_called(interpreter, cls.name) and not interpreter.classes.subclasses(cls):
            for name in names:
                found = interpreter.classes.find(cls, name)
                owner = found[0] if found is not None else None
                if isinstance(owner, ClassDefinition) and not is_driver(interpreter, owner.methods[name][-1], owner):
                    yield f"{module.name}:{cls.qualname}.{name}"


def _hooks(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition | None]]:
    """What a module hooks to layers, where that gives something back: others than that only look on."""
    registering = [name for name, does in interpreter.lexicon.methods.items() if does in ("hooks", "pre_hooks")]
    for name in registering:
        for around, segment in segments_with(module, name, called):
            for call in walk(tuple(module.lowered(segment))):
                if isinstance(call, ir.Call) and last_name(call.func) == name and call.arguments:
                    found = meant_by(interpreter, module, around, call.arguments[0].value)
                    if found is not None and found[0].code is not None and _gives_back(found[0].code):
                        yield found


def _gives_back(code: ir.Code) -> bool:
    """Whether a function gives something back."""
    given = (part.value for part in walk(code.body) if isinstance(part, ir.Return))
    return any(one is not None and not (isinstance(one, ir.Literal) and one.value is None) for one in given)


def _of_kinds(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition, str]]:
    """What another package runs of classes that derive from its own, and that it makes by itself."""
    for cls in module.index.classes.values():
        if cls.bases and cls.methods and _is_kind_of_another(interpreter, cls):
            passes = {name: cls for name in cls.methods if _is_pass(name)}
            passes |= dict(inherited_passes(interpreter, cls, _is_pass))
            for name, owner in passes.items() if passes and not _is_kept(interpreter, cls) else ():
                if name in PASSES or not is_called(interpreter, name):
                    yield owner.methods[name][-1], owner, f"{cls.qualname}.{name}"


def _is_pass(name: str) -> bool:
    return not PASSES.isdisjoint(WORD.findall(name)[:1])


def _is_kept(interpreter: Interpreter, cls: ClassDefinition) -> bool:
    """Whether the program makes objects of a class for itself."""
    if not is_called(interpreter, cls.name):
        return False
    makers = [pair for pair in calls_by_name(interpreter.project, cls.name) if not is_test(pair[1].module.name)]
    return not makers or not all(
        maker.owner is not None and _is_kind_of_another(interpreter, maker.owner) and _gives(maker.code, call)
        for call, maker in makers
    )


def _gives(code: ir.Code, call: ir.Call) -> bool:
    """Whether a function gives back what a call makes, at once or by a name."""
    for part in walk(code.body):
        match part:
            case ir.Return(value=given) if any(one is call for one in walk(given)):
                return True
            case ir.Return(value=ir.Name(id=name)):
                if any(one.value is call for one in assignments_to(code, name)):
                    return True
    return False


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
