"""Ignore comments: what they cover, what they do not, and what is said about the unused ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import finding, write_rules

from graphlint.finding import Finding, Span
from graphlint.rulebook import Rulebook
from graphlint.suppression import apply, parse

ALL = frozenset({"GL001", "GL002", "GL101", "GL102", "GL301"})
FILE = "model.py"


@pytest.fixture
def rulebook(tmp_path: Path) -> Rulebook:
    """The made-up rules."""
    return write_rules(tmp_path)


def at(line: int, end_line: int = 0, code: str = "GL101") -> Finding:
    return finding(code=code, span=Span(FILE, line, 5, end_line or line, 9))


def outcome(
    rulebook: Rulebook, text: str, *findings: Finding, selected: frozenset[str] = ALL
) -> tuple[int, int, list[tuple[int, str]]]:
    kept, suppressed, unused = apply(findings, {FILE: parse(text)}, rulebook, selected)
    return len(kept), suppressed, [(found.span.line, found.message) for found in unused]


@pytest.mark.parametrize(
    ("text", "line", "end_line"),
    [
        pytest.param("x.item()  # graphlint: ignore[GL101]\n", 1, 1, id="on the line"),
        pytest.param("x.item()  # graphlint: ignore[GL101] read once\n", 1, 1, id="with a reason"),
        pytest.param("x.item()  #graphlint:ignore[GL102,GL101]\n", 1, 1, id="several codes"),
        pytest.param("x.item()  # graphlint: ignore\n", 1, 1, id="bare"),
        pytest.param("x.item()  # graphlint: ignore read once\n", 1, 1, id="bare with a reason"),
        pytest.param("x.item()  # noqa: B1 # graphlint: ignore[GL101]\n", 1, 1, id="behind another comment"),
        pytest.param("x.item()  # graphlint: ignore[GL101]  # noqa: B1\n", 1, 1, id="before another comment"),
        pytest.param("# graphlint: ignore[GL101]\nx.item()\n", 2, 2, id="above"),
        pytest.param("def f():\n    # graphlint: ignore[GL101]\n    # because\n    x.item()\n", 4, 4, id="two above"),
        pytest.param("# graphlint: ignore[GL101]\nf(\n    x.item(),\n)\n", 3, 3, id="above the statement"),
        pytest.param("f(\n    # graphlint: ignore[GL101]\n    x.item(),\n)\n", 3, 3, id="above, inside of brackets"),
        pytest.param("x.view(\n    n,  # graphlint: ignore[GL101]\n)\n", 1, 3, id="on a later line of the finding"),
        pytest.param("x.view(\n    n,\n)  # graphlint: ignore[GL101]\n", 1, 3, id="on the last line of the finding"),
        pytest.param('x = """\n"""; x.item()  # graphlint: ignore[GL101]\n', 2, 2, id="behind a long string"),
        pytest.param("x.item()  # graphlint: ignore[GL101]\r\ny\r\n", 1, 1, id="carriage returns"),
        pytest.param("x.item()  # graphlint: ignore[GL101]", 1, 1, id="without a last newline"),
        pytest.param("if x.item():  # graphlint: ignore[GL101]\n    pass\n", 1, 1, id="header of a block"),
    ],
)
def test_a_comment_suppresses_the_finding(rulebook: Rulebook, text: str, line: int, end_line: int) -> None:
    """The finding is counted as suppressed, and the comment is used."""
    assert (0, 1) == outcome(rulebook, text, at(line, end_line))[:2]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("x.item()  # graphlint: ignore[GL102]\n", 1, id="another code"),
        pytest.param("y()  # graphlint: ignore[GL101]\nx.item()\n", 2, id="the line before, behind code"),
        pytest.param("# graphlint: ignore[GL101]\n\nx.item()\n", 3, id="an empty line between"),
        pytest.param("# graphlint: ignore[GL101]\nif y:\n    x.item()\n", 3, id="the body of a block"),
        pytest.param("x.item()\n# graphlint: ignore[GL101]\n", 1, id="the line after"),
        pytest.param('x.item("# graphlint: ignore[GL101]")\n', 1, id="in a string"),
        pytest.param('"""\n# graphlint: ignore[GL101]\n"""\nx.item()\n', 4, id="in a docstring"),
        pytest.param("f(\n    # graphlint: ignore[GL101]\n    y,\n    x.item(),\n)\n", 4, id="one line of a call"),
        pytest.param("x.item()  # ignore[GL101]\n", 1, id="without the name"),
    ],
)
def test_a_comment_elsewhere_suppresses_nothing(rulebook: Rulebook, text: str, line: int) -> None:
    """The finding stays."""
    assert (1, 0) == outcome(rulebook, text, at(line))[:2]


