"""Calls that never come back: what stands behind them does not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse, in_region

AROUND = """
import contextlib, os, pytest, sys, torch

class Base:
    def check(self):
        raise NotImplementedError

    def exit(self):
        pass

def refuse(name):
    if not torch.cuda.is_current_stream_capturing():
        return
    raise RuntimeError(name)

def refuse_more(name):
    refuse(name)

def may_refuse(name):
    if name:
        raise RuntimeError(name)

def rounds(name):
    while True:
        if name:
            return
"""


@pytest.mark.parametrize("call", ["refuse('step')", "refuse_more('step')"])
def test_what_stands_behind_a_function_that_refuses_capture_is_silent(tmp_path: Path, call: str) -> None:
    """It raises on every way that it takes in a region."""
    assert analyse(tmp_path, in_region(f"{call}\nx.item()", AROUND)).found == []


@pytest.mark.parametrize("call", ["exit()", "quit()", "sys.exit(1)", "os._exit(1)", "os.abort()"])
def test_what_stands_behind_the_end_of_the_process_is_silent(tmp_path: Path, call: str) -> None:
    """What is left over from debugging, a region comes to no further."""
    assert analyse(tmp_path, in_region(f"print(x.shape)\n{call}\nx.item()", AROUND)).found == []


BEHIND = {
    "one that ends the process in a branch": "if unknown:\n    sys.exit(1)\nx.item()",
    "one that only has the name": "def exit():\n    pass\nexit()\nx.item()",
    "a method of the name": "Base().exit()\nx.item()",
    "one that may come back": "may_refuse(unknown)\nx.item()",
    "one that loops": "rounds(unknown)\nx.item()",
    "one that a subclass has": "Base().check()\nx.item()",
    "one of two": "(refuse if number else may_refuse)('step')\nx.item()",
    "one whose result is used nowhere, in another branch": "if unknown:\n    refuse('step')\nx.item()",
    "one that is tried": "try:\n    refuse('step')\nexcept RuntimeError:\n    pass\nx.item()",
    "one that is expected to raise": "with pytest.raises(RuntimeError):\n    refuse('step')\nx.item()",
    "one that is suppressed": "with contextlib.suppress(RuntimeError):\n    refuse('step')\nx.item()",
}


@pytest.mark.parametrize("body", BEHIND.values(), ids=BEHIND)
def test_what_may_be_reached_behind_a_call_is_told(tmp_path: Path, body: str) -> None:
    """The call comes back, or somebody goes on where it raises."""
    assert [code for _, _, code in analyse(tmp_path, in_region(body, AROUND)).found] == ["GL101"]
