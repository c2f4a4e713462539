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
