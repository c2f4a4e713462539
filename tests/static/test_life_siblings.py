"""A buffer that is filled up to where a request ends, beside one of its kind that is reset before."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

LISTS = """
import torch

class Buffers:
    def refill(self, batch, n, size):
        if size != n:
            {reset}
        to = [self.ids[:n], self.slots[:n]]
        of = [batch.ids, batch.slots]
        if self.slots_window is not None:
            to.append(self.slots_window[:n]){expected}
            of.append(batch.slots_window)
        torch._foreach_copy_(to, of)
        self.graph.replay()
"""
ITEMS = """
import torch

class Runner:
    def run(self, batch, n):
        held = self.graph_buffers
        {reset}
        held["ids"][:n] = batch.ids
        held["table"][:n].copy_(batch.table)
        held["draft_table"][:n].copy_(batch.draft_table){expected}
        {after}
        self.graph.replay()
"""
EXPECTED = "  # expect: GL511"
TOLD = [
    LISTS.format(reset="self.slots.zero_()", expected=EXPECTED),
    ITEMS.format(reset='held["table"].fill_(-1)', after="", expected=EXPECTED),
    ITEMS.format(reset='held["table"].fill_(-1); held["draft_table"][:n].zero_()', after="", expected=EXPECTED),
]
SILENT = {
    "nothing is reset": LISTS.format(reset="pass", expected=""),
    "another kind is reset": LISTS.format(reset="self.ids.zero_()", expected=""),
    "both are reset": LISTS.format(reset="self.slots.zero_(); self.slots_window.zero_()", expected=""),
    "the rest is filled": ITEMS.format(
        reset='held["table"].fill_(-1)', after='held["draft_table"][n:].fill_(-1)', expected=""
    ),
    "it is reset as far as the graph reads": ITEMS.format(
        reset='held["table"].fill_(-1); held["draft_table"][:size].zero_()', after="", expected=""
    ),
    "it is only reset": ITEMS.format(reset='held["table"].fill_(-1)', after="", expected="").replace(
        "copy_(batch.draft_table)", "zero_()"
    ),
    "it is of the host": ITEMS.format(reset='held["table"].fill_(-1)', after="", expected="").replace(
        "draft_table", "table_cpu"
    ),
}


@pytest.mark.parametrize("program", TOLD)
def test_a_variant_of_what_is_reset_keeps_the_rest_of_an_earlier_request(tmp_path: Path, program: str) -> None:
    """Filled through lists, or one by one; no region has to be seen."""
    analysis = analyse(tmp_path, textwrap.dedent(program))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_buffers_that_are_reset_alike_or_are_no_variants_are_silent(tmp_path: Path, name: str) -> None:
    assert not analyse(tmp_path, textwrap.dedent(SILENT[name])).shown


MOST = """
import torch

class Runner:
    def run(self, batch, n, size):
        held = self.graph_buffers
        if n != size:
            {reset}
        held.input_ids[:n].copy_(batch.input_ids){told}
        held.lengths[:n].copy_(batch.lengths)
        held.places[:n].copy_(batch.places)
        held.positions[:n].copy_(batch.positions)
        held.accepted[:n].copy_(batch.accepted)
        held.hidden[:n].copy_(batch.hidden)
        self.graph.replay()
"""
RESET = ["lengths", "places", "positions", "accepted"]


def reset_of(names: list[str]) -> str:
    return "; ".join(f"held.{name}.zero_()" for name in names)


def test_an_index_that_is_not_reset_where_most_buffers_are_keeps_the_rest(tmp_path: Path) -> None:
    """What is no index does no harm behind the request: `hidden` is silent."""
    analysis = analyse(tmp_path, MOST.format(reset=reset_of(RESET), told=EXPECTED))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    "names",
    [RESET[:2], [], [*RESET, "input_ids"], ["lengths", "places", "positions"]],
    ids=["few", "none", "all", "half"],
)
def test_an_index_is_not_forgotten_where_few_are_reset_or_it_is(tmp_path: Path, names: list[str]) -> None:
    """Then nothing says that anything reads behind the request."""
    assert not analyse(tmp_path, MOST.format(reset=reset_of(names) or "pass", told="")).shown
