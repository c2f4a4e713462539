"""`graphlint init`: what code compiles without asking for graphs is what somebody captures next."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config
from graphlint.initial import propose

PROGRAM = """
# file: serve/__init__.py
# file: serve/steps.py
import torch

def _step(x: torch.Tensor):
    return x * 2

def read(path: str) -> str:
    return path
# file: serve/runner.py
import torch
from torch import nn
import serve.steps
from serve.steps import _step, read
{imports}

class Base:
    def advance(self, tokens: torch.Tensor):
        return tokens

class Runner(Base):
    def decode(self, tokens: torch.Tensor):
        return tokens + 1

    def run(self, tokens):
        {run}
{more}
"""
DECODE = "serve.runner:Runner.decode"


def compiled(folder: Path, run: str = "return tokens", imports: str = "", more: str = "") -> tuple[str, ...]:
    """What is proposed of the program since the code compiles it."""
    write(folder, PROGRAM.format(run=run, imports=imports, more=more))
    return static.survey([folder], Config(root=folder)).compiled


@pytest.mark.parametrize(
    ("run", "proposed"),
    [
        ("fast = torch.compile(self.decode)", (DECODE,)),
        ("fast = torch.compile(self.decode, mode='default', fullgraph=True)", (DECODE,)),
        ("self.decode = torch.compile(self.decode, dynamic=True)", (DECODE,)),
        ("fast = torch.compile(self.advance)", ("serve.runner:Base.advance",)),
        ("fast = torch.compile(_step)", ("serve.steps:_step",)),
        ("fast = torch.compile(read)", ()),  # takes no tensors
        ("fast = torch.compile(self.other)", ()),
        ("fast = torch.compile(tokens)", ()),
        ("fast = torch.jit.script(self.decode)", ()),
        ("fast = re.compile(self.decode)", ()),
    ],
)
def test_what_is_handed_to_a_compiler_is_proposed(tmp_path: Path, run: str, proposed: tuple[str, ...]) -> None:
    """A method of the object, or a function that the file knows; of nothing else is told what it is."""
    assert compiled(tmp_path, run, "import re") == proposed


@pytest.mark.parametrize(
    ("decorator", "is_proposed"),
    [
        ("@torch.compile", True),
        ("@torch.compile(fullgraph=True)", True),
        ("@fast", True),
        ("@torch.no_grad()", False),
        ("@other.compile", False),
    ],
)
def test_what_a_compiler_decorates_is_proposed(tmp_path: Path, decorator: str, is_proposed: bool) -> None:
    """Under whatever name the file knows it."""
    more = f"\n{decorator}\ndef _scale(x: torch.Tensor):\n    return x * 2\n"
    proposed = compiled(tmp_path, imports="import other\nfrom torch import compile as fast", more=more)
    assert proposed == (("serve.runner:_scale",) if is_proposed else ())


def test_what_code_that_captures_compiles_without_graphs_is_left_out(tmp_path: Path) -> None:
    """It says itself what is to be captured, and what not."""
    run = "fast = torch.compile(self.advance)\n        graphed = torch.compile(self.decode, mode='reduce-overhead')"
    assert compiled(tmp_path, run) == ()


def test_what_is_compiled_is_declared_and_not_twice(tmp_path: Path) -> None:
    """A model is one of the models, and stands there."""
    more = "\nclass Net(nn.Module):\n    @torch.compile\n    def forward(self, x):\n        return x * 2\n"
    assert compiled(tmp_path, "fast = torch.compile(self.decode)", more=more) == (DECODE,)
    survey = static.survey([tmp_path], Config(root=tmp_path))
    table = propose(survey, tmp_path)
    assert survey.models == ("serve.runner:Net.forward",)
    assert table.count(f'\n    "{DECODE}",\n') == 1
    assert "# What the code compiles without graphs; keep what is to be captured:" in table
