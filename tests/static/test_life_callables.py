"""What is asked of `make_graphed_callables`, and of what it gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(4, 8), torch.nn.Linear(8, 4)

    def forward(self, x, shift):
        return self.down(self.up(x)) + shift

class Adapter(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.more = inner, torch.nn.Linear(4, 8)

    def forward(self, x):
        return self.inner(x) + self.more(x)

def adapt(block):
    block.up = Adapter(block.up)@

def main():
    block = Block().cuda()
    sample = torch.zeros(2, 4, device="cuda")
{body}
    for _ in range(3):
        x = torch.randn(2, 4, device="cuda")
        block.zero_grad()
        {call}.sum().backward()

main()
"""
GRAPH = "    torch.cuda.make_graphed_callables(block, (sample, sample))"
WRONG = {
    "an argument has a keyword": (GRAPH, "block(x, shift=x)  # expect: GL703"),
    "a sample is None": (GRAPH.replace("sample))", "None))  # expect: GL703"), "block(x, None)"),
    "a part is replaced afterwards": (f"{GRAPH}\n    adapt(block)", "block(x, x)"),
    "nothing warms up": (GRAPH.replace("sample))", "sample), num_warmup_iters=0)  # expect: GL703"), "block(x, x)"),
}
RIGHT = {
    "arguments stand in their places": (GRAPH, "block(x, x)"),
    "the part is replaced before": (f"    adapt(block)\n{GRAPH}", "block(x, x)"),
    "the program has warmed up": (
        "    block(sample, sample)\n" + GRAPH.replace("sample))", "sample), num_warmup_iters=0)"),
        "block(x, x)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_two_fixed_graphs_cannot_serve_is_told(tmp_path: Path, name: str) -> None:
    body, call = WRONG[name]
    mark = "  # expect: GL703" if "adapt" in body else ""
    analysis = analyse(tmp_path, PROGRAM.replace("@", mark).format(body=body, call=call))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("name", RIGHT)
def test_a_module_that_is_graphed_as_it_is_used_is_silent(tmp_path: Path, name: str) -> None:
    body, call = RIGHT[name]
    assert not analyse(tmp_path, PROGRAM.replace("@", "").format(body=body, call=call)).shown


LIST = """
import torch

class Stack(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(depth))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x

stack = Stack(2).cuda()
sample = torch.zeros(2, 4, device="cuda"{gradient})
graphed = torch.cuda.make_graphed_callables(tuple(stack.blocks), ((sample,), (sample,))){mark}
stack.blocks = torch.nn.ModuleList(graphed)
for _ in range(3):
    stack.zero_grad()
    stack(torch.randn(2, 4, device="cuda")).sum().backward()
"""


@pytest.mark.parametrize("gradient, mark", [("", "  # expect: GL703"), (", requires_grad=True", "")])
def test_the_blocks_of_a_list_are_graphed_each_with_samples_like_what_the_one_before_gives(
    tmp_path: Path, gradient: str, mark: str
) -> None:
    analysis = analyse(tmp_path, LIST.format(gradient=gradient, mark=mark))
    assert analysis.shown == analysis.expected


INNER = """
import torch

enc, dec = torch.nn.Linear(4, 4).cuda(), torch.nn.Linear(4, 2).cuda()
x = torch.randn(2, 4, device="cuda")
{graphing}

def forward(x):
    x = enc(x){mark}
    return dec(x){both}

with torch.no_grad():
    forward(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = forward(x)
    x.normal_()
    graph.replay()
    print(y.sum().item())
"""


@pytest.mark.parametrize(
    ("graphing", "is_told"),
    [
        ("enc = torch.cuda.make_graphed_callables(enc, (x,))", True),
        ("enc, dec = torch.cuda.make_graphed_callables((enc, dec), ((x,), (x,)))", True),
        ("other = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4).cuda(), (x,))", False),
        ("enc = torch.cuda.make_graphed_callables(enc, (x,))\nenc.eval()", False),
    ],
    ids=["one", "both", "another", "one that runs eagerly in this mode"],
)
def test_a_graphed_callable_replays_inside_of_a_region(tmp_path: Path, graphing: str, is_told: bool) -> None:
    """Which a graph cannot do while another capture is under way."""
    mark = "  # expect: GL606" if is_told else ""
    both = mark if "dec" in graphing else ""
    analysis = analyse(tmp_path, INNER.format(graphing=graphing, mark=mark, both=both))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL606"]


HOOKED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.dec(self.enc(x))

norms = []
net = Net().cuda()
net = torch.cuda.make_graphed_callables(net, (torch.randn(2, 4, device="cuda"),))
{behind}
with torch.no_grad():
    for _ in range(3):
        net(torch.randn(2, 4, device="cuda"))
"""
HOOK = "register_forward_hook(lambda module, given, out: norms.append(out.norm()))"


@pytest.mark.parametrize(
    ("behind", "is_told"),
    [
        (f"net.enc.{HOOK}", True),
        (f"for part in net.children():\n    part.{HOOK}", True),
        (f"net.{HOOK}", False),
        (f"torch.nn.Linear(4, 4).{HOOK}", False),
        (f"net.eval()\nnet.enc.{HOOK}", False),
    ],
    ids=["a part", "a part in a loop", "the module itself", "another module", "a module that runs eagerly"],
)
def test_a_hook_on_a_part_of_a_graphed_module_never_runs(tmp_path: Path, behind: str, is_told: bool) -> None:
    """Calls replay the graph of the whole, and no part is called."""
    marked = behind + ("  # expect: GL703" if is_told else "")
    analysis = analyse(tmp_path, HOOKED.format(behind=marked))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL703"]


UNUSED = """
import torch

def work(block, x):
    return block.up(x) + block.down(x)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return {work}

block = Block().cuda()
sample = torch.zeros(2, 4, device="cuda", requires_grad=True)
graphed = torch.cuda.make_graphed_callables(block, (sample,)){mark}
graphed(sample).sum().backward()
"""


@pytest.mark.parametrize(
    "work, mark", [("self.up(x)", "  # expect: GL703"), ("work(self, x)", ""), ("torch.relu(self(x))", "")]
)
def test_a_part_that_nothing_speaks_of_is_told_unless_somebody_gets_the_whole_module(
    work: str, mark: str, tmp_path: Path
) -> None:
    """Who is handed the module may use any part of it."""
    analysis = analyse(tmp_path, UNUSED.format(work=work, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL703"]


PARTS = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(4, 4)
        self.more, self.count = None, 0

    def forward(self, x):
        y = self.base(x)
        return y if self.more is None else y + self.more(x)

net = Net().cuda()
x = torch.rand(2, 4, device="cuda", requires_grad=True)
{before}
net = torch.cuda.make_graphed_callables(net, (x,))
{after}
net(x).sum().backward()
"""
PART = "net.more = torch.nn.Linear(4, 4, bias=False).cuda()"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pass", f"{PART}  # expect: GL703"),
        (PART, "del net.more  # expect: GL703"),
        (PART, "pass"),
        ("pass", "net.count = 1"),
    ],
    ids=["added", "deleted", "there before", "no part"],
)
def test_a_graphed_module_has_the_parts_that_it_was_graphed_with(tmp_path: Path, before: str, after: str) -> None:
    analysis = analyse(tmp_path, PARTS.format(before=before, after=after))
    assert [one for one in analysis.shown if one[2] == "GL703"] == analysis.expected


