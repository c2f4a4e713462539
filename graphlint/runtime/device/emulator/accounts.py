"""What lies on an emulated device in, what its allocator would tell of that out.

Blocks are known as they are now. What was used for a while and given back is not, so peaks are those that were asked
for, and a segment is no larger than what lies in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.residence import Residence

Pool = tuple[int, int]

_OF_PROGRAM: Pool = (0, 0)
_UNIT = 512  # bytes, of which blocks are multiples
_SMALL, _LARGE = 1 << 20, 10 << 20  # bytes: blocks up to the first share segments of one size, up to the second another
_SEGMENTS = {_SMALL: 2 << 20, _LARGE: 20 << 20}
_POOLS = ("all", "small_pool", "large_pool")
_STATE_OF_GENERATOR = 2  # blocks that graphs share which draw from it


@dataclass(frozen=True, slots=True)
class Block:
    """Memory at an address; it is in use if somebody beside the graph that made it holds it."""

    address: int
    requested: int
    pool: Pool = _OF_PROGRAM
    stream: int = 0
    is_used: bool = True

    @property
    def size(self) -> int:
        return _rounded(self.requested, _UNIT)


class Accounts:
    """Counts what lies on the device; `is_held` says whether somebody beside graphs holds a storage."""

    def __init__(self, residence: Residence, is_held: Callable[[Any], bool]) -> None:
        self.residence = residence
        self._is_held = is_held
        self._peaks: dict[tuple[str, str], int] = {}

    def functions(self) -> dict[str, Any]:
        """What the half of torch that is written in C++ has to ask for it."""
        return {
            "_cuda_memoryStats": lambda _device: self.statistics(),
            "_cuda_memorySnapshot": lambda pool=None, *_: {"segments": self.segments(pool), "device_traces": []},
            "_cuda_resetPeakMemoryStats": lambda _device=None: self._peaks.clear(),
            "_accelerator_getDeviceStats": lambda _device: self.statistics(),
            "_accelerator_resetPeakStats": lambda _device=None: self._peaks.clear(),
        }

    def segments(self, pool: Any = None) -> list[dict[str, Any]]:
        """Each block as a segment of its own, of one pool if that is named."""
        wanted = None if pool is None or not any(pool[:2]) else tuple(pool[:2])
        return [_segment(block) for block in self._blocks() if wanted in (None, block.pool)]

    def statistics(self) -> dict[str, Any]:
        blocks = [*self._blocks(), *self._states()]
        found: dict[str, Any] = {"num_alloc_retries": 0, "num_ooms": 0, "num_device_alloc": 0, "num_device_free": 0}
        found |= {name: self._told(name, {}) for name in ("oversize_allocations", "oversize_segments")}
        for name, count in _counts().items():
            of_pool = {"small_pool": [one for one in blocks if one.size <= _SMALL]}
            of_pool["large_pool"] = [one for one in blocks if one.size > _SMALL]
            numbers = {pool: count(chosen) for pool, chosen in of_pool.items()}
            found[name] = self._told(name, {"all": sum(numbers.values()), **numbers})
        return found

    def _told(self, name: str, numbers: dict[str, int]) -> dict[str, Any]:
        """A number, and the highest that was told of it."""
        told = {}
        for pool in _POOLS:
            now = numbers.get(pool, 0)
            peak = self._peaks[name, pool] = max(now, self._peaks.get((name, pool), 0))
            told[pool] = {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
        return told if numbers else told["all"]

    def _blocks(self) -> Iterator[Block]:
        graphs = {key: one for one in Recording.living for key in one.kept}
        for storage in self.residence.of_device():
            graph = graphs.get(storage._cdata)
            if graph is not None:
                yield Block(storage.data_ptr(), storage.nbytes(), graph.pool, graph.stream, self._is_held(storage))
            elif storage._cdata not in Recording.owners:
                yield Block(storage.data_ptr(), storage.nbytes())

    def _states(self) -> Iterator[Block]:
        """Of the generators that graphs draw from."""
        sources = {key for one in Recording.living for key in one.generators}
        for _ in range(_STATE_OF_GENERATOR * len(sources)):
            yield Block(0, _UNIT)


def _counts() -> dict[str, Callable[[list[Block]], int]]:
    """How each number comes from the blocks of one size."""
    return {
        "allocation": lambda blocks: sum(one.is_used for one in blocks),
        "active": lambda blocks: sum(one.is_used for one in blocks),
        "inactive_split": lambda blocks: sum(not one.is_used for one in blocks),
        "segment": lambda blocks: len(list(_sizes(blocks))),
        "allocated_bytes": lambda blocks: sum(one.size for one in blocks if one.is_used),
        "active_bytes": lambda blocks: sum(one.size for one in blocks if one.is_used),
        "requested_bytes": lambda blocks: sum(one.requested for one in blocks if one.is_used),
        "inactive_split_bytes": lambda blocks: sum(one.size for one in blocks if not one.is_used),
        "reserved_bytes": lambda blocks: sum(_sizes(blocks)),
    }


def _sizes(blocks: Iterable[Block]) -> Iterator[int]:
    """Of the segments in which blocks lie: smaller ones share some of a fixed size, each pool its own."""
    shared: dict[tuple[Pool, int], int] = {}
    for block in blocks:
        limit = next((one for one in _SEGMENTS if block.size <= one), 0)
        if limit:
            shared[block.pool, _SEGMENTS[limit]] = shared.get((block.pool, _SEGMENTS[limit]), 0) + block.size
        else:
            yield _rounded(block.size, _SEGMENTS[_SMALL])
    for (_, size), used in shared.items():
        yield from [size] * (_rounded(used, size) // size)


def _segment(block: Block) -> dict[str, Any]:
    state = "active_allocated" if block.is_used else "inactive"
    known = {"address": block.address, "requested_size": block.requested, "frames": []}
    return known | {
        "device": 0,
        "stream": block.stream,
        "segment_type": "small" if block.size <= _SMALL else "large",
        "segment_pool_id": block.pool,
        "is_expandable": False,
        "total_size": block.size,
        "allocated_size": block.size * block.is_used,
        "active_size": block.size * block.is_used,
        "blocks": [known | {"size": block.size, "state": state}],
    }


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
