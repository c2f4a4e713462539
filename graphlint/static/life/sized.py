"""Files in, compiled callables out that are to replay graphs and whose sizes the file says will vary.

Torch records a graph for each size that comes, and keeps them all: whoever marks an extent expects more than a few. A
setting of the project may keep it from that. `soft` sees what a run marks; here it is asked how it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from graphlint.reading.questions import Holds, HoldsAny
from graphlint.rule import GraphCollected
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.objects import Capture, Place
from graphlint.static.life.soft import asks_for_graphs
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import called_name, calls_in, last_name, walk


def sized_graphs(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[tuple[GraphCollected, Place, Capture]]:
    """What is compiled to replay graphs, and called with what was marked before, by a function for that, perhaps."""
    marks = interpreter.lexicon.life["varying"]
    spelt = "|".join(rf"{mark}(?<!\w{mark})" for mark in sorted(marks))  # begins with plain text
    marking = HoldsAny(sorted(marks), rf"(?:{spelt})\s*(?:\(|=\s*True\b)")
    asked = (Holds(["compile"]), marking)
    for path in files:
        if not all(interpreter.project.ask(path, one) for one in asked) or skips_sizes(interpreter):
            continue
        module = interpreter.project.module_at(path)
        made = (function_of(one) for one in module.index.all_functions())
        functions = [one for one in made if one is not None]
        helpers = {one.code.name for one in functions if _marked_in(one.code, marks) & _parameters(one.code)}
        called = {name for one in functions for name in _called_with(one.code, _marked_in(one.code, marks | helpers))}
        for kind, name, place in _compiled(interpreter, module, functions):
            if name in called or _varies(place.node, marks):
                yield GraphCollected(True, True, by_size=True), place, Capture.unseen(kind, place)


@remembered_in_run
def skips_sizes(interpreter: Interpreter) -> bool:
    """Whether the project has a setting for graphs of varying sizes."""
    return bool(interpreter.project.answering(HoldsAny(sorted(interpreter.lexicon.life["skipping"]))))


def _varies(node: ir.Node, marks: Set[str]) -> bool:
    """Whether what compiles is told that sizes vary."""
    given = node.arguments if isinstance(node, ir.Call) else ()
    return any(one.keyword in marks and isinstance(one.value, ir.Literal) and one.value.value is True for one in given)


def _parameters(code: ir.Code) -> set[str]:
    return {one.name for one in code.parameters}


def _marked_in(code: ir.Code, marking: Set[str]) -> set[str]:
    """The names that a function gives to what marks, as the first argument."""
    given = (call.arguments[0].value for call in calls_in(code) if called_name(call) in marking and call.arguments)
    return {one.id for one in given if isinstance(one, ir.Name)}


def _called_with(code: ir.Code, names: set[str]) -> Iterator[str | None]:
    """The names of what a function calls with one of some variables."""
    for call in calls_in(code) if names else ():
        if any(isinstance(one.value, ir.Name) and one.value.id in names for one in call.arguments):
            yield called_name(call)


def _compiled(
    interpreter: Interpreter, module: Module, functions: Sequence[Function]
) -> Iterator[tuple[str, str, Place]]:
    """The names of what is compiled to replay graphs, by what, and the call that does so."""
    statements = [(one, module.lowered(one)) for one in module.index.statements]
    blocks = [(Function(MODULE_CODE, module, "<module>", one.first), block) for one, block in statements]
    for function, block in [*blocks, *((one, one.code.body) for one in functions)]:
        for part in walk(block):
            made = part.value if isinstance(part, ir.Assign) else None
            kind = _graphed_by(interpreter, module, made) if made is not None else None
            if isinstance(part, ir.Assign) and made is not None and kind is not None:
                names = (last_name(target) for target in part.targets)
                yield from ((kind, name, Place(function, made)) for name in names if name is not None)
    for function in functions:
        for node in function.code.decorators:
            if (kind := _graphed_by(interpreter, module, node)) is not None:
                yield kind, function.code.name, Place(function, node)


def _graphed_by(interpreter: Interpreter, module: Module, node: ir.Expr) -> str | None:
    """What compiles something that is called with options for graphs, or gives what does; None if nothing is."""
    if not isinstance(node, ir.Call):
        return None
    entry = interpreter.entries.find(interpreter.names.qualified_name(node.func, module))
    given = ((one.keyword, one.value) for one in node.arguments)
    options = {keyword: value.value for keyword, value in given if keyword and isinstance(value, ir.Literal)}
    is_asked = entry is not None and entry.form == "compile" and asks_for_graphs(entry, options)
    return entry.kind if entry is not None and is_asked else None
