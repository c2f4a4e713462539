"""Host state that regions read, count on and draw from: pairs of programs, of which one is wrong and one is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from analysis import analyse
from proof.reports import RULEBOOK

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence

_MARK = "# wrong"
_HEAD = "import random\nimport time\n\nimport numpy\nimport torch\n\n"
_OBJECT = """
step = Step()
static_x = torch.ones(4, 4, device="cuda")
step(static_x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(static_x)
"""
_FUNCTION = _OBJECT.replace("step = Step()\n", "")


@dataclass(frozen=True)
class Pair:
    """Two programs with one frame; the rule reports the marked line of the wrong one, and nothing in the other."""

    code: str
    wrong: str
    right: str
    frame: str = _OBJECT
    after: str = "graph.replay()\n"
    instead: str | None = None  # what follows in the right one, if it is something else

    @property
    def texts(self) -> tuple[str, str]:
        """The wrong program and the right one."""
        behind = self.after if self.instead is None else self.instead
        return f"{_HEAD}{self.wrong}{self.frame}{self.after}", f"{_HEAD}{self.right}{self.frame}{behind}"


def state(read: str, first: str = "2", more: str = "") -> str:
    """A class with a value that its call reads."""
    return f"""class Step:
    def __init__(self):
        self.weight = torch.ones(4, 4, device="cuda")
        self.value = {first}
{more}
    def __call__(self, x):
        {read}
"""


_OPTIMIZER = "        self.optimizer = torch.optim.Adam([self.weight], capturable=True)\n"
_SET = "for n in range(3):\n    step.value = n + 1\n    graph.replay()\n"
_FILL = "for n in range(3):\n    step.value.fill_(n)\n    graph.replay()\n"
_METHOD = "    def turn(self, value):\n        self.value = value\n"
_TURN = "for n in range(3):\n    step.turn(n)\n    graph.replay()\n"
_TURN_GLOBAL = """
def turn(n):
    global SCALE
    SCALE = n


for n in range(3):
    turn(n)
    graph.replay()
"""
_DEVICE = 'torch.ones((), device="cuda")'

PAIRS = {
    "a slice": Pair(
        "GL402", state(f"return self.weight[: self.value] * 2  {_MARK}"), state("return x * 2"), after=_SET
    ),
    "a narrowed tensor": Pair(
        "GL402", state(f"return self.weight.narrow(0, 0, self.value)  {_MARK}"), state("return x + 1"), after=_SET
    ),
    "a row": Pair(
        "GL402", state(f"return self.weight[self.value] + x  {_MARK}"), state("return self.weight[0] + x"), after=_SET
    ),
    "a factor": Pair(
        "GL402", state(f"return x * self.value  {_MARK}"), state("return x * self.value", _DEVICE), after=_SET
    ),
    "the argument of an operation": Pair(
        "GL402", state(f"return x.topk(self.value).values  {_MARK}"), state("return x.topk(2).values"), after=_SET
    ),
    "the count of a loop": Pair(
        "GL402",
        state(f"for _ in range(self.value):  {_MARK}\n            x = x * 2\n        return x"),
        state("for _ in range(2):\n            x = x * 2\n        return x"),
        after=_SET,
    ),
    "the condition of a loop": Pair(
        "GL402",
        state(
            f"n = 0\n        while n < self.value:  {_MARK}\n            n += 1\n"
            "            x = x * 2\n        return x"
        ),
        state("n = 0\n        while n < 2:\n            n += 1\n            x = x * 2\n        return x"),
        after=_SET,
    ),
    "a branch on a rest": Pair(
        "GL402",
        state(f"if self.value % 2 == 0:  {_MARK}\n            x = x * 2\n        return x"),
        state("if self.weight.shape[0] % 2 == 0:\n            x = x * 2\n        return x"),
        after=_SET,
    ),
    "a flag that is set behind the capture": Pair(
        "GL402",
        state(f"return x * 2 if self.value else x + 1  {_MARK}", "True"),
        state("return x * 2 if self.value else x + 1", "True"),
        after="step.value = False\ngraph.replay()\n",
        instead="graph.replay()\n",
    ),
    "a branch that capture does not take": Pair(
        "GL402",
        state("if self.value:  # wrong\n            x = x.relu()\n        return x @ self.weight", "True"),
        state("if self.value:\n            print('on')\n        return x @ self.weight", "True"),
        frame=_OBJECT.replace("graph = ", "step.value = False\ngraph = "),
        after="step.value = True\ngraph.replay()\n",
    ),
    "a list that a loop goes through": Pair(
        "GL402",
        state("for by in self.value:  # wrong\n            x = x * 2\n        return x", "[1.0, 2.0]"),
        state("for by in (1.0, 2.0):\n            x = x * 2\n        return x", "[1.0, 2.0]"),
        after="for n in range(3):\n    step.value = [0.5] * n\n    graph.replay()\n",
    ),
    "a branch that returns": Pair(
        "GL402",
        "STAGE = 'warm'\ndef step(x):\n    if STAGE == 'warm':  # wrong\n        return x\n    return x.relu()\n",
        "def step(x):\n    return x.relu()\n",
        frame=_FUNCTION,
        after="for n in range(3):\n    STAGE = 'hot' if n > 1 else 'warm'\n    graph.replay()\n",
    ),
    "a branch with a step of an optimizer": Pair(
        "GL402",
        state("if self.value % 4 == 0:  # wrong\n            self.optimizer.step()", more=_OPTIMIZER),
        state("self.optimizer.step()", more=_OPTIMIZER),
        after=_SET,
    ),
    "a value that passes through a name": Pair(
        "GL402",
        state(f"half = self.value // 2  {_MARK}\n        return x[:half]"),
        state("half = x.shape[0] // 2\n        return x[:half]"),
        after=_SET,
    ),
    "a value that passes through a parameter": Pair(
        "GL402",
        "def scaled(x, by):\n    return x * by\n\n\n" + state(f"return scaled(x, self.value)  {_MARK}"),
        "def scaled(x, by):\n    return x * by\n\n\n" + state("return scaled(x, 2)"),
        after=_SET,
    ),
    "a value that a method returns": Pair(
        "GL402",
        state("return x[: self.length()]", more=f"    def length(self):\n        return self.value + 1  {_MARK}\n"),
        state("return x[: self.length()]", more="    def length(self):\n        return 2\n"),
        after=_SET,
    ),
    "a value that a property gives": Pair(
        "GL402",
        state(
            "return x[: self.size]", more=f"    @property\n    def size(self):\n        return self.value  {_MARK}\n"
        ),
        state("return x[: self.size]", more="    @property\n    def size(self):\n        return 2\n"),
        after=_SET,
    ),
    "a setter that the program calls": Pair(
        "GL402",
        state(f"return self.weight[self.value] + x  {_MARK}", more=_METHOD),
        state("return self.weight[0] + x", more=_METHOD),
        after=_TURN,
    ),
    "a global": Pair(
        "GL402",
        f"SCALE = 2.0\n\n\ndef step(x):\n    return x * SCALE  {_MARK}\n",
        "SCALE = 2.0\n\n\ndef step(x):\n    return x * SCALE\n",
        _FUNCTION,
        _TURN_GLOBAL,
        _TURN_GLOBAL.replace("SCALE", "OTHER"),
    ),
    "an item of a table": Pair(
        "GL402",
        f'TABLE = {{"scale": 2.0}}\n\n\ndef step(x):\n    return x * TABLE["scale"]  {_MARK}\n',
        'TABLE = {"scale": 2.0}\n\n\ndef step(x):\n    return x * TABLE["other"]\n',
        _FUNCTION,
        'TABLE["scale"] = 3.0\ngraph.replay()\n',
    ),
    "a tensor of the host that is read": Pair(
        "GL402",
        state(f"first = int(self.value[0])  {_MARK}\n        return x[first:]", "torch.arange(4)"),
        state("return x.index_select(0, self.value)", 'torch.arange(4, device="cuda")'),
        after="step.value += 1\ngraph.replay()\n",
    ),
    "an iterator": Pair(
        "GL402",
        state(f"return x + next(self.value)  {_MARK}", "iter([1.0, 2.0, 3.0])"),
        state("return x + self.weight", "iter([1.0, 2.0, 3.0])"),
    ),
    "a memo that is dropped": Pair(
        "GL402",
        state(
            f"if self.value is None:\n            self.value = self.weight * 2  {_MARK}\n        return x @ self.value",
            "None",
        ),
        state("return x @ (self.weight * 2)", "None"),
        after="step.value = None\ngraph.replay()\n",
    ),
    "a count that only eager runs go on with": Pair(
        "GL402",
        state(f"self.value += 1\n        return x.roll(self.value, 0)  {_MARK}"),
        state(
            "if not torch.cuda.is_current_stream_capturing():\n            self.value += 1\n"
            "        return x.roll(self.value, 0)"
        ),
    ),
    "a number that is completed where it is made": Pair(
        "GL402",
        state(f"self.value *= 2\n        return x * self.value  {_MARK}", "1.0"),
        state(
            "if self.value is None:\n            self.value = 1.0\n            self.value *= self.weight.shape[0]\n"
            "        return x * self.value",
            "None",
        ),
    ),
    "a count that each capture begins anew": Pair(
        "GL402",
        state(f"self.value += 1\n        return x.roll(self.value, 0)  {_MARK}"),
        state(
            "if torch.cuda.is_current_stream_capturing():\n            self.value = self.weight.shape[0]\n"
            "            self.value += 1\n        return x.roll(self.value, 0)"
        ),
    ),
    "a count": Pair(
        "GL401",
        state(f"self.value += 1  {_MARK}\n        return x * 2"),
        state("return x * 2"),
        after="graph.replay()\nprint(step.value)\n",
    ),
    "a count of what is open": Pair(
        "GL401",
        state(f"self.value += 1  {_MARK}\n        return x * 2"),
        state("self.value += 1\n        y = x * 2\n        self.value -= 1\n        return y"),
        after="graph.replay()\nprint(step.value)\n",
    ),
    "a count that picks": Pair(
        "GL401",
        state(
            f"self.value += 1  {_MARK}\n        return self.rows[self.value % 2](x)",
            more="        self.rows = [torch.nn.Linear(4, 4).cuda() for _ in range(2)]\n",
        ),
        state(
            "self.value += 1\n        with torch.cuda.stream(self.rows[self.value % 2]):\n            return x * 2",
            more="        self.rows = [torch.cuda.Stream() for _ in range(2)]\n",
        ),
    ),
    "a table that is filled once": Pair(
        "GL401",
        state(f"self.value.append(x.shape[0])  {_MARK}\n        return x * 2", "[]"),
        state(
            "if self.value is None:\n            self.value = []\n            self.fill(x)\n        return x * 2",
            "None",
            "    def fill(self, x):\n        self.value.append(x.shape[0])\n",
        ),
        after="graph.replay()\nprint(len(step.value))\n",
    ),
    "a count of what the clock has measured": Pair(
        "GL401",
        state(f"self.value += 1  {_MARK}\n        return x * 2"),
        state(
            "began = time.perf_counter()\n        y = x * 2\n        self.value += time.perf_counter() - began\n"
            "        return y"
        ),
        after="graph.replay()\nprint(step.value)\n",
    ),
    "a count for captures": Pair(
        "GL401",
        state(f"self.value += 1  {_MARK}\n        return x * 2"),
        state(
            "recording = torch.cuda.is_current_stream_capturing()\n        self.value += 1\n"
            "        print(recording)\n        return x * 2"
        ),
        after="graph.replay()\nprint(step.value)\n",
    ),
    "a list of sizes": Pair(
        "GL401",
        state(f"self.value.append(x.shape[0])  {_MARK}\n        return x * 2", "[]"),
        state("return x * 2", "[]"),
        after="graph.replay()\nprint(len(step.value))\n",
    ),
    "a list that is emptied again": Pair(
        "GL401",
        state(f"self.value.append(x.shape[0])  {_MARK}\n        return x * 2", "[]"),
        state("self.value.append(x.shape[0])\n        y = x * 2\n        self.value.clear()\n        return y", "[]"),
        after="graph.replay()\nprint(len(step.value))\n",
    ),
    "a global count": Pair(
        "GL401",
        f"COUNT = 0\n\n\ndef step(x):\n    global COUNT\n    COUNT += 1  {_MARK}\n    return x * 2\n",
        "COUNT = 0\n\n\ndef step(x):\n    return x * 2\n",
        _FUNCTION,
        "graph.replay()\nprint(COUNT)\n",
    ),
    "a draw that skips a layer": Pair(
        "GL403", state(f"return x * 2 if random.random() < 0.5 else x  {_MARK}"), state("return x * torch.rand_like(x)")
    ),
    "a draw of NumPy": Pair(
        "GL403", state(f"return x * numpy.random.uniform(0.5, 1.5)  {_MARK}"), state("return x * 1.5")
    ),
    "a draw of a generator": Pair(
        "GL403",
        state(f"return x * self.value.uniform(0.5, 1.5)  {_MARK}", "numpy.random.default_rng(0)"),
        state("return x * self.value.weight", "numpy.random.default_rng(0)"),
    ),
    "a draw of a tensor on the host": Pair(
        "GL403",
        state(f"return x.roll(int(torch.randint(4, ())), 0)  {_MARK}"),
        state('return x + torch.rand((), device="cuda")'),
    ),
    "a clock": Pair(
        "GL403",
        state(f"return x * time.time()  {_MARK}"),
        state("began = time.time()\n        y = x * 2\n        print(time.time() - began)\n        return y"),
    ),
    "a rate that is assigned": Pair(
        "GL404",
        "weight = torch.ones(4, device='cuda', requires_grad=True)\n"
        f"optimizer = torch.optim.SGD([weight], lr=0.1)  {_MARK}\n\n\n"
        "def step(x):\n    optimizer.step()\n",
        "weight = torch.ones(4, device='cuda', requires_grad=True)\nrate = torch.tensor(0.1, device='cuda')\n"
        "optimizer = torch.optim.Adam([weight], lr=rate, capturable=True)\n\n\ndef step(x):\n    optimizer.step()\n",
        _FUNCTION,
        "for n in range(3):\n    for group in optimizer.param_groups:\n"
        '        group["lr"] = 1.0 / (n + 1)\n    graph.replay()\n',
    ),
    "work that capture leaves out": Pair(
        "GL405",
        state(
            f"if torch.cuda.is_current_stream_capturing():  {_MARK}\n            return x\n        return x / x.norm()"
        ),
        state("if torch.cuda.is_current_stream_capturing():\n            return x.square()\n        return x.pow(2)"),
    ),
    "a dummy that a run without a capture gives": Pair(
        "GL405",
        state(
            f"if torch.cuda.is_current_stream_capturing():  {_MARK}\n            logger.warning('captured')\n"
            "            return x\n        return x.zero_()"
        ),
        state(
            "if torch.cuda.is_current_stream_capturing():\n            launch(x, self.weight)\n"
            "            return x\n        return x.zero_()"
        ),
    ),
    "parts that are filled otherwise": Pair(
        "GL405",
        state(
            f"y, rows = x * 2, x > 1\n        if torch.cuda.is_current_stream_capturing():  {_MARK}\n"
            "            y[rows] = 0\n        else:\n            x[self.weight[0, 0] :].fill_(0)\n        return x + y"
        ),
        state(
            "y, rows = x * 2, x > 1\n        if torch.cuda.is_current_stream_capturing():\n"
            "            x[rows] = 0\n        else:\n            x[self.weight[0, 0] :].fill_(0)\n        return x + y"
        ),
    ),
    "a capture that is refused where nothing is kept yet": Pair(
        "GL405",
        state(
            f"if torch.cuda.is_current_stream_capturing():  {_MARK}\n            return x\n        return x * x.sum()"
        ),
        state("if torch.cuda.is_current_stream_capturing():\n            raise ValueError\n        return x * x.sum()"),
    ),
    "statistics that capture leaves out": Pair(
        "GL405",
        state(
            f"if not torch.cuda.is_current_stream_capturing():  {_MARK}\n"
            "            self.weight.mul_(0.5)\n        return x * 2"
        ),
        state(
            "if not torch.cuda.is_current_stream_capturing():\n            print(x.sum().item())\n        return x * 2"
        ),
    ),
}


def lines(tmp_path: Path, code: str, text: str) -> list[int]:
    """The lines of a program at which a rule is reported."""
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=(code,)), RULEBOOK)
    return [finding.span.line for finding in report.findings]


@pytest.mark.parametrize("name", PAIRS)
def test_state_that_changes_is_reported_where_it_is_read(name: str, tmp_path: Path) -> None:
    """At the marked line, and nowhere else."""
    text, _ = PAIRS[name].texts
    assert lines(tmp_path, PAIRS[name].code, text) == [n for n, line in enumerate(text.split("\n"), 1) if _MARK in line]


@pytest.mark.parametrize("name", PAIRS)
def test_state_that_stays_is_silent(name: str, tmp_path: Path) -> None:
    """The same program without the mistake."""
    _, text = PAIRS[name].texts
    assert lines(tmp_path, PAIRS[name].code, text) == []


@pytest.mark.parametrize(
    ("first", "later"),
    [
        pytest.param("self.value = 2", "", id="only a constructor sets it"),
        pytest.param("self.load(2)", "    def load(self, n):\n        self.value = n\n", id="a method that sets up"),
    ],
)
def test_what_a_constructor_sets_does_not_change(first: str, later: str, tmp_path: Path) -> None:
    """Whatever is called from it counts as part of it."""
    body = f"class Step:\n    def __init__(self):\n        {first}\n{later}\n"
    body += "    def __call__(self, x):\n        return x * self.value\n"
    assert lines(tmp_path, "GL402", f"{_HEAD}{body}{_OBJECT}graph.replay()\n") == []


@pytest.mark.parametrize(
    ("made", "count"), [("step = Step()", 0), ("step = Step.__new__(Step)", 0), ("print(step)", 1)]
)
def test_an_object_that_another_file_makes_is_set_up_there(made: str, count: int, tmp_path: Path) -> None:
    """Nothing is captured in that file; what it was given may have been captured by now."""
    trial = f"def trial(n, step):\n    {made}\n    step.value = 1 + n\n    return step(n)\n"
    (tmp_path / "trial.py").write_text(f"from program import Step\n\n\n{trial}")
    text = f"{_HEAD}{state('return x * self.value')}{_OBJECT}graph.replay()\n"
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",), confidence=Confidence.LOW), RULEBOOK)
    assert [str(found.confidence) for found in report.findings] == ["low"] * count


@pytest.mark.parametrize(
    ("chosen", "is_reported"),
    [("n = 1", False), ("n = 1\n                if step > 5:\n                    n = 2", True)],
)
def test_conditions_around_a_capture_pick_nothing_in_it(chosen: str, is_reported: bool, tmp_path: Path) -> None:
    """They have held where it began; a condition in the region chooses what its names stand for."""
    text = f"""{_HEAD}
def train(steps, x):
    graph = torch.cuda.CUDAGraph()
    for step in range(steps):
        if step == 3:
            with torch.cuda.graph(graph):
                {chosen}
                y = x[n] * 2
        graph.replay()
    return y
"""
    assert bool(lines(tmp_path, "GL402", text)) is is_reported


def test_a_graph_for_each_value_is_silent(tmp_path: Path) -> None:
    """What picks the graph may change."""
    body = state("return x * self.value") + "\n\nstep = Step()\nstatic_x = torch.ones(4, device='cuda')\ngraphs = {}\n"
    body += "for n in (1, 2):\n    step.value = n\n    graphs[step.value] = torch.cuda.CUDAGraph()\n"
    body += "    with torch.cuda.graph(graphs[n]):\n        y = step(static_x)\n\nstep.value = 1\n"
    body += "graphs[step.value].replay()\n"
    assert lines(tmp_path, "GL402", _HEAD + body) == []


_RUNNER = """
class Runner:
    def __init__(self):
        self.graph, self.count, self.rows = None, 0, [1.0, 2.0, 3.0]
        self.x, self.first = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")

    def __call__(self, x):
        if {asked}:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                y = self.x.square()
                {body}
                self.y = y
        self.x.copy_(x)
        self.graph.replay()
        self.count += 1
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("asked", "body", "expected"),
    [
        pytest.param("self.graph is None", "y = y + self.count", [17], id="a number of the calls"),
        pytest.param("not self.graph", "y = y + self.count", [17], id="asked for its truth"),
        pytest.param(
            "self.graph is None",
            "if self.count < 3:\n                    y[:] = self.first",
            [17],
            id="a branch that decides whether an item is written",
        ),
        pytest.param("x.shape[0] > 2", "y = y + self.count", [], id="a capture that may be made anew"),
        pytest.param(
            "self.graph is None",
            "for i in range(3):\n                    y = y * self.rows[i]",
            [],
            id="the counter of a loop in the region",
        ),
    ],
)
def test_a_runner_that_captures_when_it_is_first_called_replays_at_the_next(
    asked: str, body: str, expected: list[int], tmp_path: Path
) -> None:
    """What it changes behind its replay is changed between the capture and a replay."""
    assert lines(tmp_path, "GL402", _HEAD.rstrip() + "\n" + _RUNNER.format(asked=asked, body=body)) == expected


