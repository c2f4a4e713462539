"""What annotations promise: names for types, and generics that wrap a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

ALIASES = """
# file: shapes.py
from typing import Tuple
Size = Tuple[int, int]
# file: model.py
import torch
from jaxtyping import Float
from torch import Tensor
from shapes import Size
Pair = tuple[Tensor, int]
def step({parameter}):
    {body}
"""


@pytest.mark.parametrize(
    ("parameter", "body"),
    [
        ("size: Size", "return size[0] > 1 or None"),
        ("size: Size", "h, w = size; return range(h)"),
        ("pair: Pair", "return range(pair[1])"),
        ("pair: Pair", "return range(pair[0])  # expect: GL302"),
        ("x: Float[Tensor, 'batch width']", "return x.sum() > 0 or None  # expect: GL301"),
        ("mode: Unheard", "return range(mode)"),
        ("x", "return range(x)  # expect: GL302"),
    ],
)
def test_an_annotation_says_what_a_parameter_is(tmp_path: Path, parameter: str, body: str) -> None:
    """An alias is looked through, also from another file; an annotation that says nothing promises no tensor."""
    program = ALIASES.format(parameter=parameter, body=body)
    analysis = analyse(tmp_path, program, regions=("model:step",))
    assert analysis.expected == analysis.found
