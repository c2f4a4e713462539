"""Files beside pages in, functions by kind of event out: what is loaded, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import write_page

from graphlint.errors import UsageError
from graphlint.rule import Confidence, Hit, HostRead, OperationCall
from graphlint.rulebook import load_rulebook
from graphlint.rulebook.detectors import load_detectors

DETECTOR = """\
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.rule import OperationCall, Confidence, HostRead, Hit

@dataclass(frozen=True)
class Said:
    words: str

def detect(event: OperationCall | HostRead) -> Iterator[Hit]:
    yield Hit(Confidence.HIGH, Said("seen").words)
"""


def write_detector(directory: Path, text: str) -> Path:
    """A detector with its page."""
    file = write_page(directory, "XX901", "house-rule").with_suffix(".py")
    file.write_text(text, encoding="utf-8")
    return file


def test_a_detector_is_asked_about_the_events_that_it_names(tmp_path: Path) -> None:
    """Each kind of its annotation; a rule without a detector is asked about none."""
    write_detector(tmp_path, DETECTOR)
    write_page(tmp_path, "XX902", "table-alone")
    found = load_detectors(load_rulebook(tmp_path).rules)
    assert {OperationCall, HostRead} == set(found)
    ((detector,), (same,)) = found.values()
    assert detector == same and "house-rule" == detector.effect
    assert [Hit(Confidence.HIGH, "seen")] == list(detector.detect(None))


def test_one_kind_of_event_is_enough(tmp_path: Path) -> None:
    """An annotation of one class, which is not a string."""
    write_detector(
        tmp_path, "from graphlint.rule import OperationCall\n\ndef detect(event: OperationCall):\n    return ()\n"
    )
    assert {OperationCall} == set(load_detectors(load_rulebook(tmp_path).rules))


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        pytest.param("x = 1\n", 1, "has no attribute 'detect'", id="no function"),
        pytest.param("\ndef detect(event):\n    pass\n", 2, "write `def detect(event: ", id="no annotation"),
        pytest.param("\ndef detect():\n    pass\n", 2, "write `def detect(event: ", id="no parameter"),
        pytest.param("\n\ndef detect(event: int):\n    pass\n", 3, "write `def detect(event: ", id="another class"),
        pytest.param("\ndef detect(event: 'Nope'):\n    pass\n", 2, "NameError: name 'Nope'", id="an unknown class"),
        pytest.param("\nx = (\n", 2, "SyntaxError", id="syntax"),
        pytest.param("\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero", id="an exception"),
        pytest.param("def f():\n    1 / 0\n\nf()\n", 2, "ZeroDivisionError", id="an exception further in"),
        pytest.param("raise ValueError('two\\nlines')\n", 1, "ValueError: two", id="an exception of two lines"),
        pytest.param("\nimport no_such_module\n", 2, "ModuleNotFoundError", id="an import"),
    ],
)
def test_a_mistake_in_a_detector_is_told_by_its_line(tmp_path: Path, text: str, line: int, expected: str) -> None:
    """One line that names the file and the line in it."""
    file = write_detector(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load_detectors(load_rulebook(tmp_path).rules)
    assert str(error.value).startswith(f"{file}:{line}: this detector cannot be loaded: ")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
