"""A seed that is set in a region although it is in force: torch lets it through, and no replay sets it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

dropout = torch.nn.Dropout(0.5).cuda()

def step(x):
    torch.manual_seed({seed}){mark}
    return {body}

x = torch.ones(4, device="cuda")
step(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(x)
for _ in range(3):
    x.normal_()
    graph.replay()
"""


@pytest.mark.parametrize("body", ["x + torch.randn_like(x)", "dropout(x)", "torch.nn.functional.dropout(x)"])
def test_a_region_that_seeds_before_it_draws_goes_on_with_other_numbers_in_each_replay(
    tmp_path: Path, body: str
) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(seed=3, body=body, mark="  # expect: GL401"))
    assert analysis.shown == analysis.expected


def test_a_region_that_seeds_and_draws_nothing_is_silent(tmp_path: Path) -> None:
    assert not analyse(tmp_path, PROGRAM.format(seed=3, body="x * 2", mark="")).shown


def test_a_seed_that_is_another_one_each_time_is_refused(tmp_path: Path) -> None:
    program = PROGRAM.format(seed="int(torch.tensor(3))", body="torch.rand_like(x)", mark="  # expect: GL604")
    analysis = analyse(tmp_path, program)
    assert set(analysis.expected) <= set(analysis.shown)


STATES = """
import torch

class Tracker:
    def __init__(self):
        self.state = torch.cuda.get_rng_state()

    def step(self, x):
        {before}
        torch.cuda.set_rng_state({state}){mark}
        return torch.nn.functional.dropout(x, 0.5)

x, tracker = torch.ones(4, device="cuda"), Tracker()
{warm}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = tracker.step(x)
for _ in range(3):
    graph.replay()
"""


@pytest.mark.parametrize(
    ("before", "state", "warm", "mark"),
    [
        ("pass", "self.state", "torch.rand_like(x)", "  # expect: GL604"),
        ("pass", "self.state", "tracker.step(x)", "  # expect: GL604"),
        ("pass", "self.state", "x * 2", ""),
        ("state = torch.cuda.get_rng_state(); torch.rand_like(x)", "state", "torch.rand_like(x)", ""),
    ],
    ids=["drawn since", "drawn by the region", "still in force", "read in the region"],
)
def test_a_state_that_was_read_long_ago_is_another_one(
    tmp_path: Path, before: str, state: str, warm: str, mark: str
) -> None:
    """Torch refuses to set one; what it is by then, or was in this region, passes."""
    analysis = analyse(tmp_path, STATES.format(before=before, state=state, warm=warm, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL604"]
