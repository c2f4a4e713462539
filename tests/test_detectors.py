"""Files beside pages in, functions out: what is loaded, and what is refused with its line."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from examples import write_page

from graphlint.detectors import load_detectors
from graphlint.errors import UsageError
from graphlint.rulebook import load_rulebook

DETECTOR = """\
from __future__ import annotations

from graphlint.rule import Call, Write


def detect(event: Call | Write, region):
    yield event
"""


@pytest.fixture(autouse=True)
def events(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A stand-in for the module with the events, which has two of them."""
    module = types.ModuleType("graphlint.rule")
    for name in ("Call", "Write"):
        setattr(module, name, type(name, (), {"__module__": "graphlint.rule"}))
    monkeypatch.setitem(sys.modules, "graphlint.rule", module)
    return module


def write_detector(directory: Path, text: str) -> Path:
    """A detector with its page."""
    file = write_page(directory, "XX901", "house-rule").with_suffix(".py")
    file.write_text(text, encoding="utf-8")
    return file


def test_a_detector_is_loaded_with_its_events(tmp_path: Path, events: types.ModuleType) -> None:
    """By its path, under a name that nobody else can import."""
    write_detector(tmp_path, DETECTOR)
    write_page(tmp_path, "XX902", "table-alone")
    (detector,) = load_detectors(load_rulebook(tmp_path))
    assert ("XX901", (events.Call, events.Write)) == (detector.rule.code, detector.events)
    assert [7] == list(detector.detect(7, None))
    assert "xx901_house_rule" not in sys.modules


def test_one_event_is_enough(tmp_path: Path, events: types.ModuleType) -> None:
    """An annotation of one class, which is not a string."""
    write_detector(tmp_path, "from graphlint.rule import Call\n\ndef detect(event: Call):\n    pass\n")
    (detector,) = load_detectors(load_rulebook(tmp_path))
    assert (events.Call,) == detector.events


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        pytest.param("x = 1\n", 1, "a detector has a function `detect`", id="no function"),
        pytest.param("detect = 1\n", 1, "a detector has a function `detect`", id="no function of that name"),
        pytest.param("\ndef detect(event):\n    pass\n", 2, "is annotated with the events", id="no annotation"),
        pytest.param("\ndef detect():\n    pass\n", 2, "is annotated with the events", id="no parameter"),
        pytest.param("\n\ndef detect(event: int):\n    pass\n", 3, "is annotated with the events", id="another class"),
        pytest.param("def detect(event: 'Nope'):\n    pass\n", 1, "NameError: name 'Nope'", id="an unknown class"),
        pytest.param("\nx = (\n", 2, "SyntaxError", id="syntax"),
        pytest.param("\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero", id="an exception"),
        pytest.param("def f():\n    1 / 0\n\nf()\n", 2, "ZeroDivisionError", id="an exception further in"),
        pytest.param("raise ValueError('two\\nlines')\n", 1, "ValueError: two", id="an exception of two lines"),
        pytest.param("\nimport no_such_module\n", 2, "ModuleNotFoundError", id="an import"),
    ],
)
def test_a_mistake_in_a_detector_is_told_by_its_line(tmp_path: Path, text: str, line: int, expected: str) -> None:
    """One line that names the file and the line."""
    file = write_detector(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load_detectors(load_rulebook(tmp_path))
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
