"""Switches of the environment in a rehearsed run: nothing is set, unless somebody sets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import os
import torch
{imported}

class Runner:
    def __init__(self, model):
        self.model = model
        self.x = torch.zeros(8, 4, device="cuda")
        self.dry = {asked}
        self.graph = None

    def capture(self):
        self.model(self.x)
        if not self.dry:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
        else:
            self.y = self.model(self.x)

    def run(self, x: torch.Tensor):
        if self.dry:
            return self.model(x)
        {refill}
        self.graph.replay()
        return self.y.clone()

# file: switches.py
import os

def is_on(name: str, default: bool = False) -> bool:
    value = os.getenv(name)
    if value is None:
        return default
    value = value.lower().strip()
    if value in ("1", "true"):
        return True
    if value in ("0", "false"):
        return False
    raise ValueError(name)

def spells(name: str, default: str) -> bool:
    return os.environ.get(name, default).lower() in ("1", "true")

DRY = is_on("DRY_RUN")
DRY_NUMBER = bool(int(os.getenv("DRY_RUN", "0")))
DRY_TEXT = spells("DRY_RUN", "False")
GRAPHS = is_on("USE_GRAPHS")
PLAIN = True
"""
ASKED = {
    "a switch of another file": ("from switches import DRY", "DRY"),
    "a number of another file": ("from switches import DRY_NUMBER", "DRY_NUMBER"),
    "a text of another file": ("from switches import DRY_TEXT", "DRY_TEXT"),
    "a function of another file": ("import switches", 'switches.is_on("DRY_RUN")'),
    "asked here": ("", 'os.environ.get("DRY_RUN", "0") == "1"'),
    "what turns graphs on, and is off": ("from switches import GRAPHS", "not GRAPHS"),
}


@pytest.mark.parametrize(("imported", "asked"), ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("refill", ["self.x = x  # expect: GL508", "self.x.copy_(x)"], ids=["rebound", "copied"])
def test_a_capture_behind_a_switch_is_come_to(tmp_path: Path, imported: str, asked: str, refill: str) -> None:
    """Whichever way it stands, somebody may turn it."""
    analysis = analyse(tmp_path, RUNNER.format(imported=imported, asked=asked, refill=refill))
    assert analysis.shown == analysis.expected


def test_what_is_no_switch_stands_as_it_does(tmp_path: Path) -> None:
    """Nothing is captured, since a plain number of another file says so."""
    program = RUNNER.format(imported="from switches import PLAIN", asked="PLAIN", refill="self.x = x")
    assert not analyse(tmp_path, program).shown
