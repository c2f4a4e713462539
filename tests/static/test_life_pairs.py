"""Methods that prepare for a capture, and those of the same name that prepare for replays."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse

PAIR = """
import torch

class Metadata:
    def __init__(self, lengths, table):
        self.lengths, self.table = lengths, table

class Backend:
    def __init__(self, runner):
        self.runner = runner
        self.lengths = torch.zeros(64, dtype=torch.int32, device="cuda")
        self.table = torch.zeros(64, 128, dtype=torch.int32, device="cuda")
        self.metadata = {{}}

    def init_{first}_capture_metadata(self, size):
        self.current = Metadata(self.lengths[:size], self.table[:size])
        self.metadata["graph"] = self.current

    def init_{second}_replay_metadata(self, size, lengths, table):
{body}
"""


def prepared(folder: Path, body: str, first: str = "graph", second: str = "graph") -> Analysis:
    """What is said of a class that does this before each replay."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return analyse(folder, PAIR.format(body=body, first=first, second=second))


TOLD = {
    "an attribute": """
        self.lengths = lengths  # expect: GL508
        """,
    "a tensor that is made anew": """
        self.lengths = torch.cumsum(lengths, 0)  # expect: GL508
        """,
    "an attribute of what the object holds": """
        self.current.lengths = lengths  # expect: GL508
        """,
    "through a local name": """
        metadata = self.metadata["graph"]
        metadata.lengths = lengths  # expect: GL508
        """,
    "on one way of two": """
        if size > 4:
            self.lengths.copy_(lengths)
        else:
            self.lengths = lengths  # expect: GL508
        """,
    "another one is copied": """
        self.table.copy_(table)
        self.lengths = lengths  # expect: GL508
        """,
    "in a function of the method": """
        def take():
            self.lengths = lengths  # expect: GL508
        take()
        """,
}


@pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
def test_an_attribute_that_is_bound_anew_is_not_what_the_graph_reads(tmp_path: Path, body: str) -> None:
    """The tensor that the object held for the capture is the one of the graph."""
    analysis = prepared(tmp_path, body)
    assert analysis.expected == analysis.shown


SILENT = {
    "a copy": """
        self.lengths.copy_(lengths)
        """,
    "a copy of a part": """
        self.lengths[:size].copy_(lengths)
        self.lengths[size:].zero_()
        """,
    "an item": """
        self.lengths[:] = lengths
        """,
    "through the object": """
        self.current.lengths.copy_(lengths)
        """,
    "the same tensor": """
        self.lengths = self.lengths
        """,
    "a part of the same tensor": """
        self.current.lengths = self.lengths[:size]
        self.lengths.copy_(lengths)
        """,
    "a part that a function gives": """
        self.current.lengths = torch.narrow(self.lengths, 0, 0, size)
        self.lengths.copy_(lengths)
        """,
    "a buffer for another graph": """
        self.current.lengths = self.table[0]
        """,
    "what a call gives that nobody knows": """
        self.current.lengths = self.runner.lengths_of(size)
        """,
    "what was not there for the capture": """
        self.latest = lengths
        """,
    "filled under its old name": """
        before = self.lengths
        self.lengths = lengths
        before.copy_(lengths)
        """,
    "a number": """
        self.size = size
        """,
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_tensor_that_is_filled_is_what_the_graph_reads(tmp_path: Path, body: str) -> None:
    """Its address stays, whatever name it is filled under."""
    assert [] == prepared(tmp_path, body).shown


@pytest.mark.parametrize(("made", "is_told"), [("torch.zeros(64).cpu()", False), ("torch.zeros(64).cuda()", True)])
def test_data_of_the_host_is_for_plans(tmp_path: Path, made: str, is_told: bool) -> None:
    """A graph that nobody shows reads buffers on the device."""
    program = PAIR.replace('torch.zeros(64, dtype=torch.int32, device="cuda")', made)
    body = " " * 8 + "self.lengths = torch.cumsum(lengths, 0)"
    found = analyse(tmp_path, program.format(body=body, first="graph", second="graph")).shown
    assert ("GL508" in {code for _, _, code in found}) is is_told


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("graph", "graph", ["GL508"]), ("graph", "forward", []), ("target_graph", "target_graph", ["GL508"])],
)
def test_only_methods_of_one_name_belong_together(tmp_path: Path, first: str, second: str, expected: list[str]) -> None:
    """They differ in the word for what they prepare."""
    analysis = prepared(tmp_path, "self.lengths = lengths", first, second)
    assert expected == [code for _, _, code in analysis.shown]


