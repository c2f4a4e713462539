"""Files in, the functions out that they hand to a compiler without asking it for graphs: `@torch.compile`.

Who compiles a step has launches to save, and a graph saves more of them: it is what is captured next. What is compiled
is told by the code that does it, so this needs no guess; a model that is compiled whole is a model like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.static.domain.program import owner_of
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import called, segments_with
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import origin_of, takes_tensors
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from graphlint.values import External


def compiled(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """The functions and methods that take tensors and are compiled, by a decorator or by a call."""
    for module in modules:
        said = (*_decorated(interpreter, module), *_handed(interpreter, module), *_met(interpreter, module))
        for definition, owner in dict.fromkeys(said):
            if not is_test(definition.module.name) and takes_tensors(interpreter, definition, owner):
                yield f"{definition.module.name}:{definition.qualname}"


def _decorated(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition | None]]:
    """The functions of a module that a compiler decorates, with arguments or without."""
    names = interpreter.entries.compiling
    for definition in module.index.all_functions() if any(name in module.text for name in names) else ():
        for decorator in definition.code.decorators if definition.code is not None else ():
            call = decorator if isinstance(decorator, ir.Call) else None
            if _compiles(interpreter, decorator if call is None else call.func, module):
                yield definition, owner_of(definition)


def _handed(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition | None]]:
    """The functions that a module hands to a compiler: one that it knows by name, or a method of the same object."""
    for name in interpreter.entries.compiling:
        for around, segment in segments_with(module, name, called):
            for call in walk(tuple(module.lowered(segment))):
                if isinstance(call, ir.Call) and call.arguments and _compiles(interpreter, call.func, module):
                    found = meant_by(interpreter, module, around, call.arguments[0].value)
                    if found is not None:
                        yield found


def _met(interpreter: Interpreter, module: Module) -> Iterator[tuple[Definition, ClassDefinition | None]]:
    """The functions of a module that were handed to a compiler where a search ran: `step = learner.step`."""
    for function in interpreter.capture.compiled:
        owner, name = function.owner, function.code.name
        known = module.index.functions if owner is None else owner.methods
        if function.module is module and not function.is_nested and name in known:
            yield known[name][-1], owner


def meant_by(
    interpreter: Interpreter, module: Module, around: Definition | None, given: ir.Expr | None
) -> tuple[Definition, ClassDefinition | None] | None:
    """The function that an argument names, and its class."""
    match given:
        case ir.Name(id=name):
            found = origin_of(interpreter, module, name)
            return (found, None) if isinstance(found, Definition) else None
        case ir.Attribute(value=ir.Name(id="self"), attr=name):
            cls = owner_of(around) if around is not None else None
            held = interpreter.classes.find(cls, name) if cls is not None else None
            owner = held[0] if held is not None else None
            if isinstance(owner, ClassDefinition) and name in owner.methods:
                return owner.methods[name][-1], owner
    return None


def _compiles(interpreter: Interpreter, callee: ir.Expr, module: Module) -> bool:
    """Whether something that is called, or decorates, compiles what it gets."""
    value = interpreter.static_value(callee, module)
    entry = interpreter.entries.find(value.name) if isinstance(value, External) else None
    return entry is not None and entry.form == "compile"
