"""Pinned memory of a graph that the host reads and writes through an array of NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

POLICY = """
import torch

class Policy:
    def __init__(self, net):
        self.net = net
        self.staged = torch.zeros(4, 8, pin_memory=True)
        self.actions = torch.zeros(4, 8).pin_memory()
        self.seen = self.staged.numpy()
        self.chosen = self.actions.numpy()
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.x.copy_(self.staged, non_blocking=True)
            self.actions.copy_(self.net(self.x), non_blocking=True)

    def act(self, row):
        {before}
        self.graph.replay()
        {behind}
"""
WAIT = "torch.cuda.synchronize()"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (f"{WAIT}\n        self.seen[:] = row", "return self.chosen.copy()  # expect: GL206"),
        (f"{WAIT}\n        self.seen[:] = row", "return self.chosen[0] + 1  # expect: GL206"),
        (f"{WAIT}\n        self.seen[:] = row", f"{WAIT}\n        return self.chosen.copy()"),
        ("self.seen[:] = 1.0  # expect: GL205", "return None"),
        (f"{WAIT}\n        self.seen[:] = 1.0", "return None"),
        (WAIT, "return self.seen.copy()"),
    ],
    ids=[
        "read",
        "read in part",
        "read behind a wait",
        "written",
        "written behind a wait",
        "what the graph reads is read",
    ],
)
def test_an_array_shares_the_memory_of_a_pinned_tensor(tmp_path: Path, before: str, behind: str) -> None:
    """Whoever touches it has to wait for the replay, as for the tensor."""
    analysis = analyse(tmp_path, POLICY.format(before=before, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL205", "GL206")]


FED = """
import torch

class Feeder:
    def __init__(self, net):
        self.net = net
        self.staged = torch.zeros(4, 8, pin_memory=True)
        self.x = torch.zeros(4, 8, device="cuda")
        net(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net(self.x)

    def run(self, rows):
        for row in rows:
            {written}
            {copied}
            self.graph.replay()
            {behind}
"""
WRITTEN = "self.staged.copy_(row)"
COPIED = "self.x.copy_(self.staged, non_blocking=True)"


@pytest.mark.parametrize(
    ("written", "copied", "behind"),
    [
        (f"{WRITTEN}  # expect: GL205", COPIED, "pass"),
        (f"{WRITTEN}  # expect: GL205", COPIED, "keep(self.y.clone())"),
        (WRITTEN, COPIED, WAIT),
        (WRITTEN, COPIED, "keep(self.y.cpu())"),
        (WRITTEN, "self.x.copy_(self.staged)", "pass"),
        ("self.staged = torch.zeros(4, 8, pin_memory=True).copy_(row)", COPIED, "pass"),
        (WRITTEN, "self.x.copy_(self.staged.clone(), non_blocking=True)", "pass"),
    ],
    ids=["at once", "behind a copy", "waited for", "read", "it waits itself", "another one", "a copy of it"],
)
def test_what_is_copied_for_a_replay_is_not_overwritten_before(
    tmp_path: Path, written: str, copied: str, behind: str
) -> None:
    """The copy may begin only when the host has filled the memory with the next row."""
    analysis = analyse(tmp_path, FED.format(written=written, copied=copied, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL205"]


FETCHED = """
import numpy as np
import torch

class Sampler:
    def __init__(self, net):
        self.x = torch.zeros(4, 8, device="cuda")
        self.host = torch.empty(4, dtype=torch.long, pin_memory=True)
        self.done = torch.cuda.Event()
        net(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.ids = net(self.x).argmax(-1)

    def step(self, x, keep):
        self.x.copy_(x)
        self.graph.replay()
        {fetched}
        {between}
        {read}
"""
INTO = "self.host.copy_(self.ids, non_blocking=True)"
NEW = 'self.host = self.ids.to("cpu", non_blocking=True)'
LIST = "return self.host.tolist()"


@pytest.mark.parametrize(
    ("fetched", "between", "read"),
    [
        (INTO, "pass", f"{LIST}  # expect: GL206"),
        (NEW, "pass", f"{LIST}  # expect: GL206"),
        ("self.host.copy_(self.ids + 1, non_blocking=True)", "self.done.record()", f"{LIST}  # expect: GL206"),
        (INTO, "pass", "return [int(one) for one in self.host.numpy()]  # expect: GL206"),
        (INTO, WAIT, LIST),
        (INTO, "self.done.record(); self.done.synchronize()", LIST),
        (INTO, "torch.cuda.current_stream().synchronize()", LIST),
        ("self.host.copy_(self.ids)", "pass", LIST),
        ('self.host = self.ids.to("cpu")', "pass", LIST),
        (INTO, 'keep("copied")', f"{LIST}  # expect: GL206"),
        (INTO, "keep()", LIST),
        (INTO, "keep.wait(self.done)", LIST),
        (INTO, "pass", "return self.host"),
        (INTO, "pass", "self.x.copy_(self.host[:, None], non_blocking=True)"),
        ("self.host.copy_(x.argmax(-1), non_blocking=True)", "pass", LIST),
    ],
    ids=[
        "into pinned memory", "into new memory", "of what is computed from it", "iterated over", "waited for",
        "an event is waited for", "the stream is waited for", "it waits itself", "new memory that is waited for",
        "a text is noted", "an unknown call may wait for all", "an unknown call may wait", "handed on",
        "copied back by the device", "of no graph",
    ],
)  # fmt: skip
def test_what_is_fetched_from_an_output_is_not_read_before_it_is_there(
    tmp_path: Path, fetched: str, between: str, read: str
) -> None:
    """A copy without waiting gives the host what was there before, if it reads at once."""
    analysis = analyse(tmp_path, FETCHED.format(fetched=fetched, between=between, read=read))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL206"]


@pytest.mark.parametrize("wait", ["", "self.copied.synchronize(); "], ids=["at once", "waited for"])
def test_an_array_over_pinned_memory_is_filled_by_numpy(tmp_path: Path, wait: str) -> None:
    """`np.copyto` writes to the pinned tensor of which it is given the array; the program calls it twice in a row."""
    mark = "" if wait else "  # expect: GL205"
    program = f"""
import numpy as np
import torch

class Feed:
    def __init__(self):
        self.staged = torch.empty((4, 4), pin_memory=True)
        self.x = torch.zeros((4, 4), device="cuda")
        self.copied = torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def __call__(self, image):
        {wait}np.copyto(self.staged.numpy(), image){mark}
        self.x.copy_(self.staged, non_blocking=True)
        self.copied.record()
        self.graph.replay()
        return self.y.clone()

feed = Feed()
for _ in range(3):
    feed(np.zeros((4, 4)))
"""
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL205"]
