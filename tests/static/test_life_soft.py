"""What is compiled to replay graphs, and what it is called with that lets it run without them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

FUNCTION = """
import torch

@torch.compile({options})
def step(x, other):
    {body}
    return x * other

def main():
    for _ in range(3):
        other = {other}
        torch.compiler.cudagraph_mark_step_begin()
        y = step(torch.randn(4, device="cuda"), other)

main()
"""
GRAPHED, PLAIN = 'mode="reduce-overhead"', "dynamic=False"
DEVICE = 'torch.ones(4, device="cuda")'
TOLD = {
    "an argument lies on the host": (GRAPHED, "pass", "torch.tensor(0.5)  # expect: GL707"),
    "an argument is written to": (GRAPHED, "other[0] = x.sum()  # expect: GL707", DEVICE),
}
SILENT = {
    "nothing is graphed": (PLAIN, "other[0] = x.sum()", DEVICE),
    "both lie on the device": (GRAPHED, "pass", DEVICE),
    "a copy is written to": (GRAPHED, "other = other.clone(); other[0] = x.sum()", DEVICE),
    "an argument is a number": (GRAPHED, "pass", "0.5"),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_argument_for_which_nothing_is_graphed_is_told(tmp_path: Path, name: str) -> None:
    options, body, other = TOLD[name]
    analysis = analyse(tmp_path, FUNCTION.format(options=options, body=body, other=other))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_arguments_that_are_graphed_or_need_not_be_are_silent(tmp_path: Path, name: str) -> None:
    options, body, other = SILENT[name]
    assert not analyse(tmp_path, FUNCTION.format(options=options, body=body, other=other)).shown


NUMBERED = """
import sys
import torch

@torch.compile({options})
def step(x, number):
    return torch.tanh(x) * number

def main(rounds):
    x, number = torch.randn(4, device="cuda"), {start}
    {loop}
        torch.compiler.cudagraph_mark_step_begin()
        y = step(x, number){mark}
        {after}

main(int(sys.argv[1]))
"""
COUNTED = {
    "the number of the round": (GRAPHED, "0", "for number in range(rounds):", "pass", True),
    "a number that is added to": (GRAPHED, "0", "for _ in range(rounds):", "number += 1", True),
    "it is counted until something comes": (
        GRAPHED,
        "3",
        "while y.sum() > 0 if number > 3 else True:",
        "number += 2",
        True,
    ),
    "nothing is graphed": (PLAIN, "0", "for number in range(rounds):", "pass", False),
    "there are four rounds": (GRAPHED, "0", "for number in range(4):", "pass", False),
    "a tensor counts": (GRAPHED, "torch.zeros((), device='cuda')", "for _ in range(rounds):", "number += 1", False),
    "a tensor counts beside a number": (
        GRAPHED,
        "2; counter = torch.zeros((), device='cuda')",
        "for _ in range(rounds):",
        "counter += 1; step(counter, 2)",
        False,
    ),
    "the number stays": (GRAPHED, "2", "for _ in range(rounds):", "pass", False),
    "it is one of a list": (GRAPHED, "0", "for number in sys.path:", "pass", False),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_that_counts_up_asks_for_one_graph_after_the_other(tmp_path: Path, name: str) -> None:
    options, start, loop, after, is_told = COUNTED[name]
    mark = "  # expect: GL505" if is_told else ""
    program = NUMBERED.format(options=options, start=start, loop=loop, after=after, mark=mark)
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected


MODULE = """
import torch

class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x, mean):
        {body}
        return x - mean

norm = torch.compile(Norm().cuda(), mode="reduce-overhead")
mean = torch.zeros(4, device="cuda")
{around}
with torch.no_grad():
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        norm(torch.randn(2, 4, device="cuda"), mean)
"""


@pytest.mark.parametrize(
    "body, around",
    [
        ("mean.lerp_(x.mean(0), 0.1)  # expect: GL707", ""),
        ("mean.lerp_(x.mean(0), 0.1)", "torch._dynamo.mark_static_address(mean)"),
        ("self.mean.lerp_(x.mean(0), 0.1)", ""),
    ],
)
def test_a_buffer_and_what_has_a_promised_address_may_be_written(tmp_path: Path, body: str, around: str) -> None:
    analysis = analyse(tmp_path, MODULE.format(body=body, around=around))
    assert analysis.shown == analysis.expected


CHOSEN = """
import torch

