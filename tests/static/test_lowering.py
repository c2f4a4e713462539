"""Every form of Python's syntax has a compact form, and each node knows where it stands."""

from __future__ import annotations

import ast
import dataclasses
import sysconfig
import textwrap
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import UnparsableSource, lower_segment

STATEMENTS = {
    "x = 1": ir.Assign,
    "x = y = 1": ir.Assign,
    "x: int = 1": ir.Assign,
    "x: int": ir.Assign,
    "x.y[0]: 'Tensor | None' = None": ir.Assign,
    "(a, *b), [c, d] = x": ir.Assign,
    "x @= y": ir.AugAssign,
    "x[1:2, ..., None] //= y": ir.AugAssign,
    "f(x)": ir.Evaluate,
    "f(*a, b, *c, d=1, **e, **g)": ir.Evaluate,
    "x[*a, 1]": ir.Evaluate,
    "x[a:b:c, ::2]": ir.Evaluate,
    "x[1,]": ir.Evaluate,
    "lambda: 0": ir.Evaluate,
    "lambda a, /, b=1, *c, d, e=2, **f: (yield)": ir.Evaluate,
    "(x := f(y), 1)": ir.Evaluate,
    "[x async for x in y if x if not y for z in x]": ir.Evaluate,
    "{**a, 'b': 1, **c}": ir.Evaluate,
    "{*a, 1}": ir.Evaluate,
    "{k: v for k, v in x}": ir.Evaluate,
    "1 < x <= 2 != y is not None not in z": ir.Evaluate,
    "not a and b or c if d else e": ir.Evaluate,
    "-x ** ~y % +z": ir.Evaluate,
    "f'{x!r:>{width}} {y=} {{}} {z:%Y-%m}' 'tail' rf'\\d{x}'": ir.Evaluate,
    "f'{f'{x}'}' + f'{d['key']}'": ir.Evaluate,
    "b'a' b'b', u'c', 0xFF, 1_000, 1e-3, 2j, 0o17, 0b1, 'a' \"b\"": ir.Evaluate,
    "00, 0_0, 1., .5, 10_0.0_1e+1_0, 0XfF": ir.Evaluate,
    "'\\N{BULLET}\\x41\\101\\\n'": None,
    "'''text'''": None,
    "...": None,
    "pass": None,
    "await_ = 1; del x, y[0], (z.a, w)": ir.Assign,
    "del x": ir.Delete,
    "assert x, f(y)": ir.Assert,
    "raise": ir.Raise,
    "raise E(x) from e": ir.Raise,
    "global x, y": ir.Scope,
    "import a.b.c": ir.Import,
    "import a.b as c, d": ir.Import,
    "from . import a": ir.Import,
    "from ...a.b import (c as d, e,)": ir.Import,
    "from a import *": ir.Import,
    "type Pair[T] = tuple[T, T]": None,
    "if x: y = 1; z = 2": ir.If,
    "if x:\n    y\nelif z:\n    w\nelse:\n    v": ir.If,
    "for x, *y in z, w:\n    break\nelse:\n    continue": ir.For,
    "while (x := f()):\n    pass\nelse:\n    y": ir.While,
    "with a as b, c as (d, e), f() as x.y:\n    pass": ir.With,
    "with (\n    a as b,\n    c,\n):\n    pass": ir.With,
    "try:\n    x\nexcept (A, B) as e:\n    y\nexcept:\n    z\nelse:\n    w\nfinally:\n    v": ir.Try,
    "try:\n    x\nexcept* (A, B) as e:\n    y": ir.Try,
    "try:\n    x\nfinally:\n    y": ir.Try,
    "def f(): ...": ir.Define,
    "def f(a, /, b: int = 1, *args: *Ts, c, d=2, **kwargs: int) -> 'list[int]':\n    return a, *args": ir.Define,
    "def f(*, a): return": ir.Define,
    "def f[T: int, *Ts, **P](x: T, *args: P.args) -> T: return x": ir.Define,
    "@a.b(c)[0]\n@(lambda f: f)\nasync def f():\n    async with a as b, c:\n        await x\n"
    "    async for y in z:\n        yield y": ir.Define,
    "def f():\n    nonlocal x\n    x = yield from y\n    return (yield)": ir.Define,
    "class A: x = 1": ir.DefineClass,
    "@d\nclass A[T](B, C[T], metaclass=M, **k):\n    '''doc'''\n    x: int = 1\n    def f(self): pass": ir.DefineClass,
    "match x, y:\n    case 1 | -2 | 1 + 2j | 'a' 'b' | None | True:\n        pass": ir.Match,
    "match x:\n    case a.b | C(1, k=2) as z if z:\n        pass\n    case [1, *rest] | (1, *rest) | {1: _, **rest}:\n"
    "        pass\n    case []:\n        pass\n    case {}:\n        pass\n    case str() | _:\n        pass": ir.Match,
    "match = case = type = _ = 1; match[case], type(match)": ir.Assign,
    "x = (\n    1,  # comment\n\n    2,\n)": ir.Assign,
    "if x:\n\n    # comment\n    y\n  # comment\n": ir.If,
}  # fmt: skip