def test_the_finding_names_the_attribute_and_the_capture(tmp_path: Path) -> None:
    """The line of the region is that of the method which prepares for it."""
    finding = prepared(tmp_path, "self.lengths = lengths").finding
    assert "`lengths`" in finding.message
    assert "line 15" in finding.message


LATE = """
import torch

class Local:
    def __init__(self, table):
        self.table = table

class Metadata:
    def __init__(self, lengths):
        self.lengths, self.local = lengths, None

class Backend:
    def __init__(self, runner):
        self.lengths = torch.zeros(64, dtype=torch.int32, device="cuda")
        self.tables = torch.zeros(64, dtype=torch.int32, device="cuda")
        self.metadata = {{}}

    def prepare_capture(self, size):
        self.metadata[size] = self.current = Metadata(self.lengths[:size])
        {captured}

    def prepare_replay(self, size, lengths):
        self.current = self.metadata[size]
        self.current.lengths.copy_(lengths)
        {replayed}

    def forward(self, q):
        {asked}
"""
ASKED = "return attend(q, self.current.local)"


@pytest.mark.parametrize(
    ("captured", "replayed", "asked"),
    [
        ("pass", "self.current.local = torch.cumsum(lengths, 0)  # expect: GL508", ASKED),
        ("pass", "self.current.local = Local(torch.cumsum(lengths, 0))  # expect: GL508", ASKED),
        ("pass", "metadata = self.current; metadata.local = torch.cumsum(lengths, 0)  # expect: GL508", ASKED),
        ("self.current.local = self.tables[:size]", "self.current.local.copy_(torch.cumsum(lengths, 0))", ASKED),
        ("self.current.local = Local(self.tables)", "self.current.local.table.copy_(lengths)", ASKED),
        ("pass", "self.current.local = lengths.max().item()", ASKED),
        ("pass", "self.current.local = torch.cumsum(lengths, 0)", "return attend(q, self.current.lengths)"),
    ],
    ids=["a tensor", "an object", "by a name", "a buffer", "a buffer of an object", "a number", "nobody asks for it"],
)
def test_a_field_that_only_replays_fill_was_nothing_to_the_graph(
    tmp_path: Path, captured: str, replayed: str, asked: str
) -> None:
    """What computes with it was captured without."""
    analysis = analyse(tmp_path, LATE.format(captured=captured, replayed=replayed, asked=asked))
    assert analysis.expected == analysis.shown


PARTS = """
import torch

class Metadata:
    def __init__(self, table):
        self.table = table

class Backend:
    def __init__(self, runner):
        self.runner = runner
        self.forward_metadata = None
        self.tables = torch.zeros(64, dtype=torch.int32, device="cuda")

    def init_capture(self, size, lengths, mode):
        if mode.is_decode():
            {captured}
        else:
            raise NotImplementedError(mode)

    def init_replay(self, size, lengths, mode):
        if mode.is_decode():
            self.tables[:size].copy_(lengths)
            self.forward_metadata = Metadata(self.tables[:size]){mark}

    def forward(self, q):
        return attend(q, self.forward_metadata.table)

class Steps:
    def __init__(self, runner, steps):
        self.steps = steps
        self.parts = []
        for _ in range(self.steps):
            self.parts.append(Backend(runner))

    def each(self, batch, call):
        for i in range(self.steps - 1):
            call(i, batch)

    def init_capture_metadata(self, batch):
        def call(i, batch):
            self.parts[i].init_capture(batch.size, batch.lengths, mode=Mode.DECODE)

        self.each(batch, call)

    def init_replay_metadata(self, batch, size):
        def call(i, batch):
            self.parts[i].init_replay(size, batch.lengths, mode=Mode.DECODE)

        self.each(batch, call)
"""


