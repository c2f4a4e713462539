"""Files that capture in, autograd functions out that give autograd what a backward graph writes, as it is.

The first gradient of a parameter becomes its `.grad` without a copy where nothing else holds the tensor, and `detach`
makes one that nothing else holds: the next replay writes over the sum so far, and is then added to itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from graphlint.finding import Region
from graphlint.reading.questions import Holds
from graphlint.rule import OutputKept
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.objects import Capture, Place, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, assignments_to, calls_in, last_name, walk, words_in

_METHOD = "backward"
_RUN = "apply"
_LOOKING = "detach"


def gradients_handed_back(
    interpreter: Interpreter, files: Iterable[Path]
) -> Iterator[tuple[OutputKept, Place, Capture]]:
    """Where the backward pass of an autograd function replays a graph and returns what that has written."""
    life = interpreter.lexicon.life
    copies = interpreter.lexicon.host_state["copies"]
    for path in files:
        if interpreter.project.ask(path, Holds([f"def {_METHOD}(", f".{_RUN}(", *sorted(life["replays"])[:1]])):
            module = interpreter.project.module_at(path)
            for function, name, code in _backwards(module, interpreter.lexicon.applied):
                is_replaying = any(last_name(call.func) in life["replays"] for call in calls_in(code))
                if not is_replaying or not _is_given_parameters(module, name, life["parameters"]):
                    continue
                for node in _returned(code):
                    if not any(copies.match(word) for word in words_in(node)):
                        place = Place(function, node)
                        region = Region(_METHOD, str(path), function.line_of(code))
                        yield OutputKept("summed", True, False), place, Capture(Thing(), region, place, 0)


def _backwards(module: Module, applied: Set[str]) -> Iterator[tuple[Function, str, ir.Code]]:
    """The backward passes of autograd functions, each in the function whose source holds it, with the class's name."""
    for owner in module.index.classes.values():
        if any(base.rpartition(".")[2] in applied for base in owner.bases) and _METHOD in owner.methods:
            function = function_of(owner.methods[_METHOD][-1], owner)
            if function is not None:
                yield function, owner.name, function.code
    for definition in module.index.all_functions():
        function = function_of(definition) if module.holds(definition.segment, f"def {_METHOD}(") else None
        for one in walk(function.code.body) if function is not None else ():
            if isinstance(one, ir.DefineClass) and any(last_name(base) in applied for base in one.bases):
                methods = (part.code for part in one.body if isinstance(part, ir.Define))
                if function is not None:
                    yield from ((function, one.name, code) for code in methods if code.name == _METHOD)


def _is_given_parameters(module: Module, name: str, pieces: Set[str]) -> bool:
    """Whether somebody in the file gives an autograd function parameters, by their names."""
    for definition in module.index.all_functions():
        code = definition.code if module.holds(definition.segment, f"{name}.{_RUN}") else None
        for call in calls_in(code) if code is not None else ():
            match call.func:
                case ir.Attribute(value=owner, attr="apply") if last_name(owner) == name:
                    words = words_in(tuple(one.value for one in call.arguments))
                    if any(piece in word for word in words for piece in pieces):
                        return True
    return False


def _returned(code: ir.Code) -> Iterator[ir.Expr]:
    """What goes through tensors that were there before and returns a look at each: `(g.detach() for g in grads)`."""
    values = [one.value for one in walk(code.body) if isinstance(one, ir.Return) and one.value is not None]
    names = {part.id for value in values for part in walk(value) if isinstance(part, ir.Name)}
    values += [one.value for name in sorted(names) for one in assignments_to(code, name) if one.value is not None]
    own = {name for one in assignments_in(code) for target in one.targets for name in words_in(target)}
    for value in values:
        for part in walk(value):
            match part:
                case ir.Comprehension(element=element, clauses=[(ir.Name(id=name), iterable, _)]):
                    is_looked_at = any(
                        isinstance(call, ir.Call) and last_name(call.func) == _LOOKING for call in walk(element)
                    )
                    is_kept = isinstance(iterable, (ir.Name, ir.Attribute)) and last_name(iterable) not in own
                    if is_looked_at and is_kept and name in words_in(element):
                        yield part
