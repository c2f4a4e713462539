"""Launches of this process are heard of, with their streams, while somebody listens."""

# ruff: noqa: E402 (nothing of this can be imported without torch)
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.device.cuda.cupti import listening
from graphlint.runtime.device.cuda.driver import Driver

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_kernels_copies_and_fills_are_heard_with_their_streams() -> None:
    """On the current stream, on another one, inside a capture; and no more once nobody listens."""
    x, pinned = torch.ones(4096, device="cuda"), torch.ones(4096).pin_memory()
    side, graph, driver = torch.cuda.Stream(), torch.cuda.CUDAGraph(), Driver()
    heard: list[tuple[str, int]] = []
    captures: list[int] = []

    def hear(name: str, stream: int) -> None:
        heard.append((name, stream))
        captures.append(driver.capture(stream)[0])

    with listening(lambda name, stream: hear(name, stream)):
        _ = x + 1
        with torch.cuda.stream(side):
            x.copy_(pinned, non_blocking=True)
            x.zero_()
        with torch.cuda.graph(graph):
            _ = x * 2
    _ = x + 3
    default, capturing = torch.cuda.current_stream().cuda_stream, heard[-1][1]
    kernel = "cuLaunchKernel"
    assert [(kernel, default), ("cuMemcpyHtoDAsync", side.cuda_stream)] == heard[:2]
    assert heard[2][1] == side.cuda_stream and heard[-1][0] == kernel
    assert captures[:3] == [0, 0, 0] and captures[-1] == 1 and capturing not in (default, side.cuda_stream)
    graph.replay()


def test_a_profiler_that_listens_already_is_left_alone() -> None:
    """Then nothing is heard, and the profiler goes on."""
    heard: list[str] = []
    first: list[str] = []
    with listening(lambda name, _stream: first.append(name)), listening(lambda name, _stream: heard.append(name)):
        torch.ones(4, device="cuda").add_(1)
    assert not heard and first