@pytest.mark.parametrize(
    ("captured", "mark"),
    [
        ("self.init_replay(size, lengths, mode)", ""),
        ("self.tables.zero_()", "  # expect: GL508"),
        ("self.forward_metadata = None", "  # expect: GL508"),
    ],
)
def test_a_field_that_preparing_for_captures_may_fill_is_not_for_replays_alone(
    tmp_path: Path, captured: str, mark: str
) -> None:
    """Whether it did hangs on loops and modes that nobody knows; to empty it does not count."""
    analysis = analyse(tmp_path, PARTS.format(captured=captured, mark=mark))
    assert analysis.expected == analysis.shown


FIELDS = """
from dataclasses import dataclass
import torch

@dataclass
class Metadata:
    lengths: torch.Tensor
    local: torch.Tensor | None = None

class Backend:
    def __init__(self, runner):
        self.lengths = torch.zeros(64, dtype=torch.int32, device="cuda")
        self.tables = torch.zeros(64, dtype=torch.int32, device="cuda")

    def prepare_capture(self, size, mode):
        self.current = Metadata(self.lengths[:size])
        if mode.is_verified():
            self.current = {captured}

    def prepare_replay(self, size, lengths, mode):
        self.current.lengths.copy_(lengths)
        self.current.local = self.tables[:size]{mark}

    def forward(self, q):
        return attend(q, self.current.local)
"""


@pytest.mark.parametrize(
    ("captured", "mark"),
    [
        ("Metadata(self.lengths[:size], self.tables[:size])", ""),
        ("Metadata(self.lengths[:size], local=self.tables[:size])", ""),
        ("Metadata(self.lengths[:size], None)", "  # expect: GL508"),
        ("Metadata(self.lengths[: size - 1])", "  # expect: GL508"),
    ],
    ids=["by position", "by name", "given as none", "not given"],
)
def test_an_object_that_is_made_for_the_capture_with_the_field_has_it(tmp_path: Path, captured: str, mark: str) -> None:
    """Which of the ways was taken hangs on modes that nobody knows."""
    analysis = analyse(tmp_path, FIELDS.format(captured=captured, mark=mark))
    assert analysis.expected == analysis.shown


ROWS = """
import torch

class Metadata:
    def __init__(self, rows):
        self.rows = rows

class Backend:
    def __init__(self, device, most):
        self.rows = []
        self.device = device

    def init_cuda_graph_state(self, most):
        for size in range(most):
            self.rows.append(torch.empty(size + 1, dtype=torch.int32, device=self.device))

    def init_capture_metadata(self, size):
        self.metadata = Metadata(rows={read})

    def init_replay_metadata(self, size, rows):
        self.rows[size - 1].copy_(rows)
        self.metadata = Metadata(rows=self.rows[size - 1])
"""


@pytest.mark.parametrize(
    ("read", "codes"), [("self.rows[size - 1]", []), ("self.rows[size - 1].clone()", ["GL512", "GL508"])]
)
def test_what_the_object_keeps_elsewhere_is_not_given_up(tmp_path: Path, read: str, codes: list[str]) -> None:
    """The graph of a size reads the rows of that size, which the backend has in a list."""
    assert [code for _, _, code in analyse(tmp_path, ROWS.format(read=read)).shown] == codes


_SPLIT = """
import torch

def main():
    held = torch.zeros(8, 24, device="cuda")
    left, right = {split}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = left.sum() + right.sum()
    graph.replay()
    held_now = torch.randn(8, 24, device="cuda")
    left, right = held_now.split([16, 8], dim=-1)
    {filled}
    graph.replay()
    return y, left, right
"""


@pytest.mark.parametrize("split", ["torch.split(held, [16, 8], dim=-1)", "held.split([16, 8], dim=-1)"])
@pytest.mark.parametrize(("filled", "is_told"), [("held.copy_(held_now)", False), ("print(held)", True)])
def test_parts_are_filled_with_the_whole(tmp_path: Path, split: str, filled: str, is_told: bool) -> None:
    """A function of torch gives the same parts as the method."""
    found = analyse(tmp_path, _SPLIT.format(split=split, filled=filled)).shown
    assert ("GL508" in {code for _, _, code in found}) is is_told