RECOMPUTED = """
import torch
from torch.utils.checkpoint import checkpoint

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.saves_memory = False
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        {call}
        return x * 2

class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

deep = Deep().cuda()
sample = torch.randn(2, 4, device="cuda", requires_grad=True)
{graphing}
deep(torch.randn(2, 4, device="cuda", requires_grad=True)).sum().backward()
"""
GRAPHED = "deep = torch.cuda.make_graphed_callables(deep, (sample,))"


@pytest.mark.parametrize(
    ("call", "graphing"),
    [
        ("x = checkpoint(self.inner, x, use_reentrant=True)  # expect: GL703", GRAPHED),
        ("x = checkpoint(self.inner, x, use_reentrant=False, preserve_rng_state=False)", GRAPHED),
        ("x = checkpoint(self.inner, x, use_reentrant=True) if self.saves_memory else self.inner(x)", GRAPHED),
        ("x = checkpoint(self.inner, x, use_reentrant=True)", "deep(sample)"),
    ],
    ids=["in a backward pass of its own", "in the same one", "only if asked to", "in no graph"],
)
def test_what_is_graphed_computes_nothing_again_by_a_backward_pass_of_its_own(
    tmp_path: Path, call: str, graphing: str
) -> None:
    analysis = analyse(tmp_path, RECOMPUTED.format(call=call, graphing=graphing))
    assert analysis.shown == analysis.expected


SPREAD = """
import torch

net = torch.nn.Linear(4, 2).cuda()
fast = torch.cuda.make_graphed_callables(net, (torch.randn({rows}, 4, device="cuda"),))
for n in (8, {last}):
    y = fast(torch.randn(n, 4, device="cuda")){mark}
"""


@pytest.mark.parametrize(
    ("rows", "last", "mark"), [(8, 1, "  # expect: GL511"), (8, 8, ""), (1, 1, "")], ids=["one row", "all", "of one"]
)
def test_a_graphed_callable_is_given_as_many_rows_as_its_sample_has(
    tmp_path: Path, rows: int, last: int, mark: str
) -> None:
    """A single one would be spread over all, without a word."""
    analysis = analyse(tmp_path, SPREAD.format(rows=rows, last=last, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL511"] == analysis.expected


IN_A_CAPTURE = """
import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.ones(2, 4, device="cuda")
graphed = torch.cuda.make_graphed_callables({given})
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    y = graphed(x)
"""


@pytest.mark.parametrize(("given", "is_told"), [("net, (x,)", True), ("callables=net, sample_args=(x,)", True),
                                                ("*(net, (x,))", True), ("net", False)])  # fmt: skip
def test_without_samples_nothing_is_graphed(tmp_path: Path, given: str, is_told: bool) -> None:
    """The call raises, and nothing behind it replays."""
    found = analyse(tmp_path, IN_A_CAPTURE.format(given=given)).found
    assert is_told is ("GL606" in {code for _, _, code in found})
