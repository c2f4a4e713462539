"""What other code registers by name on a module of torch is a tensor of that module."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch
from torch import nn

def run(self: nn.Linear, x: torch.Tensor):
    {use}
    return x

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("own", torch.ones(4))

def patch(model, tensors):
    for layer in model.modules():
        {put}
        layer.forward = run.__get__(layer, type(layer))
"""
_PUT = 'layer.register_buffer("shape_of", tensors["shape"])'


@pytest.mark.parametrize(
    ("use", "put", "is_told"),
    [
        ("self.shape_of.tolist()", _PUT, True),
        ("if self.shape_of > 3: x = x * 2", _PUT, True),
        ("int(self.limit)", "layer.register_parameter('limit', nn.Parameter(tensors['limit']))", True),
        ("self.shape_of.add_(1)", _PUT, False),
        ("self.shape_of.tolist()", 'layer.register_buffer("other", tensors["shape"])', False),
        ("self.shape_of.tolist()", "layer.shape_of = tensors['shape']", False),
        ("self.own.tolist()", "pass", False),
    ],
)
def test_what_others_register_on_a_module_of_torch_is_a_tensor(
    tmp_path: Path, use: str, put: str, is_told: bool
) -> None:
    text = _PROGRAM.format(use=use, put=put)
    found = analyse(tmp_path, text, regions=["main:run"]).shown
    assert is_told is any(code in ("GL101", "GL301") for _, _, code in found)