def test_an_unused_comment_is_a_finding(rulebook: Rulebook) -> None:
    """The finding stands at the comment and names it."""
    _, _, (unused,) = apply([], {FILE: parse("x = 1  # graphlint: ignore[GL101] why\n")}, rulebook, ALL)
    assert ("GL002", "unused-suppression", "warning") == (unused.code, unused.rule, str(unused.severity))
    assert "`ignore[GL101]` suppresses nothing" == unused.message
    assert Span(FILE, 1, 8, 1, 38) == unused.span


def test_each_code_is_looked_at_by_itself(rulebook: Rulebook) -> None:
    """Of two codes only the unused one is reported."""
    text = "x.item()  # graphlint: ignore[GL101, GL102]\n"
    assert (0, 1, [(1, "`ignore[GL102]` suppresses nothing")]) == outcome(rulebook, text, at(1))


def test_only_rules_that_ran_can_call_a_comment_unused(rulebook: Rulebook) -> None:
    """A code that is not selected is left alone, and so is a bare comment when rules are left out."""
    text = "x = 1  # graphlint: ignore[GL101]\ny = 1  # graphlint: ignore\nz = 1  # graphlint: ignore[GL504]\n"
    assert [1, 2] == [line for line, _ in outcome(rulebook, text)[2]]
    assert [] == outcome(rulebook, text, selected=frozenset({"GL002", "GL301"}))[2]
    assert [] == outcome(rulebook, text, selected=ALL - {"GL002"})[2]


def test_a_comment_may_suppress_the_report_about_itself(rulebook: Rulebook) -> None:
    """Naming GL002 as well keeps a comment that is used only sometimes."""
    assert [] == outcome(rulebook, "x = 1  # graphlint: ignore[GL101, GL002]\n")[2]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("ignore[GL999]", "unknown code `GL999` in an ignore comment"),
        ("ignore[gl101]", "unknown code `gl101` in an ignore comment; did you mean `GL101`"),
        ("ignore[scalar-readback]", "unknown code `scalar-readback` in an ignore comment"),
        ("ignore[]", "the codes in an ignore comment are written as `ignore[GL101, GL102]`"),
        ("ignore[GL101", "the codes in an ignore comment are written as `ignore[GL101, GL102]`"),
        ("ignore[GL101,]", "the codes in an ignore comment are written as `ignore[GL101, GL102]`"),
        ("ignore GL101", "the code stands outside of brackets; write `ignore[GL101]`"),
        ("ignroe[GL101]", "unknown comment `graphlint: ignroe`; did you mean `ignore`?"),
    ],
)
def test_a_malformed_comment_is_a_finding(rulebook: Rulebook, comment: str, expected: str) -> None:
    """What cannot be understood is said, and suppresses nothing."""
    kept, suppressed, unused = outcome(rulebook, f"x.item()  # graphlint: {comment}\n", at(1))
    assert (1, 0) == (kept, suppressed)
    assert 1 == len(unused)
    assert unused[0][1].startswith(expected)


def test_one_comment_suppresses_all_that_stands_there(rulebook: Rulebook) -> None:
    """Two findings on the line are counted as two."""
    text = "x.item()  # graphlint: ignore\n"
    assert (0, 2, []) == outcome(rulebook, text, at(1), at(1, code="GL301"))


def test_a_finding_in_another_file_is_kept(rulebook: Rulebook) -> None:
    """A comment speaks for its own file."""
    elsewhere = finding(path="other.py", line=1)
    assert (1, 0) == outcome(rulebook, "x.item()  # graphlint: ignore[GL101]\n", elsewhere)[:2]


@pytest.mark.parametrize(
    "text",
    ["x = (  # graphlint: ignore[GL101]\n", "if x:\n  y\n z  # graphlint: ignore[GL101]\n", "# graphlint: ignore\n'''"],
)
def test_a_text_that_is_not_python_has_no_comments(text: str) -> None:
    """Nothing is judged in a file that cannot be read."""
    assert () == parse(text)


def test_a_zero_byte_ends_nothing() -> None:
    """Python 3.11 has a token for it, 3.12 an internal error."""
    assert all(one.flaw for one in parse("    if x:\n\x00# graphlint: ignore["))


def test_a_text_without_the_marker_is_not_looked_at() -> None:
    """Most files have no comment, and the marker is looked for first."""
    assert () == parse("x = 1  # ignore\n")
