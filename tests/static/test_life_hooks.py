"""What a runner calls back by methods whose names speak of graphs: those of the classes that may stand there."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence
from graphlint.static.life import ways
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.machine import Machine
from graphlint.static.life.players import Run
from graphlint.static.life.programs import Program

RUNNER = """
import torch

class Runner:
    def __init__(self, model, size: int):
        self.model, self.size, self.buffers = model, size, dict()

    def capture(self, **inputs):
        self.buffers = self.model.make_cudagraph_buffers(self.size)
        given = self.model.fill_cudagraph_buffers(self.buffers, **inputs)
        self.model(**given)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = self.model(**given)

    def run(self, **inputs):
        self.model.fill_cudagraph_buffers(self.buffers, **inputs)
        self.graph.replay()
        return self.model.cut_cudagraph_outputs(self.outputs, **inputs)

class Runners:
    def __init__(self, model):
        self.model, self.runners = model, {}

    def run(self, **inputs):
        key = self.model.cudagraph_key(**inputs)
        if key not in self.runners:
            self.runners[key] = Runner(self.model, key)
            self.runners[key].capture(**inputs)
        return self.runners[key].run(**inputs)

class Base(torch.nn.Module):
    def make_cudagraph_buffers(self, size: int):
        return {"ids": torch.zeros(size, dtype=torch.int64, device="cuda"),
                "lengths": torch.zeros(size, dtype=torch.int32, device="cuda")}

    def fill_cudagraph_buffers(self, buffers, ids: torch.Tensor, lengths: torch.Tensor, **others):
        buffers["ids"].zero_()
        buffers["ids"][: ids.shape[0]] = ids
        buffers["lengths"].zero_()
        buffers["lengths"][: ids.shape[0]] = lengths
        return dict(ids=buffers["ids"], lengths=buffers["lengths"])

    def cut_cudagraph_outputs(self, outputs, ids: torch.Tensor, **others):
        return outputs[: ids.shape[0]].clone()

    def cudagraph_key(self, ids: torch.Tensor, **others):
        return 1 << (ids.shape[0] - 1).bit_length()

class Model(Base):
"""
FILL = """
    def fill_cudagraph_buffers(self, buffers, ids: torch.Tensor, lengths: torch.Tensor, **others):
        buffers["ids"].zero_()
        buffers["ids"][: ids.shape[0]] = ids
        {fill}
        return dict(ids=buffers["ids"], lengths=buffers["lengths"])
"""
TOLD = {
    "a tail that is reset for one buffer only": FILL.replace(
        "{fill}", "buffers['lengths'][: ids.shape[0]] = lengths  # expect: GL511"
    ),
    "a buffer is replaced": FILL.replace("{fill}", "buffers['lengths'] = lengths  # expect: GL508"),
    "methods that call those of their base": """
    def make_cudagraph_buffers(self, size: int):
        buffers = super().make_cudagraph_buffers(size)
        buffers["positions"] = torch.zeros(size, device="cuda")
        return buffers

    def fill_cudagraph_buffers(self, buffers, ids: torch.Tensor, positions: torch.Tensor, **others):
        given = super().fill_cudagraph_buffers(buffers, ids, **others)
        buffers["positions"][: ids.shape[0]] = positions  # expect: GL511
        return {**given, "positions": buffers["positions"]}
""",
    "a part of the outputs that is returned without a copy": """
    def cut_cudagraph_outputs(self, outputs, ids: torch.Tensor, **others):
        return outputs[: ids.shape[0]]  # expect: GL510
""",
    "a key that is read out of a tensor": """
    def cudagraph_key(self, lengths: torch.Tensor, **others):
        return max(1, int(lengths.max().item()))  # expect: GL101
