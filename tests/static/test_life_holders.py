"""What a graph reads, and the program lets go before a replay: nobody holds it, and its memory is anybody's."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

SERVER = """
import torch

class Plan:
    def __init__(self, lengths):
        self.ends = torch.cumsum(lengths, 0)

class Server:
    def __init__(self, lengths):
        self.x = torch.zeros(4, 8, device="cuda")
        self.mask = torch.ones(8, device="cuda")
        self.kept = dict(bias=torch.zeros(8, device="cuda"))
        self.spare = []
        self.plan = Plan(lengths)

    def step(self):
        return (self.x * self.mask + self.kept["bias"]).cumsum(0)[self.plan.ends]

    def capture(self):
        self.step()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step()

    def run(self, x, lengths):
        self.x.copy_(x)
        {body}
        self.graph.replay()
        return self.y.clone()
"""
LET_GO = {
    "an attribute is emptied": "self.mask = None  # expect: GL507",
    "an attribute is deleted": "del self.mask  # expect: GL507",
    "an item is deleted": 'del self.kept["bias"]  # expect: GL507',
    "the table is emptied": "self.kept = None  # expect: GL507",
    "another object takes its place": "self.plan = Plan(lengths)  # expect: GL508",
}
KEPT = {
    "another name has it": "self.spare.append(self.mask)\ndel self.mask",
    "a name of the call has it": "mask = self.mask\nself.mask = None",
    "it comes back": "mask = self.mask\nself.mask = None\nself.mask = mask",
    "the object is kept": "self.spare.append(self.plan)\nself.plan = Plan(lengths)",
    "it is filled in place": "self.plan.ends.copy_(Plan(lengths).ends)",
    "nothing reads it": "self.spare = None",
}


@pytest.mark.parametrize("body", [*LET_GO.values(), *KEPT.values()], ids=[*LET_GO, *KEPT])
def test_what_a_graph_reads_is_held_until_its_replay(tmp_path: Path, body: str) -> None:
    """A graph holds no reference: what the last name of it lets go is free."""
    analysis = analyse(tmp_path, SERVER.format(body=textwrap.indent(body, " " * 8).lstrip()))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


SCRIPT = """
import torch

mask = torch.ones(8, device="cuda")
x = torch.zeros(4, 8, device="cuda")

def step():
    return x * mask

step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step()
{body}
x.fill_(1)
graph.replay()
"""


@pytest.mark.parametrize("body", ["del mask  # expect: GL507", "held = mask\ndel mask", "del y", "step = None"])
def test_a_script_deletes_the_name_of_what_its_graph_reads(tmp_path: Path, body: str) -> None:
    """A function that reads a variable holds nothing of it."""
    analysis = analyse(tmp_path, SCRIPT.format(body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


WORKSPACE = """
import torch

class Pool:
    def __init__(self, weight):
        self.weight = weight
        self.rows = torch.zeros(8, 4, device="cuda")
        self.out = torch.zeros(8, 4, device="cuda")

    def forward(self, x):
        self.rows[: x.shape[0]].copy_(x)
        {read}

    def capture(self, x):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.forward(x)

    def run(self, x, n):
        if n > self.rows.shape[0]:
            self.rows = torch.zeros(n, 4, device="cuda"){mark}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "read", ["return self.rows @ self.weight", "return x @ self.weight"], ids=["read behind it", "never read"]
)
def test_a_workspace_that_a_graph_fills_in_part_grows(tmp_path: Path, read: str) -> None:
    """What the graph has not written is read out of the old memory, and what it writes goes there, which is free."""
    analysis = analyse(tmp_path, WORKSPACE.format(read=read, mark="  # expect: GL508"))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


GROWING = """
import torch

class Workspace:
    def __init__(self):
        self.data = torch.empty(1024, device="cuda")

    def ensure(self, size):
        if self.data.numel() < size:
            {grow}
        return self.data[:size]

class Runner:
    def __init__(self, workspace):
        self.workspace = workspace
        self.x = torch.zeros(1024, device="cuda")
        self.step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step()

    def step(self):
        self.workspace.data.copy_(self.x)
        return self.workspace.data * 2

    def prefill(self, x):
        return self.workspace.ensure(x.numel()).copy_(x) * 2

    def decode(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

workspace = Workspace()
{kept}
runner = Runner(workspace)
runner.prefill(torch.rand(4096, device="cuda"))
runner.decode(torch.rand(1024, device="cuda"))
"""
TOLD = "  # expect: GL508"


