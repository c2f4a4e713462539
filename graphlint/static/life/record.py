"""What a ledger keeps of a run: writes, calls of what is outside of the project, loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from graphlint.static.life.objects import Arguments, Object, Place, Thing
from graphlint.static.syntax import ir


class Write(NamedTuple):
    """A write to memory outside of a capture; `is_sure` is false for what an unknown call of `by` may have written."""

    moment: int
    place: Place
    target: Thing
    values: tuple[Object, ...] = ()
    is_sure: bool = True
    by: Object = None

    @property
    def is_whole(self) -> bool:
        return self.target.is_whole

    @property
    def method(self) -> str:
        """The method that writes, if one does."""
        node = self.place.node
        return node.func.attr if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) else ""


@dataclass(slots=True, eq=False)
class Call:
    """A call of what is outside of the project; its name begins with `?` where only the method is known."""

    name: str
    owner: Object
    given: Arguments
    result: Object
    place: Place
    last: str = field(init=False)  # part of the name, which all who listen ask for

    def __post_init__(self) -> None:
        self.last = self.name.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop that runs: where it stands, what its target holds in this round, and when that has begun."""

    place: Place
    value: Object = None
    began: int = 0
