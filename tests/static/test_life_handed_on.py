"""Outputs that are left for another task, threads of a class of their own, and what is captured over and over."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

POSTED = """
import torch

class Graphed:
    def __init__(self, model):
        self.x = torch.zeros(1, 16, device="cuda")
        model(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = model(self.x)

    def serve(self, x, future, queue):
        self.x.copy_(x)
        self.graph.replay()
        {post}
"""


@pytest.mark.parametrize(
    ("post", "mark"),
    [
        ("future.set_result(self.out)", "  # expect: GL510"),
        ("queue.put((x, self.out))", "  # expect: GL510"),
        ("queue.put_nowait(self.out[0])", "  # expect: GL510"),
        ("future.set_result(self.out.clone())", ""),
        ("queue.put((x, self.out.tolist()))", ""),
        ("queue.read(self.out)", ""),
    ],
)
def test_what_is_left_for_later_has_to_be_a_copy(tmp_path: Path, post: str, mark: str) -> None:
    """Nobody knows when it is taken, and the next call replays."""
    analysis = analyse(tmp_path, POSTED.format(post=f"{post}{mark}"))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


THREAD = """
import threading
import torch

class Uploader(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            print(torch.ones(4).cuda().sum().item()){mark}

class Plain:
    def start(self):
        pass

    def run(self):
        while True:
            print(torch.ones(4).cuda().sum().item())

model, x = torch.nn.ReLU().cuda(), torch.ones(4, device="cuda")
model(x)
other = {other}
{before}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
"""


@pytest.mark.parametrize(
    ("other", "before", "mark"),
    [
        ("Uploader()", "other.start()", "  # expect: GL607"),
        ("Uploader()", "other.start(); other.stopping.set(); other.join()", ""),
        ("Uploader()", "pass", ""),
        ("Plain()", "other.start()", ""),
    ],
    ids=["it runs", "it has ended", "it was not started", "it is no thread"],
)
def test_a_thread_of_a_class_of_the_program_runs_a_method_of_it(
    tmp_path: Path, other: str, before: str, mark: str
) -> None:
    analysis = analyse(tmp_path, THREAD.format(other=other, before=before, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL607"]


LOOP = """
import torch

def evaluate(model, loader, sizes):
    scores, graphs = [], []
    for item in {iterated}:
        static = {static}
        model(static)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):{mark}
            out = model(static)
        graph.replay()
        scores.append(out.mean().item())
        {behind}
    return scores, graphs
"""


@pytest.mark.parametrize(
    ("iterated", "static", "behind", "mark"),
    [
        ("loader", "item.clone()", "pass", "  # expect: GL707"),
        ("sizes", 'torch.zeros(item, 8, device="cuda")', "pass", ""),
        ("loader", "item.clone()", "graphs.append(graph)", ""),
    ],
    ids=["for each batch", "for each size", "and all are kept"],
)
def test_a_loop_that_captures_what_each_round_brings(
    tmp_path: Path, iterated: str, static: str, behind: str, mark: str
) -> None:
    program = LOOP.format(iterated=iterated, static=static, behind=behind, mark=mark)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL707"]


WORKSPACE = """
import torch

class Workspace:
    def __init__(self, size):
        self.data = torch.empty(size, device="cuda")

    def reserve(self, size):
        if size > self.data.numel():
            {grow}
        return self.data

class Kernel:
    def __init__(self):
        self.workspace = Workspace(1024)
        self.x = torch.zeros(128, device="cuda")

    def op(self, n):
        scratch = self.workspace.reserve(n)
        scratch[:128].copy_(self.x)
        return scratch[:128] * 2

    def capture(self):
        self.op(128)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.op(128)

    def eager(self, big):
        return self.op(big.numel())

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("grow", "mark"),
    [
        ('self.data = torch.empty(size, device="cuda")', "  # expect: GL508"),
        ('raise RuntimeError("the workspace is too small")', ""),
    ],
)
def test_what_an_object_holds_may_exchange_its_buffer(tmp_path: Path, grow: str, mark: str) -> None:
    """A method that is called between two replays leads to one of another object that makes the buffer anew."""
    analysis = analyse(tmp_path, WORKSPACE.format(grow=f"{grow}{mark}"))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


