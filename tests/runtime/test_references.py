"""What is referred to weakly, and what is kept since that would not be safe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.compare.remembered import GoneError, remembered, weakly  # noqa: E402

HANDLES = [pytest.param(lambda: torch.Stream("cpu"), id="stream"), pytest.param(lambda: torch.Event("cpu"), id="event")]
VERIFIED_AND_COLLECTED = """
import gc, torch, graphlint
for _ in range(3):
    graphlint.verify(lambda x: x.relu() @ x, (torch.rand(64, 64, device="cuda"),), on="cuda")
    gc.collect()
"""


def test_a_tensor_that_nobody_holds_is_gone() -> None:
    """It is not kept alive, alone or in a container."""
    tensor = torch.ones(3)
    recall, recall_part = remembered(tensor), remembered([tensor])
    assert recall() is recall_part()[0] is tensor
    del tensor
    for gone in (recall, recall_part):
        with pytest.raises(GoneError):
            gone()


@pytest.mark.parametrize("make", HANDLES)
def test_streams_and_events_have_no_weak_references(make: Callable[[], object]) -> None:
    """They are kept instead."""
    with pytest.raises(TypeError, match="not safe"):
        weakly(make())
    made = make()
    recall, identity = remembered(made), id(made)
    del made
    assert id(recall()) == identity


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_what_a_watch_knew_can_be_collected_in_the_same_process() -> None:
    """Each function that is verified leaves cycles of objects behind, events and streams among them."""
    ended = subprocess.run([sys.executable, "-c", VERIFIED_AND_COLLECTED], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
