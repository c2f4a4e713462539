"""A graph and the call that it was captured from in; times, nodes and memory out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import torch

from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.nodes import flatten

_REPEATS = 5


def measure(
    graph: torch.cuda.CUDAGraph, eager: Callable[[], object], refresh: Callable[[], object], capture: Capture
) -> dict[str, float]:
    """Seconds of an eager step and of a replay with its copies, nodes by kind, and bytes of the pool."""

    def replay() -> None:
        refresh()
        torch._C._CUDAGraph.replay(graph)

    pool = graph.pool()
    memory = sum(one["total_size"] for one in torch.cuda.memory_snapshot() if one.get("segment_pool_id") == tuple(pool))
    return {
        "eager_seconds": seconds(eager),
        "replay_seconds": seconds(replay),
        "pool_bytes": float(memory),
        **nodes(capture),
    }


def nodes(capture: Capture) -> dict[str, float]:
    """How many nodes of each kind the graph has."""
    kinds = Counter(node.kind for node in flatten(capture.nodes))
    return {f"{kind}_nodes": float(count) for kind, count in sorted(kinds.items())}


def seconds(call: Callable[[], object]) -> float:
    """The least of a few times, since everything else that happens only adds to it."""
    return min(_timed(call) for _ in range(_REPEATS))


def _timed(call: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - began
