"""A process in which a capture failed in, one that computes, draws random numbers and captures again out."""

from __future__ import annotations

import contextlib

import torch

from graphlint.runtime.device.backend import Backend


def recover(driver: Backend, graph: torch.cuda.CUDAGraph, pool: tuple[int, int], stream: torch.cuda.Stream) -> bool:
    """Clean up behind a failed capture; whether the process is healthy again.

    The order is measured: left alone, the process dies a few operations later or its default generator stays stuck. The
    caller keeps `graph`, to which the allocator may still point, and must have captured into an explicit `pool`.
    """
    torch.cuda.set_stream(torch.cuda.default_stream())
    try:
        graph.pool()  # answers only after a capture that torch has ended properly
    except RuntimeError:
        driver.end_capture(stream.cuda_stream)
        device = torch.cuda.current_device()
        with contextlib.suppress(RuntimeError):
            _end_allocations(device, pool)
        with contextlib.suppress(RuntimeError):
            torch._C._cuda_releasePool(device, pool)
    else:
        with contextlib.suppress(RuntimeError):
            graph.reset()
    return any(is_healthy(stream) for _ in range(2))  # the generator may need a second capture


def is_healthy(stream: torch.cuda.Stream) -> bool:
    """Whether a capture works, random numbers are drawn after it, and the device answers."""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=torch.cuda.graph_pool_handle(), stream=stream):
            torch.zeros(1, device="cuda")
        torch.rand(1, device="cuda")  # refused, if the default generator still believes in a capture
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def _end_allocations(device: int, pool: tuple[int, int]) -> None:
    if hasattr(torch._C, "_cuda_endAllocateToPool"):
        torch._C._cuda_endAllocateToPool(device, pool)
    else:  # before torch 2.8
        torch._C._cuda_endAllocateCurrentStreamToPool(device, pool)
