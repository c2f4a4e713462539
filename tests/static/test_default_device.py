"""Where tensors are made that nobody places: another module may set it for the process."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

ENGINE = """
# file: engine/__init__.py
# file: engine/buffers.py
import torch
def fill():
    return torch.zeros(4)
# file: engine/runner.py
import torch
from engine.buffers import fill
class Runner:
    def __init__(self):
        {sets}
        self.capture()
    def outputs(self):
        return fill()
    def capture(self):
        out = self.outputs()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            out[:2] = torch.ones(2, device="cuda"){mark}
"""
SUBCLASS = """
# file: engine/__init__.py
# file: engine/base.py
import torch
class Base:
    def __init__(self):
        {sets}
        self.capture()
    def capture(self):
        out = self.outputs()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            out[:2] = torch.ones(2, device="cuda"){mark}
# file: engine/runner.py
import torch
from engine.base import Base
class Runner(Base):
    def outputs(self):
        return torch.zeros(4)
"""
SETS, LEAVES, MARK = 'torch.set_default_device("cuda")', "torch.set_default_dtype(torch.half)", "  # expect: GL201"


@pytest.mark.parametrize("program", [ENGINE, SUBCLASS])
def test_what_the_process_has_set_holds_in_what_is_imported_there_and_in_what_imports_it(
    tmp_path: Path, program: str
) -> None:
    """Nobody knows where these buffers lie; where nobody sets it, they lie on the host."""
    said = analyse(tmp_path / "set", program.format(sets=SETS, mark=""))
    assert not said.shown and said.report.summary.regions == 1
    unset = analyse(tmp_path / "unset", program.format(sets=LEAVES, mark=MARK))
    assert unset.expected == unset.shown != []


def test_a_comment_sets_nothing(tmp_path: Path) -> None:
    """The file that speaks of it would be read again for what it calls."""
    said = analyse(tmp_path, ENGINE.format(sets=f"{LEAVES}  # and not {SETS}", mark=MARK))
    assert said.expected == said.shown != []


@pytest.mark.parametrize("file", ["engine/tests/test_runner.py", "bench/run.py"])
def test_what_a_test_or_another_program_sets_says_nothing_of_the_package(tmp_path: Path, file: str) -> None:
    """A test sets it for itself, and a script beside the package has tensors of its own."""
    other = f"# file: {file}\nimport torch\nfrom engine.runner import Runner\ntorch.set_default_device('cuda')\n"
    said = analyse(tmp_path, ENGINE.format(sets=LEAVES, mark=MARK) + other)
    assert said.expected == said.shown != []


@pytest.mark.parametrize("imports", ["from engine.buffers import fill", "from .buffers import fill"])
def test_it_holds_in_what_a_function_imports(tmp_path: Path, imports: str) -> None:
    """An engine imports the model that a configuration names, and makes it behind that."""
    text = ENGINE.replace("from engine.buffers import fill\n", "").replace(
        "return fill()", f"{imports}\n        return fill()"
    )
    said = analyse(tmp_path / "set", text.format(sets=SETS, mark=""))
    assert not said.shown and said.report.summary.regions == 1
    unset = analyse(tmp_path / "unset", text.format(sets=LEAVES, mark=MARK))
    assert unset.expected == unset.shown != []


LOADED = """
# file: model.py
import torch

class Model(torch.nn.Module):
    def setup_caches(self, size):
        self.mask = torch.tril(torch.ones(size, size, dtype=torch.bool))

    def forward(self, x):
        return torch.where(self.mask, x.cuda(), 0.0)
# file: demo.py
import torch
from hub import AutoModel

model = AutoModel.from_pretrained("name")
with torch.device("{device}"):
    model.{called}(4)
"""


@pytest.mark.parametrize(
    ("device", "called", "is_told"),
    [("cuda", "setup_caches", False), ("cpu", "setup_caches", True), ("cuda", "generate", True)],
)
def test_what_sets_up_a_model_that_nobody_knows_makes_tensors_where_the_block_says(
    tmp_path: Path, device: str, called: str, is_told: bool
) -> None:
    """It may be a method of this name of any class."""
    text = LOADED.format(device=device, called=called)
    shown = analyse(tmp_path, text, regions=("model:Model.forward",)).shown
    assert is_told is ("GL202" in {code for _, _, code in shown})


CHOSEN = """
# file: model.py
import torch

class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = torch.ones(4)

    def forward(self, x):
        return self.mask.to(x.device) * x

class Model(Base):
    pass

class Other(torch.nn.Module):
    pass
# file: build.py
import torch
from model import Model, Other

def build(kind={default}, device="cpu"):
    with torch.device(device):
        return kind()
"""


@pytest.mark.parametrize(("default", "is_told"), [("Other", True), ("Model", False), ("None", False)])
def test_a_class_that_a_caller_may_choose_is_like_the_one_that_is_the_default(
    tmp_path: Path, default: str, is_told: bool
) -> None:
    """Where there is none, an object of any class may be made in the block."""
    shown = analyse(tmp_path, CHOSEN.format(default=default), regions=("model:Model.forward",)).shown
    assert is_told is ("GL202" in {code for _, _, code in shown})
