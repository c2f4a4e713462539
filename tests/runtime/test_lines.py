"""The lines that run are told, but for those that run because a module is loaded."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

pytest.importorskip("torch")

from graphlint.runtime.watch.lines import Lines

OUTER = "import lines_inner\ndef double(x):\n    return x * 2\nEIGHT = double(4)\n"
INNER = "FOUR = sum([1, 3])\n"
BROKEN = "FOUR = 4\nraise ValueError\n"


def told(work: Callable[[], object]) -> list[str]:
    """The functions whose lines are told, one after the other."""
    found: list[str] = []

    def note(frame: FrameType, line: int) -> None:
        name = frame.f_code.co_name
        if found[-1:] != [name]:
            found.append(name)

    lines = Lines(note)
    lines.start()
    work()
    assert lines.stop()
    return found


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that nobody has loaded yet."""
    for name, text in (("lines_outer", OUTER), ("lines_inner", INNER), ("lines_broken", BROKEN)):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)


def test_what_a_module_runs_while_it_is_loaded_is_not_told() -> None:
    """Nor what it loads and calls on its way; what is called of it later is told."""

    def imports() -> int:
        import lines_outer  # type: ignore[import-not-found]

        return int(lines_outer.double(3))

    assert ["told", "imports", "double", "told"] == told(imports)
    assert "<module>" not in told(lambda: importlib.import_module("lines_inner"))


def test_lines_are_told_again_after_an_import_that_fails() -> None:
    """Whatever the import raises."""

    def fails() -> int:
        with pytest.raises(ValueError):
            importlib.import_module("lines_broken")
        return after()

    def after() -> int:
        return 1

    found = told(fails)
    assert "after" in found and "<module>" not in found


class Cycle:
    """Dies when it is searched for."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        assert self.itself is self


def test_what_a_search_for_cycles_calls_is_not_told() -> None:
    """Neither who wants to know of it, nor what dies of it; it may come at any line. The next line is told."""

    def hears(phase: str, counts: object) -> None:
        searches.append(phase)

    def collects() -> int:
        Cycle()
        gc.collect(0)  # what other tests have left is theirs
        return after()

    def after() -> int:
        return 1

    searches: list[str] = []
    gc.callbacks.append(hears)
    try:
        assert ["told", "collects", "__init__", "collects", "after", "told"] == told(collects)
    finally:
        gc.callbacks.remove(hears)
    assert {"start", "stop"} <= set(searches)


def test_nobody_listens_once_it_is_over() -> None:
    """The loader of modules is Python's own again, and the next one may listen."""
    before = importlib._bootstrap._find_and_load, [*gc.callbacks]
    assert told(lambda: 1) == told(lambda: 1)
    assert before == (importlib._bootstrap._find_and_load, gc.callbacks)