LEFT_OPEN = """
import torch

class Recorder:
    def __init__(self):
        self.graph, self.stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def record(self, fn, x):
        with torch.cuda.stream(self.stream):
            self.graph.capture_begin(){mark}
            {body}
        return out

def build(fn, x):
    recorder = Recorder()
    try:
        return recorder, recorder.record(fn, x)
    except RuntimeError:
        {handler}
"""
PLAIN = "out = fn(x); self.graph.capture_end()"
FINALLY = """try:
                out = fn(x)
            finally:
                self.graph.capture_end()"""


@pytest.mark.parametrize(
    ("body", "handler", "mark"),
    [
        (PLAIN, "return None, fn(x)", "  # expect: GL606"),
        (FINALLY, "return None, fn(x)", ""),
        (PLAIN, "raise", ""),
    ],
    ids=["it goes on", "it is ended", "it does not go on"],
)
def test_who_calls_what_captures_handles_its_exceptions(tmp_path: Path, body: str, handler: str, mark: str) -> None:
    """The capture is left open then, unless something ends it on that way, too."""
    analysis = analyse(tmp_path, LEFT_OPEN.format(body=body, handler=handler, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL606"]


SOFT = """
import torch

class Rollout:
    def __init__(self, policy):
        self.policy = torch.compile(policy, mode="reduce-overhead")
        self.last = torch.zeros(2, device="cuda")

    def step(self, x):
        with torch.no_grad():
            action = self.policy(x)
        change = {change}
        self.last = {kept}{mark}
        return change

rollout = Rollout(torch.nn.Linear(4, 2).cuda())
for _ in range(5):
    rollout.step(torch.randn(1, 4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("change", "kept", "mark"),
    [
        ("(action - self.last).abs().max()", "action", "  # expect: GL510"),
        ("(action - self.last).abs().max()", "action.clone()", ""),
        ("action.abs().max()", "action", ""),
    ],
    ids=["read again", "copied", "never read"],
)
def test_an_attribute_that_holds_an_output_of_the_call_before(
    tmp_path: Path, change: str, kept: str, mark: str
) -> None:
    """The next call replays, and writes over it."""
    analysis = analyse(tmp_path, SOFT.format(change=change, kept=kept, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


STACK = """
import contextlib
import torch

class Capturer:
    def build(self, fn, x):
        self.x = x.clone()
        self.graph = torch.cuda.CUDAGraph()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.cuda.graph(self.graph))
            self.y = fn(self.x)
        return self

    def result(self, x):
        {fill}
        self.graph.replay(){mark}
        return self.y.clone()

def main(fn, batches):
    fn(batches[0])
    made = Capturer().build(fn, batches[0])
    return [made.result(batch) for batch in batches]
"""


@pytest.mark.parametrize(("fill", "mark"), [("pass", "  # expect: GL512"), ("self.x.copy_(x)", "")])
def test_a_stack_of_managers_captures(tmp_path: Path, fill: str, mark: str) -> None:
    """Until its own block is left."""
    analysis = analyse(tmp_path, STACK.format(fill=fill, mark=mark))
    assert analysis.expected == analysis.shown


FROZEN = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))

def freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad_(False){mark}

model, other = Model().cuda(), Model().cuda()
model = torch.cuda.make_graphed_callables(model, (torch.randn(4, 8, device="cuda"),))
freeze({frozen})
model(torch.randn(4, 8, device="cuda")).sum().backward()
"""


@pytest.mark.parametrize(("frozen", "mark"), [("model.body", "  # expect: GL703"), ("other.body", "")])
def test_a_part_of_a_graphed_module_is_frozen(tmp_path: Path, frozen: str, mark: str) -> None:
    analysis = analyse(tmp_path, FROZEN.format(frozen=frozen, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL703"]


POOLED = """
import torch

class Pooler:
    def __init__(self, model, size):
        self.ids = torch.zeros(size, dtype=torch.long, device="cuda")
        model(self.ids)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = model(self.ids){pooled}

    def __call__(self, ids):
        n = len(ids)
        self.ids[:n].copy_(ids){mark}
        self.graph.replay()
        return self.out{cut}.clone()
"""


@pytest.mark.parametrize(
    ("pooled", "cut", "mark"),
    [
        (".mean(0)", "", "  # expect: GL511"),
        (".sum(dim=0)", "", "  # expect: GL511"),
        (".mean(-1)", "[:n]", ""),
        ("", "[:n]", ""),
    ],
)
def test_rows_that_come_together_are_no_matter_of_each_alone(tmp_path: Path, pooled: str, cut: str, mark: str) -> None:
    """What a model does with a row is not known, but old rows are part of the result."""
    analysis = analyse(tmp_path, POOLED.format(pooled=pooled, cut=cut, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL511"]
