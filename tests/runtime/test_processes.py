"""The processes of targets, as the tests ask for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from proof.processes import LOADED

pytest.importorskip("torch")

from graphlint.runtime.session.guard import Ending
from graphlint.runtime.session.isolation import run_isolated, server

DEADLINE = 60.0


def looks_around(send: Callable[[Any], None]) -> None:
    send(LOADED in sys.modules)


def test_a_process_finds_loaded_what_targets_need() -> None:
    """What cannot be loaded beforehand is passed over in silence, and each process would do it again."""
    heard: list[bool] = []
    assert Ending() == run_isolated(server(), looks_around, DEADLINE, heard.append)
    assert [True] == heard
