"""What a warm-up keeps in the object of a request, for which the capture has the same object."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
# file: serve/__init__.py
# file: viewer/__init__.py
# file: serve/runner.py
import copy
import torch

class Runner:
    def __init__(self):
        self.graphs = {{}}

    def capture(self, decode, ids: torch.Tensor, state):
        size = ids.shape[0]
        {warm}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = decode(ids, state)
        self.graphs[size] = graph, ids, state, out
        graph.replay()
        return out

    def replay(self, ids: torch.Tensor, state):
        graph, static_ids, static_state, out = self.graphs[ids.shape[0]]
        static_ids.copy_(ids)
        static_state.copy_from(state)
        graph.replay()
        return out

# file: {home}/kernels.py
import torch

def attend(x, {given}):
    {memo}
    return x + {given}.blocks.sum()
"""
GUARDED = """if not hasattr(state, "blocks"):
        state.blocks = torch.cumsum(state.lengths, 0)"""
SPELT = """if getattr(state, "blocks", None) is None:
        lengths = state.lengths
        state.blocks, state.total = torch.cumsum(lengths, 0), lengths.sum()"""
IN_TURN = """if getattr(state, "blocks", None) is None:
        starts = torch.empty_like(state.lengths)
        torch.cumsum(state.lengths, 0, out=starts)
        state.blocks = starts"""


@pytest.mark.parametrize("memo", [GUARDED, IN_TURN, SPELT], ids=["hasattr", "getattr", "with another"])
def test_what_kernels_keep_in_the_object_of_a_warm_up_is_told(tmp_path: Path, memo: str) -> None:
    """It is told where the warm-up is given the object."""
    program = RUNNER.format(warm="decode(ids, state)  # expect: GL402", given="state", memo=memo, home="serve")
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected
    assert "`state` keep `blocks`, which kernels.py:" in analysis.report.findings[0].message


@pytest.mark.parametrize(
    ("warm", "given", "memo"),
    [
        ("decode(ids, copy.copy(state))", "state", GUARDED),
        ("pass", "state", GUARDED),
        ("decode(ids, state)", "state", "state.blocks = torch.cumsum(state.lengths, 0)"),
        ("decode(ids, state)", "state", 'if not hasattr(state, "blocks"):\n        state.blocks = None'),
        ("decode(ids, state)", "other", GUARDED.replace("state", "other")),
        ("decode(ids, state)\n        del state.blocks\n        state = copy.copy(state)", "state", GUARDED),
    ],
    ids=["a copy", "no warm-up", "computed each time", "nothing is computed", "another name", "a copy for the capture"],
)
def test_what_the_capture_computes_itself_is_silent(tmp_path: Path, warm: str, given: str, memo: str) -> None:
    """Else the kernels are in the graph, or nothing says that they are about this object."""
    program = RUNNER.format(warm=warm, given=given, memo=memo, home="serve")
    assert not [one for one in analyse(tmp_path, program).shown if one[2] == "GL402"]


def test_what_another_package_keeps_in_a_parameter_of_that_name_is_silent(tmp_path: Path) -> None:
    """Nothing leads there, unless the runner imports it."""
    program = RUNNER.format(warm="decode(ids, state)", given="state", memo=GUARDED, home="viewer")
    assert not [one for one in analyse(tmp_path, program).shown if one[2] == "GL402"]
    used = program.replace("import copy", "import copy\nfrom viewer import kernels")
    assert [code for _, _, code in analyse(tmp_path, used).shown if code == "GL402"]


OWN = """
import sys
import torch

class State:
    def __init__(self, weights):
        self.weights = weights

def mix(x, state):
    {memo}
    return x * {kept}

def main(name: str):
    step = getattr(sys.modules[__name__], name)
    x, state = torch.ones(4, device="cuda"), State(torch.ones(4, device="cuda"))
    step(x, state){expected}
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x, state)
    state.weights.copy_(torch.rand(4, device="cuda"))
    graph.replay()
    print(y)
"""


def test_the_object_may_be_one_that_the_program_makes(tmp_path: Path) -> None:
    memo = 'if not hasattr(state, "scales"):\n        state.scales = torch.sum(state.weights)'
    program = OWN.format(memo=memo, kept="state.scales", expected="  # expect: GL402")
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected


def test_an_object_in_which_nothing_is_kept_is_silent(tmp_path: Path) -> None:
    program = OWN.format(memo="scales = torch.sum(state.weights)", kept="scales", expected="")
    assert not [one for one in analyse(tmp_path, program).shown if one[2] == "GL402"]
