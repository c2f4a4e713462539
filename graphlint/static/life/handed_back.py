"""Files in, autograd functions out that give autograd what a backward graph writes, as it is.

The first gradient of a parameter becomes its `.grad` without a copy where nothing else holds the tensor, and `detach`
makes one that nothing else holds: the next replay writes over the sum so far, and is then added to itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from graphlint.finding import Region
from graphlint.reading.questions import Holds
from graphlint.rule import OutputKept
from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.objects import Capture, Place, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, assignments_to, calls_in, last_name, walk, words_in

_METHOD = "backward"
_RUN = "apply"
_LOOKING = "detach"


def gradients_handed_back(interpreter: Interpreter) -> Iterator[tuple[OutputKept, Place, Capture]]:
    """Where the backward pass of an autograd function replays a graph and returns what that has written."""
    project, life = interpreter.project, interpreter.lexicon.life
    copies = interpreter.lexicon.host_state["copies"]
    for path in project.answering(Holds([f"def {_METHOD}", *sorted(life["replays"])[:1]])):
        for function, name, code in _backwards(project.module_at(path), interpreter):
            if not _replays(code, function.module, life["replays"]) or not _is_given_parameters(interpreter, name):
                continue
            for node in _returned(code):
                if not any(copies.match(word) for word in words_in(node)):
                    place = Place(function, node)
                    region = Region(_METHOD, str(path), function.line_of(code))
                    yield OutputKept("summed", True, False), place, Capture(Thing(), region, place, 0)


def _backwards(module: Module, interpreter: Interpreter) -> Iterator[tuple[Function, str, ir.Code]]:
    """The backward passes of autograd functions, each in the function whose source holds it, with the class's name."""
    kinds, applied = interpreter.lexicon.callables, interpreter.lexicon.applied
    for owner in module.index.classes.values():
        bases = interpreter.classes.external_bases(owner) if _METHOD in owner.methods else ()
        if any(kinds.get(base) == "applied" for base in bases):
            function = function_of(owner.methods[_METHOD][-1], owner)
            if function is not None:
                yield function, owner.name, function.code
    for definition in module.index.all_functions():
        function = function_of(definition) if module.holds(definition.segment, f"def {_METHOD}") else None
        for one in walk(function.code.body) if function is not None else ():
            if isinstance(one, ir.DefineClass) and any(last_name(base) in applied for base in one.bases):
                methods = (part.code for part in one.body if isinstance(part, ir.Define))
                if function is not None:
                    yield from ((function, one.name, code) for code in methods if code.name == _METHOD)


def _replays(code: ir.Code, module: Module, replays: Set[str]) -> bool:
    """Whether a function replays a graph, or calls one of its file that does."""
    for call in calls_in(code):
        called = module.index.functions.get(last_name(call.func) or "", ())[-1:]
        inner = [inner for one in called if one.code is not None for inner in calls_in(one.code)]
        if any(last_name(one.func) in replays for one in (call, *inner)):
            return True
    return False


def _is_given_parameters(interpreter: Interpreter, name: str) -> bool:
    """Whether somebody gives an autograd function parameters, by their names."""
    pieces = interpreter.lexicon.life["parameters"]
    for call, _ in calls_by_name(interpreter.project, _RUN, name):
        if isinstance(call.func, ir.Attribute) and last_name(call.func.value) == name:
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
