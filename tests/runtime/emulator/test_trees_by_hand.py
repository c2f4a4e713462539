"""Torch's trees of CUDA graphs without its compiler: what they capture for themselves, and what a program does."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from programs import verified  # noqa: E402

from graphlint.runtime.device.emulator import library  # noqa: E402

TREES = """
from torch._inductor.cudagraph_trees import cudagraphify_impl

def step(given):
    (one,) = given
    given.clear()
    return (one * 2,)

run = cudagraphify_impl(step, [x], {static}, device_index=0, is_backward=False, is_inference=True)
for number in range(4):
    (y,) = run([{given}])
    assert y.tolist() == [2.0 * ({value})] * 4
    del y
{then}
"""
EMPTY = """
with torch.cuda.graph(graph):
    pass
"""


@pytest.mark.skipif(not library.COMPILES, reason="this release of torch cannot be followed")
@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (TREES.format(static="()", given="torch.full_like(x, number)", value="number", then=""), set()),
        (TREES.format(static="(0,)", given="x", value="1", then=""), set()),
        (TREES.format(static="()", given="x", value="1", then=EMPTY), {"GL901"}),
    ],
)
def test_trees_are_known_without_the_compiler(tmp_path: Path, program: str, codes: set[str]) -> None:
    """The capture of nothing that keeps their pool is theirs, one of the program is told."""
    found, report = verified(tmp_path, program)
    assert codes == found
    assert {"compiled": 1, "graphed": 1}.items() <= report.targets[0].measured.items()
