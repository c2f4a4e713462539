"""Functions in, calls out that are given one memory for two buffers of a graph: what comes last counts for both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.rule import BufferShared
from graphlint.static.domain.program import Function, functions_with
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.objects import Capture, Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in

_BUFFERS = ("_buf", "_buffer")  # how names of parameters end that take the memory a graph reads
_GRAPH = "graph"  # in the names of parameters that say whether something is for graphs


def doubled_buffers(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[tuple[BufferShared, Place, Capture]]:
    """What stands for two buffers in calls that make something for graphs."""
    asked = HoldsAny([f"{name}=" for name in _BUFFERS])
    for path in files:
        if not interpreter.project.ask(path, asked):
            continue
        for function in functions_with(interpreter.project.module_at(path), _BUFFERS):
            for call in filter(_is_for_graphs, calls_in(function.code)):
                for event, node in _doubled(call, function):
                    place = Place(function, node)
                    yield event, place, Capture.unseen(function.code.name, place)


def _is_for_graphs(call: ir.Call) -> bool:
    """Whether a call is told that it is for graphs, or by something that says so when it runs."""
    told = (one.value for one in call.arguments if one.keyword is not None and _GRAPH in one.keyword)
    return any(not isinstance(one, ir.Literal) or one.value is True for one in told)


def _doubled(call: ir.Call, function: Function) -> Iterator[tuple[BufferShared, ir.Expr]]:
    """The buffers of a call whose memory has been given to another one before, as it is written."""
    given: dict[str, str] = {}
    for one in call.arguments:
        name = one.keyword or ""
        if name.endswith(_BUFFERS) and isinstance(one.value, (ir.Attribute, ir.Name, ir.Subscript)):
            before = given.setdefault(function.source(one.value), name)
            if before != name:
                yield BufferShared(before, name), one.value
