"""A function that ends early for want of anything to do asks the device for it, and is told of that and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

def run(x: torch.Tensor, mask: torch.Tensor, flag: bool, n: int):
    {body}
    y = x[0] * 2 + x[1]
    for row in range(4):
        y = y + x[row] * row
    return y
"""
ZERO = "return torch.tensor(0.0, device=x.device)"
EXITS = {
    "a sum": f"if mask.sum() == 0:\n        {ZERO}",
    "a number that is read": f"n = mask.sum().item()\n    if n == 0:\n        {ZERO}",
    "a mask": "if not mask.any():\n        zero = torch.tensor(0.0, device=x.device)\n        return zero, zero",
    "another name": f"count = mask.sum()\n    if count < 1:\n        {ZERO}",
    "the other branch": f"if mask.any():\n        pass\n    else:\n        {ZERO}",
}


@pytest.mark.parametrize("form", EXITS)
def test_what_an_early_end_makes_is_a_hint_where_its_test_is_told(tmp_path: Path, form: str) -> None:
    found = {code for _, _, code in analyse(tmp_path, PROGRAM.format(body=EXITS[form]), regions=("main:run",)).shown}
    assert not found.isdisjoint({"GL101", "GL301"})
    assert "GL203" not in found


UPLOAD = "x = x + torch.tensor([1.0, 2.0], device=x.device)"
MUCH = "x = x * 2 + x * 3 - x / 4\n        " * 9
EMPTY = {
    "a count": f"if mask.sum() == 0:\n        {MUCH}{ZERO}",
    "a mask": f"if not mask.any():\n        {MUCH}{ZERO}",
    "a count that is not above": f"if mask.sum() > 0:\n        pass\n    else:\n        {MUCH}{ZERO}",
}


@pytest.mark.parametrize("form", EMPTY)
def test_where_there_is_nothing_it_does_not_matter_how_much_is_made(tmp_path: Path, form: str) -> None:
    found = {code for _, _, code in analyse(tmp_path, PROGRAM.format(body=EMPTY[form]), regions=("main:run",)).shown}
    assert "GL203" not in found


GOES_ON = {
    "a flag of the host": f"if flag:\n        {ZERO}",
    "a number of the host": f"if n == 0:\n        {ZERO}",
    "nothing": f"y = x[mask]\n    y = None if flag else y\n    if y is None:\n        {ZERO}",
    "no end": f"if mask.any():\n        {UPLOAD}",
    "behind the end": f"if mask.sum() == 0:\n        return x\n    {UPLOAD}",
    "most of what there is": (
        f"if mask.any():\n        {UPLOAD}\n" + "        x = x * 2 + x * 3 - x / 4\n" * 9 + "        return x"
    ),
}


@pytest.mark.parametrize("form", GOES_ON)
def test_what_else_is_uploaded_is_told(tmp_path: Path, form: str) -> None:
    """By a test of the host, and where a function does what it is for."""
    found = analyse(tmp_path, PROGRAM.format(body=GOES_ON[form]), regions=("main:run",)).shown
    assert "GL203" in {code for _, _, code in found}


def test_other_effects_behind_such_a_test_are_told(tmp_path: Path) -> None:
    """A shape that the device decides on may need mending, too."""
    body = "if mask.sum() == 0:\n        return x[mask]"
    found = analyse(tmp_path, PROGRAM.format(body=body), regions=("main:run",)).shown
    assert {"GL301", "GL305"} <= {code for _, _, code in found}


KEPT = """
import torch

class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.longest = 16
        self.table = torch.ones(16)

    def forward(self, x, positions, length: int):
        {body}
        return x * self.table[0]

    def read(self):
        return self.table.sum()
"""
GROWS = "self.table = torch.arange(32, device=x.device).cos()"


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        (f"if positions.max() > self.longest:\n            {GROWS}", False),
        (f"if positions.max() > self.longest:\n            pass\n        if length > 16:\n            {GROWS}", True),
        (f"if length > self.longest:\n            {GROWS}", True),
    ],
)
def test_nothing_is_kept_behind_a_test_that_a_capture_is_refused_at(tmp_path: Path, body: str, is_told: bool) -> None:
    """What a capture would do in silence there it never comes to."""
    shown = analyse(tmp_path, KEPT.format(body=body), regions=("main:Rotary.forward",)).shown
    assert is_told is ("GL501" in {code for _, _, code in shown})


@pytest.mark.parametrize(("options", "is_told"), [("", True), (", fullgraph=True", False), (", fullgraph=False", True)])
def test_what_is_compiled_goes_on_behind_it_unless_as_a_whole(tmp_path: Path, options: str, is_told: bool) -> None:
    body = f"if positions.max() > self.longest:\n            {GROWS}"
    compiled = f"rotary = Rotary()\nrotary.forward = torch.compile(rotary.forward, mode='reduce-overhead'{options})\n"
    shown = analyse(tmp_path, KEPT.format(body=body) + compiled).shown
    assert is_told is ("GL501" in {code for _, _, code in shown})
