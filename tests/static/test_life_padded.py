"""Rows behind a request that hold zeros, and what a region computes of all rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.bn = torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)

    def forward(self, x):
        return self.bn(self.f(x)).relu(){net_mark}

class Padded:
    def __init__(self, net, n):
        self.net = net
        {mode}
        self.x, self.w = torch.zeros(n, 8, device="cuda"), torch.zeros(n, device="cuda")
        self.body(); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.body()

    def body(self):
        rows = self.net(self.x)
        return {computed}

    def __call__(self, x):
        n = x.shape[0]
        {filled}
        self.graph.replay()
        return self.y{cut}.clone()

with torch.no_grad():
    padded = Padded({net}.cuda(), 16)
    for n in (16, 5):
        print(padded(torch.randn(n, 8, device="cuda")).sum().item())
"""
RESET = "self.x.zero_(); self.x[:n].copy_(x)"
MARK = "  # expect: GL511"
TOLD = {
    "a mean": {"computed": f"rows.square().mean(){MARK}"},
    "a mean of rows": {"computed": f"torch.mean(rows, 0){MARK}"},
    "a rest that is emptied": {"computed": f"rows.std(dim=0){MARK}", "filled": "self.x[:n] = x; self.x[n:].zero_()"},
    "the least of all": {"computed": f"rows.amin(0){MARK}"},
    "shares of a batch": {"computed": f"rows.softmax(0){MARK}", "cut": "[:n]"},
    "a normalisation": {"net": "Net()", "net_mark": MARK, "cut": "[:n]"},
    "the best of a batch": {"computed": f"rows.topk(2, dim=0).values{MARK}"},
    "the order of a batch": {"computed": f"rows.sort(0).values{MARK}", "cut": "[:n]"},
    "a sum of rows with a bias": {"computed": f"rows.sum(0){MARK}"},
    "the greatest of rows with a bias": {"computed": f"rows.abs().max(){MARK}", "cut": ""},
    "the places of a batch": {"computed": f"torch.argsort(rows, 0){MARK}", "cut": "[:n]"},
}
SILENT = {
    "rows by themselves": {"computed": "rows.mean(-1)", "cut": "[:n]"},
    "shares of a row": {"computed": "rows.softmax(-1)", "cut": "[:n]"},
    "a rest that counts for nothing": {
        "computed": "rows.softmax(0)",
        "cut": "[:n]",
        "filled": 'self.x.fill_(float("-inf")); self.x[:n].copy_(x)',
    },
    "the lesser of two": {"computed": "torch.min(rows, rows * 2)", "cut": "[:n]"},
    "the least of a row": {"computed": "rows.amin(-1)", "cut": "[:n]"},
    "a sum of zeros": {"computed": "self.x.square().sum(0)"},
    "a sum of rows without a bias": {"computed": "rows.sum(0)", "net": "torch.nn.Linear(8, 8, bias=False)"},
    "the greatest of each row": {"computed": "rows.max(-1).values", "cut": "[:n]"},
    "the best of a row": {"computed": "rows.topk(2).values", "cut": "[:n]"},
    "the order of a row": {"computed": "rows.sort(dim=1).values", "cut": "[:n]"},
    "weights that are filled": {
        "computed": "(rows.sum(-1) * self.w).mean()",
        "filled": f"{RESET}; self.w.zero_(); self.w[:n] = 1 / n",
    },
    "a whole request": {"computed": "rows.mean(0)", "filled": "self.x.copy_(x)"},
    "a normalisation in evaluation": {"net": "Net()", "mode": "net.eval()", "cut": "[:n]"},
}
PLAIN = {"net": "torch.nn.Linear(8, 8)", "net_mark": "", "mode": "pass", "computed": "rows", "filled": RESET, "cut": ""}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_computed_of_all_rows_takes_in_empty_ones(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**PLAIN | TOLD[name]))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL511"]


@pytest.mark.parametrize("name", SILENT)
def test_empty_rows_that_do_not_count_are_silent(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**PLAIN | SILENT[name]))
    assert [] == [one for one in analysis.shown if one[2] == "GL511"]


DECODE = """
import torch

class Decode:
    def __init__(self, net, most):
        self.net = net
        self.x = torch.zeros(most, 4, device="cuda")
        self.lengths = torch.zeros(most, device="cuda")
        net(self.x, self.lengths)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net(self.x, self.lengths)

    def run(self, x, lengths):
        n = x.shape[0]
        self.x.zero_()
        self.lengths.zero_()
        {fill}
        self.graph.replay()
        return {take}
"""
FIRST = "self.x[:n].copy_(x)\n        self.lengths[:n] = lengths"
FROM_THE_END = [
    (FIRST, "self.y[-n:].clone()  # expect: GL510"),
    ("self.x[:n] = x", "torch.softmax(self.y[-n:], -1)  # expect: GL510"),
]
IN_PLACE = [
    (FIRST, "self.y[:n].clone()"),
    (FIRST, "self.y[-1:].clone()"),
    ("self.x[-n:] = x", "self.y[-n:].clone()"),
    ("self.x[:n] = x\n        self.lengths[-n:] = lengths", "self.y[-n:].clone()"),
]


@pytest.mark.parametrize(("fill", "take"), FROM_THE_END)
def test_the_last_rows_are_taken_where_the_first_were_filled(tmp_path: Path, fill: str, take: str) -> None:
    analysis = analyse(tmp_path, DECODE.format(fill=fill, take=take))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(("fill", "take"), IN_PLACE)
def test_the_rows_are_taken_that_were_filled(tmp_path: Path, fill: str, take: str) -> None:
    """Or a single one, or as many as some input has at its end."""
    assert not analyse(tmp_path, DECODE.format(fill=fill, take=take)).shown
