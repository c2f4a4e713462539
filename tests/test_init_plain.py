"""`graphlint init`: a model that is written by hand, of classes that derive from nothing, is proposed whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

MODEL = """
# file: serve/__init__.py
# file: serve/model.py
import torch
from serve.layers import Block, Embedding

class Decoder{base}:
    def __init__(self, weights):
        self.embedding = Embedding(weights["embedding"])
        self.blocks = [Block(weights, layer) for layer in range(4)]

    def {method}(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.embedding(ids)
        for block in self.blocks:
            h = block(h)
        return h
# file: serve/layers.py
import torch

class Embedding:
    def __init__(self, table):
        self.table = table

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table[ids]

class Block:
    def __init__(self, weights, layer):
        self.weight = weights[f"layers.{{layer}}"]

    def __call__(self, h: torch.Tensor) -> torch.Tensor:
        return {product}
"""
CAPTURED = """
# file: serve/fast.py
import torch

def capture(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
"""


def proposed(
    folder: Path, method: str = "__call__", product: str = "h @ self.weight", base: str = ""
) -> tuple[str, ...]:
    write(folder, MODEL.format(method=method, product=product, base=base))
    return static.survey([folder], Config(root=folder)).models


@pytest.mark.parametrize("method", ["__call__", "forward"])
@pytest.mark.parametrize("product", ["h @ self.weight", "torch.matmul(h, self.weight)", "torch.mm(h, self.weight) + h"])
def test_what_is_built_of_parts_with_weights_is_a_model(tmp_path: Path, method: str, product: str) -> None:
    """The parts are captured with it, and are no models of their own."""
    assert (f"serve.model:Decoder.{method}",) == proposed(tmp_path, method, product)


@pytest.mark.parametrize(
    ("method", "product", "base"),
    [
        ("__call__", "torch.clamp(h, 0, 1)", ""),  # a transform
        ("decode", "h @ self.weight", ""),  # called by a name of its own
        ("__call__", "h @ self.weight", "(Pipeline)"),  # of some package, which calls it in its way
    ],
)
def test_what_computes_otherwise_is_none(tmp_path: Path, method: str, product: str, base: str) -> None:
    """It is not told from what prepares data, or serves users."""
    assert "serve.model:Decoder" not in {one.rpartition(".")[0] for one in proposed(tmp_path, method, product, base)}


def test_who_captures_says_itself_what_is_captured(tmp_path: Path) -> None:
    """There, what else looks like a model is left out on purpose."""
    write(tmp_path, MODEL.format(method="__call__", product="h @ self.weight", base="") + CAPTURED)
    assert () == static.survey([tmp_path], Config(root=tmp_path)).models
