"""Options of the test run."""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes generated text anew instead of comparing it."""
    parser.addoption("--bless", action="store_true", help="write generated text anew")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether generated text is written anew; never where CI runs."""
    wanted = bool(request.config.getoption("--bless"))
    if wanted and os.environ.get("CI"):
        pytest.fail("--bless refuses to write where CI is set")
    return wanted