_SETTER = """
class Step:
    def __init__(self):
        self.weight, self.rows = torch.ones(4, 4, device="cuda"), 2

    def plan(self, rows, other):
        {written}

    def run(self, x: torch.Tensor):
        return x + self.weight[: self.rows]


step = Step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step.run(torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("written", "confidence"),
    [
        pytest.param("self.rows = rows", "low", id="what it is given"),
        pytest.param("self.rows = 0", "low", id="a constant"),
        pytest.param("self.rows = rows + 1", "low", id="what it computes"),
        pytest.param("self.rows = self.rows + 1", "medium", id="what it counts"),
        pytest.param("other.rows = self.rows", None, id="another object gets what this one has"),
    ],
)
def test_what_a_method_only_keeps_is_set_up_once(written: str, confidence: str | None, tmp_path: Path) -> None:
    """As far as the program shows it: nothing calls the method."""
    (tmp_path / "program.py").write_text(_HEAD + _SETTER.format(written=written), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",), confidence=Confidence.LOW), RULEBOOK)
    assert [confidence] * (confidence is not None) == [str(found.confidence) for found in report.findings]


_TABLE = """
import torch

class Model:
    def __init__(self):
        self.longs = 1.0

    def __call__(self, x):
        return x * self.longs

class Runner:
    def __init__(self):
        self.model, self.{table} = Model(), {{}}

    def pick(self, longs):
        key = Key(rows=4, longs=longs)
        if key not in self.{table}:
            self.{table}[key] = State()
        return self.{table}[key]

    def capture(self):
        state = self.pick(self.model.longs)
        state.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(state.graph):
            state.y = self.model(torch.ones(4, device="cuda"))

    def run(self, longs):
        self.model.longs = longs
        state = self.pick(longs)
        state.graph.replay()
        return state.y.clone()

