"""The comment that suppresses a finding stands where it is read, and changes nothing else."""

from __future__ import annotations

import pytest

from graphlint import suppression
from graphlint.server.comments import suppressing

PROGRAMS = {
    "behind a line": ("y = x.item()\n", 1, "y = x.item()  # graphlint: ignore[GL101]\n"),
    "behind a last line without an end": ("y = x.item()", 1, "y = x.item()  # graphlint: ignore[GL101]"),
    "into a comment that is there": (
        "y = x.item()  # graphlint: ignore[GL204] it is small\n",
        1,
        "y = x.item()  # graphlint: ignore[GL204, GL101] it is small\n",
    ),
    "inside brackets": ("f(\n    x.item(),\n    y)\n", 2, "f(\n    x.item(),  # graphlint: ignore[GL101]\n    y)\n"),
    "above a string that goes on": (
        'if a:\n    y = f(x.item(), """\n""")\n',
        2,
        'if a:\n    # graphlint: ignore[GL101]\n    y = f(x.item(), """\n""")\n',
    ),
    "above a line that goes on": (
        "y = x.item() + \\\n    1\n",
        1,
        "# graphlint: ignore[GL101]\ny = x.item() + \\\n    1\n",
    ),
    "with the line ends of the file": (
        "y = x.item()\\\r\n\r\n",
        1,
        "# graphlint: ignore[GL101]\r\ny = x.item()\\\r\n\r\n",
    ),
}


@pytest.mark.parametrize(("before", "line", "after"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_comment_goes_where_it_is_read(before: str, line: int, after: str) -> None:
    """Behind the line if it can stand there, else above it."""
    found = suppressing(before, line, "GL101")
    assert found is not None
    lines = before.splitlines(keepends=True)
    old = lines[found.line]
    lines[found.line] = old[: found.column] + found.text + old[found.column :]
    assert after == "".join(lines)
    assert any("GL101" in one.codes for one in suppression.parse(after))


@pytest.mark.parametrize(
    ("source", "line"),
    [('f("""\n""", x.item() + """\n""")\n', 2), ("y = \\\n    x.item() + \\\n    1\n", 2), ("def (:\n", 1), ("", 1)],
    ids=["between strings", "between lines that go on", "no Python", "no line"],
)
def test_where_no_comment_can_stand_none_is_offered(source: str, line: int) -> None:
    """Rather than one that breaks the program, or that nobody reads."""
    assert suppressing(source, line, "GL101") is None