@pytest.mark.parametrize(
    ("grow", "kept"),
    [
        (f'self.data = torch.empty(size, device="cuda"){TOLD}', ""),
        (f"self.data.resize_(size){TOLD}", ""),
        (f'self.data.data = torch.empty(size, device="cuda"){TOLD}', "kept = workspace.data"),
        ('self.data = torch.empty(size, device="cuda")', "kept = workspace.data"),
        ('raise ValueError("too small")', ""),
    ],
    ids=["made anew", "resized", "given other memory", "held elsewhere", "refused"],
)
def test_a_workspace_that_a_graph_writes_to_first_is_let_go(tmp_path: Path, grow: str, kept: str) -> None:
    """The graph goes on to write there, and reads that: it harms whoever gets the memory, if somebody does."""
    analysis = analyse(tmp_path, GROWING.format(grow=grow, kept=kept))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


SCRATCH = """
import torch

_scratch = None

def scratch(n):
    global _scratch
    if _scratch is None or _scratch.numel() < n:
        _scratch = torch.empty(n, device="cuda"){mark}
    return _scratch[:n]

def op(x):
    return scratch(x.numel()).copy_(x.flatten()) * 2

x = torch.rand(64, device="cuda")
op(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = op(x)
for n in ({sizes}):
    op(torch.rand(n, device="cuda"))
    x.copy_(torch.rand(64, device="cuda"))
    graph.replay()
    print(y.sum())
"""


