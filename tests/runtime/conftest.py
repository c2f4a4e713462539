"""What the tests of the runtime half share."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from proof.processes import start_server


@pytest.fixture(scope="session", autouse=True)
def processes() -> None:
    """Those of targets come out of one that has loaded what they need."""
    if find_spec("torch"):
        start_server()
