"""Kernels of other libraries in a region of torch run on the stream of their library."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import cupy
import numba.cuda
import torch
import warp

scale = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "scale")
{around}
@numba.cuda.jit
def bump(a, out):
    out[0] = a[0] + 1

@warp.kernel
def add(a: warp.array(dtype=float)):
    a[0] = 1.0

def step(x, y):
{body}
    return y + 1

x, y = torch.ones(4, device="cuda"), torch.empty(4, device="cuda")
step(x, y)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = step(x, y)
for _ in range(3):
    x.normal_()
    graph.replay()
"""
STREAM = "torch.cuda.current_stream().cuda_stream"
OUTSIDE = {
    "an object is a kernel": "    scale(cupy.asarray(x), cupy.asarray(y))",
    "a function writes to an array": "    cupy.multiply(cupy.asarray(x), 2, out=cupy.asarray(y))",
    "an operator changes an array": "    shared = cupy.from_dlpack(x)\n    shared *= 2",
    "a function was compiled": "    bump[1, 32](x, y)",
    "a stream of nothing is the default one": "    bump[1, 32, 0](x, y)",
    "a kernel is launched": "    warp.launch(add, dim=4, inputs=[x])",
}
INSIDE = {
    "the stream of torch is current": f"    with cupy.cuda.ExternalStream({STREAM}):\n        scale(x, y)",
    "an operator works there": f"    with cupy.cuda.ExternalStream({STREAM}):\n        z = cupy.asarray(x) * 2",
    "an operator of torch": "    y += x",
    "the launch gets a stream": f"    bump[1, 32, numba.cuda.external_stream({STREAM})](x, y)",
    "a block chooses the stream": "    with warp.ScopedStream(warp.stream_from_torch()):\n        warp.launch(add, 4)",
    "a keyword chooses it": "    warp.launch(add, dim=4, inputs=[x], stream=warp.stream_from_torch())",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_kernel_on_the_stream_of_its_library_is_missing_from_the_graph(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(body=f"{OUTSIDE[name]}  # expect: GL603", around=""))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL603"]


@pytest.mark.parametrize("name", INSIDE)
def test_a_kernel_on_the_stream_that_captures_is_silent(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(body=INSIDE[name], around=""))
    assert all(code != "GL603" for _, _, code in analysis.shown)


def test_a_library_that_was_given_the_stream_for_good_is_silent(tmp_path: Path) -> None:
    around = f"cupy.cuda.ExternalStream({STREAM}).use()"
    analysis = analyse(tmp_path, PROGRAM.format(body=OUTSIDE["an object is a kernel"], around=around))
    assert all(code != "GL603" for _, _, code in analysis.shown)


OWN = "own = cupy.cuda.Stream(non_blocking=True)\n"
ON_OWN = "    with own:\n        scale(cupy.asarray(x), cupy.asarray(y))"
HANDED = OWN + "handed = torch.cuda.ExternalStream(own.ptr)\n"
JOINED = f"    own.wait_event(cupy.cuda.ExternalStream({STREAM}).record())\n"


@pytest.mark.parametrize(
    ("around", "body", "mark"),
    [
        (OWN, ON_OWN, "  # expect: GL603"),
        (OWN, ON_OWN.replace("own:", "cupy.cuda.Stream():"), "  # expect: GL603"),
        (HANDED, ON_OWN, ""),
        (OWN, JOINED + ON_OWN, ""),
    ],
    ids=["its own", "made there", "handed to torch", "joined by an event"],
)
def test_another_stream_of_the_library_is_none_that_captures(tmp_path: Path, around: str, body: str, mark: str) -> None:
    """Unless the capture may be on that one, or has forked to it."""
    analysis = analyse(tmp_path, PROGRAM.format(body=body + mark, around=around))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL603"]


def test_a_stream_of_cupy_captures_by_itself(tmp_path: Path) -> None:
    """Which one is current for PyTorch says nothing of it."""
    text = """
import cupy as cp

def bench_time(n_iters, funcs):
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for i in range(n_iters):
            funcs[i % len(funcs)](stream)
        graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()

bench_time(3, [print])
"""
    assert analyse(tmp_path, text).found == []


LAUNCHED = """
import cupy
import torch

def step(x):
    return x * 2

stream = torch.cuda.Stream()
x = torch.ones(4, device="cuda")
step(x)
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    own = cupy.cuda.ExternalStream(stream.cuda_stream)
    own.begin_capture()
    y = step(x)
    graph = own.end_capture()
{launched}
torch.cuda.synchronize()
print(y.sum().item()){mark}
"""


@pytest.mark.parametrize(
    ("launched", "mark"),
    [("    graph.launch(own)", ""), ("    pass", "  # expect: GL509")],
    ids=["launched", "never launched"],
)
def test_what_a_stream_of_cupy_has_captured_is_there_once_it_is_launched(
    tmp_path: Path, launched: str, mark: str
) -> None:
    analysis = analyse(tmp_path, LAUNCHED.format(launched=launched, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL509"] == analysis.expected
