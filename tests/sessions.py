"""What a session of pytest in a process of its own needs to have the plugin."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
IS_INSTALLED = bool(entry_points(group="pytest11", name="graphlint"))


def with_plugin(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The options of the session; a checkout that is on the path, and not installed, is found from any folder.

    It may lie beside any plugins, of which none but those that tests ask for shall be heard. Where it is installed,
    all are, but for the one that loads its whole library at the end of each session.
    """
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    if IS_INSTALLED:
        return ("-p", "no:hypothesispytest")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    wanted = ["graphlint.testing.plugin", *(["xdist.plugin"] if find_spec("xdist") else [])]
    return tuple(part for name in wanted for part in ("-p", name))
