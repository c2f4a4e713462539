"""Python's own parser and libcst lead to the same compact forms, with the same places."""

from __future__ import annotations

import sysconfig
import textwrap
from pathlib import Path

import pytest
from test_lowering import STATEMENTS, shape

from graphlint.static.index.module import Module
from graphlint.static.syntax.lowering import lower_segment
from graphlint.static.syntax.lowering.abstract import positions
from graphlint.static.syntax.lowering.abstract import statements as abstract
from graphlint.static.syntax.lowering.concrete import statements as concrete
from graphlint.static.syntax.remembered import forget
from graphlint.static.syntax.trees import parse

CHECKOUT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((CHECKOUT / "fixtures").rglob("*.py"))
LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
ODD = [
    "for x, in y: pass",
    "for (x,), in y: pass",
    "x = a,  # comment",
    "x = ( a , b , )",
    "x = ( a , b , # )\n  )",
    "x = ( )",
    "x = (  # comment\n)",
    "x = (a), b",
    "x = (a), (b)",
    "x = ((a), (b))",
    "x = ((a, b), c), ((a), )",
    "x = (((a))),",
    "x = ( # (\n   a, b)",
    "x = (\\\n   a, b)",
    "f(x for x in y), f( x for x in y ), f((x for x in y)), f( ( (x) for x in (y) if (z) ) )",
    "(a and (b) and c and ((d)) ) or e or (f)",
    "a and (b # )\n  and c) and d and e",
    'größe = (größe, "ö"), (a and größe and b), f"{größe} ö {größe.ö}"',
    "x[(1, 2)], x[1, 2], x[(1), 2], x[*a], x[*a, 1], x[(1,)], x[1,], x[(a):, (b, c)]",
    "del (x, y), z",
    "del (x, y)",
    "del x, y,",
    "with (a, b): pass",
    "with (a as b, (c)): pass",
    "with (a), (b): pass",
    "with (a, b) as c: pass",
    "match x:\n    case (a, b) | [a, b]: pass\n    case (a), b: pass\n    case [a], b: pass\n    case ( a, b, ): pass\n"
    "    case a, *_: pass\n    case (): pass\n    case -1: pass\n    case {1: (a, b), **rest}: pass",
    "f(a, *b, c=1, *d, **e, g=2)",
    "f'{a!r} {b:>{c}} {d=} {{}}' 'x\\n' f'\\n{a}\\t' rf'\\d{e}' 'tail'",
    "f'{a}\\n' 'tail\\x41' rf'\\n'",
    "f'''\n{a}\n{ (b, c) }\n{\nd}'''",
    "b'x'",
    "'a' 'b'",
    "('a')",
    "(f(x))",
    "assert (a, b), c",
    "@ (a)\ndef g(x, /, y: int=1, *args: (a), z=2, **kw) -> (a, b): return",
    "x = -1, - 1, -(1), -True, -1j, +1",
    "x = (a\n     .b\n     .c(d)\n     )[e]",
]  # fmt: skip


def assert_same(text: str) -> None:
    assert shape(concrete.lower(text)) == shape(abstract.lower(text))


def segments(path: Path) -> list[str]:
    """What is lowered of a file: its functions and methods, and the statements beside them."""
    module = Module(path.stem, path)
    functions = [definition.segment for definition in module.index.all_functions()]
    return [module.source_of(segment) for segment in (*functions, *module.index.statements)]


def is_read(text: str) -> bool:
    """Whether this release of Python knows the syntax."""
    try:
        parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("text", [text for text in (*STATEMENTS, *ODD) if is_read(text)])
def test_a_statement_has_one_form(text: str) -> None:
    """Whoever has parsed it, and wherever it stands."""
    assert_same(text + "\n")
    if "'''" not in text:
        assert_same(textwrap.indent(text, "    ") + "\n")


@pytest.mark.parametrize("paths", [FIXTURES[::3], LIBRARY[::20]], ids=["ours", "others"])
def test_a_file_has_one_form(paths: list[Path]) -> None:
    """Fixtures, and files of the standard library."""
    texts = [text for path in paths for text in segments(path)]
    assert len(texts) > 100
    for text in texts:
        assert_same(text)


def test_what_python_misplaces_or_cannot_read_is_left_to_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in f-strings before 3.12, and syntax of releases to come."""
    text = "x = f'{first} {second}'\n"
    known = shape(lower_segment(text))

    def misplaced(*_: object) -> None:
        raise positions.Misplaced

    monkeypatch.setattr(positions.Positions, "check_names", misplaced)
    forget()
    assert known == shape(lower_segment(text))
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(abstract, "statements", lambda _: compile("type =", "", "exec"))
        assert known == shape(lower_segment(text))
    forget()


def test_a_misplaced_name_is_seen() -> None:
    """Where the text of a name is another one, Python does not know where it stands."""
    tree = parse("x = f'{first}'\n")
    places = positions.Positions("x = f'{other}'\n", 1)
    with pytest.raises(positions.Misplaced):
        places.check_names(tree.body[0].value)
