"""Tensors that a region keeps: for the rest of it, for the next run, or for somebody else."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from analysis import analyse

from graphlint.finding import Confidence
from graphlint.static.interpreter.recent import Recent

PROGRAM = """
# file: layer.py
import torch

class Router:
    def __init__(self):
        self.mask = None

    def prepare(self, x):
        {kept}

    def finish(self, y):
        return {used}

    def again(self, y):
        self.mask = y + 1
        return self.mask

class Other:
    def report(self):
        return self.mask

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router, self.inner = Router(), torch.nn.Linear(4, 4)

    def forward(self, x):
        self.router.prepare(x)
        return self.router.finish(self.inner(x))

def capture():
    layer, x = Layer().cuda(), torch.ones(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    return graph, x, y, layer

# file: report.py
def statistics(layer):
    return {told}
"""
SET = "self.mask = x * 2"
TOLD = "  # expect: GL501"


@pytest.mark.parametrize(
    ("kept", "used", "told"),
    [
        (SET, "y * self.mask", "layer.inner"),
        (f"{SET}\n        self.mask = self.mask + 1", "y * self.mask", "layer.inner"),
        (f"held = self.mask\n        {SET}\n        print(x.shape)\n        self.mask = held", "y", "layer.inner"),
        (SET, "y", "layer.inner"),
        ("self._mask = x * 2", "y", "layer.inner"),
        ("self._mask = x * 2", "y", "layer.router._mask"),
        (SET, "y * self.mask", "layer.router.mask"),
        (f"if self.mask is None:\n            {SET}{TOLD}", "y * self.mask", "layer.inner"),
        (f"if self.mask is None:\n            {SET}{TOLD}", "y * self.again(y)", "layer.inner"),
        (f"if x.size(0) > self.size:\n            {SET}{TOLD}", "y * self.mask", "layer.mask"),
        (f"print(self.mask)\n        {SET}{TOLD}", "y * self.mask", "layer.inner"),
        (f"self.mask = self.mask * x{TOLD}", "y * self.mask", "layer.inner"),
    ],
    ids=[
        "the next call reads it",
        "it is made in two steps",
        "what was there is put back",
        "nobody here reads it",
        "nobody reads it, and it is private",
        "another file reads it, private as it is",
        "another file reads it",
        "it is filled once",
        "it is filled once, and set anew elsewhere",
        "it is made anew for more",
        "the next run reads it",
        "the next run changes it",
    ],
)
def test_what_is_kept_for_the_rest_of_a_region_is_a_hint(tmp_path: Path, kept: str, used: str, told: str) -> None:
    """It is set anew each time before it is read; an attribute of another class by its name is another one."""
    analysis = analyse(tmp_path, PROGRAM.format(kept=kept, used=used, told=told))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL501"]


def test_a_field_of_that_name_is_another_one(tmp_path: Path) -> None:
    """What another file reads may be of a class that declares it."""
    program = PROGRAM.replace(
        "def statistics", "import torch\n\nclass Record:\n    mask: torch.Tensor\n\ndef statistics"
    )
    program = program.format(kept=SET, used="y * self.mask", told="layer.mask")
    assert [] == [one for one in analyse(tmp_path, program).shown if one[2] == "GL501"]


@pytest.mark.parametrize("keep", ["self.mask = {}", 'self.register_buffer("mask", {})'], ids=["assigned", "registered"])
@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("torch.full((4,), 2.0, device=x.device)", True),
        ("torch.tensor([2.0, 2.0, 2.0, 2.0], device=x.device)", False),
        ("torch.tensor(np.full(4, 2.0), device=x.device)", False),
    ],
    ids=["made there", "of a list", "of an array"],
)
def test_what_is_uploaded_is_kept_by_no_graph(tmp_path: Path, keep: str, made: str, is_told: bool) -> None:
    """The upload refuses the capture, which is told."""
    program = PROGRAM.replace("class Router:", "import numpy as np\n\nclass Router(torch.nn.Module):")
    program = program.replace(
        "__init__(self):\n        self.mask", "__init__(self):\n        super().__init__()\n        self.mask", 1
    )
    kept = f"if self.mask is None:\n            {keep.format(made)}"
    told = {code for _, _, code in analyse(tmp_path, program.format(kept=kept, used="y", told="layer.mask")).shown}
    assert told == ({"GL501"} if is_told else {"GL203"})


DROPPED = """
import torch
from dataclasses import dataclass

@dataclass
class State:
    seen: torch.Tensor | None = None

class Step:
    def forward(self, x, state):
        if state.seen is None:
            state.seen = x * 2
        return state.seen + 1

class Runner:
    def __init__(self):
        self.step = Step()
        self.states = []
        self.last = None

    def capture(self):
        x = torch.zeros(4, device="cuda")
        {made}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.step.forward(x, {given})
        {behind}

    def read(self):
        self.graph.replay()
        return self.last.seen
"""


@pytest.mark.parametrize(
    ("made", "given", "behind", "is_told"),
    [
        ("state = State()", "state", "return None", False),
        ("states = [State() for _ in range(2)]", "states[0]", "return None", False),
        ("state = State()", "state", "return state", True),
        ("state = State()", "state", "self.last = state", True),
        ("state = State()", "state", "self.states.append(state)", True),
        ("states = [State() for _ in range(2)]", "states[0]", "self.last = states[0]", True),
        ("self.last = State()", "self.last", "return None", True),
        ("state = State()", "state", "self.look = lambda: state.seen", True),
    ],
)
def test_what_is_kept_in_an_object_of_the_capture_alone_is_hardly_missed(
    tmp_path: Path, made: str, given: str, behind: str, is_told: bool
) -> None:
    """But where something has the object when the capture is over."""
    found = analyse(tmp_path, DROPPED.format(made=made, given=given, behind=behind)).shown
    assert ("GL501" in {code for _, _, code in found}) is is_told


def test_who_made_an_object_is_known_when_what_a_region_calls_is_looked_at_later() -> None:
    """Targets run once all regions have been searched; an object that two calls make is of neither."""
    recent, made = Recent({}, lambda *_: None), Mock()
    first, second = (Mock(), Mock()), (Mock(), Mock())
    recent.make(made, *first)
    recent.begin()
    assert (recent.made, recent.ever) == ({}, {made: first})
    recent.make(made, *second)
    assert (recent.made, recent.ever) == ({made: second}, {made: None})


def test_an_object_of_a_script_outlives_its_capture(tmp_path: Path) -> None:
    """The names of a file are there to its end."""
    program = """
        import torch

        class Cell:
            def __init__(self):
                self.state = torch.zeros(4, device="cuda")
            def __call__(self, x):
                self.state = self.state + x  # expect: GL501
                return self.state

        cell, x = Cell(), torch.zeros(4, device="cuda")
        cell(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = cell(x)
        graph.replay()
        """
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL501"]


@pytest.mark.parametrize(
    ("table", "body", "code"),
    [("{}", "made[n] = x * n", "GL501"), ("[]", "made.append(x * n)", "GL505")],
)
@pytest.mark.parametrize(("outside", "inside", "is_told"), [("made = @", "pass", True), ("pass", "made = @", False)])
def test_what_a_function_inside_of_another_one_fills_is_kept_where_that_runs_before_the_region(
    tmp_path: Path, outside: str, inside: str, is_told: bool, table: str, body: str, code: str
) -> None:
    """A table that is made in the region is gone with it, whoever puts something into it."""
    program = f"""
        import torch

        def build():
            {outside.replace("@", table)}

            def step(x):
                {inside.replace("@", table)}

                def scaled(n):
                    {body}
                    return x

                return scaled(1) + scaled(2)

            return step

        step, x = build(), torch.zeros(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = step(x)
        graph.replay()
        """
    assert (code in {found for _, _, found in analyse(tmp_path, program).shown}) is is_told


@pytest.mark.parametrize("begun, is_told", [("None", False), ('torch.ones(4, 4, device="cuda")', True)])
def test_a_buffer_that_a_region_replaces_is_told_if_somebody_else_reads_it(
    tmp_path: Path, begun: str, is_told: bool
) -> None:
    """Another graph that was captured before reads the old one; where there was none, each replay leaves a new one."""
    program = PROGRAM.replace("self.mask = None", f"self.mask = {begun}")
    told = analyse(tmp_path, program.format(kept=SET, used="y", told="layer.router.mask")).shown
    assert ("GL501" in {code for _, _, code in told}) is is_told


CAPTURING = "torch.cuda.is_current_stream_capturing()"


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        (f"if {CAPTURING}:\n            self.size = x.max() + 1\n        return x * self.size", True),
        (
            f"asked = torch.cuda.is_available() and {CAPTURING}\n"
            "        if not asked:\n            pass\n        else:\n            self.size = x.max() + 1\n"
            "        return x * self.size",
            True,
        ),
        (
            f"if {CAPTURING}:\n            self.size = x.max() + 1\n        else:\n            self.size = x.min()\n"
            "        return x * self.size",
            False,
        ),
        (
            f"if {CAPTURING}:\n            self.size = x.max() + 1\n            x = x * self.size\n        return x",
            False,
        ),
        ("self.size = x.max() + 1\n        return x * self.size", False),
    ],
)
def test_what_only_a_capture_sets_is_told_where_eager_code_reads_it(tmp_path: Path, body: str, is_told: bool) -> None:
    """A guard the wrong way round: eager code reads what the last replay has left, and never sets it anew."""
    program = f"""
import torch
class Reduce(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.size = None
    def forward(self, x):
        {body}
def capture():
    model, x = Reduce().cuda(), torch.ones(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, y, model
"""
    assert ("GL501" in {code for _, _, code in analyse(tmp_path, program).shown}) is is_told


HANDED_BACK = """
import torch

class Batch:
    def __init__(self, pos):
        self.pos, self.out = pos, {{}}

class Prior(torch.nn.Module):
    def forward(self, data: Batch, x: torch.Tensor):
        data.out["energy"] = {{"y": x * 2}}
        {given}
"""


@pytest.mark.parametrize(
    ("given", "is_told"),
    [("return data", False), ("return x", True), ("pass", True), ("return x if x.ndim else data", True)],
)
def test_what_is_handed_in_and_handed_back_holds_outputs(tmp_path: Path, given: str, is_told: bool) -> None:
    """An output of the region is one, whatever object it lies in."""
    analysis = analyse(tmp_path, HANDED_BACK.format(given=given), regions=("main:Prior.forward",))
    assert is_told is ("GL501" in {code for _, _, code in analysis.shown})


THREADED = """
import torch

def run(x, last=None):
    if last is None:
        last = torch.zeros(4, device="cuda")
    return x + last, last

def turned(last):
    return None if last is None else last * 2

class Filter:
    def __init__(self):
        self.last = None

    def forward(self, x: torch.Tensor):
        y, self.last = run({given})
        return y

    def tail(self, y):
        return y + self.last
"""


@pytest.mark.parametrize(
    ("given", "confidence"),
    [("x, self.last", Confidence.MEDIUM), ("x, turned(self.last)", Confidence.HIGH)],
)
def test_what_is_made_of_what_was_there_before_may_be_that(tmp_path: Path, given: str, confidence: Confidence) -> None:
    """A run before has made it, and it is handed in and given back as it is."""
    found = analyse(tmp_path, THREADED.format(given=given), regions=("main:Filter.forward",)).report.findings
    assert [confidence] == [one.confidence for one in found if one.code == "GL501"]


_ALIGNER = """
import torch
from torch import nn

class Aligner(nn.Module):
    def begin(self, memory):
        {begin}

    def decode(self, x):
        joined = x + self.context
        self.context = torch.relu(x)
        return joined

    def forward(self, memory, xs):
        {first}
        found = []
        for x in xs:
            found.append(self.decode(x))
        return torch.stack(found)

memory, xs = torch.zeros(4, 8, device="cuda"), torch.zeros(3, 4, 8, device="cuda")
model = Aligner().cuda()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(memory, xs)
"""


@pytest.mark.parametrize(
    ("begin", "first", "is_told"),
    [
        ("self.context = torch.zeros_like(memory)", "self.begin(memory)", False),
        ("self.context = torch.zeros_like(memory)", "if memory.shape[0] > 1:\n            self.begin(memory)", True),
        ("self.context = torch.zeros_like(memory)", "pass", True),
        ("if memory.shape[0] > 1:\n            self.context = torch.zeros_like(memory)", "self.begin(memory)", True),
    ],
    ids=["in each pass", "now and then", "never", "where there is more than one"],
)
def test_what_each_pass_begins_anew_is_none_of_the_pass_before(
    tmp_path: Path, begin: str, first: str, is_told: bool
) -> None:
    """What a method reads is what another one has set that is called before it in any case."""
    analysis = analyse(tmp_path, _ALIGNER.format(begin=begin, first=first))
    assert is_told is any(place[2] == "GL501" for place in analysis.shown)


RECURRENT = """
import torch

class Cells(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.states = [torch.zeros(2, 4, device="cuda") for _ in range(2)]

    def forward(self, x):
        {local}
        for number in range(2):
            {kept}
        return x * 2

def capture():
    layer, x = Cells().cuda(), torch.ones(2, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    return graph, x, y, layer
"""


@pytest.mark.parametrize(
    ("local", "kept"),
    [
        ("pass", f"self.states[number] = self.inner(x + self.states[number]){TOLD}"),
        ("pass", "self.states[number].copy_(self.inner(x + self.states[number]))"),
        ("states = list(self.states)", "states[number] = self.inner(x + states[number])"),
    ],
    ids=["put into the list", "written in place", "a list of its own"],
)
def test_a_tensor_that_takes_the_place_of_another_in_a_list_is_kept(tmp_path: Path, local: str, kept: str) -> None:
    """As in a dict: the next replay reads the one that was there at the capture."""
    analysis = analyse(tmp_path, RECURRENT.format(local=local, kept=kept))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL501"]
