"""A step of decoding has one token: what a model does for more of them is left out of its capture."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = torch.nn.Embedding(9, width)

    def forward(self, ids, other=None):
        {asked}
            ids.sum().item()
        return ids + 1

def capture(n: int, width: int, given):
    model = Model(width).cuda()
    {made}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model({handed})
"""
MADE = 'ids = torch.zeros(n, 1, dtype=torch.long, device="cuda")'
ONE = {
    "sizes": MADE,
    "a tuple of sizes": 'ids = torch.zeros((n, 1), dtype=torch.long, device="cuda")',
    "a move": "ids = torch.zeros(n, 1, dtype=torch.long).cuda()",
    "another like it": 'ids = torch.empty_like(torch.zeros(n, 1, device="cuda"))',
    "a new dimension": 'ids = torch.zeros(n, device="cuda")[:, None]',
}
MORE = {
    "a number that nobody knows": 'ids = torch.zeros(n, width, dtype=torch.long, device="cuda")',
    "more than one": 'ids = torch.zeros(1, 2, dtype=torch.long, device="cuda")',
    "one of two": f"{MADE}\n    if given:\n        ids = torch.zeros(n, width, dtype=torch.long, device='cuda')",
    "turned round": 'ids = torch.zeros(1, n, device="cuda").T',
    "turned round by a call": 'ids = torch.zeros(1, n, device="cuda").transpose(0, 1)',
    "an item of more": 'ids = torch.zeros(n, 1, width, device="cuda")[:, 0]',
}
ASKED = [
    "if ids.shape[1] > 1:",
    "if ids.shape[-1] != 1:",
    "if ids.size(1) > 1:",
    "if ids.size(-1) > 1:",
    "batch, length = ids.shape\n        if length > 1:",
    "_, length = ids.size()\n        if length > 1:",
    "vectors = self.embedding(ids)\n        if vectors.shape[1] > 1:",
    "vectors = F.embedding(ids, self.embedding.weight)\n        if vectors.shape[1] > 1:",
    "if ids[:2].shape[1] > 1:",
    "if ids[None].shape[2] > 1:",
]
NOT_ASKED = [
    "if ids.shape[0] > 1:",
    "if ids.size(0) > 1:",
    "if ids.stride(1) > 1:",
    "vectors = self.embedding(ids)\n        if vectors.shape[2] > 1:",
    "if ids[0].shape[0] == 1:",
    "if (ids + other).shape[1] > 1:",
]


def _codes(tmp_path: Path, asked: str, made: str, handed: str = "ids") -> list[str]:
    return [code for _, _, code in analyse(tmp_path, PROGRAM.format(asked=asked, made=made, handed=handed)).found]


@pytest.mark.parametrize("made", ONE.values(), ids=ONE)
def test_a_dimension_is_one_long_by(tmp_path: Path, made: str) -> None:
    assert [] == _codes(tmp_path, ASKED[0], made)


@pytest.mark.parametrize("made", MORE.values(), ids=MORE)
def test_a_dimension_may_be_longer_that_is(tmp_path: Path, made: str) -> None:
    assert ["GL101"] == _codes(tmp_path, ASKED[0], made)


@pytest.mark.parametrize("asked", ASKED)
def test_the_length_of_one_token_is_known_where_it_is_asked(tmp_path: Path, asked: str) -> None:
    assert [] == _codes(tmp_path, asked, MADE)


@pytest.mark.parametrize("asked", NOT_ASKED)
def test_what_else_is_asked_of_its_sizes_is_not(tmp_path: Path, asked: str) -> None:
    other = 'torch.zeros(n, width, device="cuda")'
    assert ["GL101"] == _codes(tmp_path, asked, MADE, f"ids, {other}")
