"""Sizes of graphs: what a request gets that is larger than it needs, or none of."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
# file: runner.py
import torch
from sizes import SIZES

class Runner:
    def __init__(self, model, most):
        self.model = model
        {sizes}
        self.x = torch.zeros(most, 8, device="cuda")
        self.graphs, self.results = {{}}, {{}}

    def capture(self):
        for size in {captured}:
            self.model(self.x[:size])
            self.graphs[size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[size]):
                self.results[size] = self.model(self.x[:size])

    def pick(self, n):
        {picked}

    def run(self, x):
        n = x.shape[0]
        size = self.pick(n)
        if size not in self.graphs:
            return self.model(x)
        self.x[:n].copy_(x)
        self.x[n:].zero_()
        self.graphs[size].replay()
        return self.results[size][:n].clone()

    def doubled(self, most):
        sizes, size = [], 1
        while size <= most:
            sizes.append(size)
            size *= 2
        if sizes[-1] != most:
            sizes.append(most)
        return list(reversed(sizes))

# file: sizes.py
SIZES = (1, 2, 4, 8)

def pick(n):
    found = None
    for size in SIZES:{mark}
        if size >= n:
            found = size
    return found
"""
TOLD = "  # expect: GL707"


def picking(folder: Path, picked: str, sizes: str = "self.sizes = [1, 2, 4, 8]", **given: str) -> tuple[object, object]:
    """What is expected and shown of the rule where a method picks a size like this."""
    given = {"captured": "reversed(self.sizes)", "mark": "", **given}
    analysis = analyse(folder, RUNNER.format(picked=picked, sizes=sizes, **given))
    return analysis.expected, [one for one in analysis.shown if one[2] == "GL707"]


PICKS = {
    "a loop that goes on": f"""found = None
        for size in self.sizes:{TOLD}
            if size >= n:
                found = size
        return found""",
    "a loop that leaves out what is too small": f"""found = None
        for size in self.sizes:{TOLD}
            if size < n:
                continue
            found = size
        return found""",
    "places": f"""at = -1
        for at_size, size in enumerate(self.sizes):{TOLD}
            if n <= size:
                at = at_size
        return self.sizes[at]""",
    "the first of descending ones": f"""for size in sorted(self.graphs, reverse=True):{TOLD}
            if size >= n:
                return size""",
    "what is kept under a size": f"""found = None
        for size, graph in sorted(self.graphs.items()):{TOLD}
            if size >= n:
                found = graph
        return found""",
    "what is kept under the first": """for size, graph in sorted(self.graphs.items()):
            if size >= n:
                return graph""",
    "the largest": f"return max(size for size in self.sizes if size >= n){TOLD}",
    "the next of reversed ones": f"return next((size for size in self.sizes[::-1] if size >= n), None){TOLD}",
    "the last of those that fit": f"""fitting = [size for size in sorted(self.graphs) if size >= n]
        return fitting[-1]{TOLD}""",
    "a loop that ends": """for size in self.sizes:
            if size >= n:
                return size""",
    "a loop that ends by hand": """found = None
        for size in self.sizes:
            if size >= n:
                found = size
                break
        return found""",
    "descending ones to the end": """found = None
        for size in reversed(self.sizes):
            if size >= n:
                found = size
            else:
                break
        return found""",
    "the last of descending ones": """found = None
        for size in reversed(self.sizes):
            if size >= n:
                found = size
        return found""",
    "the smallest so far": """found = self.sizes[-1]
        for size in self.sizes:
            if size >= n:
                found = min(found, size)
        return found""",
    "what is not asked for twice": """found = None
        for size in self.sizes:
            if size >= n and found is None:
                found = size
        return found""",
    "the largest that is small enough": "return max(size for size in self.sizes if size <= n)",
    "the smallest": "return min(size for size in self.sizes if size >= n)",
    "sizes of something else": """found = None
        for page in sorted(self.pages):
            if page >= n:
                found = page
        return found""",
}