""",
}


@pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
def test_a_mistake_in_a_method_that_is_called_back_is_told(tmp_path: Path, body: str) -> None:
    """Nothing says that the runner has such a model, but that it calls methods of these names."""
    analysis = analyse(tmp_path, RUNNER + body, confidence=Confidence.LOW)
    assert analysis.found == analysis.expected


@pytest.mark.parametrize(
    ("parameter", "told"),
    [
        ("lengths: torch.Tensor", "  # expect: GL101"),
        ("lengths: torch.Tensor | None", "  # expect: GL101"),
        ("lengths", ""),
        ("lengths_cpu: torch.Tensor", ""),
    ],
    ids=["a tensor", "a tensor if there is one", "nobody knows", "one of the host"],
)
def test_a_key_is_read_from_the_device_where_the_program_speaks_of_a_tensor(
    tmp_path: Path, parameter: str, told: str
) -> None:
    """Else it is a hint: what lies on the host is there to be read."""
    name = parameter.partition(":")[0]
    body = f"    def cudagraph_key(self, {parameter}, **others):\n        return int({name}.max().item()) + 1{told}\n"
    analysis = analyse(tmp_path, RUNNER + body)
    assert analysis.shown == analysis.expected


def test_a_model_without_mistakes_is_silent(tmp_path: Path) -> None:
    """It is filled, cut and keyed as it should."""
    analysis = analyse(tmp_path, RUNNER + "    pass\n", confidence=Confidence.LOW)
    assert analysis.found == []


def test_outputs_that_are_returned_as_they_are_are_no_hint(tmp_path: Path) -> None:
    """All runners do that, and nothing here keeps one."""
    body = "    def cut_cudagraph_outputs(self, outputs, ids: torch.Tensor, **others):\n        return outputs\n"
    assert analyse(tmp_path, RUNNER + body, confidence=Confidence.LOW).found == []


@pytest.mark.parametrize(
    "body",
    [
        "def train(self, x):\n        self.model(x).sum().backward()",
        "def check(self, x):\n        assert not x.requires_grad",
    ],
    ids=["it trains", "it asks for gradients"],
)
def test_a_warm_up_on_the_callers_stream_matters_where_gradients_do(tmp_path: Path, body: str) -> None:
    """What captures knows of gradients: its regions may hold a backward pass."""
    program = RUNNER.replace("class Runners:", f"    {body}\n\nclass Runners:") + "    pass\n"
    found = analyse(tmp_path, program, confidence=Confidence.LOW).found
    assert [code for _, _, code in found] == ["GL602"]


def test_a_dictionary_of_outputs_that_nobody_holds_any_more_is_no_collection(tmp_path: Path) -> None:
    """Each call gives a new one, so that nothing shows that an earlier one is still read."""
    body = """
    def cut_cudagraph_outputs(self, outputs, ids: torch.Tensor, **others):
        cut = dict()
        cut["hidden"] = outputs[: ids.shape[0]]
        return cut
"""
    assert not [one for one in analyse(tmp_path, RUNNER + body).shown if one[2] == "GL510"]


def test_what_is_called_by_any_other_name_stays_unknown(tmp_path: Path) -> None:
    """Anything may have a method `fill`."""
    body = FILL.replace("{fill}", "buffers['lengths'] = lengths")
    program = textwrap.dedent(RUNNER + body).replace("cudagraph_", "")
    assert not analyse(tmp_path, program).shown


PLAYED = """
import torch

class Runner:
    def __init__(self, model, buffers):
        self.model, self.buffers = model, buffers
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = self.model(self.buffers)

    def run(self, x):
        {asked}
        self.buffers.copy_(x)
        self.graph.replay()
        return self.outputs.clone()

    def describe(self, x):
        return self.model.cudagraph_key(x)

class First:
    def cudagraph_key(self, x):
        return x.shape[0]

class Second:
    def cudagraph_key(self, x):
        return 1
"""


@pytest.mark.parametrize(
    ("asked", "players"), [("pass", {None}), ("self.model.cudagraph_key(x)", {None, "First", "Second"})]
)
def test_a_run_that_asks_nothing_of_a_class_is_not_repeated_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, players: set[str | None]
) -> None:
    """With another class in the same place it would be the same; one that calls a method of it may be another."""
    ran: set[str | None] = set()
    run = ways._run

    def noted(machine: Machine, program: Program, listen: Callable[[Ledger], None]) -> Run:
        ran.add(program.player.name if program.player is not None else None)
        return run(machine, program, listen)

    monkeypatch.setattr(ways, "_run", noted)
    analyse(tmp_path, PLAYED.replace("{asked}", asked))
    assert players == ran
