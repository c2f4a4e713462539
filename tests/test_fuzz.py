"""A short share of the fuzzer, the same in each run: `python -m tests.fuzz` goes on for an hour."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fuzz.examples import KINDS, Example, look_at
from tests.fuzz.judge import wrong_in
from tests.fuzz.programs import Grammar


def looking(kind: str, folder: Path) -> Callable[[], None]:
    """What has `check` look at some examples of a kind."""

    @settings(
        max_examples=10, deadline=None, database=None, derandomize=True, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(KINDS[kind])
    def look(example: Example) -> None:
        look_at(example, folder)

    return look


@pytest.mark.skipif(not hasattr(__import__("signal"), "SIGPROF"), reason="needs a clock of the processor")
@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_ends_in_order(tmp_path: Path, kind: str) -> None:
    """Nothing is raised, nothing steers a terminal, and what stands beside it is judged."""
    looking(kind, tmp_path / "examples")()


def test_programs_of_the_grammar_are_programs_mostly() -> None:
    """What does not parse reaches little of the code."""
    made = [Grammar(Random(seed).choice, 12).program() for seed in range(60)]
    assert sum(map(parses, made)) > 40
    assert len(set(made)) == 60


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_what_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge sees an internal error, an escape, a command and a file that was left out."""

    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("\x1b[31m")

    assert wrong_in(tmp_path, (), ("text",), False) == []
    (tmp_path / ".gitignore").write_text("*.py\n")
    assert wrong_in(tmp_path, (), ("text",), False) == ["text: the file beside it was not judged"]
    (tmp_path / ".gitignore").unlink()
    monkeypatch.setattr("graphlint.static.check", broken)
    (told, *_) = wrong_in(tmp_path, (), ("text",), False)
    assert "ended with 2" in told
    assert "ZeroDivisionError" in told
