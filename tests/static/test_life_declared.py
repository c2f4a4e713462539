"""Streams and events inside of what is declared: which work is lost, refused, or not waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

STEP = """
import torch

def step(x: torch.Tensor):
{body}
"""
LAYER = """
import torch
from acme import kernel

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.event = torch.cuda.Event()

    def forward(self, x):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            y = x * 2
            {inside}
        {after}

class Child(Layer):
    pass
"""


def found(folder: Path, program: str, region: str) -> list[tuple[str, str]]:
    """The code of each finding and the line that it stands on."""
    lines = program.splitlines()
    return [(code, lines[line - 1].strip()) for _, line, code in analyse(folder, program, regions=(region,)).found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "    event = torch.cuda.Event()\n    event.record()\n"
            "    event.wait(torch.cuda.default_stream())\n    return x * 2",
            [("GL602", "event.wait(torch.cuda.default_stream())")],
        ),
        (
            "    with torch.cuda.stream(torch.cuda.default_stream()):\n        return x * 2",
            [("GL603", "return x * 2")],
        ),
        (
            "    with torch.cuda.stream(torch.cuda.default_stream()):\n        rows = x.size(0) + x.dim()\n"
            "    return x * rows",
            [],
        ),
        (
            "    side = torch.cuda.Stream()\n    torch.cuda.current_stream().wait_stream(side)\n    return x * 2",
            [("GL602", "torch.cuda.current_stream().wait_stream(side)")],
        ),
        (
            "    if torch.cuda.is_current_stream_capturing():\n        return x * 2\n"
            "    with torch.cuda.stream(torch.cuda.default_stream()):\n        return x * 2",
            [],
        ),
        (
            "    event = torch.cuda.Event()\n    event.record()\n"
            "    event.wait(torch.cuda.current_stream())\n    return x * 2",
            [],
        ),
        (
            "    side = torch.cuda.Stream()\n    side.wait_stream(torch.cuda.current_stream())\n"
            "    with torch.cuda.stream(side):\n        y = x * 2\n"
            "    if x.dim() > 2:\n        raise ValueError(x)\n"
            "    torch.cuda.current_stream().wait_stream(side)\n    return y",
            [],
        ),
    ],
    ids=[
        "the default stream waits",
        "work on the default stream",
        "sizes on the default stream",
        "waits for a stream outside",
        "other work is captured",
        "an event of the capturing stream",
        "an exception before the join",
    ],
)
def test_streams_of_a_declared_function(tmp_path: Path, body: str, expected: list[tuple[str, str]]) -> None:
    """It is captured alone: what it does to other streams is judged as in a region that the code opens."""
    assert found(tmp_path, STEP.format(body=body), "main:step") == expected


@pytest.mark.parametrize("region", ["main:Layer", "main:Layer.forward", "main:Child"])
@pytest.mark.parametrize(
    ("inside", "after", "is_loose"),
    [
        ("pass", "return y", True),
        ("self.event.record()", "return y", True),
        ("pass", "torch.cuda.current_stream().wait_stream(self.side)\n        return y", False),
        ("self.event.record()", "self.event.wait()\n        return y", False),
        ("self.event.record()", "return y, self.event", False),
        ("self.event.record()", "kernel(y, self.event)\n        return y", False),
        ("self.event.record()", "kernel(y, self.event.cuda_event)\n        return y", False),
    ],
)
def test_a_stream_of_a_declared_module(tmp_path: Path, region: str, inside: str, after: str, is_loose: bool) -> None:
    """What its constructor makes is known; who gets an event may wait for it."""
    expected = [("GL601", "y = x * 2")] if is_loose else []
    assert found(tmp_path, LAYER.format(inside=inside, after=after), region) == expected


def test_a_decorated_function_is_declared_too(tmp_path: Path) -> None:
    """As one that an option names."""
    body = "    with torch.cuda.stream(torch.cuda.default_stream()):\n        return x * 2"
    program = (
        STEP.format(body=body)
        .replace("def step", "@graphlint.graph_safe\ndef step")
        .replace("import torch\n", "import graphlint\nimport torch\n")
    )
    assert [code for _, _, code in analyse(tmp_path, program).found] == ["GL603"]


DEEP = """
import torch

def fifth(x):
    event = torch.cuda.Event()
    event.record()
    event.wait({stream})
    return x * 2

def fourth(x):
    return fifth(x)

def third(x):
    return fourth(x)

def second(x):
    return third(x)

def first(x: torch.Tensor):
    return second(x)

def other(x: torch.Tensor):
    return x * 2
"""


@pytest.mark.parametrize(
    ("stream", "called", "expected"),
    [
        ("torch.cuda.default_stream()", "first", [("GL602", "event.wait(torch.cuda.default_stream())")]),
        ("torch.cuda.current_stream()", "first", []),
        ("torch.cuda.default_stream()", "other", []),
    ],
)
def test_the_default_stream_far_from_the_region(
    tmp_path: Path, stream: str, called: str, expected: list[tuple[str, str]]
) -> None:
    """What a region leads to is captured alone if it asks for that stream; what no region reaches is not."""
    program = DEEP.format(stream=stream)
    lines = program.splitlines()
    analysis = analyse(tmp_path, program, regions=(f"main:{called}",))
    assert [(code, lines[line - 1].strip()) for _, line, code in analysis.found] == expected
    assert {f.confidence.name for f in analysis.report.findings} <= {"MEDIUM"}


def test_the_default_stream_behind_what_a_table_names(tmp_path: Path) -> None:
    """What an engine runs in its region is known of a table, and is captured like what the code itself leads to."""
    region = """
# file: lmdeploy/__init__.py
# file: lmdeploy/pytorch/__init__.py
# file: lmdeploy/pytorch/backends/__init__.py
# file: lmdeploy/pytorch/backends/cuda/__init__.py
# file: lmdeploy/pytorch/backends/cuda/graph_runner.py
import torch
class CUDASingleGraphRunner:
    def __init__(self, model, size):
        self.model, self.graph = model, torch.cuda.CUDAGraph()
        self.x = torch.zeros(size, device="cuda")
    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)
# file: lmdeploy/pytorch/models/__init__.py
# file: lmdeploy/pytorch/models/llama.py
import torch
class LlamaForCausalLM(torch.nn.Module):
    def forward(self, x):
        return self.scale(x)
    def scale(self, x):
        event = torch.cuda.Event()
        event.record()
        event.wait({stream})
        return x * 2
"""
    for stream, code in (("torch.cuda.default_stream()", ["GL602"]), ("torch.cuda.current_stream()", [])):
        found = analyse(tmp_path / (code or ["none"])[0], region.format(stream=stream)).found
        assert [code for path, _, code in found if path.endswith("llama.py")] == code
