"""What a region runs is not what captures that region again."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

PROGRAM = """
# file: runner.py
import torch

class Runner:
    def __init__(self, model, is_on):
        self.model, self.is_on = model, is_on

    def prepare(self, x):
        return x * x.max().item()

    def run(self, x):
{body}

    def ready(self, x):
        return self._capture(x)

    def _capture(self, x):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.model(x)
        return graph

# file: main.py
import torch
from runner import Runner

class Model:
    def __call__(self, x):
        return self.other.run(x)

def main(is_on):
    model = Model()
    runner = Runner(model, is_on)
    model.other = runner
    runner.run(torch.ones(4, device="cuda"))
"""
AGAIN = {
    "before it captures": "x = self.prepare(x)\nself._capture(x)\nreturn x",
    "in a block": "with torch.no_grad():\n    x = self.prepare(x)\nself._capture(x)",
    "one call further": "if self.is_on:\n    x = self.prepare(x)\nreturn self.ready(x)",
}
PASSED_ON = {
    "it returns": "if self.is_on:\n    return self.prepare(x)\nself._capture(x)",
    "it returns behind it": "if self.is_on:\n    y = self.prepare(x)\n    return y\nself._capture(x)",
    "it has captured": "if self.is_on:\n    self._capture(x)\nelse:\n    x = self.prepare(x)\nreturn x",
}


def told(folder: Path, body: str) -> bool:
    text = "\n".join(f"        {line}" for line in body.splitlines())
    return "GL101" in {code for _, _, code in analyse(folder, PROGRAM.format(body=text)).shown}


@pytest.mark.parametrize("form", AGAIN)
def test_what_goes_on_to_capture_is_not_in_the_region(tmp_path: Path, form: str) -> None:
    """It would capture in a capture."""
    assert not told(tmp_path, AGAIN[form])


@pytest.mark.parametrize("form", PASSED_ON)
def test_what_only_passes_on_may_be_in_it(tmp_path: Path, form: str) -> None:
    """A runner that is off, or has its graph."""
    assert told(tmp_path, PASSED_ON[form])
