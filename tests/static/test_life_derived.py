"""What is computed before a capture, out of a tensor that the program fills before each replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

ENCODER = """
import torch

def padding(lengths):
    return torch.arange(8, device="cuda")[None] < lengths[:, None]

class Encoder:
    def __init__(self):
        self.x = torch.zeros(2, 8, device="cuda")
        self.lengths = torch.full((2,), 8, device="cuda")

    def capture(self):
        mask = {made}
        self.kept = mask
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * {read}

    def run(self, x, lengths):
        self.x.copy_(x)
        {body}
        self.graph.replay()
        return self.y.clone()
"""
STALE = {
    "a mask": ("padding(self.lengths)  # expect: GL512", "mask", "self.lengths.copy_(lengths)"),
    "a cast": ("self.lengths.half()  # expect: GL512", "mask[:, None]", "self.lengths.copy_(lengths)"),
    "a part of it": ("padding(self.lengths)  # expect: GL512", "mask[:, :8]", "self.lengths[:1].fill_(2)"),
}
FRESH = {
    "computed in the region": ("None", "padding(self.lengths)", "self.lengths.copy_(lengths)"),
    "computed anew": (
        "padding(self.lengths)",
        "mask",
        "self.lengths.copy_(lengths)\n        self.kept.copy_(padding(self.lengths))",
    ),
    "a view": ("self.lengths[:, None]", "mask", "self.lengths.copy_(lengths)"),
    "only its shape": ("torch.ones_like(self.lengths)", "mask[:, None]", "self.lengths.copy_(lengths)"),
    "never filled": ("padding(self.lengths)", "mask", "pass"),
    "read by the graph as well": ("self.lengths.clone()", "(mask - self.lengths)", "self.lengths.copy_(lengths)"),
}


@pytest.mark.parametrize(("made", "read", "body"), [*STALE.values(), *FRESH.values()], ids=[*STALE, *FRESH])
def test_a_result_of_an_input_is_computed_where_the_input_is_read(
    tmp_path: Path, made: str, read: str, body: str
) -> None:
    """Outside of the region it is computed once, and what is filled later never reaches it."""
    analysis = analyse(tmp_path, ENCODER.format(made=made, read=read, body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL512", "GL507")]


HOLDER = """
import torch

class Spans:
    def __init__(self, lengths):
        self.lengths = lengths
        ends = torch.zeros(lengths.shape[-1] + 1, device=lengths.device, dtype=torch.int32)
        {made}
        self.ends = ends

class Runner:
    def __init__(self, model):
        self.model, self.kept = model, {{}}

    def warm(self, size: int):
        ids = torch.zeros(size, dtype=torch.int64, device="cuda")
        lengths = torch.ones(size, dtype=torch.int32, device="cuda")
        spans = {spans}{mark}
        self.kept[size] = {{"ids": ids, "lengths": lengths, "spans": spans}}
        self.model.forward(ids=ids, spans=spans)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            {again}
            out = self.model.forward(ids=ids, spans={given})
        self.kept[size]["graph"] = graph
        self.kept[size]["out"] = out

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor):
        kept = self.kept[ids.shape[0]]
        kept["ids"].copy_(ids)
        kept["lengths"].copy_(lengths)
        {refilled}
        kept["graph"].replay()
        return kept["out"].clone()
"""
MADE = {
    "into a part of it": "torch.cumsum(lengths, -1, out=ends[1:])",
    "assigned to a part of it": "ends[1:] = torch.cumsum(lengths, -1)",
    "as a result": "ends = torch.cumsum(lengths, -1)",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("given", ["spans", "spans.ends"], ids=["in an object", "by itself"])
def test_what_an_object_has_computed_before_a_capture_is_told(tmp_path: Path, made: str, given: str) -> None:
    """Nobody knows what the model reads of the object, but that it was made for it out of an input."""
    named = {"spans": "Spans(lengths)", "again": "pass", "given": given, "refilled": "pass"}
    analysis = analyse(tmp_path, HOLDER.format(made=made, mark="  # expect: GL512", **named))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    "named",
    [
        {"again": "spans = Spans(lengths)"},
        {"refilled": "kept['spans'].ends.copy_(torch.cumsum(lengths, -1))"},
        {"made": "pass"},
        {"made": "ends = torch.cumsum(lengths, -1).cpu()"},
        {"spans": "Spans(torch.ones(size, device='cuda'))"},
    ],
    ids=["made in the region", "refilled", "of the size alone", "for the host", "out of something else"],
)
def test_what_an_object_has_of_the_data_of_each_call_is_silent(tmp_path: Path, named: dict[str, str]) -> None:
    """It is computed where the input is read, filled, or no matter of its data."""
    plain = {"made": MADE["as a result"], "spans": "Spans(lengths)", "again": "pass", "refilled": "pass"}
    program = HOLDER.format(mark="", given="spans", **{**plain, **named})
    assert not [one for one in analyse(tmp_path, program).shown if one[2] == "GL512"]


def test_a_state_that_the_region_writes_itself_is_computed_there(tmp_path: Path) -> None:
    """The warm-up has written it, too, out of the input."""
    program = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRUCell(4, 4)
            self.state = torch.zeros(2, 4, device="cuda")

        def forward(self, x):
            out = self.cell(x, self.state)
            self.state.copy_(out)
            return out

    net, x = Net().cuda(), torch.zeros(2, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    for _ in range(4):
        x.normal_()
        graph.replay()
        print(y.sum())
    """
    assert not [one for one in analyse(tmp_path, program).shown if one[2] == "GL512"]
