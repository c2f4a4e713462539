"""What a graph depends on and what it changes: plain frozen data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

_INSTALLED = {"site-packages", "dist-packages"}  # folders of packages


def tensor_type(dtype: str, shape: Iterable[int]) -> str:
    """The type of tensors of a dtype and a shape, as `float32[4, 8]`."""
    return f"{dtype}{list(shape)}"


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The names; one that was there before has a number."""
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} #{seen[name]}"


@dataclass(frozen=True, slots=True)
class Use:
    """A line that reads or writes a buffer, and the operator that does."""

    path: str
    line: int
    operator: str
    access: str  # `reads`, `writes`, or both


@dataclass(frozen=True, slots=True)
class Refresh:
    """A line that writes a buffer outside of its graph, before so many of the replays; on which stream."""

    path: str
    line: int
    stream: str
    replays: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor by the name that the code has for it, which is empty where no name leads there."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int  # of its memory, in bytes

    @property
    def type(self) -> str:
        return tensor_type(self.dtype, self.shape)


@dataclass(frozen=True, slots=True)
class Buffer(Tensor):
    """Memory outside of the pool of a graph.

    `kind` is `weight` (a parameter), `another graph's` (of the pool of one that is there, its `maker`), `state` (the
    graph writes it), `argument` (of a target, which the caller fills), `input` (something else fills it between
    replays), or `constant` (nothing does). `access` is what the graph does with it. `refreshed` is before how many
    replays somebody wrote it, `none`, `some` or `all`.
    """

    kind: str
    is_host: bool
    access: str
    refreshed: str
    maker: str = ""
    uses: tuple[Use, ...] = ()
    refreshes: tuple[Refresh, ...] = ()


@dataclass(frozen=True, slots=True)
class HostValue:
    """A value of the host that a line read while the graph was captured, which is the same for every replay."""

    name: str
    function: str
    value: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Output(Tensor):
    """A tensor in the pool of a graph that somebody holds when it is replayed, by the name that holds it."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory that torch keeps for a library, and that a line of the graph hands to it: other work gets the same.

    It lies in the pool of another graph, its `maker`; where that is empty, it was taken outside of graphs.
    """

    name: str
    maker: str
    path: str
    line: int
    operator: str

    @property
    def lies(self) -> str:
        """Where, in words."""
        return f"in the pool of {self.maker}" if self.maker else "outside of graphs"


@dataclass(frozen=True, slots=True)
class Contract:
    """What a graph depends on and what it changes; `name` is the function that captures it, with a number.

    `path` and `line` are where its capture begins; it `draws` random numbers from generators of torch; `shares` are the
    graphs before it that take memory from the same pool.
    """

    name: str
    path: str
    line: int
    nodes: int
    replays: int
    buffers: tuple[Buffer, ...] = ()
    values: tuple[HostValue, ...] = ()
    outputs: tuple[Output, ...] = ()
    draws: bool = False
    shares: tuple[str, ...] = ()
    workspaces: tuple[Workspace, ...] = ()

    @property
    def own_values(self) -> list[HostValue]:
        """Those that code of the user reads; which ones its libraries read hangs on what is installed."""
        return [one for one in self.values if not _INSTALLED & {*PurePath(one.path).parts}]
