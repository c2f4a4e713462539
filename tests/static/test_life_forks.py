"""Whether a side stream of a program waits for what the default stream has written, before it warms up."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.randn(2, 4, device="cuda")
side = torch.cuda.Stream()
{before}
with torch.cuda.stream(side):{mark}
    for _ in range(3):
        net({read})
{behind}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = net(x)
x.normal_()
graph.replay()
print(y.sum().item())
"""
JOINED = "torch.cuda.current_stream().wait_stream(side)"
SILENT = {
    "it waits for the stream": ("side.wait_stream(torch.cuda.current_stream())", "x", JOINED),
    "it waits for an event": ("side.wait_event(torch.cuda.current_stream().record_event())", "x", JOINED),
    "the host waits": ("torch.cuda.synchronize()", "x", JOINED),
    "it reads what it has written": ("pass", 'torch.ones(2, 4, device="cuda")', JOINED),
    "nobody joins it": ("pass", "x", "torch.cuda.synchronize()"),
}


def test_a_warm_up_that_is_joined_and_has_not_waited_reads_too_early(tmp_path: Path) -> None:
    """What makes its input may still run on the default stream."""
    analysis = analyse(tmp_path, PROGRAM.format(before="pass", read="x", behind=JOINED, mark="  # expect: GL602"))
    assert analysis.expected == analysis.shown


@pytest.mark.parametrize("name", SILENT)
def test_a_warm_up_that_comes_after_what_it_reads_is_silent(tmp_path: Path, name: str) -> None:
    before, read, behind = SILENT[name]
    analysis = analyse(tmp_path, PROGRAM.format(before=before, read=read, behind=behind, mark=""))
    assert [] == [one for one in analysis.shown if one[2] == "GL602"]


WARMED = """
import torch

class Runner:
    def __init__(self):
        self.cache, self.x = torch.zeros(16, 4, device="cuda"), torch.zeros(4, 4, device="cuda")
        self.graph, self.stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def step(self):
        self.cache[:4].copy_(self.x)
        return self.cache.sum()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.step(){mark}
        {join}
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.graph.capture_begin()
            self.y = self.step()
            self.graph.capture_end()
        torch.cuda.current_stream().wait_stream(self.stream)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

runner = Runner()
runner.capture()
runner.run(torch.rand(4, 4))
"""


@pytest.mark.parametrize(
    ("join", "mark"),
    [
        ("pass", "  # expect: GL602"),
        ("torch.cuda.current_stream().wait_stream(side)", ""),
        ("torch.cuda.synchronize()", ""),
    ],
    ids=["left alone", "joined", "waited for"],
)
def test_a_warm_up_writes_to_what_the_graph_reads_behind_its_own_write(tmp_path: Path, join: str, mark: str) -> None:
    """The graph writes a part of it first, and reads the rest as well; what is told is the call that warms up."""
    analysis = analyse(tmp_path, WARMED.format(join=join, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL602"] == analysis.expected


FED = """
import torch

class Feeder:
    def __init__(self, rows, buffer):
        self.rows, self.buffer, self.stream = iter(rows), buffer, torch.cuda.Stream()

    def feed(self):
        with torch.cuda.stream(self.stream):
            self.buffer.{fill}(next(self.rows)){mark}
        {join}

net, buffer = torch.nn.Linear(8, 8).cuda(), torch.zeros(4, 8, device="cuda")
net(buffer)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = net(buffer)
feeder = Feeder([torch.randn(4, 8).pin_memory() for _ in range(4)], buffer)
for _ in range(4):
    feeder.feed()
    graph.replay()
    print(out.sum().item())
"""


@pytest.mark.parametrize("fill", ["copy_", "add_"])
@pytest.mark.parametrize(
    ("join", "mark"),
    [("pass", "  # expect: GL602"), ("torch.cuda.current_stream().wait_stream(self.stream)", "")],
    ids=["left alone", "joined"],
)
def test_a_copy_on_a_stream_that_no_replay_waits_for_is_told(tmp_path: Path, fill: str, join: str, mark: str) -> None:
    """A run tells of the copy as well, and not of the replay."""
    analysis = analyse(tmp_path, FED.format(fill=fill, join=join, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL602"] == analysis.expected


RESET = """
import torch

state, x = torch.zeros(4, device="cuda"), torch.ones(4, device="cuda")
side = torch.cuda.Stream()

def step():
    state.add_(x)
    return state * 2

side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    step()
{join}
{used}
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step()
x.normal_()
graph.replay()
print(y.sum().item())
"""


@pytest.mark.parametrize(
    ("join", "used"),
    [
        ("pass", "state.zero_()  # expect: GL602"),
        (JOINED, "state.zero_()"),
        ("side.synchronize()", "state.zero_()"),
        ("torch.cuda.synchronize()", "state.zero_()"),
        ("pass", "torch.zeros(4, device='cuda').zero_()"),
    ],
    ids=["nobody waits", "the stream waits", "the host waits", "the host waits for all", "something else is reset"],
)
def test_what_a_warm_up_writes_is_reset_once_it_is_over(tmp_path: Path, join: str, used: str) -> None:
    """The capture waits for the device, but what stands between the warm-up and it does not."""
    analysis = analyse(tmp_path, RESET.format(join=join, used=used))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL602"]


AHEAD = """
import torch

x, kept = torch.ones(8, device="cuda"), torch.empty(8, device="cuda")
side, done = torch.cuda.Stream(), torch.cuda.Event()
x * 2
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
{first}
{second}
with torch.cuda.stream({stream}):
    {waits}
    graph.replay()
"""
COPY, RECORD, WAIT = "kept.copy_(y)", "done.record()", "side.wait_event(done)"


@pytest.mark.parametrize(
    ("first", "second", "stream", "waits", "is_told"),
    [
        (RECORD, COPY, "side", WAIT, True),
        (COPY, RECORD, "side", "pass", True),
        (COPY, RECORD, "side", WAIT, False),
        (RECORD, COPY, "side", "side.wait_stream(torch.cuda.default_stream())", False),
        (RECORD, COPY, "torch.cuda.current_stream()", "pass", False),
        (RECORD, "torch.cuda.synchronize()", "side", WAIT, False),
        (COPY, "torch.cuda.synchronize()", "side", "pass", False),
    ],
)
def test_a_replay_on_another_stream_waits_for_who_reads_the_output(
    tmp_path: Path, first: str, second: str, stream: str, waits: str, is_told: bool
) -> None:
    text = AHEAD.format(first=first, second=second, stream=stream, waits=waits)
    found = [one for one in analyse(tmp_path, text).report.findings if one.code == "GL602"]
    assert [COPY] * is_told == [text.splitlines()[one.span.line - 1] for one in found]
