"""Captures that are begun by hand, and what an exception leaves of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
from cuda.bindings import runtime as cudart

def check(result, text):
    if isinstance(result, tuple):
        result = result[0]
    if result != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(text)

def rows_of(x):
    if x.shape[0] > 4:
        raise ValueError("too large")
    return x

def capture(stream, kernel, x):
    {begin}
    {inside}
    kernel(x)
    error, graph = cudart.cudaStreamEndCapture(stream)
    return graph
"""
BEGINS = {
    "its result is checked": "check(cudart.cudaStreamBeginCapture(stream, 0), 'begin')",
    "its result has a name": "error = cudart.cudaStreamBeginCapture(stream, 0)\n    check(error, 'begin')",
    "its result is unpacked": "(error,) = cudart.cudaStreamBeginCapture(stream, 0)\n    check(error, 'begin')",
}


@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
@pytest.mark.parametrize("inside", ["pass", "rows_of(x)  # expect: GL606"])
def test_a_capture_that_did_not_begin_is_not_left_open(tmp_path: Path, begin: str, inside: str) -> None:
    """What checks the result of beginning raises where there is no capture; what comes later leaves one."""
    analysis = analyse(tmp_path, PROGRAM.format(begin=begin, inside=inside))
    assert analysis.expected == analysis.shown
