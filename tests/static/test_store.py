"""What was lowered once is read back as it was, with the places of everything in it."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from test_lowering import STATEMENTS, nodes, shape

from graphlint.static.syntax import ir, store
from graphlint.static.syntax.coding import nodes_of
from graphlint.static.syntax.lowering import _lower, lower_segment
from graphlint.static.syntax.store import Store

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(CHECKOUT / "graphlint").rglob("*.py"), *(CHECKOUT / "fixtures").rglob("*.py")])


def segments(path: Path) -> list[str]:
    """The statements of a file, and the methods of its classes, which are indented."""
    text = path.read_text("utf-8")
    lines, found = text.split("\n"), []
    for node in ast.parse(text).body:
        found += [node, *(node.body if isinstance(node, ast.ClassDef) else ())]
    return ["\n".join(lines[one.lineno - 1 : one.end_lineno]) + "\n" for one in found]


def read_back(texts: list[str], asked: bool) -> list[ir.Block]:
    """The forms of texts from a store that another one has written; some of them `asked` for places before."""
    first = Store("head", "")
    for text in texts:
        block = first.find(text, _lower)
        if asked and block:
            assert block[0].pos
    first.collect()
    second = Store("head", first.text())
    return [second.find(text, lambda text: pytest.fail(f"lowered again: {text}")) for text in texts]


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_statement_is_read_back(text: str) -> None:
    """With its places, where they are kept."""
    (block,) = read_back([text + "\n"], asked=True)
    assert shape(lower_segment(text + "\n")) == shape(block)


@pytest.mark.parametrize("value", ["1e999", "-0.0", "2j", "b'\\xff'", "'\\ud800'", "10**9", "...", "None", "1" * 900])
def test_every_constant_is_read_back(value: str) -> None:
    """As what it was, and not only as what counts as equal."""
    (block,) = read_back([f"x = {value}\n"], asked=True)
    assert repr(shape(lower_segment(f"x = {value}\n"))) == repr(shape(block))


def test_real_files_are_read_back() -> None:
    """Fixtures and graphlint's own code; with places or without, which are then those of another lowering."""
    texts = [text for path in random.Random(0).sample(SOURCES, 60) for text in segments(path)]
    lowered = [shape(_lower(text)) for text in texts]
    for kept in (read_back(texts, asked=True), _again(texts)):
        assert lowered == [shape(block) for block in kept]


def _again(texts: list[str]) -> list[ir.Block]:
    first = Store("head", "")
    for text in texts:
        first.find(text, _lower)
    first.collect()
    second = Store("head", first.text())
    return [second.find(text, _lower) for text in texts]


def test_no_node_stands_in_two_places() -> None:
    """What is read back has none, and nodes are told apart by what they are."""
    for path in SOURCES:
        for text in segments(path)[:20]:
            block = _lower(text)
            found = [id(node) for node in nodes_of(block)]
            assert len(found) == len(set(found)), text
            assert len(found) == sum(isinstance(one, ir.Node) for one in nodes(block))


def test_places_that_are_asked_for_later_are_kept_then() -> None:
    """Once, and not again."""
    first = Store("head", "")
    first.find("x = f(1)\n", _lower)
    first.collect()
    second = Store("head", first.text())
    assert (0, 0, 0, 8) == second.find("x = f(1)\n", _lower)[0].pos
    assert second.collect()
    third = Store("head", second.text())
    assert (0, 0, 0, 8) == third.find("x = f(1)\n", lambda text: pytest.fail(text))[0].pos
    assert {} == third.collect()


@pytest.mark.parametrize("seed", range(10))
def test_a_broken_line_is_lowered_again(seed: int) -> None:
    """Whatever of it is another."""
    chance, first = random.Random(seed), Store("head", "")
    texts = [f"x_{number} = f({number})\n" for number in range(5)]
    for text in texts:
        first.find(text, _lower)
    first.collect()
    broken = list(first.text())
    for _ in range(5):
        broken[chance.randrange(5, len(broken))] = chance.choice("x0]\n ")
    second = Store("head", "".join(broken))
    assert [shape(_lower(text)) for text in texts] == [shape(second.find(text, _lower)) for text in texts]


def test_a_store_of_another_release_is_not_read() -> None:
    """And is replaced by what is lowered now."""
    first = Store("one", "")
    first.find("x = 1\n", _lower)
    first.collect()
    second = Store("other", first.text())
    second.find("y = 1\n", _lower)
    second.collect()
    assert 2 == len(second.text().split("\n"))


def test_a_store_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody asked for in the last run is left out of one that is large."""
    monkeypatch.setattr(store, "_LARGEST", 10)
    first = Store("head", "")
    for number in range(5):
        first.find(f"x = {number}\n", _lower)
    first.collect()
    second = Store("head", first.text())
    second.find("x = 1\n", _lower)
    second.collect()
    assert 2 == len(second.text().split("\n"))