def main(requests):
    runner = Runner()
    runner.capture()
    for one in requests:
        runner.run(one)
"""


@pytest.mark.parametrize(("table", "is_told"), [("graphs", False), ("plans", True)])
def test_a_helper_may_pick_the_graph_out_of_a_table_that_is_called_after_graphs(
    tmp_path: Path, table: str, is_told: bool
) -> None:
    """What the key has picks another graph."""
    text = _TABLE.format(table=table)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",), confidence=Confidence.LOW), RULEBOOK)
    assert bool(report.findings) is is_told


_CONTEXT = """
import torch
{other}
class Context:
    def __init__(self):
        self.fills = {begins}

_context = Context()

def set_context(fills, rows=None):
    _context.fills = fills

def model(x):
    return x[:1] * 2 if _context.fills else x * 2

class Runner:
    def __init__(self):
        self.x, self.graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()

    def prepare(self, rows):
        set_context({given}, rows)

    def capture(self):
        self.prepare(4)
        with torch.cuda.graph(self.graph):
            self.y = model(self.x)

    def run(self, x):
        self.prepare(x.shape[0])
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("given", "begins", "other", "is_told"),
    [
        ("False", "False", "", False),
        ("False", "None", "", False),
        ("fills=False", "False", "", False),
        ("False", "True", "", True),
        ("rows > 1", "False", "", True),
        ("False", "False", "def drain():\n    set_context(True)\n", True),
    ],
    ids=["one constant", "first nothing", "by its name", "another one", "what is given", "two constants"],
)
def test_what_a_runner_gives_all_of_its_passes_stays(
    tmp_path: Path, given: str, begins: str, other: str, is_told: bool
) -> None:
    """Each replay has it as the capture had."""
    given = given if "=" not in given else f"rows=rows, {given}"
    text = _CONTEXT.format(given=given, begins=begins, other=other)
    text = text.replace("fills=False, rows)", "fills=False)")
    assert bool(lines(tmp_path, "GL402", text)) is is_told


