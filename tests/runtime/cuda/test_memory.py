"""Addresses are looked up in torch's allocator, and free memory is poisoned."""

# ruff: noqa: E402 (nothing of this can be imported without torch)
from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.memory import ORDINARY_POOL, MemorySnapshot, addresses, poison
from graphlint.runtime.trace.nodes import Node

CHECKOUT = Path(__file__).resolve().parents[3]
POOL = (0, 7)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def segment(address: int, *blocks: tuple[int, str], pool: tuple[int, int] = ORDINARY_POOL) -> dict[str, Any]:
    """A segment as a snapshot has it: its blocks by size in bytes and state."""
    frames = [{"filename": "model.py", "line": 3, "name": "build"}]
    return {
        "address": address,
        "device": 0,
        "stream": 5,
        "segment_pool_id": pool,
        "blocks": [{"size": size, "state": state, "frames": frames} for size, state in blocks],
    }


def kernel(*words: int) -> tuple[Node, ...]:
    return (Node(0, 1, "kernel", "k", words),)


def test_an_address_belongs_to_the_block_around_it() -> None:
    """From the first byte to the last; the order of segments does not matter."""
    memory = MemorySnapshot(
        [segment(9000, (512, "inactive")), segment(1000, (512, "active_allocated"), (1024, "inactive"))]
    )
    blocks = [memory.find(address) for address in (999, 1000, 1511, 1512, 2535, 2536, 9000, 9512)]
    assert [None, 1000, 1000, 1512, 1512, None, 9000, None] == [block and block.address for block in blocks]
    assert [512, 1024, 512] == [block.size for block in memory]


def test_a_block_tells_its_pool_its_state_and_its_origin() -> None:
    """What the snapshot says of segment and block is one row."""
    states = ["active_allocated", "active_awaiting_free", "active_pending_free", "inactive"]
    blocks = list(MemorySnapshot([segment(1000, *((512, state) for state in states), pool=POOL)]))
    assert ["active", "awaiting free", "awaiting free", "inactive"] == [block.state for block in blocks]
    assert {(POOL, 0, 5)} == {(block.pool, block.device, block.stream) for block in blocks}
    assert ("model.py", 3, "build") == blocks[0].frames[0]


def test_nothing_is_found_in_empty_memory() -> None:
    """Before the first allocation no address is torch's."""
    assert MemorySnapshot([]).find(1000) is None


def test_a_word_that_moves_with_its_block_is_an_address() -> None:
    """It lies equally far inside a block both times; one that lies elsewhere in it is data."""
    first, second = (
        MemorySnapshot([segment(1000, (512, "inactive"))]),
        MemorySnapshot([segment(5000, (512, "inactive"))]),
    )
    nodes = addresses(kernel(1000, 1040, 1040, 77), kernel(5000, 5040, 5048, 77), first, second)
    assert (1000, 1040) == nodes[0].words


def test_a_word_that_stays_is_an_address_in_memory_of_both_captures() -> None:
    """In a block that is in use both times; what is free by chance at such an address is none."""
    blocks = (512, "active_allocated"), (512, "inactive")
    first, second = MemorySnapshot([segment(1000, *blocks)]), MemorySnapshot([segment(1000, *blocks)])
    assert (1000,) == addresses(kernel(1000, 1600), kernel(1000, 1600), first, second)[0].words


def test_words_of_a_child_graph_are_judged_as_well() -> None:
    """The nodes below a node are compared in the same way."""
    first, second = (
        MemorySnapshot([segment(1000, (512, "inactive"))]),
        MemorySnapshot([segment(5000, (512, "inactive"))]),
    )
    graphs = [(Node(0, 2, "graph", children=kernel(start, 64)),) for start in (1000, 5000)]
    assert (1000,) == addresses(*graphs, first, second)[0].children[0].words


def test_captures_of_different_work_are_refused() -> None:
    """Words can be compared only where the nodes are the same."""
    with pytest.raises(ValueError, match="same nodes"):
        addresses(kernel(1), kernel(1, 2), MemorySnapshot([]), MemorySnapshot([]))


@pytest.fixture
def driver() -> Driver:
    torch.cuda.init()
    return Driver()


@pytest.fixture
def history() -> Iterator[None]:
    """torch records who allocates."""
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
    yield
    torch.cuda.memory._record_memory_history(enabled=None)


