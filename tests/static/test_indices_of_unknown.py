"""An index of several axes says that something unknown is a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch

def step(model, tokens):
    out = model(tokens)
    {taken} = {what}
    return {use}
"""


@pytest.mark.parametrize(
    ("taken", "what", "use", "is_told"),
    [
        ("last", "out[:, -1]", "torch.nonzero(last)", True),
        ("last", "out[..., 0]", "last if last > 0 else 3", True),
        ("last", 'out["logits"][0, -1]', "torch.distributions.Categorical(logits=last).sample()", True),
        ("last", "out[:, -1]", "torch.distributions.Categorical(logits=last, validate_args=False).sample()", False),
        ("last", "out[:, -1]", "torch.softmax(last, -1)", False),
        ("last", "out[-1]", "last if last > 0 else 3", False),
        ("last", "out[1:]", "last if last else 3", False),
        ("last", 'out["rows", "columns"]', "last if last > 0 else 3", False),
        ("last", "out[0, 1]", "last if last > 0 else 3", False),
        ("rows_cpu", "out[:, -1]", "torch.nonzero(rows_cpu)", False),
    ],
)
def test_an_index_of_several_axes_is_one_of_a_tensor(
    tmp_path: Path, taken: str, what: str, use: str, is_told: bool
) -> None:
    """A list or a table takes one index, and none with a slice beside others."""
    text = _PROGRAM.format(taken=taken, what=what, use=use)
    found = analyse(tmp_path, text, regions=["main:step"]).shown
    assert is_told is any(code in ("GL104", "GL301", "GL303") for _, _, code in found)


def test_an_index_before_a_region_says_nothing(tmp_path: Path) -> None:
    """What prepares a capture works with arrays of the host."""
    text = """
        import torch
        from somewhere import table

        def prepare():
            rows = table()[:, 0]
            kept = rows if rows > 0 else 3
            x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                x.add_(1)
            return kept
    """
    assert not analyse(tmp_path, text).shown
