"""Functions shrink to two lines, and an index of what is left says the same as one of the whole source."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from pathlib import Path

import pytest

from graphlint.static.index.module import Module, index_module, read_source
from graphlint.static.syntax.outline import outline

LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
MODULE = Module("library", Path("library.py"))


def indexed(text: str) -> str:
    """An index, written out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return repr(index_module(MODULE, tree))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x):\n    return x\ny = 1\n", id="a function"),
        pytest.param("def f(\n    x,\n) -> int:\n    return x\ny = 1\n", id="a signature of several lines"),
        pytest.param("def f(\n    x,\n) -> int: ...\ny = 1\n", id="a stub of several lines"),
        pytest.param("def f(): return (\n    1,\n)\ny = 1\n", id="a body beside the signature"),
        pytest.param("class C:\n    @p\n    async def f(self):\n        return 1\n\n    y = 1\n", id="a method"),
        pytest.param("if a:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n", id="branches"),
        pytest.param("def f():\n    x = 1\n# a comment\n    return x\n\n# another\ny = 1\n", id="comments"),
        pytest.param('def f():\n    """A text\n\n    of lines."""\n\ny = 1\n', id="a docstring alone"),
        pytest.param("def f[T](x: T):\n\treturn x\ny = 1\n", id="tabs and type parameters"),
    ],
)
def test_functions_shrink_and_lines_stay(text: str) -> None:
    """A first and a last line are left of each function, where they stood."""
    found = outline(text)
    assert found is not None
    short = found.text
    assert len(text.split("\n")) == len(short.split("\n"))
    assert "return" not in short
    if "[T]" not in text:  # which is newer than the oldest Python that runs this
        assert indexed(text) == indexed(short)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('def f():\n    x = """\nimport y\n"""\nz = 1\n', id="a string"),
        pytest.param("def f():\n    x = '''\n\"\"\"'''\nz = 1\n", id="quotes in a string"),
    ],
)
def test_a_function_that_ends_inside_a_string_is_left_alone(text: str) -> None:
    """Lines of a string are indented as they like."""
    assert outline(text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x):\n    return x + \\\n0\ny = 1\n", id="a continued line"),
        pytest.param("def f(x):\n    return x\nx = [\n    f,\n]\n", id="brackets elsewhere"),
        pytest.param("T = '''\ndef f(x):\n    return x\n'''\ny = 1\n", id="a function in a string"),
        pytest.param("define = 1\nasynchronous = 2\n", id="names that begin like a function"),
    ],
)
def test_what_looks_like_the_end_of_a_function_is_not_taken_for_one(text: str) -> None:
    """The index is that of the source."""
    found = outline(text)
    assert found is None or indexed(text) == indexed(found.text)


def test_a_bracket_that_is_cut_is_left_for_the_parser() -> None:
    """It refuses what is left, and the source is parsed whole."""
    with pytest.raises(SyntaxError):
        found = outline("def f(x):\n    return g(\nx)\ny = 1\n")
        indexed(found.text if found is not None else "")


def test_the_standard_library_is_indexed_as_its_source() -> None:
    """Nearly every module is shrunk, and none is indexed wrongly."""
    wrong, shrunk = [], 0
    for path in LIBRARY:
        text = read_source(path)
        found = outline(text)
        if found is not None:
            shrunk += 1
            wrong += [path.name] if indexed(text) != indexed(found.text) else []
    assert [] == wrong
    assert len(LIBRARY) > 100
    assert shrunk > 0.9 * len(LIBRARY)
