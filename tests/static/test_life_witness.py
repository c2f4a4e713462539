"""Programs that are run from end to end: what never holds in their captures, and what they keep and never read."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

COUNTED = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.scale = 0, None

    def forward(self, x):
        self.observe(x)
        return x + 1 if self.scale is None else x / self.scale

    def observe(self, x):
        self.calls += 1
        if self.calls == {called}:
            self.scale = x.abs().max().item(){told}

net, x = Scaled(), torch.ones(4, device="cuda")
for _ in range({rounds}):
    net(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = net(x)
graph.replay()
print(y)
"""


@pytest.mark.parametrize(("called", "rounds"), [(3, 3), (2, 4), (5, 2)], ids=["just", "long before", "never"])
def test_what_no_capture_comes_to_is_a_hint(tmp_path: Path, called: int, rounds: int) -> None:
    """The count is past it when the capture begins, or does not come to it."""
    assert not analyse(tmp_path, COUNTED.format(called=called, rounds=rounds, told="")).shown


@pytest.mark.parametrize(("called", "rounds"), [(3, 2), (1, 0), (12, 11)], ids=["too few", "none", "too many to run"])
def test_what_a_capture_comes_to_or_may_come_to_is_told(tmp_path: Path, called: int, rounds: int) -> None:
    """Loops of many rounds are not run to their end, so that nothing is known behind them."""
    analysis = analyse(tmp_path, COUNTED.format(called=called, rounds=rounds, told="  # expect: GL101"))
    assert analysis.shown == analysis.expected


KEPT = """
import torch

class Towers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        self.side = self.right(x){told}
        return self.left(x)

with torch.no_grad():
    net, x = Towers().cuda(), torch.ones(2, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    graph.replay()
    {behind}
"""


@pytest.mark.parametrize("behind", ["print(y)", "print(net.side)"], ids=["nobody reads it", "it is read"])
def test_what_is_kept_anew_in_each_run_is_no_hazard(tmp_path: Path, behind: str) -> None:
    """Who looks at it behind a replay finds what that has left there."""
    analysis = analyse(tmp_path, KEPT.format(behind=behind, told=""))
    assert [one for one in analysis.shown if one[2] == "GL501"] == analysis.expected


def test_what_the_next_call_reads_is_told(tmp_path: Path) -> None:
    """A region that replaces what it has read replays from the first one."""
    program = KEPT.replace("self.right(x){told}", "self.right(self.side)  # expect: GL501")
    program = program.replace(
        "torch.nn.Linear(4, 4)\n", "torch.nn.Linear(4, 4)\n        self.side = torch.ones(2, 4, device='cuda')\n", 1
    )
    analysis = analyse(tmp_path, program.format(behind="print(y)"))
    assert [one for one in analysis.shown if one[2] == "GL501"] == analysis.expected


def test_a_function_that_anybody_may_call_is_no_program(tmp_path: Path) -> None:
    """Whoever calls it may read what it keeps."""
    body = "def capture():\n    net, x = Towers().cuda(), torch.ones(2, 4, device='cuda')\n"
    body += "    graph = torch.cuda.CUDAGraph()\n    with torch.cuda.graph(graph):\n        y = net(x)\n"
    body += "    return graph, net, y\n"
    begun = "torch.nn.Linear(4, 4)\n        self.side = torch.ones(2, 4, device='cuda')\n"
    text = KEPT.partition("with torch.no_grad")[0].replace("torch.nn.Linear(4, 4)\n", begun, 1)
    library = text.replace("self.right(x)", "self.right(self.side)").format(told="  # expect: GL501") + body
    analysis = analyse(tmp_path, library)
    assert [one for one in analysis.shown if one[2] == "GL501"] == analysis.expected


WORKSPACES = """
import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.made = {{}}

    def forward(self, x):
        n, d = x.shape
        if {key} not in self.made:
            self.made[{key}] = torch.tensor([1.0 / n] * n, device=x.device){mark}
        return x * self.made[{key}][:, None]

layer = Layer().cuda()
x = torch.randn(64, 16, device="cuda")
for _ in range(3):
    layer(torch.randn({rows}, 16, device="cuda"))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = layer(x)
"""


@pytest.mark.parametrize("key", ["n", "(n, d)"])
@pytest.mark.parametrize("rows, mark", [(1, "  # expect: GL203"), (64, "")])
def test_a_warm_up_with_another_size_fills_nothing_for_that_of_the_capture(
    tmp_path: Path, rows: int, mark: str, key: str
) -> None:
    analysis = analyse(tmp_path, WORKSPACES.format(rows=rows, mark=mark, key=key))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL203"]
