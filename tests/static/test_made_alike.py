"""What all who make objects of a class leave to a default, or give alike, is what such an object holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

MODEL = """
import torch

def mask(x, dynamic, size):
    if {handed}:
        return x[: int(x.sum())]
    return x

class Encoder(torch.nn.Module):
    def __init__(self, width: int, dynamic: bool = False, size: int = 4, scale=None):
        super().__init__()
        self.dynamic = dynamic
        self.size = size
        self.scale = scale
{more}
    def forward(self, x):
        if {held}:
            return x[: int(x.sum())]
        return mask(x, self.dynamic, size=self.size)

{made}
"""
ALIKE = "class Model:\n    def __init__(self):\n        self.encoder = Encoder(8)"
NEVER = "False"


def _confidence(folder: Path, held: str = NEVER, handed: str = NEVER, made: str = ALIKE, more: str = "") -> Confidence:
    """How sure the only finding of what is read on the host is."""
    more = "\n".join(f"    {line}" for line in more.splitlines())
    text = MODEL.format(held=held, handed=handed, made=made, more=more)
    regions = ("main:Encoder.forward",)
    found = analyse(folder, text, regions=regions, confidence=Confidence.LOW).report.findings
    (confidence,) = [one.confidence for one in found if one.code == "GL101"]
    return confidence


@pytest.mark.parametrize(
    "held",
    [
        "self.dynamic",
        "self.dynamic and x.shape[0] > 4",
        "self.size > 4",
        "self.size != 4",
        "not (self.size == 4)",
        "self.scale is not None",
        "self.dynamic or self.scale",
    ],
)
def test_what_no_object_holds_is_not_captured(tmp_path: Path, held: str) -> None:
    assert _confidence(tmp_path, held=held) is Confidence.LOW


@pytest.mark.parametrize("held", ["not self.dynamic", "self.size > 2", "self.dynamic or x.shape[0] > 4", "self.other"])
def test_what_objects_hold_or_may_hold_is(tmp_path: Path, held: str) -> None:
    assert _confidence(tmp_path, held=held) > Confidence.LOW


def test_what_an_object_hands_on_is_what_it_holds(tmp_path: Path) -> None:
    assert _confidence(tmp_path, handed="dynamic") is Confidence.LOW
    assert _confidence(tmp_path, handed="size > 8") is Confidence.LOW
    assert _confidence(tmp_path, handed="size > 2") > Confidence.LOW


@pytest.mark.parametrize(
    ("made", "is_alike"),
    [
        ("def build():\n    return Encoder(8, dynamic=False)", True),
        ("def build():\n    return Encoder(8), Encoder(4)", True),
        ("def build(encoder):\n    return Encoder(8) if isinstance(encoder, Encoder) else encoder", True),
        ("def build():\n    return Encoder(8, True)", False),
        ("def build():\n    return Encoder(8), Encoder(8, dynamic=True)", False),
        ("def build(dynamic):\n    return Encoder(8, dynamic)", False),
        ("def build(options):\n    return Encoder(**options)", False),
        ("def build():\n    return Encoder(8)\nKINDS = {1: Encoder}", False),
        ("def build(kind):\n    return Encoder(8), globals()['Encoder'](kind)", False),
        ("def build():\n    return Encoder(8), Encoder.load()", False),
        ("def build():\n    return Encoder(8)\nclass Other(Encoder):\n    pass", False),
        ("def build(encoder):\n    encoder.dynamic = True\n    return Encoder(8)", False),
        ("", False),
    ],
)
def test_who_makes_objects_says_what_they_hold(tmp_path: Path, made: str, is_alike: bool) -> None:
    """And nobody does where the class is handed on, or somebody gives what is not written down."""
    assert (_confidence(tmp_path, held="self.dynamic", made=made) is Confidence.LOW) is is_alike


def test_what_a_method_sets_later_is_not_what_was_given(tmp_path: Path) -> None:
    later = "def turn_on(self):\n    self.dynamic = True"
    assert _confidence(tmp_path, held="self.dynamic", more=later) > Confidence.LOW


@pytest.mark.parametrize(
    ("files", "is_alike"),
    [
        ("# file: app.py\nfrom engine.model import Encoder as E\nencoder = E(8)\n", True),
        ("# file: tests/test_model.py\nfrom engine.model import Encoder\nencoder = Encoder(8)\n", False),
        ("# file: app.py\nfrom engine.model import Encoder\nencoder = Encoder(8, True)\n", False),
        ("# file: app.py\nfrom engine.model import Encoder\nencoder = Encoder(8)\n"
         "# file: engine/__init__.py\nfrom engine.model import Encoder\n", False),
    ],
)  # fmt: skip
def test_other_files_make_objects_as_well(tmp_path: Path, files: str, is_alike: bool) -> None:
    """Tests alone say nothing, and what a package shows may be made by anybody."""
    text = "# file: engine/model.py\n" + MODEL.format(held="self.dynamic", handed=NEVER, made="", more="") + files
    analysis = analyse(tmp_path, text, regions=("engine.model:Encoder.forward",), confidence=Confidence.LOW)
    assert (analysis.finding.confidence is Confidence.LOW) is is_alike
