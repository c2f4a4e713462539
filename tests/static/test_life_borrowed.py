"""What a region is handed by others: models that nobody warmed up, callables, helpers, pools and example data."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import Analysis
from analysis import analyse as analysed

from graphlint.finding import Confidence


def analyse(folder: Path, program: str) -> Analysis:
    """What is said of a program, hints too."""
    return analysed(folder, program, confidence=Confidence.LOW)


def of_code(analysis: Analysis, code: str, at_least: Confidence = Confidence.LOW) -> list[int]:
    """The lines of a rule, in order."""
    findings = analysis.report.findings
    return sorted(f.span.line for f in findings if f.code == code and f.confidence >= at_least)


def lines(program: str, mark: str) -> list[int]:
    """The lines with a mark."""
    return [number for number, line in enumerate(program.splitlines(), 1) if f"# {mark}" in line]


RUNNER = """
import contextlib
import torch

class Runner:
    def __init__(self, model, size):
        self.model = model
        self.x = torch.zeros(size, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        {warm}
        with torch.cuda.graph(self.graph):  # cold
            self.y = self.model(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
{more}
"""
COLD = RUNNER.format(warm="pass", more="")


def test_a_model_that_only_the_region_calls(tmp_path: Path) -> None:
    """Its first call is the capture, as far as the file says; that is a hint and no more."""
    analysis = analyse(tmp_path, COLD)
    assert of_code(analysis, "GL609") == lines(COLD, "cold")
    assert of_code(analysis, "GL609", Confidence.MEDIUM) == []


@pytest.mark.parametrize(
    ("warm", "more"),
    [
        ("self.model(self.x)", ""),
        ("[self.model(self.x) for _ in range(3)]", ""),
        ("pass", "\n    def eager(self, x):\n        return self.model(x)"),
    ],
    ids=["before the capture", "three times", "in another method"],
)
def test_a_model_that_is_called_before(tmp_path: Path, warm: str, more: str) -> None:
    """Whoever calls it elsewhere may have warmed it up."""
    program = RUNNER.format(warm=warm, more=more).replace("def eager", "def aeager")
    before = program if not more else program.replace("    def capture", more.strip("\n") + "\n\n    def capture", 1)
    assert of_code(analyse(tmp_path, before), "GL609") == []


def test_a_warm_up_on_the_stream_of_the_caller(tmp_path: Path) -> None:
    """It matters to gradients alone: a side stream, a mode without them, or a file that has none silences."""
    trains = "\n    def loss(self, y):\n        return y.sum().backward()"
    plain = RUNNER.format(warm="self.model(self.x)  # tied", more=trains)
    assert of_code(analyse(tmp_path / "plain", plain), "GL602") == lines(plain, "tied")
    assert of_code(analyse(tmp_path / "infers", plain.replace(trains, "")), "GL602") == []
    for name, warm in (
        ("side", "with torch.cuda.stream(torch.cuda.Stream()): self.model(self.x)"),
        ("silent", "with torch.no_grad(): self.model(self.x)"),
    ):
        assert of_code(analyse(tmp_path / name, RUNNER.format(warm=warm, more=trains)), "GL602") == []
    decorated = plain.replace("    def capture", "    @torch.inference_mode()\n    def capture")
    assert of_code(analyse(tmp_path / "decorated", decorated), "GL602") == []


LAZY = """
import functools
import torch

class Graphed:
    def __init__(self, module, warm_up: int = 2):
        self.module, self.warm_up, self.calls = module, warm_up, 0

        def call(x):
            if self.calls < self.warm_up:
                self.calls += 1
                return self.module(x)  # tied
            if self.calls == self.warm_up:
                assert not x.requires_grad
                self.x, self.graph = x.clone(), torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.module(self.x)
                self.calls += 1
            else:
                self.x.copy_(x)
            self.graph.replay()
            return self.y.clone()

        self.call = functools.wraps(module)(call)

    def __call__(self, x):
        return self.call(x)
"""


def test_a_class_that_captures_at_its_third_call(tmp_path: Path) -> None:
    """It is called until there is a graph, through the function that its constructor made.

    Callers may compute gradients of what its first calls give them; of a warm-up whose result is dropped, nobody can.
    """
    assert of_code(analyse(tmp_path / "served", LAZY), "GL602", Confidence.MEDIUM) == lines(LAZY, "tied")
    dropped = LAZY.replace("return self.module(x)  # tied", "self.module(x); return x  # tied")
    analysis = analyse(tmp_path / "dropped", dropped)
    assert of_code(analysis, "GL602") == lines(dropped, "tied")
    assert of_code(analysis, "GL602", Confidence.MEDIUM) == []


@pytest.mark.parametrize(("base", "is_told"), [("torch.autograd.Function", False), ("Trainer", True)])
def test_an_autograd_function_of_the_file_trains_nothing(tmp_path: Path, base: str, is_told: bool) -> None:
    """It says how gradients of one operation are computed, for whoever asks for them."""
    one = f"\n\nclass Twice({base}):\n    @staticmethod\n    def backward(ctx, loss):\n        return loss.backward()\n"
    text = LAZY.replace("                assert not x.requires_grad\n", "") + one
    assert is_told is bool(of_code(analyse(tmp_path, text), "GL602", Confidence.MEDIUM))


ON_DEMAND = """
import torch

class Runner:
    def __init__(self, model):
        self.model, self.graphs = model, {{}}

    def build(self, x):
        x = x.clone()
        {warm}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # cold
            for layer in self.model.layers:
                y = layer(x)
        return graph, x, y

    def run(self, x):
        if x.shape not in self.graphs:
            self.graphs[x.shape] = self.build(x)
        graph, held, y = self.graphs[x.shape]
        held.copy_(x)
        graph.replay()
        return y.clone()
"""


def test_a_graph_that_is_made_for_the_request_which_needs_it(tmp_path: Path) -> None:
    """Nothing comes between the first call of what it runs and the capture; another loop over it before warms up."""
    cold = ON_DEMAND.format(warm="pass")
    assert of_code(analyse(tmp_path / "cold", cold), "GL609", Confidence.MEDIUM) == lines(cold, "cold")
    for name, warm in (
        ("same", "for layer in self.model.layers: layer(x)"),
        ("other", "[layer(x) for layer in self.model.layers]"),
    ):
        assert of_code(analyse(tmp_path / name, ON_DEMAND.format(warm=warm)), "GL609") == []


def test_what_is_run_in_another_way_as_well_may_have_warmed_up(tmp_path: Path) -> None:
    """One layer of the model, or the same call in a step that runs without a graph."""
    layer = ON_DEMAND.format(warm="self.model.layers[0](x)")
    assert of_code(analyse(tmp_path / "layer", layer), "GL609", Confidence.MEDIUM) == []
    whole = ON_DEMAND.format(warm="pass").replace(
        "for layer in self.model.layers:\n                y = layer(x)", "{call}"
    )
    cold = whole.replace("{call}", "y = self.model.decode(x)")
    for name, eager, told in (
        ("eager", "self.model.decode(x)", []),
        ("other", "self.model.encode(x)", lines(cold, "cold")),
    ):
        program = f"{cold}\n    def run_eager(self, x):\n        return {eager}\n"
        assert of_code(analyse(tmp_path / name, program), "GL609", Confidence.MEDIUM) == told


POOL = """
import torch

class Graphs:
    def __init__(self, model, share: bool = False):
        self.model, self.entries = model, {{}}
        self.pool = torch.cuda.graph_pool_handle() if share else None
        {early}

    def build(self, x):
        {late}
        x = x.clone()
        with torch.cuda.stream(stream):
            self.model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, pool=self.pool):
            y = self.model(x)
        return graph, x, y

    def run(self, x):
        if x.shape not in self.entries:
            self.entries[x.shape] = self.build(x)
        graph, held, y = self.entries[x.shape]
        held.copy_(x)
        graph.replay()
        return y.clone()
"""


def test_a_pool_that_captures_on_several_streams_share(tmp_path: Path) -> None:
    """Its memory is only used again on one stream; a flag that has a default is tried both ways."""
    bad = POOL.format(early="pass", late="stream = torch.cuda.Stream()  # another")
    assert [line for line in of_code(analyse(tmp_path / "bad", bad), "GL505") if line in lines(bad, "another")]
    for name, early, late in (
        ("one", "self.stream = torch.cuda.Stream()", "self.stream"),
        ("current", "pass", "torch.cuda.current_stream()"),
    ):
        good = POOL.format(early=early, late=f"stream = {late}")
        told = of_code(analyse(tmp_path / name, good), "GL505", Confidence.MEDIUM)
        assert [line for line in told if "stream =" in good.splitlines()[line - 1]] == []


BACKEND = """
import torch

class Backend:
    def __init__(self):
        self.graphs, self.outputs, self.inputs = {{}}, {{}}, {{}}

    def capture(self, key, forward):
        for _ in range(2):
            forward()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = forward()
        self.graphs[key] = graph  # kept
        self.outputs[key] = out
        {held}

    def replay(self, key):
        self.graphs[key].replay()
        return self.outputs[key].clone()
"""


def test_a_callable_that_nobody_keeps(tmp_path: Path) -> None:
    """What it closes over is what the graph reads."""
    bad = BACKEND.format(held="pass")
    assert of_code(analyse(tmp_path / "bad", bad), "GL507") == lines(bad, "kept")
    good = BACKEND.format(held="self.inputs[key] = forward")
    assert of_code(analyse(tmp_path / "good", good), "GL507") == []


GIVEN = """

class Runner:
    def __init__(self, backend, model):
        self.backend, self.model = backend, model

    def prepare(self, size):
        held = self.model.inputs[:size]
        inputs = torch.zeros(size, 8, device="cuda")
        def forward():
            return self.model({read})
        self.backend.{called}(size, {given})
"""


@pytest.mark.parametrize(
    ("read", "called", "given", "is_sure"),
    [
        ("inputs", "capture", "forward", True),
        ("inputs", "capture", "forward=forward", True),
        ("held", "capture", "forward", False),
        ("inputs", "prepare", "forward", False),
        ("inputs", "capture", "self.model", False),
    ],
)
def test_a_callable_that_reads_what_its_caller_has_made(
    tmp_path: Path, read: str, called: str, given: str, is_sure: bool
) -> None:
    """Who calls the method by its name gives a function of its own, whose tensors are gone when that call is over."""
    program = BACKEND.format(held="pass") + GIVEN.format(read=read, called=called, given=given)
    analysis = analyse(tmp_path, program)
    assert of_code(analysis, "GL507") == lines(program, "kept")
    assert of_code(analysis, "GL507", Confidence.MEDIUM) == (lines(program, "kept") if is_sure else [])


STATE = """
import torch

class State:
    def refill(self, other):
        for name, value in vars(other).items():
            if isinstance(value, torch.Tensor):
                {fill}

class Graphs:
    def __init__(self, step):
        self.step, self.graphs = step, {{}}

    def capture(self, size, x, state: State):
        self.step(x, state)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.step(x, state)
        self.graphs[size] = graph, x, state, y

    def replay(self, size, x, state: State):
        graph, held, held_state, y = self.graphs[size]
        held.copy_(x)
        held_state.refill(state)
        graph.replay()
        return y.clone()
"""


def test_an_object_that_fills_its_own_tensors(tmp_path: Path) -> None:
    """An annotation says whose method it is; the tail of what a region was handed stays as it was."""
    bad = STATE.format(fill="getattr(self, name)[: other.size].copy_(value)  # tail")
    assert of_code(analyse(tmp_path / "bad", bad), "GL511") == lines(bad, "tail")
    both = "held = getattr(self, name); held[: other.size].copy_(value); held[other.size :].fill_(0)"
    for name, fill in (("whole", "getattr(self, name).copy_(value)"), ("in two parts", both)):
        assert of_code(analyse(tmp_path / name, STATE.format(fill=fill)), "GL511") == []


@pytest.mark.parametrize(("rest", "is_sure"), [("", False), ("; held[state.size:].fill_(1)", True)])
def test_a_tail_that_stays_where_that_of_another_input_is_filled(tmp_path: Path, rest: str, is_sure: bool) -> None:
    """Whoever fills one knows that those rows are computed; what the others say of them is of an earlier request."""
    program = STATE.format(fill="getattr(self, name)[: other.size].copy_(value)  # tail")
    program = program.replace("held.copy_(x)", f"held[: state.size].copy_(x){rest}")
    analysis = analyse(tmp_path, program)
    (tail,) = lines(program, "tail")
    assert tail in of_code(analysis, "GL511")
    assert (tail in of_code(analysis, "GL511", Confidence.MEDIUM)) == is_sure


EXAMPLE = """
import torch

class Metadata:
    def __init__(self, table):
        self.table = table

class Backend:
    def __init__(self, rows, columns):
        self.columns = columns
        self.table = torch.zeros(rows, columns, dtype=torch.int32, device="cuda")

    def prepare_capture_metadata(self, size: int, lengths: torch.Tensor):
        width = {width}
        self.metadata = Metadata(self.table[:size, :width])

    def prepare_replay_metadata(self, size: int, table: torch.Tensor):
        self.table[:size].copy_(table)
"""


def test_a_width_that_the_example_has(tmp_path: Path) -> None:
    """A number out of the data of the capture bounds what each replay reads; the size of a buffer does not change."""
    bad = EXAMPLE.format(width="lengths.max().item() + 1  # example")
    assert of_code(analyse(tmp_path / "bad", bad), "GL402") == lines(bad, "example")
    assert of_code(analyse(tmp_path / "good", EXAMPLE.format(width="self.columns")), "GL402") == []


USED = """
# file: helper.py
import torch

def record(model, x):
    graph = torch.cuda.CUDAGraph()
    model(x)
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, y
# file: server.py
import torch
from helper import record

class Server:
    def __init__(self, model):
        self.x = torch.zeros(64, 8, device="cuda")
        self.graph, self.y = record(model, self.x)

    def serve(self, x, n):
        {fill}
        self.graph.replay()
        return self.y.clone()
"""


def test_a_helper_in_another_file(tmp_path: Path) -> None:
    """Who uses what opens a region is rehearsed as well."""
    bad = analyse(tmp_path / "bad", USED.format(fill="self.x[:n].copy_(x)"))
    assert [(name, code) for name, _, code in bad.found if code == "GL511"] == [("server.py", "GL511")]
    for name, fill in (("whole", "self.x.copy_(x)"), ("tail", "self.x[:n].copy_(x); self.x[n:].zero_()")):
        assert "GL511" not in {code for _, _, code in analyse(tmp_path / name, USED.format(fill=fill)).found}


PICKED = """
import torch

class Graph:
    def __init__(self, model, rows, length):
        self.model, self.x = model, torch.zeros(rows, 8, device="cuda")
        self.length = length

    def capture(self, x: torch.Tensor):
        self.x[:x.size(0)] = x
        used = self.x[:{bound}]
        self.model(used)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(used)

    def run(self, x):
        self.x[:x.size(0)] = x
        self.graph.replay()
        return self.y.clone()

class Graphs:
    def __init__(self, model):
        self.model, self.graphs = model, {{}}

    def rows(self, size):
        for one in (1, 2, 4, 8, 16):
            if size <= one:
                return one
        raise ValueError(size)

    def __call__(self, x: torch.Tensor, mask: torch.Tensor):
        {key}
        if key not in self.graphs:  # key
            self.graphs[key] = Graph(self.model, 16, {length})
            self.graphs[key].capture(x)
        return self.graphs[key].run(x)
"""


@pytest.mark.parametrize(
    ("key", "length", "bound", "is_told"),
    [
        ("key = (self.rows(mask.size(0)), True)  # key", "16", "x.size(0)", True),
        ("key = (self.rows(mask.size(0)), True)  # key", "x.size(0)", "16", True),
        ("key = (self.rows(mask.size(0)), True)", "16", "16", False),
        ("key = (mask.size(0), True)", "16", "x.size(0)", False),
        ("key = (x.size(0), True)", "16", "x.size(0)", False),
    ],
    ids=["a bound", "an argument", "neither", "the size of another input", "the size"],
)
def test_a_key_that_is_picked_from_a_table_does_not_say_how_long_an_input_is(
    tmp_path: Path, key: str, length: str, bound: str, is_told: bool
) -> None:
    """The size of another input may be the same."""
    program = PICKED.format(key=key, length=length, bound=bound)
    found = of_code(analyse(tmp_path, program), "GL402", Confidence.MEDIUM)
    assert found == (lines(program, "key")[:1] if is_told else [])


OFFSETS = """
import torch
import library

class Runner:
    def __init__(self, model):
        self.x = torch.zeros(16, 8, device="cuda")
        self.offsets = torch.zeros(17, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = model(self.x, self.offsets) * self.offsets.sum()

    def run(self, x: torch.Tensor):
        size, all_of_it = x.size(0), self.x.size(0)
        offsets = library.offsets(x)
        self.x.zero_()
        self.x[:size] = x
        {fill}
        self.graph.replay()
        return self.y[:size].clone()
"""


@pytest.mark.parametrize(
    ("fill", "is_told"),
    [
        ("self.offsets[:size + 1].copy_(offsets[:size + 1])  # cut", True),
        ("self.offsets[:all_of_it + 1].copy_(offsets[:all_of_it + 1])", False),
        ("self.offsets[:size + 1].copy_(offsets)", False),
        ("self.offsets.copy_(offsets)", False),
    ],
)
def test_data_that_has_more_than_is_written(tmp_path: Path, fill: str, is_told: bool) -> None:
    """It was computed for all rows, and what it says of those behind the request stays away from the graph."""
    program = OFFSETS.format(fill=fill)
    assert of_code(analyse(tmp_path, program), "GL511", Confidence.MEDIUM) == lines(program, "cut")
    assert is_told == bool(lines(program, "cut"))
