"""What was used on a way is not None further on: there, it would have raised."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

PROGRAM = """
# file: model.py
import torch

class Model:
    def __call__(self, x, params=None):
        if params is None:
            return x[x > 0]
        return x

# file: run.py
import torch
from model import Model

def capture(params, other):
    model = Model()
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
{before}
    with torch.cuda.graph(graph):
        return model(x, params=params)
"""
USED = {
    "an attribute is written": "params.offset = 3",
    "an attribute is read": "offset = params.offset",
    "an item is read": "print(params[0])",
    "in a block": "with torch.no_grad():\n    params.reset()",
    "in a test": "if params.offset:\n    print(x)",
    "on the left of it": "print(params.offset and other)",
}
MAY_BE_NOTHING = {
    "nothing is used": "print(params)",
    "something else is": "other.offset = 3",
    "in a branch": "if other:\n    params.offset = 3",
    "on the right": "print(other and params.offset)",
    "of a choice": "offset = params.offset if params else 0",
    "where it is caught": "try:\n    params.offset = 3\nexcept AttributeError:\n    pass",
    "later it is another": "params.offset = 3\nparams = other",
    "in a loop it is another": "params.offset = 3\nfor one in other:\n    params = one",
}


def told(folder: Path, before: str) -> bool:
    text = "\n".join(f"    {line}" for line in before.splitlines())
    return bool(analyse(folder, PROGRAM.format(before=text)).shown)


@pytest.mark.parametrize("form", USED)
def test_what_was_used_is_something(tmp_path: Path, form: str) -> None:
    """The way that needs it to be nothing is none."""
    assert not told(tmp_path, USED[form])


@pytest.mark.parametrize("form", MAY_BE_NOTHING)
def test_what_may_be_nothing_may_be_asked_for(tmp_path: Path, form: str) -> None:
    """Nothing says that it is something."""
    assert told(tmp_path, MAY_BE_NOTHING[form])
