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


CHOICES = """
# file: settings.py
from dataclasses import dataclass
from enum import Enum
class Scaling(Enum):
    WHOLE = 1
    BLOCKS = 2
@dataclass
class Settings:
    scaling: Scaling{default}
# file: model.py
import torch
from settings import Scaling, Settings
def step(x: torch.Tensor, settings: Settings | None = None):
    if settings is None:
        settings = Settings({made})
    if settings.scaling {sign} Scaling.WHOLE:
        return x
    return x.item(){mark}
def capture():
    x = torch.ones(1, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x{given})
"""


@pytest.mark.parametrize("sign", ["==", "is"])
@pytest.mark.parametrize("default", ["", " = Scaling.WHOLE"])
def test_settings_that_are_promised_may_hold_another_member_of_an_enum_than_their_default(
    tmp_path: Path, default: str, sign: str
) -> None:
    """The default of a field says which enum it holds a member of, and not which member."""
    program = CHOICES.format(
        default=default, made="Scaling.WHOLE", sign=sign, mark="  # expect: GL101", given=", settings"
    ).replace("def capture():", "def capture(settings: Settings):")
    analysis = analyse(tmp_path, program, regions=("model:step",))
    assert analysis.expected and analysis.expected == analysis.found


@pytest.mark.parametrize(("made", "given"), [("", ""), ("Scaling.WHOLE", ""), ("", ", Settings()")])
def test_settings_that_are_made_without_a_member_hold_the_default_one(tmp_path: Path, made: str, given: str) -> None:
    program = CHOICES.format(default=" = Scaling.WHOLE", made=made, sign="==", mark="", given=given)
    analysis = analyse(tmp_path, program)
    assert analysis.report.summary.regions and not analysis.found


TABLE = """
import torch

def step(inputs: dict[str, torch.Tensor], x: torch.Tensor):
    time = {asked}
    if time is not None:
        x.item()
    return x
"""


@pytest.mark.parametrize(
    ("asked", "is_condition"),
    [
        ('inputs.get("time")', True),
        ('inputs["time"]', False),
        ('inputs.get("time", x)', False),
        ('{"time": x}.get("time")', False),
    ],
)
def test_nobody_says_which_keys_a_promised_table_has(tmp_path: Path, asked: str, is_condition: bool) -> None:
    """That one is there is a condition."""
    (finding,) = analyse(tmp_path, TABLE.format(asked=asked), regions=("main:step",)).report.findings
    assert bool(finding.when) is is_condition
