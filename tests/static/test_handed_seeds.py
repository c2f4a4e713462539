"""Seeds that whoever calls a declared region gives as a number: with one, a kernel draws the same in each replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import functools
from typing import Optional, Union

import torch
import triton
from kernels import extension

@triton.jit
def masked(x, y, seed, size):
    pass

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

def drawn(x, number):
    return extension.draw(x, number)

{decorator}
def sample(x: torch.Tensor, {parameter} = None):{mark}
    y = torch.empty_like(x)
    {body}
    return y
"""
MARK = "  # expect: GL403"


@pytest.mark.parametrize(
    ("parameter", "body", "decorator"),
    [
        ("seed: int", "masked[(1,)](x, y, seed, 64)", ""),
        ("rng_seed: Optional[int]", "extension.fill(x, y, rng_seed)", ""),
        ("noise_seed: Union[int, None]", "y = drawn(x, number=noise_seed)", ""),
        ("seed: int | None", "y = drawn(x, seed)", "@logged"),
    ],
    ids=["a kernel of Triton", "what nobody knows", "through a function", "behind a wrapper"],
)
def test_a_seed_that_is_handed_in_as_a_number_is_frozen(
    tmp_path: Path, parameter: str, body: str, decorator: str
) -> None:
    program = PROGRAM.format(parameter=parameter, body=body, decorator=decorator, mark=MARK)
    analysis = analyse(tmp_path, program, regions=["main:sample"])
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL403"]


@pytest.mark.parametrize(
    ("parameter", "body"),
    [
        ("seed: Union[int, torch.Tensor]", "extension.fill(x, y, seed)"),
        ("seed: Optional[torch.Tensor]", "extension.fill(x, y, seed)"),
        ("size: int", "masked[(1,)](x, y, 7, size)"),
        ("seed: int", "y = x + 1\n    print(seed)"),
        ("seed", "extension.fill(x, y, seed)"),
    ],
    ids=["a tensor is allowed", "a tensor", "another number", "no kernel takes it", "nobody says what it is"],
)
def test_another_parameter_is_no_seed_that_a_kernel_keeps(tmp_path: Path, parameter: str, body: str) -> None:
    program = PROGRAM.format(parameter=parameter, body=body, decorator="", mark="")
    analysis = analyse(tmp_path, program, regions=["main:sample"])
    assert not [place for place in analysis.shown if place[2] == "GL403"]


@pytest.mark.parametrize("decorator", ["", "@logged"], ids=["as it is", "behind a wrapper"])
def test_a_seed_that_the_region_itself_chooses_stays_for_good(tmp_path: Path, decorator: str) -> None:
    program = PROGRAM.format(parameter="seed: int", body="extension.fill(x, y, seed)", decorator=decorator, mark="")
    caller = "\n\ndef step(x: torch.Tensor):\n    return sample(x, 3)\n"
    assert not analyse(tmp_path, program + caller, regions=["main:step"]).shown
