"""Another text is taken for the one that was looked at where it says the same, and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphlint.static.index.defaults import default_of
from graphlint.static.index.module import Module
from graphlint.static.index.parts import called, segments_with

TEXT = '''\
import torch

LIMIT = 3


class Step:
    size = 1  # of what

    def run(self, x):
        y = f(
            x,
            "# no comment",
        )
        return y

    def unread(self, x):
        """Says
        something."""
        return x.get("flag", True)


def last(x):
    return x
'''


def looked_at(text: str = TEXT) -> Module:
    """A module of which somebody has read the index, one method and a statement, and looked for calls."""
    module = Module("step", Path("step.py"), text)
    module.lowered(module.index.classes["Step"].methods["run"][0].segment)
    module.lowered(module.index.assignments["LIMIT"][0])
    list(segments_with(module, "searched", called))
    return module


SAME = {
    "the same text": (TEXT, {}),
    "a line above": ("\n" + TEXT, {3: 4, 9: 10, 10: 11, 22: 23}),
    "a comment above": ("# more\n" + TEXT, {3: 4}),
    "another comment behind a line": (TEXT.replace("# of what", "# of that"), {7: 7}),
    "a comment in a function": (TEXT.replace("        return y", "        # why\n        return y"), {9: 9, 14: 15}),
    "a docstring": (TEXT.replace("Says\n", "Says more\n\n"), {9: 9, 22: 23}),
    "a comment in brackets": (TEXT.replace("x,\n", "x,  # why\n\n"), {11: 11, 12: 13, 14: 15}),
    "another body": (TEXT.replace("return x\n", "x += 1\n    return x\n"), {22: 22}),
    "a longer body above": (TEXT.replace("return x.get", "x = 1\n        return x.get"), {9: 9, 22: 23}),
    "a body that is broken": (TEXT.replace("return x\n", "return x +\n"), {9: 9}),
    "another signature": (TEXT.replace("def last(x)", "def last(x, y)"), {9: 9}),
}
OTHERS = {
    "another read method": TEXT.replace("return y", "return x"),
    "another string": TEXT.replace("# no comment", "# a comment"),
    "another indentation": TEXT.replace("            x,", "             x,"),
    "a statement that is read": TEXT.replace("LIMIT = 3", "LIMIT = 4"),
    "a statement that is indexed": TEXT.replace("size = 1", "size = 2"),
    "an import": TEXT.replace("import torch", "import torch as t"),
    "another name": TEXT.replace("def last", "def first"),
    "a new function": TEXT + "\n\ndef new(x):\n    return x\n",
    "a decorator": TEXT.replace("def last", "@f\ndef last"),
    "a word that was searched": TEXT.replace("return x\n", "return searched(x)\n"),
    "a searched word in a comment": TEXT.replace("# of what", "# of searched(what)"),
    "a body that goes on": TEXT + "x = 1\n",
    "a string that never ends": TEXT.replace("return x\n", 'return """\n'),
    "nothing": "",
}


@pytest.mark.parametrize(("text", "lines"), SAME.values(), ids=SAME.keys())
def test_what_nobody_has_looked_at_may_change(text: str, lines: dict[int, int]) -> None:
    """And lines may be elsewhere: it is told where those are that were looked at."""
    found = looked_at().looked.lines_in(text.encode())
    assert found is not None
    assert lines == {line: found[line] for line in lines}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_what_somebody_has_looked_at_may_not(text: str) -> None:
    """Neither the layout, which everybody has looked at."""
    assert looked_at().looked.lines_in(text.encode()) is None


