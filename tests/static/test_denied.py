"""What a function asks of a parameter against its annotation: nothing in the source says that it comes out so."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch
from torch import Tensor

def scaled(x: Tensor, scale{annotation}):
    {before}
    if {asked}:
        scale = torch.tensor([float(scale)], device=x.device)
    return x * scale

def main(at):
    x = torch.zeros(4, device="cuda")
    parts = [x, x + 1, 2.0, True]
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        scaled(x, parts[at])
"""


@pytest.mark.parametrize(
    ("annotation", "asked", "is_told"),
    [
        (": torch.Tensor", "not isinstance(scale, torch.Tensor)", False),
        (": Tensor", "not isinstance(scale, (torch.Tensor, list))", False),
        (": 'Tensor'", "not isinstance(scale, torch.Tensor)", False),
        (": Tensor | float", "not isinstance(scale, torch.Tensor)", True),
        (": Tensor = None", "not isinstance(scale, torch.Tensor)", True),
        ("", "not isinstance(scale, torch.Tensor)", True),
        (": Tensor", "not isinstance(scale, Other)", True),
    ],
)
def test_a_parameter_is_of_the_class_that_its_annotation_says(
    tmp_path: Path, annotation: str, asked: str, is_told: bool
) -> None:
    """A branch for something else is for callers that nobody sees."""
    text = _PROGRAM.format(annotation=annotation, asked=asked, before="pass")
    assert is_told is ("GL203" in {code for _, _, code in analyse(tmp_path, text).shown})


def test_what_has_been_replaced_is_no_parameter_any_more(tmp_path: Path) -> None:
    """The annotation spoke of what was handed in."""
    text = _PROGRAM.format(annotation=": Tensor", asked="not isinstance(scale, Tensor)", before="scale = unknown(x)")
    assert "GL203" in {code for _, _, code in analyse(tmp_path, text).shown}


_NUMBER = """
import torch

class State:
    last: {held}

def rounded(x, step{annotation}):
    return x * int(step)

def main(state: State):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        rounded(x, {given})
"""


@pytest.mark.parametrize(
    ("held", "annotation", "given", "is_told"),
    [
        ("torch.Tensor | int", ": int", "state.last", False),
        ("torch.Tensor | int", ": float", "state.last", False),
        ("torch.Tensor | int", "", "state.last", True),
        ("torch.Tensor | int", ": torch.Tensor", "state.last", True),
        ("torch.Tensor", ": int", "state.last", True),
        ("torch.Tensor | int", ": int", "x.sum() if state.last else 1", True),
    ],
)
def test_a_number_is_the_better_guess_where_one_is_promised(
    tmp_path: Path, held: str, annotation: str, given: str, is_told: bool
) -> None:
    """A tensor that is surely handed in is told all the same."""
    text = _NUMBER.format(held=held, annotation=annotation, given=given)
    assert is_told is ("GL101" in {code for _, _, code in analyse(tmp_path, text).shown})


_OTHER_MODEL = """
# file: program.py
import torch
from torch import nn

class Wide(nn.Module):
    def forward(self, x):
        return x * x.sum().item()

class Other({base}):
    def forward(self, x):
        return x * len(x.tolist())

def deep(model, x):
    return model(x)

def step(model: Wide, x: torch.Tensor):
    if isinstance(model, Other):
        return deep(model, x)
    return x
"""


@pytest.mark.parametrize(("base", "is_told"), [("nn.Module", False), ("Wide", True)])
def test_what_turns_out_to_be_another_model_is_not_the_one_that_was_promised(
    tmp_path: Path, base: str, is_told: bool
) -> None:
    """Nothing is of two classes that have a pass each and are not derived from each other."""
    found = analyse(tmp_path, _OTHER_MODEL.format(base=base), regions=("program:step",)).report.findings
    told = {word for one in found for word in ("tolist", "item") if f".{word}()" in one.message}
    assert told - {"tolist"} == ({"item"} if is_told else set())
    assert is_told or "tolist" in told
