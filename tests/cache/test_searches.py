"""What all files were asked, and which of them said yes, is kept with an answer, and looked at again for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.cache.entry import Entry, write
from graphlint.cache.holds import is_alike
from graphlint.finding import Report, Summary
from graphlint.reading import reads
from graphlint.reading.questions import HoldsAny, HoldsLine, Names, Question, Registered
from graphlint.reading.record import Record
from graphlint.static.index.project import Named, Project

NOTHING = Report("static", (), Summary())
ASKED = HoldsAny(["replay"])
REGISTERED = Registered(["register_buffer"])


def searched(folder: Path) -> tuple[list[str], Record]:
    """The files of a folder that hold a word, and the record of the search as it is read back."""
    with reads.recorded() as record:
        found = Project(sorted(folder.glob("*.py"))).answering(ASKED)
    return [path.name for path in found], Entry(write({}, record, NOTHING)).record


@pytest.mark.parametrize(
    ("text", "holds"),
    [("x = 2\n", True), ("g.replay()\n", False)],
    ids=["the answer is the same", "the answer is another one"],
)
def test_a_file_that_was_searched_may_change_as_long_as_it_answers_alike(
    tmp_path: Path, text: str, holds: bool
) -> None:
    """Each of them was asked, those that said no as well."""
    (tmp_path / "a.py").write_text("graph.replay()\n", "utf-8")
    (tmp_path / "b.py").write_text("x = 1\n", "utf-8")
    found, record = searched(tmp_path)
    assert ["a.py"] == found
    (tmp_path / "b.py").write_text(text, "utf-8")
    assert holds is is_alike(record)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (b"x = 1\n    if use_graph:\n", True),
        (b"assert not graph", True),
        (b"graph = 1\nif graph:\n", True),
        (b"graph = 1\nif x:\n    graph = 2\n", False),
        (b"if x:\n    pass\n# graph", False),
        (b"if x: pass", False),
    ],
)
def test_a_line_is_asked_that_holds_the_mark(text: bytes, answer: bool) -> None:
    """From its beginning, whichever line that is."""
    assert answer is HoldsLine("graph", r"[ \t]*(?:assert|if)\b.*graph")(text)


@pytest.mark.parametrize(
    ("question", "text", "names"),
    [
        (
            Registered(["register_buffer"]),
            b'layer.register_buffer("scale", s); self.register_buffer("own", s)',
            {b"scale"},
        ),
        (Registered(["register_buffer"]), b'layer.scale = "register_parameter"', set()),
        (Names("registers"), b"@first.of\ndef f(): pass\nsecond(x)\n    third(x)\n", {b"first", b"of", b"second"}),
        (Names("registers"), b"only()", {b"only"}),
    ],
    ids=["on another object", "something else", "decorators and calls", "the first line"],
)
def test_names_are_found_in_their_role(question: Question[frozenset[bytes]], text: bytes, names: set[bytes]) -> None:
    """And in no other one."""
    assert names == question(text)


def test_a_name_leads_to_its_files(tmp_path: Path) -> None:
    """All of them, in their order; a name that stands nowhere leads to none."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text("layer.register_buffer('scale', x)\n" if name != "b" else "", "utf-8")
    named = Named(Project(sorted(tmp_path.glob("*.py"))), REGISTERED)
    assert ["a.py", "c.py"] == [path.name for path in named.files("scale")]
    assert [] == list(named.files("shift"))
