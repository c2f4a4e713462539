"""torch's allocator in, what lies at an address out; and which words of a graph are addresses."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import torch

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.trace.nodes import Node

ORDINARY_POOL = (0, 0)
ACTIVE, AWAITING_FREE, INACTIVE = "active", "awaiting free", "inactive"
_STATES = {"active_allocated": ACTIVE, "active_awaiting_free": AWAITING_FREE, "active_pending_free": AWAITING_FREE}
_WITHOUT_TRACES = (
    {"include_traces": False} if "include_traces" in signature(torch.cuda.memory_snapshot).parameters else {}
)
_POISON = 0xFF  # NaN in every float type, -1 in every signed integer


class StackFrame(NamedTuple):
    """A line of Python that was running when a block was allocated."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of `size` bytes of torch's allocator.

    `pool` is (0, 0) for the ordinary one. `stream` is the handle of the stream it was allocated for. `frames` are there
    while the block is in use, innermost first, if torch records the history of memory with Python stacks.
    """

    address: int
    size: int
    device: int
    pool: tuple[int, int]
    state: str
    stream: int
    frames: tuple[StackFrame, ...] = ()


class MemorySnapshot:
    """The blocks of all pools and devices at one moment, by address."""

    def __init__(self, segments: Iterable[Mapping[str, Any]]) -> None:
        """`segments` as `torch.cuda.memory_snapshot()` gives them."""
        self._segments = sorted(segments, key=itemgetter("address"))
        self._addresses = [segment["address"] for segment in self._segments]
        self._bounds: dict[int, list[int]] = {}  # of blocks, by segment, worked out when one is asked for

    @classmethod
    def now(cls) -> MemorySnapshot:
        """What the allocator holds now; nothing on the device is waited for, so a capture may ask as well."""
        return cls(torch.cuda.memory_snapshot(**_WITHOUT_TRACES))

    def find(self, address: int) -> Block | None:
        """The block that holds an address; None for memory that is not torch's."""
        place = bisect_right(self._addresses, address) - 1
        if place < 0:
            return None
        position = bisect_right(self._block_bounds(place), address) - 1
        blocks = self._segments[place]["blocks"]
        return self._block(place, position) if position < len(blocks) else None

    def __iter__(self) -> Iterator[Block]:
        for place, segment in enumerate(self._segments):
            for position in range(len(segment["blocks"])):
                yield self._block(place, position)

    def _block_bounds(self, place: int) -> list[int]:
        """Where the blocks of a segment begin, and where the last one ends."""
        if place not in self._bounds:
            segment = self._segments[place]
            sizes = (block["size"] for block in segment["blocks"])
            self._bounds[place] = list(accumulate(sizes, initial=segment["address"]))
        return self._bounds[place]

    def _block(self, place: int, position: int) -> Block:
        segment = self._segments[place]
        block = segment["blocks"][position]
        return Block(
            self._block_bounds(place)[position],
            block["size"],
            segment["device"],
            tuple(segment["segment_pool_id"]),
            _STATES.get(block["state"], INACTIVE),
            segment["stream"],
            tuple(StackFrame(frame["filename"], frame["line"], frame["name"]) for frame in block.get("frames", ())),
        )


def poison(driver: Driver, device: int) -> int:
    """Fill what is free in the ordinary pool of a device with 0xFF; the number of bytes filled.

    Free memory of other pools may hold what a graph keeps, and stays as it is. Work that still runs on the device is
    waited for. No other thread may allocate meanwhile. Raises RuntimeError if the driver refuses.
    """
    with torch.cuda.device(device):
        torch.cuda.synchronize()  # a block may be free already while its last kernel still runs
        filled = 0
        # Of segments that expand, a snapshot has only the stretches that are mapped, so all of this may be written to.
        for block in MemorySnapshot.now():
            if (block.device, block.pool, block.state) == (device, ORDINARY_POOL, INACTIVE):
                address, size = ctypes.c_uint64(block.address), ctypes.c_size_t(block.size)
                if not driver.call("cuMemsetD8_v2", address, ctypes.c_ubyte(_POISON), size):
                    raise RuntimeError(f"the driver does not fill {block.size} free bytes at {block.address:#x}")
                filled += block.size
        torch.cuda.synchronize()
    return filled


def addresses(
    first: tuple[Node, ...], second: tuple[Node, ...], first_memory: MemorySnapshot, second_memory: MemorySnapshot
) -> tuple[Node, ...]:
    """The nodes of `first` with those of their words only that are addresses in memory of torch.

    `second` captured the same work while `first` and its memory were kept alive; each memory is a snapshot from the end
    of its capture. A word that differs is an address if it lies equally far inside a block both times. One that is
    equal is an address if it lies in a block in use both times: memory of both captures. Raises ValueError if the
    captures differ in more than their words.
    """
    if [_shape(node) for node in first] != [_shape(node) for node in second]:
        raise ValueError("the two captures do not have the same nodes")
    return tuple(
        replace(
            one,
            words=tuple(
                word
                for word, twin in zip(one.words, other.words, strict=True)
                if _is_address(word, twin, first_memory, second_memory)
            ),
            children=addresses(one.children, other.children, first_memory, second_memory),
        )
        for one, other in zip(first, second, strict=True)
    )


def _is_address(word: int, twin: int, first_memory: MemorySnapshot, second_memory: MemorySnapshot) -> bool:
    block, other = first_memory.find(word), second_memory.find(twin)
    if block is None or other is None:
        return False
    if word == twin:
        return block.state == other.state == ACTIVE
    return word - block.address == twin - other.address


def _shape(node: Node) -> tuple[str, str, int]:
    return node.kind, node.name, len(node.words)
