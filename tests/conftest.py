"""Options of the test run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

PROOFS = {"test_evidence.py": "proving", "test_verified.py": "verifying"}  # what has a GPU run programs, by file

GPU = Path("/dev/nvidiactl")  # is there where a GPU may be
TOLD = "told"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes generated text anew instead of comparing it, `--prove` runs the programs on a device."""
    parser.addoption("--bless", action="store_true", help="write generated text anew")
    parser.addoption("--prove", action="store_true", help="run fixtures and page programs on the GPU, record evidence")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread whole folders of tests over the processors, where pytest-xdist is there; `-n 0` spreads nothing.

    There is one worker more than processors, since some tests wait for a deadline. What writes files, shows output at
    once or has a GPU to itself stays in one process.
    """
    option = config.option
    is_open = getattr(option, "numprocesses", 0) is None and not hasattr(config, "workerinput")
    is_alone = option.bless or option.prove or option.collectonly or option.capture == "no" or GPU.exists()
    if is_open and not is_alone and any(Path(given).is_dir() for given in config.args):
        option.numprocesses, option.dist = (os.cpu_count() or 1) + 1, "worksteal"


def pytest_configure() -> None:
    """A search for cycles among all that is old looks at what thousands of tests are made of, and finds little."""
    gc.set_threshold(*gc.get_threshold()[:2], 100)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A proof runs the programs and nothing else: a machine with a GPU need not have what other tests need."""
    if config.getoption("--prove") and collection_path.is_file():
        return collection_path.name not in PROOFS or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests of evidence, a proof runs those that a program stands behind."""
    if config.getoption("--prove"):
        items[:] = [item for item in items if PROOFS[item.path.name] in getattr(item, "fixturenames", ())]


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests find out everything anew, and leave nothing behind in the folders that they look at."""
    monkeypatch.setenv("GRAPHLINT_NO_CACHE", "1")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether generated text is written anew; never where CI runs."""
    wanted = bool(request.config.getoption("--bless"))
    if wanted and os.environ.get("CI"):
        pytest.fail("--bless refuses to write where CI is set")
    return wanted


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Keeps a line for the end of the run, whichever process the test runs in."""
    return partial(record_property, TOLD)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The lines that tests have kept."""
    for report in terminalreporter.getreports(""):
        for name, line in report.user_properties:
            if name == TOLD and report.when == "teardown":
                terminalreporter.write_line(str(line))