def nodes(part: object) -> Iterator[ir.Node]:
    """Every node of a compact form."""
    if isinstance(part, ir.Node):
        yield part
    if isinstance(part, tuple | list):
        for item in part:
            yield from nodes(item)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from nodes(getattr(part, field.name))


def shape(part: object, dedent: int = 0) -> object:
    """A compact form as plain data; columns are counted from an indentation."""
    if isinstance(part, tuple | list):
        return [shape(item, dedent) for item in part]
    if not dataclasses.is_dataclass(part):
        return part
    held = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    if isinstance(part, ir.Node):
        del held["mark"]
        line, column, end_line, end_column = part.pos
        held["pos"] = (line, max(column - dedent, 0), end_line, max(end_column - dedent, 0))
    return type(part).__name__, {name: shape(value, dedent) for name, value in held.items()}


def source_of(text: str, node: ir.Node) -> str:
    """The source text where a node stands."""
    line, column, end_line, end_column = node.pos
    lines = text.splitlines(keepends=True)[line : end_line + 1]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return "".join(lines)


@pytest.mark.parametrize(("text", "kind"), STATEMENTS.items())
def test_a_statement_is_lowered(text: str, kind: type | None) -> None:
    """Each form has its node; what does nothing has none."""
    lowered = lower_segment(text + "\n")
    assert (kind is None) is (lowered == ())
    assert kind is None or type(lowered[0]) is kind


@pytest.mark.parametrize("text", [text for text in STATEMENTS if "\\\n" not in text and "'''" not in text])
def test_an_indented_statement_is_the_same_further_right(text: str) -> None:
    """The columns are those of the file."""
    assert shape(lower_segment(text + "\n")) == shape(lower_segment(textwrap.indent(text, " " * 8) + "\n"), 8)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_node_stands_where_its_source_stands(text: str) -> None:
    """Names, attributes and calls are found again in the text by their places."""
    for node in nodes(lower_segment(text + "\n")):
        source = source_of(text + "\n", node)
        if isinstance(node, ir.Name):
            assert node.id == source or source.lstrip("*").startswith(node.id) or node.id == "_"
        elif isinstance(node, ir.Attribute):
            assert source.endswith(f".{node.attr}")
        elif isinstance(node, ir.Call):
            assert source.endswith(")")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' 'b'", "ab"),
        ("-3", -3),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("2j", 2j),
        ("b'a' b'b'", b"ab"),
        ("r'\\d' '\\n'", "\\d\n"),
        ("True", True),
        ("None", None),
        ("...", ...),
    ],
)
def test_a_literal_has_its_value(text: str, value: object) -> None:
    """The value is that which Python gives it."""
    (statement,) = lower_segment(f"x = {text}\n")
    assert isinstance(statement, ir.Assign)
    assert isinstance(statement.value, ir.Literal)
    assert (type(value), value) == (type(statement.value.value), statement.value.value)


def code(text: str) -> ir.Code:
    (statement,) = lower_segment(text + "\n")
    assert isinstance(statement, ir.Define)
    return statement.code


def test_parameters_keep_their_kinds() -> None:
    """Positional-only ones are positional; a bare star is no parameter."""
    parameters = code("def f(a, /, b, c=1, *args, d, e=2, **kwargs): pass").parameters
    kinds = {"a": "positional", "b": "positional", "c": "positional", "args": "*", "d": "keyword", "e": "keyword"}
    assert kinds | {"kwargs": "**"} == {parameter.name: parameter.kind for parameter in parameters}
    assert ["c", "e"] == [parameter.name for parameter in parameters if parameter.default is not None]
    assert [("a", "keyword")] == [(p.name, p.kind) for p in code("def f(*, a): pass").parameters]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    yield 1", True),
        ("def f():\n    x = yield from y", True),
        ("def f():\n    if x:\n        return (yield)", True),
        ("def f():\n    return 1", False),
        ("def f():\n    def g():\n        yield 1\n    return g", False),
        ("def f():\n    return lambda: (yield)", False),
        ("def f(x=lambda: (yield)):\n    return x", False),
        ("def f():\n    class A:\n        def g(self):\n            yield", False),
    ],
)
def test_a_generator_is_told_by_its_own_yield(text: str, expected: bool) -> None:
    """A yield of an inner function is none of the outer one's."""
    assert expected is code(text).is_generator


