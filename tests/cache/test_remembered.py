"""What a process that goes on remembers of files ends when they change, on the disk or in an editor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphlint.reading import reads, record
from graphlint.reading.questions import Holds

ASKED = Holds(["capture"])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that holds what is asked for, in a process that remembers answers."""
    monkeypatch.setattr(reads, "_remembered", None)
    monkeypatch.setattr(record, "MARGIN", -(10**12))  # nothing is too young to be told by its stamp
    reads.remember()
    path = tmp_path / "serve.py"
    path.write_text("capture()", "utf-8")
    return path


def ask(path: Path) -> bool:
    return reads.ask(path, ASKED, reads.Texts(0))


def test_a_file_that_is_as_it_was_is_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stamp tells."""
    assert ask(file)
    monkeypatch.setattr(reads, "_read", lambda path: pytest.fail(f"{path} is read again"))
    assert ask(file)


def test_a_file_that_is_written_to_is_read_again(file: Path) -> None:
    """Also where its size stays."""
    assert ask(file)
    file.write_text("replay( )", "utf-8")
    os.utime(file, ns=(1, 1))
    assert not ask(file)


def test_a_text_that_is_not_saved_stands_for_the_file(file: Path) -> None:
    """As long as it is held; one such text is not taken for another."""
    assert ask(file)
    with reads.unsaved({file: b"replay( )"}):
        assert not ask(file)
    with reads.unsaved({file: b"capture()"}):
        assert ask(file)
    file.unlink()
    with reads.unsaved({file: b"capture()"}):
        assert ask(file)


def test_what_was_just_written_is_not_remembered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be written to again within the same tick of the clock, and have the same stamp."""
    monkeypatch.setattr(record, "MARGIN", 10**12)
    assert ask(file)
    monkeypatch.setattr(reads, "stamp_of", lambda status: record.Stamp(0, 0, 0, 0))
    file.write_text("replay( )", "utf-8")
    assert not ask(file)
