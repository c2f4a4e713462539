"""An object that its base class promises is of no class that the program names nowhere, if it names others."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

MODEL = """
import torch

class Cache:
    def update(self, x):
        raise NotImplementedError

class Growing(Cache):
    def update(self, x):
        return x

class Offloaded(Growing):
    def update(self, x):
        if x.ndim != 2:
            raise ValueError("Offloaded takes rows")
        torch.cuda.current_stream().synchronize()
        return x
{more}
def forward(x, cache: Cache):
    return cache.update(x)
"""
MADE = "def build():\n    return Growing()\n"


def _confidence(folder: Path, more: str, files: str = "") -> Confidence:
    """How sure it is that the host waits in the method of a class."""
    text = MODEL.format(more=more) + files
    found = analyse(folder, text, regions=("main:forward",), confidence=Confidence.LOW).report.findings
    (confidence,) = [one.confidence for one in found if one.code == "GL103"]
    return confidence


def test_a_class_that_nothing_names_is_handed_in_by_nobody(tmp_path: Path) -> None:
    assert _confidence(tmp_path, MADE) is Confidence.LOW


@pytest.mark.parametrize(
    "more",
    [
        "KINDS = {'growing': Growing, 'offloaded': Offloaded}\n",
        "def build(kind):\n    return globals()['Offloaded']() if kind else Growing()\n",
        "def build(cache):\n    return cache if isinstance(cache, Offloaded) else Growing()\n",
        "class Quantized(Offloaded):\n    pass\n\ndef build():\n    return Growing()\n",
    ],
)
def test_one_that_something_names_may_be(tmp_path: Path, more: str) -> None:
    assert _confidence(tmp_path, more) is Confidence.MEDIUM


def test_another_file_names_it_as_well(tmp_path: Path) -> None:
    """Who imports it makes it, or offers it to others."""
    assert _confidence(tmp_path, MADE, "# file: package.py\nfrom main import Offloaded\n") is Confidence.MEDIUM


def test_a_library_leaves_all_of_its_classes_to_others(tmp_path: Path) -> None:
    text = MODEL.replace("(Growing)", "(Cache)").format(more="")
    found = analyse(tmp_path, text, regions=("main:forward",), confidence=Confidence.LOW).report.findings
    assert [one.confidence for one in found if one.code == "GL103"] == [Confidence.MEDIUM]
