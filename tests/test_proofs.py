"""No effect of the catalogue is decoration: without it, something that was measured or run goes unnoticed."""

from __future__ import annotations

import tomllib

import pytest
from sweep.proofs import PAGE, is_decisive, rewritten


def unproven() -> list[tuple[str, int, dict[str, str]]]:
    """The effects without a proof: the operation, the place among its effects, and the entry."""
    effects = tomllib.loads(PAGE.read_text("utf-8"))["effects"]
    return [(name, n, row) for name, rows in effects.items() for n, row in enumerate(rows) if "proof" not in row]


def test_the_proofs_in_the_catalogue_are_those_that_are_found(bless: bool) -> None:
    """`pytest --bless` writes them anew."""
    present = PAGE.read_text("utf-8")
    found = rewritten(present)
    if bless:
        PAGE.write_text(found, "utf-8")
    assert bless or found.splitlines() == present.splitlines(), "run `pytest --bless tests/test_proofs.py`"


@pytest.mark.parametrize(("name", "place", "row"), [pytest.param(*one, id=f"{one[0]}-{one[1]}") for one in unproven()])
def test_an_effect_without_a_proof_says_why_and_has_an_example(name: str, place: int, row: dict[str, str]) -> None:
    """What cannot be measured here is named as such, and is needed for its example all the same."""
    assert row.get("assumed"), "no statement and no program proves it"
    assert is_decisive((name, place), row["example"])