def test_a_branch_that_asks_how_far_a_count_is_may_come_to_the_same(tmp_path: Path) -> None:
    """It is no certain mistake, as a factor is."""
    text = _HEAD + state("return x * 2 if self.value > 0 else x") + _OBJECT + _SET
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    (found,) = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK).findings
    assert "medium" == str(found.confidence)


_COUNTED = """
for n in range(3):
    step.value += 1
    graph.replay()
"""


@pytest.mark.parametrize(
    ("asked", "is_told"), [("self.value > 0", False), ("self.value > 3", True), ("self.value < 0", True)]
)
def test_a_count_has_begun_before_a_capture(tmp_path: Path, asked: str, is_told: bool) -> None:
    """The runs before it have; how far a count is by then is another question."""
    text = _HEAD + state(f"return x * 2 if {asked} else x") + _OBJECT + _COUNTED
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


_UNTIL = """
import time
import torch

def step(x: torch.Tensor, lock, timeout: float):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        {body}
    return x * 2
"""


@pytest.mark.parametrize(
    ("body", "is_told"),
    [("if lock.taken(): break\n        time.sleep(0.1)", False), ("x = x * lock.rate", True)],
)
def test_a_clock_that_ends_a_wait_decides_nothing(tmp_path: Path, body: str, is_told: bool) -> None:
    """One that ends what is computed decides how much of it there is."""
    analysis = analyse(tmp_path, _UNTIL.format(body=body), regions=("main:step",))
    assert ("GL403" in {code for _, _, code in analysis.shown}) is is_told


@pytest.mark.parametrize(("name", "is_told"), [("dump", False), ("scale", True)])
def test_what_dumps_and_logs_computes_nothing(tmp_path: Path, name: str, is_told: bool) -> None:
    """State of that name, in a function of that name."""
    text = f"""
import torch
{name}_total = 0
def {name}_all(x):
    return x * 2 if {name}_total < 8 else x
x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = {name}_all(x)
for n in range(3):
    {name}_total += 1
    graph.replay()
"""
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


_WARMED = """
import torch

class Runner:
    def __init__(self):
        self.steps, self.static = 2, {}

    def warm(self, sizes, steps):
        self.steps = int(steps)
        for size in sizes:
            try:
                self.fill(size)
                self.capture(size)
            except RuntimeError:
                print("not captured")

    def fill(self, size):
        self.static[size] = torch.zeros(size, device="cuda")

    def run(self, size):
        for step in range(self.steps):
            self.static[size].add_(step)

    def capture(self, size):
        self.run(size)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run(size)
        return graph
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_function_of_another_file_that_has_the_same_name_replays_nothing(tmp_path: Path, own: bool) -> None:
    """`fill` launches a graph in another file, and this one has a `fill` of its own, or one that does so, too."""
    replaying = "def fill(size):\n    graph.replay()\n"
    other = "import torch\ngraph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    pass\n"
    (tmp_path / "other.py").write_text(other + replaying, encoding="utf-8")
    text = _WARMED if own else _WARMED.replace("self.fill(size)", "fill(size)").replace("def fill", "def fill_in")
    (tmp_path / "program.py").write_text(text if own else text + replaying, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert own is not bool(report.findings)


_BENCHMARK = """
import torch
{constant}
def step(x, rounds):
    for _ in range(rounds):
        x.add_(1)

def measure(use_graph, x: torch.Tensor):
    rounds = x.shape[0]
    def run():
        step(x, {rounds})
    if use_graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        {replayed}

def main(use_graph):
    measure(use_graph, torch.ones(4, device="cuda"))

{called}
"""


_READER = """
import torch

GRAPHS = []

