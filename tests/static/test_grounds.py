"""What a function has left for, and tests that names keep, decide what is asked further on."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

KEPT = """
import torch
def step(x: torch.Tensor, scale: torch.Tensor | float, more):
    {named}
    {between}
    if {asked}:
        return x * scale
    return x * float(scale)

def main(scale: torch.Tensor | float, more):
    x = torch.ones(4, device="cuda")
    if more:
        scale = torch.ones(1, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, scale, more)
"""
_IS_TENSOR = "is_tensor = isinstance(scale, torch.Tensor)"


@pytest.mark.parametrize(
    ("named", "between", "asked", "is_told"),
    [
        (_IS_TENSOR, "pass", "is_tensor", False),
        (_IS_TENSOR, "pass", "more and not is_tensor", True),
        (f"{_IS_TENSOR} and more", "pass", "is_tensor", True),
        (f"{_IS_TENSOR} or more", "pass", "is_tensor", False),
        (_IS_TENSOR, "scale = torch.ones(1, device='cuda')", "is_tensor", True),
        (_IS_TENSOR, "is_tensor = more", "is_tensor", True),
        (f"if more:\n        {_IS_TENSOR}\n    else:\n        is_tensor = False", "pass", "is_tensor", True),
        (f"is_tensor = False\n    for _ in more:\n        {_IS_TENSOR}", "pass", "is_tensor", True),
        ("scale = other = isinstance(scale, torch.Tensor) and x", "pass", "other", True),
    ],
)
def test_a_name_that_keeps_a_test_says_what_that_says(
    tmp_path: Path, named: str, between: str, asked: str, is_told: bool
) -> None:
    """As long as neither the name nor what was asked is given another value."""
    found = analyse(tmp_path, KEPT.format(named=named, between=between, asked=asked)).shown
    assert is_told is ("GL101" in {code for _, _, code in found})


LEFT = """
import contextlib, torch
MODE = 1
def switch():
    global MODE
    MODE = 2

def step(x: torch.Tensor, given, limit, check, kind, more, box):
    def reset():
        nonlocal given
        given = None

    {left}
    {between}
    {asked}:
        x.item()
    return x * 2

def main(given, limit, check, kind, more, box):
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, given, limit, check, kind, more, box)
"""
_LEFT = "if not check:\n        if limit is None:\n            raise ValueError(limit)"
_AGAIN = "if not check and limit is None"
_TRIED = "try:\n        if limit is None:\n            raise ValueError\n    except ValueError:\n        pass"


@pytest.mark.parametrize(
    ("left", "between", "asked", "is_told"),
    [
        (_LEFT, "pass", _AGAIN, False),
        (_LEFT, "pass", "if limit is None and not check", False),
        (_LEFT, "pass", "if limit is None", True),
        (_LEFT, "pass", "if not check", True),
        (_LEFT, "pass", "if check and limit is None", True),
        (_LEFT, "if check:\n        return x", "if limit is None", False),
        (_LEFT, "if check:\n        x = x + 1", "if limit is None", True),
        (_LEFT, "limit = more", _AGAIN, True),
        (_LEFT, "if kind == 'a':\n        limit = more", _AGAIN, True),
        (_LEFT, "no_limit = limit is None", "if no_limit and not check", False),
        (_LEFT.replace("raise ValueError(limit)", "return x"), "pass", _AGAIN, False),
        (_LEFT.replace("raise ValueError(limit)", "x = x + 1"), "pass", _AGAIN, True),
        ("if kind == 'b' and limit is None:\n        return x", "pass", "if limit is None and kind == 'b'", False),
        ("if kind == 'b' and limit is None:\n        return x", "pass", "if limit is None and kind == 'c'", True),
        ("if kind != 'b':\n        return x", "pass", "if kind != 'b'", False),
        ("if kind != 'b':\n        return x", "pass", "if kind == 'b'", True),
        ("for one in more:\n        if limit is None:\n            return x", "pass", "if limit is None", True),
        ("for one in more:\n        if one is None:\n            continue\n        one + 1", "pass", "if limit", True),
        ("while check:\n        if limit is None:\n            break", "pass", "if limit is None", True),
        (_TRIED, "pass", "if limit is None", True),
        ("if check and kind == MODE:\n        return x", "switch()", "if check and kind == MODE", True),
        ("if check and given is not None:\n        return x", "reset()", "if check and given is not None", True),
        ("if check and not box:\n        return x", "box.clear()", "if check and not box", True),
        ("if check and box.ready:\n        return x", "box.fill()", "if check and box.ready", True),
    ],
)
def test_what_has_ended_a_function_together_does_not_hold_together_behind_it(
    tmp_path: Path, left: str, between: str, asked: str, is_told: bool
) -> None:
    """As long as the names stand for the same, and nobody goes on where it ended."""
    found = analyse(tmp_path, LEFT.format(left=left, between=between, asked=asked)).shown
    assert is_told is ("GL101" in {code for _, _, code in found})


OF_A_CLASS = """
import torch
def step(value):
    if {test}:
        return str(value)

def main(number, several):
    x = torch.ones(4, device="cuda")
    value = {value}
    if several:
        value = number
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(value)
"""


@pytest.mark.parametrize("value", ["x", "(x, x)", "{'x': x}", "[x]"])
@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ("isinstance(value, torch.dtype)", False),
        ("isinstance(value, (torch.dtype, torch.device, str))", False),
        ("type(value) is torch.dtype", False),
        ("not (type(value) != torch.device)", False),
        ("type(value) is not torch.dtype", True),
        ("not isinstance(value, torch.dtype)", True),
        ("isinstance(value, (torch.dtype, torch.Tensor, tuple, dict, list))", True),
        ("value", True),
    ],
)
def test_what_is_of_a_class_that_holds_no_tensors_is_none_and_holds_none(
    tmp_path: Path, value: str, test: str, is_told: bool
) -> None:
    """Whatever else it may have been before it was asked."""
    found = analyse(tmp_path, OF_A_CLASS.format(value=value, test=test)).shown
    assert is_told is ("GL102" in {code for _, _, code in found})
