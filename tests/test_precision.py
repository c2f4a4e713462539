"""Findings are drawn at random from trees, read by hand, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from precision.sample import draw, rate, read_lines

JUDGED = Path(__file__).parent / "precision" / "judged.jsonl"


def _finding(line: int, **changes: object) -> dict[str, object]:
    found = {"path": "a.py", "line": line, "code": "GL101", "confidence": "medium", "message": "m", "severity": "error"}
    return found | {"when": [{"text": "flag", "path": "a.py", "line": 1}]} | changes


def test_each_tree_is_drawn_from_in_turn() -> None:
    """Errors and warnings that may be shown, the same ones for the same seed."""
    many = [_finding(line) for line in range(50)]
    few = [_finding(1, severity="warning"), _finding(2, confidence="low"), _finding(3, severity="note")]
    drawn = list(draw(10, 1, {"many": many, "few": few}))
    assert [one["tree"] for one in drawn].count("few") == 1
    assert len(drawn) == 10
    assert {one["line"] for one in drawn if one["tree"] == "few"} == {1}
    assert drawn == list(draw(10, 1, {"few": few, "many": list(reversed(many))}))
    assert drawn != list(draw(10, 2, {"few": few, "many": many}))
    assert drawn[0]["when"] == ["flag"]


def is_wrongly_sure(one: Mapping[str, Any]) -> bool:
    """Whether it was said that something happens always, and it does not."""
    return one["confidence"] == "high" and not one["is_true"]


def test_what_nobody_has_read_is_not_counted() -> None:
    """A share is one of findings that are judged."""
    (drawn,) = draw(1, 1, {"tree": [_finding(1)]})
    with pytest.raises(ValueError, match="not judged"):
        rate([drawn])
    assert rate([drawn | {"is_true": True}]) == "1 of 1 true (100%); medium: 1 of 1"
    quiet = drawn | {"is_true": False, "code": "GL511", "confidence": "high"}
    assert rate([drawn | {"is_true": True}, quiet]).splitlines() == [
        "1 of 2 true (50%); high: 0 of 1, medium: 1 of 1",
        "GL4, GL5, GL6, GL7: 0 of 1 true (0%); high: 0 of 1",
    ]


def test_the_sample_that_was_read_is_judged_throughout() -> None:
    """Each has a verdict, and what is false has its reason."""
    judged = read_lines(JUDGED)
    assert len(judged) >= 100
    assert len({one["tree"] for one in judged}) >= 25
    assert all(one["is_true"] in (True, False) and (one["is_true"] or one["because"]) for one in judged)
    assert not [one for one in judged if is_wrongly_sure(one) and not one.get("is_mended")]
