"""A TOML text in; the line of each key out, also where a statement has many lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.errors import UsageError
from graphlint.rulebook.tables import Key, Table, read_table

TEXT = """\
# a comment
top = 1

[effects]
"a.b" = [
  { effect = "x", when = "device:x" },
  { effect = "y" },
]
"a.c" = [{ effect = "z" }]

[operations."a"]
object = '''
b(x)
# [effects]
c(x, y)
'''
inline = { one = 1, two = 2 }
dotted.key = 3

[[entry]]
kind = "first"

[[entry]]
kind = "second"
names = ["a.b",
  "a.c"]
"""
FILE = Path("tables.toml")


@pytest.mark.parametrize(
    ("path", "at", "line"),
    [
        pytest.param(("top",), "", 2, id="a key"),
        pytest.param(("effects",), "", 4, id="a table"),
        pytest.param(("effects", "a.b"), "", 5, id="a quoted key"),
        pytest.param(("effects", "a.b", 1, "effect"), '"y"', 7, id="a line of a list"),
        pytest.param(("effects", "a.b", 1, "effect"), "nowhere", 5, id="a piece that is not there"),
        pytest.param(("effects", "a.c", 0), "", 9, id="a list on one line"),
        pytest.param(("operations", "a", "object"), "c(x, y)", 15, id="a line of a text"),
        pytest.param(("operations", "a", "inline", "two"), "", 17, id="an inline table"),
        pytest.param(("operations", "a", "dotted", "key"), "", 18, id="a dotted key"),
        pytest.param(("entry", 0, "kind"), "", 21, id="the first of several tables"),
        pytest.param(("entry", 1, "kind"), "", 24, id="the second of several tables"),
        pytest.param(("entry", 1, "form"), "", 23, id="what is missing is told at its table"),
        pytest.param(("entry", 1, "names"), '"a.c"', 26, id="a line of a list of strings"),
        pytest.param((), "", 2, id="the whole text is told at its first statement"),
        pytest.param(("nothing",), "", 1, id="what no table could hold"),
    ],
)
def test_the_line_of_a_key_is_found(path: tuple[Key, ...], at: str, line: int) -> None:
    """That of the statement, or of the piece of text in it that is asked for."""
    assert line == Table(FILE, TEXT).line(*path, at=at)


def test_a_text_inside_of_a_file_counts_from_there() -> None:
    """The lines of a block are those of its page."""
    table = Table(Path("page.md"), "a = 1\nb = 2\n", first_line=10)
    assert "page.md:11: wrong" == str(table.error("wrong", "b"))


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb =\n", 2), ("a = [\n1,\n", 2), ("a = 1\na = 2\n", 2)])
def test_what_is_no_toml_is_told_by_its_line(text: str, line: int) -> None:
    """Also where it goes wrong only at the end, or a key stands twice."""
    with pytest.raises(UsageError, match=rf"^tables\.toml:{line}: not valid TOML: "):
        Table(FILE, text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """It is missing, or its bytes are no text."""
    with pytest.raises(UsageError, match=r"gone\.toml: cannot be read"):
        read_table(tmp_path / "gone.toml")
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'\n")
    with pytest.raises(UsageError, match=r"bytes\.toml: cannot be read"):
        read_table(tmp_path / "bytes.toml")
