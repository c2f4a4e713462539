"""One memory that stands for two inputs of a graph: what it is filled with last counts for both.

A run sees it filled twice, and read by the region under two names of one holder. Where no run comes, calls tell it that
make something for graphs, by the names of their parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.rule import BufferShared
from graphlint.static.domain.program import Function, functions_with
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.ledger import Ledger, Listener, Tell, tensors_in
from graphlint.static.life.objects import Capture, Container, Object, Place, Thing, things_in
from graphlint.static.life.record import Write
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in

_GRAPH = "graph"  # in the names of parameters that say whether something is for graphs


@dataclass
class Doubled(Listener):
    """Follows one run."""

    tell: Tell
    filled: dict[Thing, Write] = field(default_factory=dict)  # whole, with data that nothing has read yet
    lost: dict[Thing, Place] = field(default_factory=dict)  # where it was filled with other data instead

    def written(self, write: Write) -> None:
        root = write.target.root
        if root in _sources(write):
            return  # which it has changed
        if not (write.is_sure and write.is_whole and _sources(write)):
            self.filled.pop(root, None)
            return
        before = self.filled.get(root)
        if before is not None and not _sources(before) & _sources(write):
            self.lost[root] = write.place
        self.filled[root] = write

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        self.filled.pop(thing.root, None)

    def replayed(self, capture: Capture, place: Place) -> None:
        for root in capture.reads:
            self.filled.pop(root, None)
            where = self.lost.pop(root, None)
            names = _names_of(root, capture, self.ledger) if where is not None else []
            if where is not None and len(names) > 1:
                self.tell(BufferShared(*names[:2]), where, capture)


def _sources(write: Write) -> set[Thing]:
    """The tensors that a write copies."""
    return {one.root for value in write.values for one in tensors_in(value)}


def _names_of(root: Thing, capture: Capture, ledger: Ledger) -> list[str]:
    """The names by which one object or table has a tensor that a region reads by each, or the places in a list."""
    held: dict[object, list[str]] = {}
    for (owner, name), value in capture.paths.items():
        if isinstance(owner, Thing) and value is root:
            held.setdefault(owner, []).append(name)
    frames = [frame for one in ledger.frames for frame in one.stack()]
    lists = [one for frame in frames for value in (frame.receiver, *frame.bound()) for one in _lists_in(value)]
    placed = [[f"[{n}]" for n, one in enumerate(each.elements) if one is root] for each in lists]
    return max([*held.values(), *placed], key=len, default=[])


def _lists_in(value: Object) -> Iterator[Container]:
    return (one for one in things_in(value) if isinstance(one, Container) and one.kind == "list")


def doubled_buffers(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[tuple[BufferShared, Place, Capture]]:
    """What stands for two buffers in calls that make something for graphs."""
    buffers = interpreter.lexicon.life["buffers"]
    asked = HoldsAny([f"{name}=" for name in buffers])
    for path in files:
        if not interpreter.project.ask(path, asked):
            continue
        for function in functions_with(interpreter.project.module_at(path), buffers):
            for call in filter(_is_for_graphs, calls_in(function.code)):
                for event, node in _doubled(call, function, buffers):
                    place = Place(function, node)
                    yield event, place, Capture.unseen(function.code.name, place)


def _is_for_graphs(call: ir.Call) -> bool:
    """Whether a call is told that it is for graphs, or by something that says so when it runs."""
    told = (one.value for one in call.arguments if one.keyword is not None and _GRAPH in one.keyword)
    return any(not isinstance(one, ir.Literal) or one.value is True for one in told)


def _doubled(call: ir.Call, function: Function, buffers: Set[str]) -> Iterator[tuple[BufferShared, ir.Expr]]:
    """The buffers of a call whose memory has been given to another one before, as it is written."""
    given: dict[str, str] = {}
    for one in call.arguments:
        name = one.keyword or ""
        if name.endswith(tuple(buffers)) and isinstance(one.value, (ir.Attribute, ir.Name, ir.Subscript)):
            before = given.setdefault(function.source(one.value), name)
            if before != name:
                yield BufferShared(before, name), one.value