def read(driver: Driver, address: int, size: int) -> bytes:
    """The bytes at an address of the device."""
    torch.cuda.synchronize()
    found = (ctypes.c_ubyte * size)()
    assert driver.call("cuMemcpyDtoH_v2", found, ctypes.c_uint64(address), ctypes.c_size_t(size))
    return bytes(found)


@needs_gpu
def test_a_tensor_is_found_and_a_freed_one_is_inactive() -> None:
    """The state of a block follows its tensor."""
    x = torch.ones(1 << 20, device="cuda")
    first, last = x.data_ptr(), x.data_ptr() + x.nbytes - 1
    blocks = [MemorySnapshot.now().find(address) for address in (first, last)]
    assert blocks[0] == blocks[1]
    assert (first, ORDINARY_POOL, "active", 0) == tuple(
        getattr(blocks[0], name) for name in ("address", "pool", "state", "device")
    )
    del x
    freed = MemorySnapshot.now().find(first)
    assert freed is None or "inactive" == freed.state


@needs_gpu
def test_a_tensor_that_another_stream_still_uses_awaits_its_end() -> None:
    """Neither in use nor free."""
    x, side = torch.ones(1 << 20, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        x.record_stream(side)
    address = x.data_ptr()
    del x
    assert "awaiting free" == MemorySnapshot.now().find(address).state
    torch.cuda.synchronize()


@needs_gpu
def test_a_block_of_a_graph_lies_in_its_pool() -> None:
    """The allocator may be asked while a stream captures."""
    graph, x = torch.cuda.CUDAGraph(), torch.ones(100, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
        during = MemorySnapshot.now().find(y.data_ptr())
    assert graph.pool() == during.pool == MemorySnapshot.now().find(y.data_ptr()).pool != ORDINARY_POOL


@needs_gpu
def test_a_block_names_the_line_that_allocated_it(history: None) -> None:
    """Where torch records the history of memory."""
    x = torch.ones(100, device="cuda")
    frames = MemorySnapshot.now().find(x.data_ptr()).frames
    assert (__file__, "test_a_block_names_the_line_that_allocated_it") == (frames[0].path, frames[0].function)


@needs_gpu
def test_poison_fills_free_memory_and_nothing_else(driver: Driver) -> None:
    """What is in use, and what a graph keeps for its replays, stays as it is."""
    alive, freed = torch.ones(1 << 18, device="cuda"), [torch.ones(size, device="cuda") for size in (100, 1 << 18)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inner = alive * 3
        out = inner + 1
    graph.replay()
    places = [(tensor.data_ptr(), tensor.nbytes) for tensor in freed]
    address = inner.data_ptr()
    del freed, inner
    filled = poison(driver, 0)
    assert filled >= sum(size for _, size in places)
    assert all(b"\xff" * size == read(driver, first, size) for first, size in places)
    assert (1 << 18, 4 << 18) == (alive.sum().item(), out.sum().item())
    assert MemorySnapshot.now().find(address).pool == graph.pool()
    assert read(driver, address, 4) == torch.tensor(3.0).numpy(force=True).tobytes()


@needs_gpu
def test_poison_spares_what_is_not_mapped() -> None:
    """Segments that expand have free stretches without memory; the process goes on."""
    program = """
import torch
from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.memory import MemorySnapshot, poison
tensors = [torch.ones(5 << 20, device="cuda") for _ in range(20)]
kept = tensors[::7]
del tensors
torch.cuda.empty_cache()
gone = torch.ones(3 << 20, device="cuda"); del gone
assert any(segment["is_expandable"] for segment in torch.cuda.memory_snapshot())
assert poison(Driver(), 0) > 0
torch.cuda.synchronize()
assert all(tensor.sum().item() == 5 << 20 for tensor in kept)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 0 == done.returncode, done.stderr


@needs_gpu
def test_an_address_lies_on_the_host_on_the_device_or_nowhere(driver: Driver) -> None:
    """CUDA knows pinned memory, and does not know other memory of the host."""
    pinned, device, pageable = torch.ones(9, pin_memory=True), torch.ones(9, device="cuda"), torch.ones(9)
    places = [driver.residence(tensor.data_ptr()) for tensor in (pinned, device, pageable)]
    assert ["host", "device", None] == places


@needs_gpu
def test_what_the_driver_refuses_to_us_is_not_passed_on() -> None:
    """A probe that fails is no refusal of the program's calls."""
    heard: list[str] = []
    torch.cuda.init()
    driver = Driver(heard.append)
    with driver.listening():
        assert driver.residence(torch.ones(9).data_ptr()) is None
    assert [] == heard
