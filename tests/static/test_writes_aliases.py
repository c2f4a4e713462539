"""Numbers of a table that a region changes through a local name for one of its items."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

TABLE = {{}}
SEEN = {{"a": {{"n": 0}}}}

def step(x, given):
    key = x.shape[0]
    if key not in TABLE:
        TABLE[key] = {{"rows": torch.zeros(8, 4, device="cuda"), "next": 0}}
    {body}
    return x * 2

x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(x, {{"next": 0}})
graph.replay()
"""
TOLD = {
    "an item of a table": 'entry = TABLE[key]\n    x = x * entry["next"]\n    entry["next"] += 1  # expect: GL401',
    "an item with a known key": 'entry = SEEN["a"]\n    x = x * entry["n"]\n    entry["n"] += 1  # expect: GL401',
}
SILENT = {
    "a table of its own": 'entry = {"next": 0}\n    x = x * entry["next"]\n    entry["next"] += 1',
    "another table, too": 'entry = TABLE[key]\n    entry = given\n    x = x * entry["next"]\n    entry["next"] += 1',
    "a tensor": 'entry = TABLE[key]\n    entry["rows"] += 1',
    "a number that was taken out": 'count = SEEN["a"]["n"]\n    x = x * count\n    count += 1',
}


@pytest.mark.parametrize("name", TOLD)
def test_a_number_in_a_table_changes_once_under_whatever_name(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, textwrap.dedent(PROGRAM.format(body=TOLD[name])))
    assert [one for one in analysis.shown if "GL401" in str(one)] == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_what_is_no_number_of_a_table_is_silent(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, textwrap.dedent(PROGRAM.format(body=SILENT[name])))
    assert not [one for one in analysis.shown if "GL401" in str(one)]


PARTS = """
import torch

class Cache:
    def __init__(self):
        self.rows, self.filled = torch.zeros(4, device="cuda"), 0

class Model:
    def __init__(self):
        self.caches = [Cache() for _ in range(2)]

    def forward(self, x, given):
        for {names} in {held}:
            x = x + cache.rows
            cache.filled += 1{mark}
        return x

model, x = Model(), torch.zeros(4, device="cuda")
model.forward(x, model.caches)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model.forward(x, model.caches)
for _ in range(3):
    graph.replay()
print([cache.filled for cache in model.caches])
"""


@pytest.mark.parametrize(
    ("names", "held", "mark"),
    [
        ("cache", "self.caches", "  # expect: GL401"),
        ("number, cache", "enumerate(self.caches)", "  # expect: GL401"),
        ("cache", "given", ""),
    ],
    ids=["of the object", "counted", "given by whoever calls"],
)
def test_objects_that_an_attribute_holds_are_of_the_object(tmp_path: Path, names: str, held: str, mark: str) -> None:
    """A loop through them gives each a name; what is handed to a function may be others in each run."""
    analysis = analyse(tmp_path, PARTS.format(names=names, held=held, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL401"]
