"""The places of nodes are those that libcst itself works out."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from graphlint.static.syntax.lowering.concrete.positions import positions

SOURCES = sorted(Path(__file__).resolve().parent.parent.parent.glob("graphlint/static/**/*.py"))


@pytest.mark.parametrize("path", SOURCES[::4], ids=lambda path: path.name)
def test_a_place_is_what_libcst_says(path: Path) -> None:
    """Every recorded node; a block of statements is left out, since only its end is asked for."""
    wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")), unsafe_skip_copy=True)
    known = wrapper.resolve(PositionProvider)
    places = positions(wrapper.module, 1)
    expected = {
        id(node): (span.start.line, span.start.column, span.end.line, span.end.column)
        for node, span in known.items()
        if not isinstance(node, cst.IndentedBlock) and id(node) in places
    }
    assert expected == {node: place for node, place in places.items() if node in expected}
    assert len(expected) > len(places) / 2