class Generator:
    def __init__(self, model, kind=None, options={{"mode": "reduce-overhead"}}):
        self.model, self.graph = model, None
        {compiled}

    def __call__(self, x):
        if self.graph is None:
            self.x = x.clone()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x){mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
COMPILED = "self.model = torch.compile(model, mode='reduce-overhead')"


@pytest.mark.parametrize(
    ("compiled", "mark"),
    [(COMPILED, "  # expect: GL606"), ("if kind == 'partial': self.model = torch.compile(model, **options)", "")],
    ids=["always", "by a choice of the caller"],
)
def test_what_a_caller_may_choose_to_compile_is_a_hint_in_a_capture(tmp_path: Path, compiled: str, mark: str) -> None:
    """Who captures it may choose options without graphs."""
    analysis = analyse(tmp_path, CHOSEN.format(compiled=compiled, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL606"] == analysis.expected


INSIDE = """
import torch

inner = torch.compile(torch.nn.ReLU().cuda(), mode="{mode}")
x = torch.zeros(4, device="cuda")
with torch.no_grad():
    for _ in range(3):
        inner(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = inner(x){mark}
    for _ in range(3):
        x.normal_()
        graph.replay()
"""


@pytest.mark.parametrize("mode, mark", [("reduce-overhead", "  # expect: GL606"), ("default", "")])
def test_what_replays_graphs_of_its_own_is_not_called_in_a_capture(tmp_path: Path, mode: str, mark: str) -> None:
    analysis = analyse(tmp_path, INSIDE.format(mode=mode, mark=mark))
    assert analysis.shown == analysis.expected


STEPS = """
import torch

def cell(x):
    return torch.relu(x @ x)

def other(x):
    return torch.relu(x @ x) * 3

cell = torch.compile(cell, mode="reduce-overhead")
head = torch.compile(other, mode="reduce-overhead")
plain = torch.compile(other)

@torch.no_grad()
def run(x, y, rows):
"""
OVER = {
    "another call of it": "a = cell(x)  # expect: GL510\nb = cell(y)\nreturn b + 2 * (a - b)",
    "a call of another one": "a = cell(x)  # expect: GL510\nb = head(y)\nreturn a + b",
    "another one, which is given it": "a = cell(x)  # expect: GL510\nreturn head(a)",
    "the next call, which is given it": "for _ in range(5):\n    x = cell(x)  # expect: GL510\nreturn x.cpu()",
    "a comprehension": "rows = [cell(row) for row in rows]  # expect: GL510\nreturn torch.stack(rows)",
    "steps that are marked": """
        out = []
        for row in rows:
            torch.compiler.cudagraph_mark_step_begin()
            out.append(cell(row))  # expect: GL510
        return torch.stack(out)
    """,
    "the next round": """
        last = total = None
        for row in rows:
            y = cell(row)  # expect: GL510
            if last is not None:
                total = y - last
            last = y
        return total
    """,
}
THERE = {
    "a copy": "for _ in range(5):\n    x = cell(x).clone()\nreturn x",
    "a copy that is handed in": "for _ in range(5):\n    x = cell(x.clone())\nreturn x.cpu()",
    "what is computed of it": "for _ in range(5):\n    x = x + 0.1 * cell(x)\nreturn x",
    "a buffer of its own": "for _ in range(5):\n    x.copy_(cell(y))\nreturn x",
    "both of one marked step": "torch.compiler.cudagraph_mark_step_begin()\na = cell(x)\nb = cell(y)\nreturn a + b",
    "a call that replays nothing": "a = cell(x)\nb = plain(y)\nreturn a + b",
    "what is read before": "a = cell(x).sum().item()\nb = cell(y)\nreturn a + b",
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in (OVER | THERE).items()])
def test_an_output_of_what_is_compiled_is_there_until_the_next_step(tmp_path: Path, body: str) -> None:
    """Measured: torch refuses what is older while it records graphs, and then gives what the next step computes."""
    analysis = analyse(tmp_path, STEPS + textwrap.indent(textwrap.dedent(body), "    "))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


TRAINED = """
import torch

model = torch.compile(torch.nn.Linear(4, 4).cuda(), mode="reduce-overhead")

def epoch(rows, others):
    kept = []
    for row, other in zip(rows, others):
        loss = model(row) - model(other)
        {backward}
        kept.append(loss.detach())
    return torch.stack(kept)
"""


@pytest.mark.parametrize("backward", ["loss.sum().backward()", "pass"])
def test_what_waits_for_a_backward_pass_is_written_over_by_no_other_call(tmp_path: Path, backward: str) -> None:
    """Both outputs are read in one step, and what is kept is computed of them."""
    analysis = analyse(tmp_path, TRAINED.format(backward=backward))
    assert "GL510" not in [code for _, _, code in analysis.shown]


OBJECT = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x * 2

class Runner:
    def __init__(self):
        self.net = Net().cuda()
        {compiled}
        self.seen = []

    @torch.inference_mode()
    def step(self, x):
        y = self.net(x)
        self.seen.append({kept}){mark}
        return self.seen[0] + y
"""
COMPILED_AS = [
    'self.net.forward = torch.compile(self.net.forward, mode="reduce-overhead", fullgraph=True)',
    'self.net = torch.compile(self.net, mode="reduce-overhead")',
    'self.net.compile(mode="reduce-overhead")',
]


@pytest.mark.parametrize("compiled", COMPILED_AS)
def test_methods_that_call_what_the_constructor_has_compiled_are_run(tmp_path: Path, compiled: str) -> None:
    """Whichever way it has done so; a copy is silent."""
    told = analyse(tmp_path / "told", OBJECT.format(compiled=compiled, kept="y", mark="  # expect: GL510"))
    assert told.expected == told.shown
    copied = analyse(tmp_path / "copied", OBJECT.format(compiled=compiled, kept="y.clone()", mark=""))
    assert not copied.shown


FLAGGED = """
import torch

def step(x):
    return (x * 2).sum(-1, keepdim=True)

def generate(x, number):
    found = []
    for _ in range(number):
        x = step(x){copy}
        found.append(x){mark}
    return torch.cat(found)

def main(x{flag}):
    global step
    if {test}:
        step = torch.compile(step, mode="reduce-overhead")
    return generate(x, 10)
"""
FLAGS = {
    "a flag that is off": (", fast=False", "fast", True),
    "a flag by keyword": (", *, fast: bool = False", "fast", True),
    "a flag that is on": (", slow=True", "not slow", True),
    "a number that is no flag": (", level=0", "level", False),
}


@pytest.mark.parametrize("flag, test, is_asked", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("copy", ["", ".clone()"])
def test_a_flag_of_a_function_that_compiles_is_tried_both_ways(
    tmp_path: Path, flag: str, test: str, is_asked: bool, copy: str
) -> None:
    """Whatever its default is; a copy of an output may be kept."""
    mark = "  # expect: GL510" if is_asked and not copy else ""
    analysis = analyse(tmp_path, FLAGGED.format(flag=flag, test=test, copy=copy, mark=mark))
    assert analysis.expected == analysis.shown


ENDING = """
# file: drawing.py
import torch

def draw(model, x):
    return model(x).argmax(-1)

def generate(model, x, stop, step):
    y = draw(model, x)
    if torch.isin(y, stop).all().item():
        return y.tolist()
    drawn = [y]
    for _ in range(8):
        y = step(model, y){copy}
        drawn.append(y){mark}
        if torch.isin(y, stop).all().item():
            break
    return torch.cat(drawn).tolist()

# file: serve.py
import torch
from drawing import draw, generate

def serve(model, x, stop):
    step = torch.compile(draw, mode="reduce-overhead")
    with torch.inference_mode():
        return generate(model, x, stop, step)
"""


@pytest.mark.parametrize("copy", ["", ".clone()"])
def test_a_way_that_data_ends_early_is_not_the_first_one_to_be_gone(tmp_path: Path, copy: str) -> None:
    """In the helpers of another file, of whose conditions one side is gone."""
    mark = "" if copy else "  # expect: GL510"
    analysis = analyse(tmp_path, ENDING.format(copy=copy, mark=mark))
    assert analysis.expected == analysis.shown


LAYERS = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, mask):
        return self.masked(x, mask){mark}

    def masked(self, x, mask):
        return self.linear(x) * mask

class Net(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.layers = nn.ModuleList([Layer() for _ in range(number)])

    def speed_up(self, mode="{mode}"):
        for i in range(self.number):
            {compiled}

    @torch.no_grad()
    def forward(self, x, mask):
        for i in range(self.number):
            x = self.layers[i](x, mask){end}
        return x
"""
METHOD = "self.layers[i].masked = torch.compile(self.layers[i].masked, mode=mode)"


@pytest.mark.parametrize(
    ("compiled", "mode", "end", "is_told"),
    [
        (METHOD, "reduce-overhead", "", True),
        (METHOD, "default", "", False),
        (METHOD, "reduce-overhead", ".clone()", False),
        ("self.layers[i] = torch.compile(self.layers[i], mode=mode)", "default", "", False),
    ],
    ids=["graphs", "no graphs", "copied", "layers without graphs"],
)
def test_layers_that_are_compiled_one_by_one_run_one_after_the_other(
    tmp_path: Path, compiled: str, mode: str, end: str, is_told: bool
) -> None:
    """Each is given what the one before it has given, which its own step takes away; a list of modules holds them."""
    mark = "  # expect: GL510" if is_told else ""
    program = LAYERS.format(compiled=compiled, mode=mode, end=end, mark=mark)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


LITERALS = """
import torch

def score(x, share: float, table):
    return x * {made}

{opened}
"""
LITERAL_CODES = {"GL104", "GL202", "GL203"}
COMPILED_HERE = 'torch.compile(score, mode="reduce-overhead")'
CAPTURED_HERE = """
def main(share, table):
    x = torch.ones(4, 4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        score(x, share, table)
"""


@pytest.mark.parametrize(
    "made",
    [
        'torch.tensor(1.0, device="cuda")',
        'torch.tensor([share, 1 - share], device="cuda")',
        "torch.tensor([share] * len(x), dtype=torch.int32).to(x.cuda().device)",
        "torch.distributions.OneHotCategorical(logits=x.cuda()).probs",
    ],
)
def test_what_a_compiler_makes_a_constant_of_is_told_of_captures_alone(tmp_path: Path, made: str) -> None:
    """It leaves out what asks whether arguments are right, as well."""
    told = {
        opened: {code for _, _, code in analyse(tmp_path, LITERALS.format(made=made, opened=opened)).found}
        for opened in (COMPILED_HERE, CAPTURED_HERE)
    }
    assert not told[COMPILED_HERE] & LITERAL_CODES and told[CAPTURED_HERE] & LITERAL_CODES


@pytest.mark.parametrize(("script", "is_told"), [("jit.script", False), ("no_grad()", True)])
def test_a_script_is_made_of_the_source_of_what_is_compiled(tmp_path: Path, script: str, is_told: bool) -> None:
    """Tried with torch 2.13: what it calls is the function that was compiled, and nothing compiled runs."""
    text = STEPS.replace("torch.no_grad()", f"torch.{script}") + "    a = cell(x)\n    return a + head(y)\n"
    text += "\n\nwith torch.no_grad():\n    x = torch.ones(4, 4, device='cuda')\n    run(x, x, x)\n"
    assert is_told is ("GL510" in {code for *_, code in analyse(tmp_path, text).shown})


TABLE = """
import torch

TABLE = {{}}
{filling}

def pick(x):
    return x.argmax(-1)

class Generator:
    def __init__(self, kind):
        self.mode = TABLE.get(kind)

    @torch.no_grad()
    def generate(self, x, n):
        step = pick
        if self.mode is not None:
            step = torch.compile(pick, mode="max-autotune", fullgraph=True)
        found = []
        for _ in range(n):
            x = step(x{copied}){expected}
            found.append(x.tolist())
        return found
"""
FILLED = 'if torch.cuda.is_available():\n    TABLE["fast"] = "int8"'
GIVEN_ON = "  # expect: GL510"


def test_a_table_that_statements_of_the_file_fill_is_not_empty(tmp_path: Path) -> None:
    """What it may give decides whether something is compiled, whose output is given to the next call."""
    analysis = analyse(tmp_path, textwrap.dedent(TABLE.format(filling=FILLED, copied="", expected=GIVEN_ON)))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(("filling", "copied"), [("", ""), (FILLED, ".clone()")])
def test_an_empty_table_gives_nothing_and_a_copy_is_given_on(tmp_path: Path, filling: str, copied: str) -> None:
    assert not analyse(tmp_path, textwrap.dedent(TABLE.format(filling=filling, copied=copied, expected=""))).shown