@pytest.mark.parametrize("picked", PICKS.values(), ids=PICKS.keys())
def test_a_larger_graph_is_picked_than_a_request_needs(tmp_path: Path, picked: str) -> None:
    expected, shown = picking(tmp_path, picked)
    assert shown == expected


SCAN = """found = None
        for size in {through}:{mark}
            if size >= n:
                found = size
        return found"""
ORDERS = {
    "self.sizes = self.doubled(most)": -1,
    "self.sizes = [*range(1, 8), *range(8, most, 8)]": 1,
    "self.sizes = [1, 2, 4] + [8 * i for i in range(1, 33)]": 1,
    "self.sizes = [2**i for i in range(5)] + [most]": 1,
    "self.sizes = list(range(most, 0, -1))": -1,
    "self.sizes = model.sizes; self.sizes.sort()": 1,
    "self.sizes = model.sizes; self.sizes.sort(reverse=True)": -1,
    "self.sizes = (1, 2) if most < 3 else (1, 2, 4)": 1,
    "self.sizes = SIZES": 0,
    "self.sizes = model.sizes": 0,
    "self.sizes = [1, 2, most, 4]": 0,
    "self.sizes = [1, 2, 4]; self.sizes.insert(0, most)": 0,
    "self.sizes = [most - i for i in range(4)]": 0,
}


@pytest.mark.parametrize(("sizes", "order"), ORDERS.items())
def test_the_order_of_sizes_is_that_of_what_makes_them(tmp_path: Path, sizes: str, order: int) -> None:
    for number, (through, kind) in enumerate([("self.sizes", 1), ("reversed(self.sizes)", -1)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        picked = SCAN.format(through=through, mark=TOLD if order == kind else "")
        expected, shown = picking(folder, picked, sizes)
        assert shown == expected


@pytest.mark.parametrize(("captured", "mark"), [("SIZES", TOLD), ("(1, 2)", "")])
def test_sizes_of_another_file_may_be_picked_there(tmp_path: Path, captured: str, mark: str) -> None:
    expected, shown = picking(tmp_path, "return n", "pass", captured=captured, mark=mark)
    assert shown == expected


@pytest.mark.parametrize(
    ("captured", "is_told"),
    [
        ("reversed(self.sizes[-1:])", True),
        ("self.sizes[:1]", True),
        ("self.sizes[1:]", False),
        ("self.sizes[::-1]", False),
    ],
)
def test_a_single_size_is_captured_where_each_is_looked_up(tmp_path: Path, captured: str, is_told: bool) -> None:
    analysis = analyse(
        tmp_path, RUNNER.format(picked="return n", sizes="self.sizes = SIZES", captured=captured, mark="")
    )
    assert ("GL707" in {code for _, _, code in analysis.shown}) is is_told


USED = """
# file: graphed.py
import torch

class Graphed:
    def __init__(self, model):
        self.model = model

    def capture(self, x):
        self.x = x
        self.model(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)

# file: engine.py
import torch
from graphed import Graphed

class Engine:
    def __init__(self, model, sizes):
        self.sizes, self.runners = sorted(sizes), {{}}
        for size in self.sizes{part}:{told}
            self.runners[size] = Graphed(model)
            self.runners[size].capture(torch.zeros(size, 8, device="cuda"))

    def runner(self, n):
        return self.runners[n] if n in self.runners.keys() else None

    def padded(self, n):
        found = n
        for size in self.sizes:{mark}
            if size >= n:
                found = size{end}
        return found
"""


@pytest.mark.parametrize(
    "given",
    [
        {"part": "[-1:]", "told": TOLD, "mark": TOLD, "end": ""},
        {"part": "", "told": "", "mark": "", "end": "; break"},
    ],
    ids=["passed over", "all of them"],
)
def test_who_uses_what_captures_in_another_file_picks_as_well(tmp_path: Path, given: dict[str, str]) -> None:
    analysis = analyse(tmp_path, USED.format(**given))
    assert [one for one in analysis.shown if one[2] == "GL707"] == analysis.expected
