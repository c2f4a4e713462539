"""A file of tests that anyone could have: eleven modules are asserted, of which one is not safe.

pytest tests/plugin/models.py
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

MODULES = {
    "perceptron": lambda: (nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)), (64,)),
    "convolution": lambda: (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()), (3, 16, 16)),
    "encoder": lambda: (nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0), (16, 64)),
    "recurrent": lambda: (nn.LSTM(32, 64, batch_first=True), (12, 32)),
}


class Reading(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * x.mean().item()
        return x


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_torch(graph_safe, name, batch):
    module, shape = MODULES[name]()
    graph_safe(module.cuda().eval().requires_grad_(False), (torch.rand(batch, *shape, device="cuda"),))


def test_one_that_reads(graph_safe):
    graph_safe(Reading().cuda(), (torch.rand(4, 4, device="cuda"),))


def test_the_next_one(graph_safe):
    graph_safe(nn.Dropout().cuda(), (torch.rand(64, device="cuda"),))


@pytest.mark.graph_safe
def test_a_marked_one():
    return nn.Linear(8, 8).cuda(), (torch.rand(8, 8, device="cuda"),)
