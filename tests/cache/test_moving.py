"""What stands in a file whose lines have moved is moved with them, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from graphlint.cache.moving import Moving
from graphlint.finding import Condition, Hop, Region, Span

HERE, ELSEWHERE = "/p/step.py", "/p/run.py"
MOVING = Moving({HERE: {3: 5, 4: 7}})


@dataclass
class Found:
    places: dict[tuple[str, Span], tuple[Hop, ...]]
    line: tuple[str, int]
    text: str


def test_places_in_the_file_get_other_lines() -> None:
    """In whatever holds them; columns stay."""
    found = Found({("x", Span(HERE, 3, 2, 4, 9)): (Hop(HERE, 4, "f"), Hop(ELSEWHERE, 4, "g"))}, (HERE, 3), "a text")
    moved = Found({("x", Span(HERE, 5, 2, 7, 9)): (Hop(HERE, 7, "f"), Hop(ELSEWHERE, 4, "g"))}, (HERE, 5), "a text")
    assert moved == MOVING.moved(found)
    assert {Region("k", HERE, 5)} == MOVING.moved({Region("k", HERE, 3)})
    assert [Condition("c", HERE, 7)] == MOVING.moved([Condition("c", HERE, 4)])
    assert Span(HERE, 5) == MOVING.moved(Span(HERE, 3))


def test_places_in_other_files_stay() -> None:
    """Even where nobody knows of such a line."""
    assert (Span(ELSEWHERE, 9, 1, 9, 2), (ELSEWHERE, 9)) == MOVING.moved((Span(ELSEWHERE, 9, 1, 9, 2), (ELSEWHERE, 9)))


@pytest.mark.parametrize(
    "part",
    [Span(HERE, 9), (HERE, 9), "kept at step.py:3", {"text": "kept at step.py:3"}],
    ids=["span", "line", "s", "d"],
)
def test_what_nobody_can_move_is_told(part: object) -> None:
    """A line that was not looked at, and one that a text names."""
    with pytest.raises(LookupError):
        MOVING.moved(part)
