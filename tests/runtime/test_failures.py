"""An exception of a program becomes a refusal, at a line of the program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.trace.places import COMPILES, place_of, to_compiled  # noqa: E402
from graphlint.runtime.watch.failures import raised  # noqa: E402

PROGRAM = """
def program(compiling):
    compiling()
"""
COMPILER = """
def compiling():
    try:
        raise RuntimeError("a stream captures")
    except RuntimeError as error:
        raise ValueError("it does not compile") from error
"""


def _loaded(text: str, path: Path, name: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, str(path), "exec"), space)
    return space


@pytest.mark.parametrize(("module", "effect"), [(COMPILES, "capture-refused"), ("torch.library", "")])
def test_what_ends_the_compiler_is_a_refusal_of_the_line_that_calls(module: str, effect: str, tmp_path: Path) -> None:
    """The cause has been caught before it came to that line; an exception of another library is what it is."""
    compiling = _loaded(COMPILER, Path(torch.__file__).with_name("made_up.py"), module)["compiling"]
    program = _loaded(PROGRAM, tmp_path / "program.py", "program")["program"]
    with pytest.raises(ValueError) as told:
        program(compiling)
    refusal = raised(told.value)
    assert (refusal.effect, refusal.said) == (effect, "RuntimeError: a stream captures")
    assert [("program.py", 3)] == [(Path(one.path).name, one.line) for one in refusal.stack[:1]]


def test_a_function_that_is_being_compiled_has_run_no_line() -> None:
    """It has a frame, of which its first line is all that is known."""
    here, outer = place_of(sys._getframe()), place_of(sys._getframe(1))
    assert to_compiled((here, outer)) == (here, outer)
    calls = []

    def begins() -> None: calls.append(place_of(sys._getframe()))  # fmt: skip

    begins()
    assert to_compiled((calls[0], here)) == (here,)