@pytest.mark.parametrize(("sizes", "mark"), [("128, 256", TOLD), ("16, 64", "")], ids=["larger", "no larger"])
def test_a_global_that_functions_exchange_is_one_of_the_graph(tmp_path: Path, sizes: str, mark: str) -> None:
    analysis = analyse(tmp_path, SCRATCH.format(sizes=sizes, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


RESULT = """
import torch

class Workspace:
    def __init__(self, size):
        self.out = torch.zeros(size, device="cuda")

    def reserve(self, size):
        if size > self.out.numel():
            self.out = torch.zeros(size, device="cuda"){mark}
        return self.out

workspace = Workspace(64)
x = torch.zeros(64, 8, device="cuda")
torch.sum(x, dim=1, out=workspace.out)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.sum(x, dim=1, out=workspace.out)
workspace.reserve({size})
x.fill_(1.0)
graph.replay()
{behind}
"""


@pytest.mark.parametrize(
    ("size", "behind", "mark"),
    [
        ("500", "print(workspace.out.sum())", "  # expect: GL508"),
        ("32", "print(workspace.out.sum())", ""),
        ("500", "print(x.sum())", "  # expect: GL508"),
    ],
    ids=["it grows", "it is large enough", "nobody reads it"],
)
def test_a_buffer_that_a_graph_writes_is_looked_for_in_another_one(
    tmp_path: Path, size: str, behind: str, mark: str
) -> None:
    """Replay writes to the old one, which is free; how large a tensor is, its factory has said."""
    analysis = analyse(tmp_path, RESULT.format(size=size, behind=behind, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


EVICTED = """
from collections import OrderedDict
import torch

class Tables:
    def __init__(self, limit):
        self.limit, self.items = limit, OrderedDict()

    def get(self, length):
        if length not in self.items:
            self.items[length] = torch.arange(length, device="cuda").float().cos()
            {evict}
        return self.items[length]

tables, graphs = Tables(1), {{}}
for length in (8, 16):
    x, table = torch.zeros(length, device="cuda"), tables.get(length)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * table
    graphs[length] = graph, x, y, {held}
graph, x, y, held = graphs[8]
x.fill_(1.0)
graph.replay()
print(y.sum())
"""


@pytest.mark.parametrize(
    ("evict", "held", "is_told"),
    [
        ("if len(self.items) > 1: self.items.popitem(last=False)", "None", True),
        ("if len(self.items) > 1: self.items.popitem(last=False)", "table", False),
        ("pass", "None", False),
    ],
    ids=["evicted", "held elsewhere", "kept"],
)
def test_a_cache_that_evicts_gives_up_what_a_graph_reads(tmp_path: Path, evict: str, held: str, is_told: bool) -> None:
    analysis = analyse(tmp_path, EVICTED.format(evict=evict, held=held))
    assert is_told is any(code == "GL507" for _, _, code in analysis.shown)


EXCHANGED = """
import torch
from transformers import StaticCache
import threading

class Decoder:
    def __init__(self, model, config):
        self.model, self.config = model, config
        self.x = torch.zeros(1, 8, device="cuda")
        self.cache = {made}
        self.model(self.x, self.cache)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.model(self.x, {given})

    def renew(self):
        {renew}{mark}

    def step(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
CACHE = "StaticCache(config)"


@pytest.mark.parametrize(
    ("made", "given", "renew", "mark"),
    [
        (CACHE, "self.cache", "self.cache = StaticCache(self.config)", "  # expect: GL508"),
        (CACHE, "self.cache", "self.cache.reset()", ""),
        (CACHE, "1", "self.cache = StaticCache(self.config)", ""),
        ("threading.Lock()", "self.cache", "self.cache = threading.Lock()", ""),
    ],
    ids=["made anew", "reset", "not handed over", "holds nothing"],
)
def test_an_object_of_a_library_that_a_region_was_handed_is_exchanged(
    tmp_path: Path, made: str, given: str, renew: str, mark: str
) -> None:
    """It holds the memory that the graph reads."""
    analysis = analyse(tmp_path, EXCHANGED.format(made=made, given=given, renew=renew, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


STAGES = """
import torch

class Stages:
    def __init__(self, first, second):
        self.first, self.second = first, second
        self.x = torch.zeros(4, device="cuda")
        self.one, self.two = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.one):
            self.features = self.x * 2
        with torch.cuda.graph(self.two):
            self.scores = self.features + 1{mark}

    def run(self, x):
        self.x.copy_(x)
        self.one.replay()
        self.two.replay()
        return self.scores.clone()

    def swap(self, first):
        {body}
        self.two.replay()
        return self.scores.clone()

stages = Stages(None, None)
stages.run(torch.ones(4))
stages.swap(None)
"""


@pytest.mark.parametrize(
    ("body", "mark"),
    [
        ("del self.one, self.features", "  # expect: GL507"),
        ("self.one = self.features = None", "  # expect: GL507"),
        ("del self.one", ""),
        ("del self.features", ""),
    ],
    ids=["both deleted", "both emptied", "the graph alone", "the output alone"],
)
def test_an_output_that_another_graph_reads_goes_with_its_graph(tmp_path: Path, body: str, mark: str) -> None:
    """A graph keeps its pool, and a tensor its block: one of them is enough."""
    analysis = analyse(tmp_path, STAGES.format(body=body, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL509")]


MODEL = """
import torch

class Server:
    def __init__(self, model):
        self.model = model
        self.x = torch.zeros(2, 8, device="cuda")
        self.model(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def swap(self, model):
        {body}

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

def main(x):
    server = Server(torch.nn.Linear(8, 2).cuda())
    server.run(x)
    server.swap(torch.nn.Linear(8, 2).cuda())
    return server.run(x)
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.model = model  # expect: GL508",
        "self.model.load_state_dict(model.state_dict())",
        "self.model = torch.nn.Sequential(self.model, model)",
        "self.old, self.model = self.model, model",
        "self.draft = model",
    ],
    ids=["another model", "its weights", "what holds the old one", "the old one is kept", "another name"],
)
def test_a_model_that_was_captured_gives_way_to_another_one(tmp_path: Path, body: str) -> None:
    """The graph goes on with the weights of the old one."""
    analysis = analyse(tmp_path, MODEL.format(body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


CACHED = """
import functools
import torch

@functools.{cache}
def causal(n):
    return torch.full((n, n), float("-inf"), device="cuda").triu(1)

class Attention:
    def __init__(self):
        self.x = torch.zeros(8, 8, device="cuda")
        {kept}
        self.step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step()

    def step(self):
        return self.x + causal(8)

    def reset(self):
        causal.{method}(){mark}

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

attention = Attention()
attention.run(torch.rand(8, 8, device="cuda"))
attention.reset()
attention.run(torch.rand(8, 8, device="cuda"))
"""


@pytest.mark.parametrize("cache", ["cache", "lru_cache(maxsize=None)"])
@pytest.mark.parametrize(
    ("kept", "method", "mark"),
    [
        ("self.kept = None", "cache_clear", "  # expect: GL507"),
        ("self.kept = causal(8)", "cache_clear", ""),
        ("self.kept = None", "cache_info", ""),
    ],
    ids=["cleared", "held elsewhere", "asked"],
)
def test_a_cache_is_cleared_that_alone_holds_what_a_graph_reads(
    tmp_path: Path, cache: str, kept: str, method: str, mark: str
) -> None:
    analysis = analyse(tmp_path, CACHED.format(cache=cache, kept=kept, method=method, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


BY_SHAPE = """
import torch

class Op:
    def __init__(self):
        self.scratch = {{}} if {keyed} else None

    def __call__(self, x):
        {take}
        return torch.mul(x, 2, out=scratch) + 1

op, graphs = Op(), {{}}
for n in (1, 2, 4):
    x = torch.zeros(n, 8, device="cuda")
    op(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = op(x)
    graphs[n] = graph, x, y
for n in (1, 2, 4):
    graph, x, y = graphs[n]
    x.copy_(torch.rand(n, 8, device="cuda"))
    graph.replay()
    print(y.sum().item())
"""
ANEW = f"""if self.scratch is None or self.scratch.shape != x.shape:
            self.scratch = torch.empty_like(x){TOLD}
        scratch = self.scratch"""
KEYED = """if x.shape not in self.scratch:
            self.scratch[x.shape] = torch.empty_like(x)
        scratch = self.scratch[x.shape]"""


@pytest.mark.parametrize(("take", "keyed"), [(ANEW, False), (KEYED, True)], ids=["one for all", "one for each"])
def test_a_scratch_buffer_of_one_shape_is_let_go_for_the_next(tmp_path: Path, take: str, keyed: bool) -> None:
    """What is made like a tensor has its shape."""
    analysis = analyse(tmp_path, BY_SHAPE.format(take=take, keyed=keyed))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


SEQUENTIAL = """
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).cuda()
x = torch.rand(2, 4, device="cuda")
with torch.no_grad():
    net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    {change}
    graph.replay()
    print(y)
"""


@pytest.mark.parametrize(
    "change",
    [
        f"net[0].weight = torch.nn.Parameter(torch.rand(4, 4).cuda()){TOLD}",
        f"net[0].weight.data = torch.rand(4, 4).cuda(){TOLD}",
        "net[0].weight.copy_(torch.rand(4, 4))",
        "net[0].scale = torch.rand(4, 4).cuda()",
    ],
    ids=["replaced", "given other memory", "written", "nothing of it"],
)
def test_a_module_that_others_hold_is_reached_by_its_place(tmp_path: Path, change: str) -> None:
    analysis = analyse(tmp_path, SEQUENTIAL.format(change=change))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]


HANDED = """
import torch

class Recorder:
    def __init__(self, weight):
        self.weight, self.outputs = weight, []

    def record(self, batch):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = batch @ self.weight{mark}
        self.outputs.append(self.y)
        {kept}

recorder = Recorder(torch.ones(4, 4, device="cuda"))
{before}
recorder.record({given})
for _ in range(2):
    recorder.graph.replay()
    print(recorder.y.sum())
"""
MADE = 'torch.ones(2, 4, device="cuda")'


@pytest.mark.parametrize(
    ("before", "given", "kept", "mark"),
    [
        ("pass", MADE, "pass", "  # expect: GL507"),
        ("pass", MADE, "self.batch = batch", ""),
        (f"batch = {MADE}", "batch", "pass", ""),
        (f"batches = [{MADE}]", "batches[0]", "pass", ""),
        (f"batches = [{MADE}]", "batches.pop()", "pass", "  # expect: GL507"),
    ],
    ids=["made for the call", "the object keeps it", "it has a name", "a list keeps it", "a list gives it away"],
)
def test_what_is_made_for_the_call_that_captures_is_gone_with_it(
    tmp_path: Path, before: str, given: str, kept: str, mark: str
) -> None:
    """The graph holds no reference to an argument, and the caller has none either."""
    analysis = analyse(tmp_path, HANDED.format(before=before, given=given, kept=kept, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL507"]


STACKED = """
import torch

net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).cuda()
other = torch.nn.Linear(4, 4).cuda()
x = torch.zeros(2, 4, device="cuda")
with torch.no_grad():
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
{change}
x.fill_(1)
graph.replay()
"""


@pytest.mark.parametrize(
    "change",
    ["net[2] = other  # expect: GL508", "net[2].load_state_dict(other.state_dict())", "other[0] = net[2]"],
    ids=["another module takes its place", "its weights are written over", "it is put somewhere else"],
)
def test_a_module_of_several_is_given_the_place_of_another_that_the_graph_reads(tmp_path: Path, change: str) -> None:
    """The graph reads the weights of the one that was called."""
    analysis = analyse(tmp_path, STACKED.format(change=change))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL508")]