def test_the_names_that_a_function_reads_include_those_of_inner_ones() -> None:
    """A closure holds what is read anywhere inside; a name of the other function is none of its own."""
    loads = code("def f(a):\n    b = c\n    def g():\n        return d, lambda: e\n    return [h for h in i]").loads
    assert {"c", "d", "e", "i"} <= loads
    assert not {"f", "other"} & loads


@pytest.mark.parametrize("text", ["def f(:\n", "x = = 1\n", "print 'x'\n", "x = (\n", "    x\n  y\n"])
def test_what_is_not_python_is_refused(text: str) -> None:
    """There is one error for every kind of brokenness."""
    with pytest.raises(UnparsableSource):
        lower_segment(text)


LIBRARY = Path(sysconfig.get_path("stdlib"))
SAMPLE = sorted(path for path in LIBRARY.glob("*.py") if 500 < path.stat().st_size < 25_000)[::3][:30]


def calls_of(text: str) -> set[tuple[int, int, int, int]]:
    """Where Python itself sees calls; the names of an encoding count characters, not bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    outside = [part for node in ast.walk(tree) for part in ignored(node)]
    hidden = {id(inner) for part in outside for inner in ast.walk(part)}
    lines = [line.encode() for line in text.split("\n")]

    def characters(line: int, column: int) -> int:
        return len(lines[line - 1][:column].decode())

    return {
        (n.lineno - 1, characters(n.lineno, n.col_offset), n.end_lineno - 1, characters(n.end_lineno, n.end_col_offset))
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and id(n) not in hidden
    }


def ignored(node: ast.AST) -> Iterator[ast.AST]:
    """What the compact form leaves out: causes of exceptions, keywords of classes; f-strings, misplaced before 3.12."""
    if isinstance(node, ast.JoinedStr):
        yield node
    elif isinstance(node, ast.Raise) and node.cause is not None:
        yield node.cause
    elif isinstance(node, ast.ClassDef):
        yield from node.keywords


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_a_file_of_the_standard_library_is_lowered(path: Path) -> None:
    """Every call that Python sees is there, at its place."""
    with tokenize.open(path) as file:
        text = file.read()
    lowered = {node.pos for node in nodes(lower_segment(text)) if isinstance(node, ir.Call)}
    assert set() == calls_of(text) - lowered


@pytest.mark.parametrize("path", SAMPLE[::3], ids=lambda path: path.name)
def test_every_function_of_the_standard_library_is_found(path: Path) -> None:
    """The index of a file leads to each function's compact form, at the function's line."""
    module = Module(path.stem, path)
    definitions = list(module.index.all_functions())
    for definition in definitions:
        found = definition.code
        assert found is not None and definition.name == found.name, definition.qualname
        assert f"def {definition.name}" in module.source_of(definition.segment)
    assert module.problem is None


OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", "==", "<", "is", "in", "and", "or")
NAMES = st.sampled_from(["a", "b", "torch", "größe"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers().map(str) | st.sampled_from(["None", "'s'", "1.5", "..."]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda parts: "({} {} {})".format(*parts)),
        st.tuples(st.sampled_from(["-", "~", "not "]), inner).map(lambda parts: "({}{})".format(*parts)),
        st.tuples(inner, NAMES).map(lambda parts: "({}).{}".format(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: f"f({', '.join(parts)})"),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda parts: "({})[{}:]".format(*parts)),
        st.tuples(inner, inner, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
        st.tuples(NAMES, inner, inner).map(lambda parts: "[{0} for {0} in {1} if {2}]".format(*parts)),
        st.tuples(NAMES, inner).map(lambda parts: "(lambda {}: {})".format(*parts)),
        st.tuples(NAMES, inner).map(lambda parts: "({} := {})".format(*parts)),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(EXPRESSIONS)
def test_any_expression_is_lowered(text: str) -> None:
    """Whatever parses is lowered, and its calls stand where Python sees them."""
    text = f"x = {text}\n"
    lowered = {node.pos for node in nodes(lower_segment(text)) if isinstance(node, ir.Call)}
    assert calls_of(text) == lowered
