"""Options of the test run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROOFS = {"test_evidence.py": "proving", "test_verified.py": "verifying"}  # what has a GPU run programs, by file


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes generated text anew instead of comparing it, `--prove` runs the programs on a device."""
    parser.addoption("--bless", action="store_true", help="write generated text anew")
    parser.addoption("--prove", action="store_true", help="run fixtures and page programs on the GPU, record evidence")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A proof runs the programs and nothing else: a machine with a GPU need not have what other tests need."""
    if config.getoption("--prove") and collection_path.is_file():
        return collection_path.name not in PROOFS or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests of evidence, a proof runs those that a program stands behind."""
    if config.getoption("--prove"):
        items[:] = [item for item in items if PROOFS[item.path.name] in getattr(item, "fixturenames", ())]


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether generated text is written anew; never where CI runs."""
    wanted = bool(request.config.getoption("--bless"))
    if wanted and os.environ.get("CI"):
        pytest.fail("--bless refuses to write where CI is set")
    return wanted
