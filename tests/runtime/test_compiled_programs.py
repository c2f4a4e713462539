"""Programs that `torch.compile` graphs, and some that it only seems to: what the emulator says of each.

`# graphed:` in a header says how much of what is compiled runs in CUDA graphs: wholly, partly, none, or `by hand` where
the program captures a compiled function by itself. `compiled/awaiting.txt` names those that no GPU has run yet; where
there is one, `pytest tests/runtime/test_compiled_programs.py -k device` runs them all on it. Those whose names begin
with `trees_` do what the tests of torch do with its trees of CUDA graphs, so nearly all of them are right.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from expectations import parse_expectations

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.config import Config, load_config, selected_codes  # noqa: E402
from graphlint.finding import Finding, Span  # noqa: E402
from graphlint.rulebook import builtin_rulebook  # noqa: E402
from graphlint.runtime.device.emulator import library  # noqa: E402
from graphlint.runtime.examine.target import parse  # noqa: E402
from graphlint.runtime.session.forked import run_forked  # noqa: E402
from graphlint.runtime.session.hearing import Hearing  # noqa: E402
from graphlint.runtime.session.session import EMULATOR, Session  # noqa: E402

FOLDER = Path(__file__).with_name("compiled")
PROGRAMS = sorted(FOLDER.glob("*.py"))
NEEDED = (
    "torch._inductor.compile_fx",
    "torch._inductor.cudagraph_trees",
    "torch.distributed.tensor.experimental._attention",
    *(("graphlint.runtime.device.emulator.compiler",) if library.COMPILES else ()),
)
ON_DEVICE = PROGRAMS if torch.cuda.is_available() else []
HEADER = re.compile(r"^# graphed: (wholly|partly|none|by hand)$", re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def _compiler() -> None:
    """Loaded once, and not for each program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NEEDED:
            importlib.import_module(name)


def look(path: Path) -> Hearing:
    """What `verify` hears of a program on the emulator; what torch warns of is not ours."""
    rulebook, heard = builtin_rulebook(), Hearing()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ending = run_forked(Session(parse(str(path)), rulebook, EMULATOR), 120, heard)
    heard.end(ending, path.stem, Span(str(path), 1), rulebook)
    return heard


def share(measured: Mapping[str, float]) -> str:
    """How much of what was compiled is graphed, in the words of a header."""
    graphs, graphed = measured.get("compiled"), measured.get("graphed")
    if graphs is None:
        return "by hand"
    return "wholly" if graphed == graphs else "partly" if graphed else "none"


def check(path: Path, measured: Mapping[str, float], findings: Iterable[Finding], problem: str) -> None:
    """A run says what the comments of a program say."""
    text = path.read_text()
    header = HEADER.search(text)
    assert header is not None, "a header says how much is graphed"
    assert ("", header[1]) == (problem, share(measured))
    expected = [(one.line, one.code) for one in parse_expectations(text)]
    assert expected == sorted((one.span.line, one.code) for one in findings)


@pytest.mark.parametrize("path", PROGRAMS if library.COMPILES else [], ids=lambda path: path.stem)
def test_a_program_gets_its_findings_and_its_share(path: Path) -> None:
    """Each marked line is told, no other line is, and what is graphed is counted."""
    heard, reported = look(path), selected_codes(Config(FOLDER), builtin_rulebook())
    findings = [one for one in heard.findings if one.code in reported]  # as `verify` does, which the device is asked by
    check(path, heard.measured, findings, heard.problem)


@pytest.mark.parametrize("path", ON_DEVICE, ids=lambda path: path.stem)
def test_a_device_says_the_same_of_a_program(path: Path, tmp_path: Path) -> None:
    """What the emulator models is what a GPU does."""
    report = runtime.verify([str(path)], load_config(tmp_path, None), builtin_rulebook(), on="cuda")
    (target,) = report.targets
    check(path, target.measured, report.findings, target.problem)


@pytest.mark.parametrize(
    "path", [path for path in ON_DEVICE if path.stem == "host_arithmetic"], ids=lambda path: path.stem
)
def test_a_device_says_the_same_the_second_time(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch has kept of the first run is compiled again."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        test_a_device_says_the_same_of_a_program(path, tmp_path)


@pytest.mark.parametrize("path", [] if library.COMPILES else PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_a_release_that_is_not_modelled_is_no_failure(path: Path) -> None:
    """One line says what is missing."""
    heard = look(path)
    assert "not modelled: what torch" in heard.problem
    assert "GL003" not in {one.code for one in heard.findings}


def test_half_of_the_programs_are_right() -> None:
    """A tool that is always silent would pass no more than half of them, and neither would one that never is."""
    own = [path for path in PROGRAMS if not path.stem.startswith("trees_")]
    clean = [path for path in own if not parse_expectations(path.read_text())]
    assert 0.4 < len(clean) / len(own) < 0.6


def test_what_awaits_a_device_is_there() -> None:
    """No name is left over."""
    awaiting = (FOLDER / "awaiting.txt").read_text().split()
    assert set(awaiting) <= {path.stem for path in PROGRAMS}
