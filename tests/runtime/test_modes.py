"""Modes that torch's compiler is kept out of."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys
import traceback
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from graphlint.runtime.trace.modes import keep_from_compiler

class Counting(TorchDispatchMode):
    seen, left = 0, 0
    is_infra_mode = classmethod(lambda cls: True)
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        self.left += any("_dynamo" in frame.filename for frame in traceback.extract_stack())
        return func(*args, **kwargs or {})

class Plain(TorchDispatchMode):
    is_infra_mode = classmethod(lambda cls: True)
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs or {})

keep_from_compiler(Counting)
with Counting() as mode:
    torch.ones(3) + 1
    print("torch._dynamo" in sys.modules, mode.seen)
    twice = torch.compile(lambda x: x * 2, backend="eager")
    print(twice(torch.ones(3)).tolist(), twice(torch.ones(3)).tolist())
    mode.left = 0
    torch.ones(3) + 1
    print(mode.left)
frames = torch._dynamo.utils.counters["frames"]
print(dict(frames))
frames.clear()
with Plain():
    thrice = torch.compile(lambda x: x * 3, backend="eager")
    thrice(torch.ones(3)), thrice(torch.ones(3))
print(dict(frames))
"""


def test_a_mode_runs_without_the_compiler_and_beside_it() -> None:
    """Nothing imports it before the program does, and it compiles the program's function alone, as beside any mode."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    first, values, left, frames, plain = done.stdout.splitlines()
    assert ("False 2", "[2.0, 2.0, 2.0] [2.0, 2.0, 2.0]") == (first, values)
    assert "0" == left  # outside of what is compiled, there is nothing to leave
    assert frames == plain and "'ok'" in frames
