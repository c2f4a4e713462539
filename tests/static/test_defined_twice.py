"""A name that is defined in several branches may mean either function, and the class that is none to stand in."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_CLASSES = """
import torch
from torch import nn

try:
    import kernels
    HAS = True
except ImportError:
    HAS = False

{first}
    class Norm(nn.Module):
        def forward(self, x):
            scale = x.max().item()
            y = x * scale
            return y
{second}
    class Norm(nn.Module):
        def forward(self, x):
            raise ImportError("kernels")
{third}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, x: torch.Tensor):
        return self.norm(x)
"""
_LATER = "class Norm(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("first", "second", "third", "is_told"),
    [
        ("if HAS:", "else:", "", True),
        ("try:", "except ImportError:", "", True),
        ("if HAS:", "elif not HAS:", "", True),
        ("if HAS:", "else:", _LATER, False),
        ("if HAS:", "if True:", "", False),
    ],
)
def test_a_class_that_stands_in_for_another_hides_nothing(
    tmp_path: Path, first: str, second: str, third: str, is_told: bool
) -> None:
    """Of the branches of one statement the longest class is meant; a later statement takes its place."""
    text = _CLASSES.format(first=first, second=second, third=third)
    found = analyse(tmp_path, text, regions=["main:Model.forward"]).shown
    assert is_told is any(code == "GL101" for _, _, code in found)


_FUNCTIONS = """
import torch
from typing import overload

HAS = torch.__version__ > "2"

{first}
    def pick(x: torch.Tensor, size=None):
        if size is None:
            size = int(x.max())
        return x.new_zeros(size)
{second}
    def pick(x: torch.Tensor, size=None):
        raise NotImplementedError
"""


@pytest.mark.parametrize(("first", "second"), [("if HAS:", "else:"), ("if not HAS:\n    pass\nelse:", "if not HAS:")])
def test_each_definition_of_a_declared_function_is_judged(tmp_path: Path, first: str, second: str) -> None:
    """Which one a name means is decided where the module is loaded."""
    found = analyse(tmp_path, _FUNCTIONS.format(first=first, second=second), regions=["main:pick"]).shown
    assert any(code == "GL101" for _, _, code in found)


def test_overloads_of_a_declared_function_are_no_definitions(tmp_path: Path) -> None:
    text = """
        import torch
        from typing import overload

        @overload
        def pick(x: torch.Tensor, size: int): x.item()
        def pick(x: torch.Tensor, size=3):
            return x.new_zeros(size)
    """
    assert not analyse(tmp_path, text, regions=["main:pick"]).shown