@pytest.mark.parametrize(
    ("first", "then", "is_same"),
    [
        ('"""It runs."""', '"""It runs, and more."""', True),
        ('"""It\n        runs."""', '"""It\n\n        runs.\n        """', True),
        ('"""It runs."""', '"""It\n        runs."""', False),
        ('"""It runs."""', '"""Runs."""', False),
        ('"""It runs."""', 'f"""It runs, {x}."""', False),
        ('f"""It runs, {x}."""', 'f"""It runs, {y}."""', False),
        ('"""It runs."""', '"""It runs.""" + x', False),
    ],
    ids=["more", "more lines", "lines where there was one", "a name", "no text", "another value", "an expression"],
)
def test_prose_says_nothing(first: str, then: str, is_same: bool) -> None:
    """What is a name may be looked for, and what is computed does something."""
    text = TEXT.replace("        y = f(", "        {}\n        y = f(")
    found = looked_at(text.format(first)).looked.lines_in(text.format(then).encode())
    assert is_same is (found is not None)


def test_a_broken_body_is_seen_by_who_has_parsed_the_whole() -> None:
    """Also where nobody reads it."""
    module = looked_at()
    module.check_syntax()
    assert module.looked.lines_in(TEXT.replace("return x\n", "return x +\n").encode()) is None
    assert module.looked.lines_in(TEXT.replace("return x\n", "return -x\n").encode()) is not None


def test_who_reads_a_text_as_a_whole_sees_every_change() -> None:
    """Also a comment; and so does who looks at the comments of a segment."""
    module = looked_at()
    assert len(module.text) == len(TEXT)
    assert module.looked.lines_in(("\n" + TEXT).encode()) is None
    module = looked_at()
    module.source_of(module.index.functions["last"][0].segment, is_exact=True)
    assert module.looked.lines_in(("\n" + TEXT).encode()) is not None
    assert module.looked.lines_in(TEXT.replace("return x\n", "return x  # why\n").encode()) is None


def test_questions_to_the_whole_text_are_asked_again() -> None:
    """A text that answers alike is the same, wherever it differs."""
    module = looked_at()
    assert default_of(module, "flag") is True and not [*segments_with(module, "g", called)]
    assert module.looked.lines_in(TEXT.replace("x.get", "y.get").encode()) is not None
    assert module.looked.lines_in(TEXT.replace("True", "False").encode()) is None
    assert module.looked.lines_in(TEXT.replace("return x.get", "g(x)\n        return x.get").encode()) is None


def test_another_run_has_looked_at_nothing_yet() -> None:
    """What is wrong with a file is told by whoever comes upon it."""
    broken = Module("step", Path("step.py"), TEXT.replace("return x\n", "return x +\n"))
    broken.check_syntax()
    assert broken.problem is not None
    broken.begin()
    assert broken.problem is None and not broken.looked.is_parsed
    assert broken.index.functions["last"][0].code is None and broken.problem is not None
    assert broken.looked.is_whole  # for what is told is the first mistake of the file


def test_what_was_looked_at_of_one_text_was_of_another_that_says_the_same() -> None:
    """There, too, nothing else may change of it, and lines are counted from it."""
    moved = "# more\n" + TEXT.replace("        return y", "        # why\n        return y")
    looked = looked_at().looked
    lines = looked.lines_in(moved.encode())
    assert lines is not None
    other = looked.of(moved.encode(), lines)
    found = other.lines_in(("\n" + moved.replace("return x\n", "return -x\n")).encode())
    assert found is not None and {10: 11, 16: 17} == {line: found[line] for line in (10, 16)}
    assert other.lines_in(moved.replace("return y", "return x").encode()) is None
    assert other.lines_in(moved.replace("LIMIT = 3", "LIMIT = 4").encode()) is None


def test_what_two_processes_have_looked_at_is_put_together() -> None:
    """Whatever one of them has looked at may not change."""
    mine, other = looked_at().looked, Module("step", Path("step.py"), TEXT)
    kept = mine.copy()
    assert other.index.functions["last"][0].code is not None
    mine.merge(other.looked)
    changed = TEXT.replace("return x\n", "return -x\n").encode()
    assert mine.lines_in(changed) is None and kept.lines_in(changed) is not None


def test_comments_are_no_part_of_what_is_told_of_a_source() -> None:
    """An expression of several lines is shown on one."""
    module = Module("step", Path("step.py"), 'y = f(\n    x,  # a comment\n    # another\n    "#",\n)\n')
    assert 'f( x, "#", )' == module.source_at(1, 4, 5, 1)
