"""The lines that a region runs in, the objects and containers that it has made itself out: no state of the host.

Each call makes others. What becomes part of state is told where that is written.
"""

from __future__ import annotations

import ast
import builtins
import functools
import weakref
from types import CodeType, FrameType
from typing import NamedTuple

from graphlint.runtime.compare.remembered import weakly
from graphlint.runtime.trace.frames import MISSING, local
from graphlint.runtime.trace.host_values import SCALARS, follow
from graphlint.runtime.trace.places import source_tree

_COPYING = frozenset(["copy", "deepcopy", "replace"])


class Making(NamedTuple):
    """A statement that gives a variable something new, and its lines; `maker` is what it calls for that, if it does."""

    name: str
    lines: range
    maker: tuple[str, ...] = ()


class Births:
    """Objects that a region has made, as far as `runs` was told of its lines; `opening` is the code that opens it."""

    def __init__(self, opening: CodeType | None) -> None:
        self._opening = opening
        self._objects: dict[int, weakref.ref[object]] = {}  # by identity
        self._held: dict[int, object] = {}  # what cannot be referred to weakly, while the region runs
        self._making: dict[FrameType, Making] = {}  # the statements under way

    def runs(self, frame: FrameType, line: int) -> None:
        """A line is about to run."""
        code = frame.f_code
        if code.co_name == "__init__" and code.co_argcount and code is not self._opening:
            self._note(local(frame, code.co_varnames[0]))
        if frame in self._making and line not in self._making[frame].lines:
            self._has_run(frame, self._making.pop(frame))
        if line in (statements := _makings(code.co_filename)):
            self._making[frame] = statements[line]

    def ended(self) -> None:
        """The region has run."""
        self._making.clear()
        self._held.clear()

    def __contains__(self, value: object) -> bool:
        born = self._objects.get(id(value))
        return id(value) in self._held or (born is not None and born() is value)

    def _has_run(self, frame: FrameType, making: Making) -> None:
        value = local(frame, making.name)
        if making.maker and making.maker[-1] not in _COPYING:
            root, *steps = making.maker
            found = local(frame, root)
            if found is MISSING:
                found = frame.f_globals.get(root, getattr(builtins, root, MISSING))
            maker = follow(found, tuple(steps))
            if not (isinstance(maker, type) and type(value) is maker):
                return
        self._note(value)

    def _note(self, value: object) -> None:
        if isinstance(value, SCALARS):
            return
        try:
            self._objects[id(value)] = weakly(value)
        except TypeError:
            self._held[id(value)] = value


@functools.cache
def _makings(path: str) -> dict[int, Making]:
    """Those of a file, by each of their lines."""
    found: dict[int, Making] = {}
    for node in ast.walk(source_tree(path)):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            maker = _maker(node.value)
            if isinstance(target, ast.Name) and maker is not None:
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                found |= dict.fromkeys(lines, Making(target.id, lines, maker))
    return found


def _maker(value: ast.expr | None) -> tuple[str, ...] | None:
    """What is called for a new object; nothing for a display, and None where it is neither."""
    match value:
        case ast.Dict() | ast.List() | ast.Set() | ast.DictComp() | ast.ListComp() | ast.SetComp():
            return ()
        case ast.Call(func=ast.Name(id=name)):
            return (name,)
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            chain = _maker(ast.Call(func=owner, args=[], keywords=[]))
            return (*chain, name) if chain else (name,) if name in _COPYING else None
    return None
