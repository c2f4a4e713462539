"""The compact form of a segment in, plain data as JSON has it out, and back.

A node is a list that begins with the number of its kind; positions stand apart, in the order of the nodes, and only
where somebody has asked for one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphlint.static.syntax import ir
from graphlint.static.syntax.ir import Pos

_KINDS: list[Any] = sorted(
    (kind for kind in vars(ir).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)),
    key=lambda kind: kind.__name__,
)
_NUMBERS: dict[Any, int] = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS: dict[Any, tuple[str, ...]] = {
    kind: tuple(one.name for one in dataclasses.fields(kind) if one.name != "mark") for kind in _KINDS
}
_IS_NODE = [issubclass(kind, ir.Node) for kind in _KINDS]


def encode(part: Any) -> Any:
    """A block, or a part of one, as plain data. Raises ValueError for what has no such form."""
    if isinstance(part, tuple):
        if part and isinstance(part[0], int):
            raise ValueError(part)
        return [encode(one) for one in part]
    number = _NUMBERS.get(type(part))
    if number is not None:
        return [number, *(encode(getattr(part, name)) for name in _FIELDS[type(part)])]
    if part is None or isinstance(part, (str, bool, int, float)):
        return part
    if isinstance(part, frozenset):
        return {"set": sorted(part)}
    if isinstance(part, bytes):
        return {"bytes": part.hex()}
    if isinstance(part, complex):
        return {"complex": [part.real, part.imag]}
    if part is ...:
        return {"...": 0}
    raise ValueError(part)


def decode(data: Any, places: ir.Places) -> Any:
    """What was encoded; `places` knows the positions by the number of a node in the block."""
    count = 0

    def value(part: Any) -> Any:
        nonlocal count
        if isinstance(part, list):
            if not part or not isinstance(part[0], int):
                return tuple([value(one) for one in part])
            number, *fields = part
            if not _IS_NODE[number]:
                return _KINDS[number](*[value(one) for one in fields])
            mark = places, count
            count += 1
            return _KINDS[number](mark, *[value(one) for one in fields])
        return _special(part) if isinstance(part, dict) else part

    return value(data)


def _special(data: dict[str, Any]) -> object:
    match data:
        case {"set": names}:
            return frozenset(names)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"complex": [real, imaginary]}:
            return complex(real, imaginary)
        case {"...": _}:
            return ...
    raise ValueError(data)


def nodes_of(part: object) -> Iterator[ir.Node]:
    """The nodes of a block by their numbers."""
    if isinstance(part, tuple):
        for one in part:
            yield from nodes_of(one)
    elif type(part) in _FIELDS:
        if isinstance(part, ir.Node):
            yield part
        for name in _FIELDS[type(part)]:
            yield from nodes_of(getattr(part, name))


class KnownPlaces:
    """The positions of a block that was read back: those that were kept with it, or else of another lowering."""

    def __init__(self, known: Sequence[Sequence[int]] | None, again: Callable[[], ir.Block]) -> None:
        self._known = known
        self._again = again

    @property
    def is_known(self) -> bool:
        """Whether they need not be worked out any more."""
        return self._known is not None

    def __getitem__(self, number: int, /) -> Pos:
        if self._known is None:
            self._known = [node.pos for node in nodes_of(self._again())]
        line, column, end_line, end_column = self._known[number]
        return line, column, end_line, end_column
