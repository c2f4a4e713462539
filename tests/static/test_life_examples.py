"""What a capture takes from the data that it is made with: sizes of its inputs, and keys of graphs that lack them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

RUNNER = """
import torch

class Single:
    def __init__(self, model, size):
        self.model, self.size = model, size
        self.buffer = torch.zeros(64, 8, device="cuda")

    def capture(self, x: torch.Tensor):
        n = x.size(0)
        self.buffer[:n].copy_(x)
        given = self.buffer[:{end}]{ends}
        self.model(given)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(given)

    def run(self, x: torch.Tensor):
        n = x.size(0)
        self.buffer[:n].copy_(x)
        self.buffer[n:].zero_()
        self.graph.replay()
        return self.y[:n].clone()

{others}
"""
MANY = """
class Many:
    def __init__(self, model):
        self.model, self.graphs = model, {{}}

    def run(self, x: torch.Tensor, lengths: torch.Tensor):
        n = x.size(0)
        key = {key}
        if key not in self.graphs:{keyed}
            self.graphs[key] = Single(self.model, {size})
            self.graphs[key].capture(x)
        return self.graphs[key].run(x)
"""


def said_of(folder: Path, end: str, ends: str = "", others: str = "") -> list[tuple[str, int, str]]:
    analysis = analyse(
        folder, RUNNER.format(end=end, ends=ends, others=textwrap.dedent(others)), confidence=Confidence.LOW
    )
    assert [one for one in analysis.found if one[2] == "GL402"] == analysis.expected
    return analysis.expected


def test_an_input_that_ends_with_the_data_of_the_capture_is_told(tmp_path: Path) -> None:
    """Later data is longer, and the graph computes no more than it was captured with."""
    assert said_of(tmp_path, "n", "  # expect: GL402")


@pytest.mark.parametrize("end", ["64", "self.size", ""])
def test_an_input_of_a_fixed_size_is_silent(tmp_path: Path, end: str) -> None:
    """It is that of the buffer, or one that the runner was made for."""
    assert not said_of(tmp_path, end)


@pytest.mark.parametrize(
    ("key", "size"),
    [("n", "n"), ("1 << (n - 1).bit_length()", "n"), ("(n, lengths.size(0))", "lengths.size(0)"), ("n", "8")],
    ids=["the size", "the size, rounded up", "both sizes", "a number"],
)
def test_a_key_that_says_what_the_graph_depends_on_is_silent(tmp_path: Path, key: str, size: str) -> None:
    """So does one that is computed from it: it may be rounded up, and the buffer with it."""
    assert not said_of(tmp_path, "self.size", others=MANY.format(key=key, size=size, keyed=""))


def test_a_key_that_lacks_what_the_graph_is_made_for_is_told(tmp_path: Path) -> None:
    """Another batch with as many rows replays a graph for sequences of another length."""
    others = MANY.format(key="(n, True)", size="lengths.size(0)", keyed="").replace("True)", "True)  # expect: GL402")
    assert said_of(tmp_path, "self.size", others=others)


def test_a_number_that_is_read_and_rounded_up_is_told(tmp_path: Path) -> None:
    """It is of the data that the capture is prepared with, whatever it went through."""
    program = """
    import torch
    import triton

    class Backend:
        def __init__(self, runner):
            self.page, self.table, self.metadata = runner.page, None, {}

        def init_cuda_graph_state(self, size: int):
            self.table = torch.zeros(size, 128, dtype=torch.int32, device="cuda")

        def pages(self, longest):
            pages = triton.cdiv(longest, self.page)
            return pages if pages % 4 == 0 else triton.cdiv(pages, 4) * 4

        def init_capture_cuda_graph(self, size: int, lengths: torch.Tensor):
            longest = self.pages(lengths.max().item())  # expect: GL402
            self.metadata[size] = self.table[:size, :longest]

        def init_replay_cuda_graph(self, size: int, lengths: torch.Tensor):
            self.metadata[size].copy_(lengths)
    """
    analysis = analyse(tmp_path, program)
    assert analysis.found == analysis.expected


READ_OUT = """
import torch

class Runner:
    def __init__(self, model, longest):
        self.model, self.longest, self.graphs = model, longest, {{}}

    def capture(self, n):
        x = torch.zeros(n, 8, device="cuda")
        lengths = {lengths}
        longest = {longest}
        self.model(x, lengths, longest); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(x, lengths, longest)
        self.graphs[{key}] = graph, x, lengths, y

    def run(self, x: torch.Tensor, lengths: torch.Tensor):
        graph, static, held, y = self.graphs[x.shape[0]]
        static.copy_(x)
        {filled}
        graph.replay()
        return y.clone()
"""
ONES = "torch.ones(n, device='cuda')"
TOLD = "lengths.max().item()  # expect: GL402"


@pytest.mark.parametrize(
    ("lengths", "longest", "key", "filled"),
    [
        (ONES, TOLD, "n", "held.copy_(lengths)"),
        (ONES, "int(lengths.max())  # expect: GL402", "n", "held.copy_(lengths)"),
        (ONES, "Args(longest=lengths.max().item())  # expect: GL402", "n", "held.copy_(lengths)"),
        (ONES, "lengths.max().item()", "n", "pass"),
        (ONES, "lengths.max().item()", "n, longest", "held.copy_(lengths)"),
        (ONES, "lengths.max()", "n", "held.copy_(lengths)"),
        ("torch.full((n,), self.longest, device='cuda')", "lengths.max().item()", "n", "held.copy_(lengths)"),
        (f"{ONES}.fill_(self.longest)", "lengths.max().item()", "n", "held.copy_(lengths)"),
        (ONES, "self.longest", "n", "held.copy_(lengths)"),
    ],
    ids=["item", "int", "in an object", "never filled", "in the key", "on the device", "full", "filled", "a limit"],
)
def test_a_number_that_is_read_out_of_an_input_is_that_of_the_capture(
    tmp_path: Path, lengths: str, longest: str, key: str, filled: str
) -> None:
    """What a model is given of it, such as the longest request, holds for all that the graph is replayed for."""
    source = READ_OUT.format(lengths=lengths, longest=longest, key=key, filled=filled)
    source += "\n@dataclass\nclass Args:\n    longest: int\n"
    analysis = analyse(tmp_path, source.replace("import torch\n", "import torch\nfrom dataclasses import dataclass\n"))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL402"]


TOWERS = """
import torch

class Graph:
    def __init__(self, graph, out, width):
        self.graph, self.out, self.width = graph, out, width

class Runner:
    def __init__(self, tower):
        self.tower, self.graphs, self.x = tower, {}, torch.zeros(64, 8, device="cuda")

    def run(self, rows, other):
        found = self.graphs.get(rows)
        if found is None:
            width = int(WIDTH)
            out = torch.zeros(rows, width, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out.copy_(self.tower(self.x[:rows]))
            found = self.graphs[rows] = Graph(graph, out, width)
        found.graph.replay()
        return found.out.clone()
"""


@pytest.mark.parametrize(("width", "is_told"), [("self.tower.config.width", False), ("other.config.width", True)])
def test_what_the_owner_of_the_graphs_was_made_with_is_no_part_of_keys(
    tmp_path: Path, width: str, is_told: bool
) -> None:
    """It is the same for all of them; what each call brings is not."""
    analysis = analyse(tmp_path, TOWERS.replace("WIDTH", width), confidence=Confidence.LOW)
    assert is_told is any(code == "GL402" for _, _, code in analysis.found)