def made(x, size):
    {before}
    def run():
        return x[:size].add_(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    GRAPHS.append(graph)
    {behind}
    graph.replay()

for size in range(4):
    made(torch.ones(4, device="cuda"), size)
"""
_COUNT = "def count():\n    global ROUNDS\n    ROUNDS += 1\nmain(True)"
_AGAIN = "for _ in range(3):\n    ROUNDS += 1\n    main(True)"


@pytest.mark.parametrize(
    ("constant", "rounds", "replayed", "called", "is_told"),
    [
        ("ROUNDS = 10", "ROUNDS", "graph.replay()", "main(True)", False),
        ("", "rounds", "graph.replay()", "main(True)", False),
        ("ROUNDS = 0", "ROUNDS", "graph.replay()", _AGAIN, False),
        ("ROUNDS = 0", "ROUNDS", "timed(lambda: graph.replay(), times=3)", _AGAIN, False),
        ("ROUNDS = 0", "ROUNDS", "again = graph.replay\n        again()", _AGAIN, False),
        ("GRAPHS, ROUNDS = [], 0", "ROUNDS", "graph.replay()\n        GRAPHS.append(graph)", _AGAIN, True),
        (
            "GRAPHS, ROUNDS = {}, 0",
            "ROUNDS",
            "graph.replay()\n        GRAPHS[str(x)] = lambda: graph.replay()",
            _AGAIN,
            True,
        ),
        ("ROUNDS = 0", "ROUNDS", "graph.replay()\n        return graph.replay", _AGAIN, True),
        ("ROUNDS = 0", "ROUNDS", "graph.replay()\n        Runner(graph)", _AGAIN, True),
        ("ROUNDS = 0", "ROUNDS", "def again():\n            graph.replay()\n        return again", _AGAIN, True),
        ("ROUNDS = 0", "ROUNDS", "for _ in range(3):\n            graph.replay()\n            count()", _COUNT, True),
    ],
)
def test_what_no_replay_of_a_graph_can_miss_is_silent(
    tmp_path: Path, constant: str, rounds: str, replayed: str, called: str, is_told: bool
) -> None:
    """A function that drops its graph replays what it has captured itself; one that keeps it may come back to it."""
    text = _BENCHMARK.format(constant=constant, rounds=rounds, replayed=replayed, called=called)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


@pytest.mark.parametrize(("before", "behind", "is_told"), [("", "size = 4", True), ("size = 4", "", False)])
def test_a_variable_that_is_set_before_its_reader_is_made_is_new_with_it(
    tmp_path: Path, before: str, behind: str, is_told: bool
) -> None:
    """Each call of the function around makes another reader, with a variable of its own."""
    text = _READER.format(before=before, behind=behind)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


_EITHER = """
import torch

def measure(f, times):
    if rounds := times:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(rounds):
                f()
        replay = graph.replay
    else:
        replay = f
        {other} = 1
    replay()
    {behind}
    replay()
    return rounds
"""


@pytest.mark.parametrize(
    ("other", "behind", "is_told"), [("rounds", "pass", False), ("rounds", "rounds = 2", True), ("n", "pass", False)]
)
def test_what_is_set_where_nothing_is_captured_is_not_set_after_the_capture(
    tmp_path: Path, other: str, behind: str, is_told: bool
) -> None:
    """The other way of the test that captures."""
    text = _EITHER.format(other=other, behind=behind)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


@pytest.mark.parametrize(
    ("capture", "is_told"),
    [
        ("run = torch.compile(step, mode='reduce-overhead')\nrun(x)", False),
        ("graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    step(x)", True),
    ],
)
def test_what_is_compiled_asks_for_a_memo_in_each_call(tmp_path: Path, capture: str, is_told: bool) -> None:
    """It is compiled anew once the memo is dropped; a graph of one's own reads what is gone."""
    again = "run(x)" if "compile" in capture else "graph.replay()"
    text = f"""
import torch
class Step:
    def __init__(self):
        self.value = None
        self.weight = torch.ones(4, 4, device="cuda")
    def __call__(self, x):
        if self.value is None:
            self.value = self.weight * 2
        return x @ self.value
step = Step()
x = torch.ones(4, 4, device="cuda")
step(x)
{capture}
step.value = None
{again}
"""
    found = [(line, code) for _, line, code in analyse(tmp_path, text).shown if code == "GL402"]
    assert [(9, "GL402")] * is_told == found


@pytest.mark.parametrize(
    ("capture", "is_told"),
    [
        ("run = torch.compile(step, mode='reduce-overhead')\nrun(x)", False),
        ("graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    step(x)", True),
    ],
)
def test_what_is_compiled_draws_in_each_call_and_holds_numbers_itself(
    tmp_path: Path, capture: str, is_told: bool
) -> None:
    """Draws of Python are taken out of it, and a number that is made a tensor becomes a part of its kernels."""
    text = f"""
import random
import torch
def step(x, level=None):
    x = x * torch.tensor(0.5).to(x.device) + torch.tensor(level or x.level, device=x.device)
    return x[: random.randint(1, 4)]
x = torch.ones(4, device="cuda")
{capture}
"""
    found = [(line, code) for _, line, code in analyse(tmp_path, text).shown]
    assert [(5, "GL202"), (5, "GL203"), (6, "GL403")] * is_told == sorted(set(found))


@pytest.mark.parametrize(
    ("capture", "is_told"),
    [
        ("run = torch.compile(step, mode='reduce-overhead')\nrun(x)", False),
        ("graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    step(x)", True),
    ],
)
def test_a_number_that_changes_compiles_anew(tmp_path: Path, capture: str, is_told: bool) -> None:
    """A compiled function asks its numbers each time, and counts them; a graph of one's own never does."""
    again = "run(x)" if "compile" in capture else "graph.replay()"
    text = f"""
import torch
rows = steps = 2
def step(x):
    global steps
    steps += 1
    return x[:rows] * 2
x = torch.ones(4, device="cuda")
{capture}
for _ in range(3):
    rows += 1
    {again}
print(steps)
"""
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL401", "GL402")), RULEBOOK)
    assert [found.code for found in report.findings] == ["GL401", "GL402"] * is_told


_EITHER_WAY = """
import torch

class Runner:
    def __init__(self):
        self.deep, self.graphs, self.split = True, [], False

    def split_capture(self, x):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.mul_(2)
        return graph

    def timed(self):
        self.graphs[-1].replay()

    def capture(self, x: torch.Tensor, deep):
        self.deep = deep
        for _ in range(3):
            if self.split:
                graph = self.split_capture(x)
            {otherwise}:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    if self.deep:
                        x.add_(1)
            self.graphs.append(graph)
            self.timed()
"""


@pytest.mark.parametrize(("otherwise", "is_told"), [("else", False), ("if x.shape[0] > 1", True)])
def test_a_capture_on_each_way_comes_before_what_replays(tmp_path: Path, otherwise: str, is_told: bool) -> None:
    """What is set in front of both is set for both; where neither may happen, an earlier run has captured."""
    (tmp_path / "program.py").write_text(_EITHER_WAY.format(otherwise=otherwise), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


_IN_TURN = """
import torch

class Step:
    def __init__(self):
        self.rows, self.graph = 2, None

    def __call__(self, x):
        return x[: self.rows] * 2

class Bench:
    def __init__(self):
        self.graph, self.step = None, Step()

    def run(self, x: torch.Tensor, rows: int):
        self.step.rows = rows
        {first}
        for _ in range(9):
            if {held} is None:
                {held} = torch.cuda.CUDAGraph()
                with torch.cuda.graph({held}):
                    self.step(x)
            else:
                {held}.replay()
"""


@pytest.mark.parametrize(
    ("held", "first", "is_told"),
    [("graph", "graph = None", False), ("self.graph", "pass", True), ("graph", "global graph", True)],
)
def test_a_graph_of_one_call_has_seen_what_is_set_before(tmp_path: Path, held: str, first: str, is_told: bool) -> None:
    """The next call makes another one; one that is kept replays what it has captured in the first."""
    (tmp_path / "program.py").write_text(_IN_TURN.format(held=held, first=first), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is any(found.confidence > Confidence.LOW for found in report.findings)


_SETTING = """
import torch

{name} = 1

def choose(value):
    global {name}
    {name} = int(value)
"""
_CHOOSING = """
import setting
import torch
from setting import choose

class Runner:
    def capture(self):
        self.graph, x = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
        with torch.cuda.graph(self.graph):
            self.y = x * setting.WIDTH

    def choose(self, value):
        self.value = value

    def step(self, value):
        {call}(value)
        self.graph.replay()
"""


@pytest.mark.parametrize(("call", "is_told"), [("self.choose", False), ("choose", True), ("setting.choose", True)])
def test_a_function_of_a_module_is_not_called_as_a_method(tmp_path: Path, call: str, is_told: bool) -> None:
    """`choose` of the module writes what the graph has read, and the method of that name does not."""
    for name, text in {"setting": _SETTING.format(name="WIDTH"), "program": _CHOOSING.format(call=call)}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is any(found.confidence > Confidence.LOW for found in report.findings)


_TWO_GRAPHS = """
import torch
from other import Other

class Runner:
    def __init__(self):
        self.scale, self.graph, self.x = 1.0, torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.x.mul_(self.scale)

    def replay(self):
        self.graph.replay()

def tune(scales, runner: Runner, other: Other):
    {one}.capture_all()
    for scale in scales:
        runner.scale = float(scale)
        {one}.replay()
    runner.capture()
    runner.replay()
"""
_OTHER_GRAPH = """
import torch

class Other:
    def capture_all(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.x.add_(1)

    def replay(self):
        self.graph.replay()
"""


@pytest.mark.parametrize("is_other", [True, False])
def test_what_is_written_between_the_capture_and_the_replay_of_another_graph_is_not_late(
    tmp_path: Path, is_other: bool
) -> None:
    """The graph that reads the scale is captured behind the loop, or before it and launched there."""
    text = _TWO_GRAPHS.format(one="other" if is_other else "runner")
    text = text if is_other else text.replace("capture_all", "capture")
    for name, source in {"program": text, "other": _OTHER_GRAPH}.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_other is not bool(report.findings)


_KEYED = """
import torch
graphs = {{}}

def run(x, rounds):
    for _ in range(rounds):
        x.add_(1)

def call(x, rounds: int):
    key{annotation} = {key}
    if key not in graphs:
        graphs[key] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[key]):
            run(x, rounds)
    graphs[key].replay()

def main(many):
    for rounds in many:
        call(torch.ones(4, device="cuda"), rounds)
"""


@pytest.mark.parametrize("annotation", ["", ": tuple"])
@pytest.mark.parametrize(("key", "is_told"), [("x.shape, rounds", False), ("x.shape, x.dtype", True)])
def test_a_key_holds_what_is_put_into_it(tmp_path: Path, annotation: str, key: str, is_told: bool) -> None:
    """With an annotation as without."""
    text = _KEYED.format(annotation=annotation, key=key)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


@pytest.mark.parametrize(("written", "is_told"), [("x.copy_(x + 1)", False), ("x = x + 1", True)])
def test_what_is_filled_with_a_sum_is_no_number(tmp_path: Path, written: str, is_told: bool) -> None:
    """A method that works in place is one of a tensor, of which nothing else is known here."""
    text = f"""
import torch

def measure(kernel, x):
    x = x.start
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.add(torch.ones(4, device="cuda"), x)
    for _ in range(8):
        {written}
        graph.replay()
    return y
"""
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


_PREPARED = """
import torch

class Attention:
    def prepare(self, lengths):
        self.rows = len(lengths) + 1

    def __call__(self, x):
        return x[: self.rows] * 2

class Rope:
    def prepare(self, lengths):
        return lengths

class Runner:
    def __init__(self, rope):
        self.attention, self.rope = Attention(), rope
        self.x = torch.ones(8, device="cuda")

    def capture(self, lengths):
        self.attention.prepare(lengths)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.attention(self.x)

    def run(self, x, lengths):
        self.x.copy_(x)
        self.{called}.prepare(lengths)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("called", "other", "expected"),
    [("rope", "prepare", []), ("attention", "prepare", ["medium"]), ("attention", "fill", ["high"])],
)
def test_a_call_on_an_object_may_be_one_of_another_class(
    tmp_path: Path, called: str, other: str, expected: list[str]
) -> None:
    """Whose method is called nobody knows where functions of several files have its name."""
    (tmp_path / "program.py").write_text(_PREPARED.format(called=called), encoding="utf-8")
    (tmp_path / "other.py").write_text(f"class Other:\n    def {other}(self):\n        pass\n", encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert expected == [str(found.confidence) for found in report.findings]


_FIELDS = """
# file: flags.py
class Field:
    def __init__(self):
        self.is_off = False

    def get(self, x):
        return x * 2 if self.is_off else x

    def turn(self, is_off):
        self.is_off = is_off

class Flags:
    FAST = Field()
    SMALL = Field()

flags = Flags()
# file: serve.py
import torch
from flags import flags

class Runner:
    def __init__(self):
        self.x = torch.ones(8, device="cuda")

    def capture(self):
        flags.{early}.turn(True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = flags.FAST.get(self.x)

    def run(self, x):
        self.x.copy_(x)
        flags.{late}.turn(x.shape[0] > 4)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("early", "late", "is_told"), [("FAST", "FAST", True), ("FAST", "SMALL", False)])
def test_constants_of_several_names_are_several_objects(tmp_path: Path, early: str, late: str, is_told: bool) -> None:
    """What is called on one of them says nothing of another one."""
    report = analyse(tmp_path, _FIELDS.format(early=early, late=late)).report
    assert is_told is ("GL402" in {found.code for found in report.findings})


@pytest.mark.parametrize(("method", "expected"), [("__set_name__", []), ("set_label", ["high"])])
def test_a_field_is_one_of_many(tmp_path: Path, method: str, expected: list[str]) -> None:
    """What is told its name in a class has one object for each of these: another one may have been written."""
    text = _FIELDS.format(early="FAST", late="FAST")
    text = text.replace(
        "    def get(", f"    def {method}(self, owner, name):\n        self.name = name\n\n    def get(", 1
    )
    report = analyse(tmp_path, text).report
    assert expected == [str(one.confidence) for one in report.findings if one.code == "GL402"]


_SIZED = """
import torch

class Runner:
    def __init__(self, use_cuda_graph, is_small):
        self.rows, self.use_cuda_graph, self.is_small = 4, use_cuda_graph, is_small
        self.x = torch.ones(8, device="cuda")

    def step(self):
        rows = self.rows
        size = {chosen}
        return self.x[:size] * 2

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step()

    def run(self, x):
        self.x.copy_(x)
        self.rows = int(x[0])
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("chosen", "is_told"),
    [
        ("self.x.shape[0] if self.use_cuda_graph else rows", False),
        ("rows if not self.use_cuda_graph else self.x.shape[0]", False),
        ("rows if self.use_cuda_graph else self.x.shape[0]", True),
        ("self.x.shape[0] if self.is_small else rows", True),
    ],
)
def test_what_is_chosen_without_graphs_is_read_by_none(tmp_path: Path, chosen: str, is_told: bool) -> None:
    report = analyse(tmp_path, _SIZED.format(chosen=chosen)).report
    assert is_told is ("GL402" in {found.code for found in report.findings})


_LENT = """
import torch

class Optimizer:
    def __init__(self):
        self.lent = []

    def prepare(self, x):
        raise NotImplementedError

    def finish(self, x):
        return x + 1

    def step(self, x):
        self.prepare(x)
        self.finish(x)

class Sharded(Optimizer):
    def prepare(self, x):
        self.lent.append((x, 1))

    def {finish}(self, x):
        x = super().finish(x)
        for one, _ in self.lent:
            one.add_(1)
        self.lent.clear()
        return x

def main(optimizer: Optimizer):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step(x)
    graph.replay()
"""


@pytest.mark.parametrize("finish, is_told", [("finish", False), ("finish_eagerly", True)])
def test_a_method_in_place_of_one_of_a_region_runs_in_it(tmp_path: Path, finish: str, is_told: bool) -> None:
    """A list that a class fills in one method of a region and empties in another one is as it was."""
    found = analyse(tmp_path, _LENT.format(finish=finish)).shown
    assert ("GL401" in [code for _, _, code in found]) is is_told


_LOOKED_AT_AGAIN = """
import torch

class Step:
    def __init__(self):
        self.generation, self.flag = 0, True

    def turn(self):
        self.generation += 1

    def __call__(self, x):
        if self.flag:
            generation = {read}
        else:
            generation = None
        y = x * 2
        if self.generation == generation:
            y = y + 1
        return y

def main():
    step, x = Step(), torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x)
    for _ in range(3):
        step.turn()
        graph.replay()
"""


@pytest.mark.parametrize("read, is_told", [("self.generation", False), ("x.shape[0]", True), ("3", True)])
def test_state_that_is_looked_at_again_in_the_same_run_is_the_same(tmp_path: Path, read: str, is_told: bool) -> None:
    """A comparison with what was read of it before says nothing of what it is; one with something else does."""
    found = analyse(tmp_path, _LOOKED_AT_AGAIN.format(read=read)).shown
    assert ("GL402" in [code for _, _, code in found]) is is_told


@pytest.mark.parametrize("test, is_told", [("{} is None", False), ("{} is not None and {} > 3", True)])
def test_a_count_is_never_none(tmp_path: Path, test: str, is_told: bool) -> None:
    """Whoever asks whether it is there at all asks nothing of what it has come to."""
    asked = test.replace("{}", "generation")
    program = _LOOKED_AT_AGAIN.replace("self.generation == generation", asked).format(read="self.generation")
    assert ("GL402" in [code for _, _, code in analyse(tmp_path, program).shown]) is is_told


_PREPARING = """
import torch
from state import State

class Graphs:
    def capture(self, step, state, x):
        state.most = self.most + 1
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            step(x, state)

    def capture_both(self, step, state, x):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = step(x, state)

    def replay(self, state, x):
        {more}
        self.graph.replay()
        return self.y

def step(x, state):
    return x[: state.most]

def run(graphs: Graphs, x):
    state = State()
    graphs.capture_both(step, state, x)
    graphs.capture(step, state, x)
    graphs.replay(state, x)
"""
_BESIDE = """
import torch

class State:
    def __init__(self):
        self.most = 4

def bench(f, x, n):
    state = State()
    state.most = n
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        f(x)
"""


@pytest.mark.parametrize(("more", "is_told"), [("pass", False), ("state.most = len(x) + 1", True)])
def test_what_is_set_for_a_capture_of_its_own_is_not_late(tmp_path: Path, more: str, is_told: bool) -> None:
    """What a function sets up in front of its capture, or another file in an object that it makes, is for these."""
    for name, text in {"state": _BESIDE, "program": _PREPARING.format(more=more)}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


TWICE = """
import torch

class Runner:
    def __init__(self, rows):
        self.rows = rows
        self.graph = torch.cuda.CUDAGraph()

    def forward(self, x):
        width = self.rows if self.rows else None
        return x[:width]

    def capture(self, x):
        with torch.cuda.graph(self.graph):
            self.out = self.forward(x)

    def step(self):
        self.rows = self.rows + 1
        self.graph.replay()
"""


def test_of_two_reads_on_a_line_the_first_is_told(tmp_path: Path) -> None:
    """Which one does not hang on the seed of hashes: the answer is the same in each process."""
    (tmp_path / "main.py").write_text(TWICE)
    command = [sys.executable, "-m", "graphlint", "check", ".", "--no-cache", "--format", "json"]
    columns = set()
    for seed in range(4):
        seeded = {**os.environ, "PYTHONHASHSEED": str(seed)}
        told = subprocess.run(command, cwd=tmp_path, env=seeded, capture_output=True, check=False).stdout
        columns |= {one["column"] for one in json.loads(told)["findings"] if one["code"] == "GL402"}
    assert {len("        width = ") + 1} == columns


SERVED = """
# file: norm.py
import torch

_backend = "plain"

def choose(name):
    global _backend
    _backend = name

class Norm(torch.nn.Module):
    def forward(self, x):
        return x * 2 if _backend == "fast" else x
# file: runner.py
import torch
from norm import Norm, choose

class Runner:
    def __init__(self, config):
        self.model = Norm()
        {first}
        self.warm_up()
        if not config.eager:
            self.capture(config.rows)
        {later}

    def warm_up(self):
        self.run(torch.zeros(8, device="cuda"), True)

    def capture(self, rows):
        self.x, self.graph = torch.zeros(rows, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

    def run_model(self, x, is_prefill=False):
        if is_prefill:
            return self.model(x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y

    def run(self, x, is_prefill=False):
        return self.run_model(x, is_prefill)
"""


@pytest.mark.parametrize(
    ("first", "later", "is_told"),
    [("choose(config.name)", "pass", False), ("pass", "choose(config.name)", True)],
    ids=["in front of the capture", "behind it"],
)
def test_a_constructor_that_serves_captures_for_each_object(
    tmp_path: Path, first: str, later: str, is_told: bool
) -> None:
    """The graphs that it replays are those of this object, which it has captured behind what it has set up."""
    found = analyse(tmp_path, SERVED.format(first=first, later=later).lstrip()).found
    assert is_told is any(code == "GL402" for _, _, code in found)


NAMED = """
import torch

STEP, RATE, SEEN = "step", "rate", "seen"

class Scaler:
    def __init__(self, state):
        self.state = state

    def step(self, p, x):
        if SEEN not in self.state[p]:
            self.state[p][SEEN] = torch.zeros_like(x)
        self.state[p][STEP] += 1
        return x * {factor}

def main(state, p):
    scaler = Scaler(state)
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaler.step(p, x)
    graph.replay()
"""


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        ("self.state[p][STEP]", True),
        ('self.state[p]["step"]', True),  # which is what the name may stand for
        ("self.state[p][RATE]", False),
    ],
)
def test_a_name_of_the_file_tells_one_item_of_state_from_another(tmp_path: Path, factor: str, told: bool) -> None:
    """Under whichever key the object is kept that has them."""
    analysis = analyse(tmp_path, NAMED.format(factor=factor))
    lines = [line for _, line, code in analysis.shown if code == "GL402"]
    assert lines == ([14] if told else [])


MISSES = """
import torch

class Kernels:
    def __init__(self):
        self.table = {{}}
        self.misses = 0

    def run(self, x, key):
        {asked}
            self.misses += 1
            {made}
        return x * 2

    def again(self, graph):
        graph.replay()
        return self.misses

def capture(kernels, key):
    kernels = Kernels()
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kernels.run(x, key)
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("asked", "made", "is_told"),
    [
        ("if key not in self.table:", "self.table[key] = object()", False),
        ("if not key in self.table:", "self.table[key] = object()", False),
        ("if key not in self.table:", "pass", True),
        ("if key in self.table:", "self.table[key] = object()", True),
        ("if key:", "self.table[key] = object()", True),
    ],
)
def test_what_counts_misses_counts_first_runs(tmp_path: Path, asked: str, made: str, is_told: bool) -> None:
    """What a table has from then on is not missed again, captured or not; hits are, and what nothing stores."""
    analysis = analyse(tmp_path, MISSES.format(asked=asked, made=made))
    assert ("GL401" in {code for _, line, code in analysis.shown if line == 11}) is is_told


SUMMED = """
import torch

total = 0.0

def build(make):
    global total
    made = make()
    total += 0.5
    so_far = total
    print(f"built in {{so_far}}")
    return made

def step(x, make):
    return x * build(make)

def main(make):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x, make)
    graph.replay()
    {after}
    return y
"""


@pytest.mark.parametrize(("after", "is_told"), [("pass", False), ("print(total)", True)])
def test_what_a_region_sums_up_and_only_shows_is_missed_by_nobody(tmp_path: Path, after: str, is_told: bool) -> None:
    """A variable that decides nothing in the region, and that nothing outside of it reads."""
    assert is_told is ("GL401" in {code for _, _, code in analyse(tmp_path, SUMMED.format(after=after)).found})


def test_what_another_file_takes_may_be_read_there(tmp_path: Path) -> None:
    """Whoever imports what the region sums up misses what no replay adds."""
    (tmp_path / "shown.py").write_text("from main import total\n\ndef show():\n    print(total)\n")
    assert "GL401" in {code for _, _, code in analyse(tmp_path, SUMMED.format(after="pass")).found}


CAPTURED_TWICE = """
import torch

def bench(fn, rep, between):
    try:
        fn()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            {first}
        graph.replay()
        count = max(1, int(rep / 3.0))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                fn()
        {then}
        graph.replay()
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.parametrize(("first", "then", "is_told"), [("fn()", "pass", False), ("fn()", "count = between", True)])
def test_what_is_set_between_two_captures_is_set_for_the_second(
    tmp_path: Path, first: str, then: str, is_told: bool
) -> None:
    """Both come whenever the statement does, in a `try` as anywhere."""
    analysed = analyse(tmp_path, CAPTURED_TWICE.format(first=first, then=then))
    assert is_told is ("GL402" in {code for _, _, code in analysed.shown})


COUNTED = """
import torch

class Kernels:
    def __init__(self):
        self.stats = {{"calls": 0}}

    def run(self, x):
        self.stats["calls"] = (
            self.stats.get("calls", 0) + 1
        )
        return x * 2

    {reader}

def capture():
    kernels, x, graph = Kernels(), torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kernels.run(x)
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("reader", "is_told"),
    [
        ("def report(self): return dict(self.stats)", False),
        ("def report(self): print(self.stats)", False),
        ("def again(self, graph): graph.replay(); return dict(self.stats)", True),
        ("def taken(self):\n        calls = self.stats\n        self.stats = dict()\n        return calls", True),
        ("def report(self): return dict(self.stats)\n\nkernels = Kernels()\nprint(kernels.stats)", True),
    ],
    ids=["given back", "printed", "asked behind a replay", "taken away", "asked by a script"],
)
def test_a_count_that_is_only_shown_is_a_hint(tmp_path: Path, reader: str, is_told: bool) -> None:
    """Who asks for statistics may well want to know what Python has done."""
    analysis = analyse(tmp_path, COUNTED.format(reader=reader))
    assert ("GL401" in {code for _, _, code in analysis.shown}) is is_told


NESTED = """
import torch

class Step:
    def __init__(self):
        self.depth, self.size = 0, 2

    def __call__(self, x):
        self.depth += {taken}
        y = x * self.depth
        {left}
        return y

step = Step()
x = torch.ones(4, device="cuda")
step(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(x)
graph.replay()
"""


@pytest.mark.parametrize(
    ("taken", "left", "is_told"),
    [
        ("1", "self.depth -= 1", False),
        ("1", "self.depth -= 2", True),
        ("1", "self.depth -= 1; self.depth += 2", True),
        ("1", "pass", True),
        ("self.size", "self.depth -= self.size", False),
        ("self.size", "self.depth -= self.depth", True),
        ("len(x)", "self.depth -= len(x)", True),
    ],
)
def test_a_depth_that_a_run_leaves_as_it_was_is_the_same_in_each(
    tmp_path: Path, taken: str, left: str, is_told: bool
) -> None:
    """What is taken, by what an object says, is given back."""
    (tmp_path / "program.py").write_text(NESTED.format(taken=taken, left=left), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert is_told is bool(report.findings)


DRAWN = """
import torch

class Step:
    def __init__(self):
        self.parts = iter(range(9))

    def __call__(self, x):
        {made}
        return x * next(self.parts)

step = Step()
x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(x)
graph.replay()
"""


@pytest.mark.parametrize(("made", "is_told"), [("self.parts = iter(range(9))", False), ("pass", True)])
def test_an_iterator_that_a_region_makes_begins_anew(tmp_path: Path, made: str, is_told: bool) -> None:
    (tmp_path / "program.py").write_text(DRAWN.format(made=made), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402", "GL403")), RULEBOOK)
    assert is_told is bool(report.findings)


@pytest.mark.parametrize(("seed", "is_told"), [("7", False), ("", True)])
def test_what_is_drawn_of_a_seed_is_drawn_again(tmp_path: Path, seed: str, is_told: bool) -> None:
    step = f"def step(x):\n    rng = numpy.random.default_rng({seed})\n    return x * rng.random()\n"
    (tmp_path / "program.py").write_text(_HEAD + step + _FUNCTION, encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL403",)), RULEBOOK)
    assert is_told is bool(report.findings)


NOTED = """
import torch
from collections import deque

{state}

def note(y):
    {change}

def layer(w, x):
    y = torch.relu(x @ w)
    note(y)
    return y

def main():
    w = torch.randn(8, 8, device="cuda")
    x = torch.randn(4, 8, device="cuda")
    layer(w, x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(w, x)
    for _ in range(4):
        x.normal_()
        graph.replay()
    {shown}
    return y

def report():
    return str(SEEN)
"""
NOTES = {
    "a list": ("SEEN = []", "SEEN.append(y.shape[0])", "print(len(SEEN))", True),
    "a queue with an end": ("SEEN = deque(maxlen=8)", "SEEN.appendleft(tuple(y.shape))", "print(len(SEEN))", True),
    "a count in a dictionary": ('SEEN = {"n": 0}', 'SEEN["n"] += 1', 'print(SEEN["n"])', True),
    "a list that a report shows": ("SEEN = []", "SEEN.append(y.shape[0])", "pass", False),
    "a set": ("SEEN = set()", "SEEN.add(y.shape[0])", "print(len(SEEN))", False),
    "a list of its own": ("SEEN = []", "seen = []; seen.append(y.shape[0])", "print(len(SEEN))", False),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_a_file_notes_in_a_variable_is_counted_where_it_replays(tmp_path: Path, name: str) -> None:
    """And not where somebody asks for a report of it."""
    variable, change, shown, is_told = NOTES[name]
    mark = "  # expect: GL401" if is_told else ""
    analysis = analyse(tmp_path, NOTED.format(state=variable, change=change + mark, shown=shown))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL401"]


@pytest.mark.parametrize(
    ("reader", "is_told"), [("count", True), ("step_stats", False), ("get_metrics", False), ("apply_stats", True)]
)
def test_what_is_counted_for_statistics_counts_what_python_did(tmp_path: Path, reader: str, is_told: bool) -> None:
    """Functions that give what was counted are named like that; what replays counts on it all the same."""
    text = NOTED.format(state='SEEN = {"n": 0}', change='SEEN["n"] += 1', shown="pass")
    text = text.replace("def report():", f"def {reader}(graph):")
    text = text.replace(
        "return str(SEEN)", 'graph.replay()\n    return SEEN["n"]' if reader == "apply_stats" else "return SEEN['n']"
    )
    found = [one for one in analyse(tmp_path, text).shown if one[2] == "GL401"]
    assert bool(found) is is_told


_GATED = """
import torch

class Net:
    def __init__(self, factor):
        self.factor, self.calls = factor, 0

    def forward(self, x):
        y = x * self.calls
        {counting}
        return y

class Runner:
    def __init__(self, factor, x: torch.Tensor):
        self.net, self.graph = Net(4), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net.forward(x)
"""


@pytest.mark.parametrize(
    ("counting", "confidence"),
    [
        ("self.calls += 1", Confidence.HIGH),
        ("if self.factor != 2:\n            self.calls += 1", Confidence.MEDIUM),
    ],
)
def test_what_a_region_writes_under_a_condition_is_not_written_for_certain(
    tmp_path: Path, counting: str, confidence: Confidence
) -> None:
    """Other objects may be made otherwise than the one that decides it here."""
    (tmp_path / "program.py").write_text(_GATED.format(counting=counting), encoding="utf-8")
    report = static.check([tmp_path], Config(root=tmp_path, select=("GL402",)), RULEBOOK)
    assert [found.confidence for found in report.findings] == [confidence]
