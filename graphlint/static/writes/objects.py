"""Objects that functions of a region are handed, and the state that holds them: another object may stand there later.

A parameter stands for what callers give it, as it does for numbers: which state that is, is worked out last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.sources import Read, State, Taken
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_to
from graphlint.static.writes.states import read_of, states
from graphlint.values import Value

_Holder: TypeAlias = State | Taken


class Objects:
    """Knows which objects are read through parameters, and what those are given."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.handed: dict[Taken, dict[_Holder, None]] = {}  # parameters, and what holds the objects that they are given

    def reads(self, node: ir.Attribute, value: Value, frame: Frame) -> Iterator[Read]:
        """An attribute of an object is another one where that object is replaced."""
        for holder in self._holders(node.value, frame):
            state = State(holder, node.attr) if isinstance(holder, Taken) else holder
            yield replace(read_of(state, node, value, frame), is_through=True)

    def hand(self, argument: ir.Expr, parameter: Taken, frame: Frame) -> None:
        """A function is called: note what holds an object that it reads through a parameter."""
        known = self.handed.get(parameter)
        if known is not None:
            known.update(dict.fromkeys(self._holders(argument, frame)))

    def behind(self, read: Read) -> list[Read]:
        """The reads of state that one of a parameter's object stands for."""
        found: dict[State, Read] = {}
        pending, seen = [read.state.owner], set[object]()
        while pending:
            owner = pending.pop()
            for holder in self.handed.get(owner, ()) if isinstance(owner, Taken) and owner not in seen else ():
                if isinstance(holder, State):
                    found.setdefault(holder, replace(read, state=holder))
                else:
                    pending.append(holder)
            seen.add(owner)
        return list(found.values())

    def _holders(self, node: ir.Expr, frame: Frame) -> Iterator[_Holder]:
        """What holds the object that an expression stands for: state, or a parameter that is not given another one."""
        if not isinstance(node, ir.Name) or node.id not in frame.env:
            if isinstance(node, (ir.Attribute, ir.Name)):
                yield from states(self.evaluator, node, frame)
            return
        given = _given_to(frame.function.code, node.id)
        if isinstance(given, ir.Parameter) and node.id != frame.function.receiver:
            taken = Taken(frame.context, node.id, frame.function)
            self.handed.setdefault(taken, {})
            yield taken
        elif isinstance(given, ir.Attribute):
            yield from states(self.evaluator, given, frame)


@remembered
def _given_to(code: ir.Code, name: str) -> ir.Expr | ir.Parameter | None:
    """The one value that a local name is given, or the parameter that it is."""
    given = [one.value for one in assignments_to(code, name)]
    if not given:
        return next((one for one in code.parameters if one.name == name), None)
    return given[0] if len(given) == 1 else None
