"""Sizes of graphs: what a request gets that is larger than all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import bisect
import numpy
import torch

class Runner:
    def __init__(self, model, most):
        self.model, self.most = model, most
        self.sizes = {sizes}
        {added}
        self.x = torch.zeros(most, 8, device="cuda")
        self.y = torch.zeros(most, 8, device="cuda")
        self.graphs, pool = {{}}, None
        for size in reversed(self.sizes):
            self.y[:size] = model(self.x[:size]); torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.y[:size] = model(self.x[:size])
            pool = pool or graph.pool()
            self.graphs[size] = graph

    def pick(self, n):
        {picked}

    def run(self, x):
        n = x.shape[0]
        size = self.pick(n)
        if size is None:
            return self.model(x)
        self.x[:n].copy_(x)
        self.x[n:].zero_()
        self.graphs[size].replay()
        return self.y[:n].clone()
"""
TOLD = "  # expect: GL511"
FIXED = "(1, 2, 4, 8)"


def picking(folder: Path, picked: str, sizes: str = FIXED, added: str = "pass") -> tuple[object, object]:
    """What is expected and shown of the rule where a method picks a size like this."""
    analysis = analyse(folder, RUNNER.format(picked=picked, sizes=sizes, added=added))
    return analysis.expected, [one for one in analysis.shown if one[2] == "GL511"]


LARGEST = {
    "a default of min": f"return min((s for s in self.sizes if s >= n), default=max(self.sizes)){TOLD}",
    "a default of next": f"return next((s for s in self.sizes if n <= s), self.sizes[-1]){TOLD}",
    "behind a loop": f"""for s in self.sizes:
            if s >= n:
                return s
        return self.sizes[-1]{TOLD}""",
    "a default of or": f"return next((s for s in self.sizes if s >= n), None) or self.sizes[-1]{TOLD}",
    "of sorted ones": f"return next((s for s in sorted(self.sizes) if s >= n), max(self.sizes)){TOLD}",
    "the last place": f"return self.sizes[min(bisect.bisect_left(self.sizes, n), len(self.sizes) - 1)]{TOLD}",
    "the last place, by a name": f"""place = bisect.bisect_left(self.sizes, n)
        return self.sizes[min(place, len(self.sizes) - 1)]{TOLD}""",
    "the last place, behind the end": f"""place = bisect.bisect_left(self.sizes, n)
        if place == len(self.sizes):
            place -= 1{TOLD}
        return self.sizes[place]""",
    "the last one, behind the end": f"""place = bisect.bisect_left(self.sizes, n)
        if place >= len(self.sizes):
            return self.sizes[-1]{TOLD}
        return self.sizes[place]""",
    "none behind the end": """place = bisect.bisect_left(self.sizes, n)
        if place == len(self.sizes):
            return None
        return self.sizes[place]""",
    "the last place, which has a name": f"""place = min(bisect.bisect_left(self.sizes, n), len(self.sizes) - 1){TOLD}
        return self.sizes[place]""",
    "the nearest": f"return min(self.sizes, key=lambda s: abs(s - n)){TOLD}",
    "no answer": f"return next(s for s in self.sizes if s >= n){TOLD}",
    "the last of a loop that is left early": f"""for size in self.sizes:
            if size >= n:{TOLD}
                break
        return size""",
    "the largest where a filter gives none": f"return next(filter(lambda s: s >= n, self.sizes), self.sizes[-1]){TOLD}",
    "no answer of a filter": f"return next(filter(lambda s: s >= n, self.sizes)){TOLD}",
    "no answer in a list": f"return [s for s in self.sizes if s >= n][0]{TOLD}",
    "a default that is named so": f"return min((s for s in self.sizes if s >= n), default=self.most){TOLD}",
    "those that fit, or the largest": f"""fits = [s for s in self.sizes if s >= n]
        return fits[0] if fits else max(self.sizes){TOLD}""",
    "those that fit, by a statement": f"""fits = [s for s in sorted(self.graphs) if n <= s]
        if not fits:
            return max(self.graphs){TOLD}
        return min(fits)""",
    "those that fit, by a name of it": f"""fits = [s for s in self.sizes if s >= n]
        if len(fits) > 0:
            size = fits[0]
        else:
            size = self.sizes[-1]{TOLD}
        return size""",
    "a handler": f"""try:
            return next(s for s in self.sizes if s >= n)
        except StopIteration:
            return self.sizes[-1]{TOLD}""",
    "an error of min": "return min(s for s in self.sizes if s >= n)",
    "an error of min of those that fit": """fits = [s for s in self.sizes if s >= n]
        return min(fits)""",
    "no answer in those that fit": f"""fits = [s for s in self.sizes if s >= n]
        return fits[0]{TOLD}""",
    "no answer of keys": f"return next(s for s in sorted(self.graphs) if s >= n){TOLD}",
    "those that fit, or none": """fits = [s for s in self.sizes if s >= n]
        return fits[0] if fits else None""",
    "those that fit, whatever is asked": f"""fits = [s for s in self.sizes if s >= n]
        return fits[0] if self.is_small else max(self.sizes){TOLD}""",
    "those that fit, looked at before": """fits = [s for s in self.sizes if s >= n]
        if not fits:
            return None
        return fits[0]""",
    "those that are small enough": """fits = [s for s in self.sizes if s <= n]
        return fits[0] if fits else max(self.sizes)""",
    "those that fit, which is caught": """fits = [s for s in self.sizes if s >= n]
        try:
            return fits[0]
        except IndexError:
            return None""",
    "a default that is another": "return min((s for s in self.sizes if s >= n), default=self.fallback)",
    "a loop that is left early, or ends with nothing": """for size in self.sizes:
            if size >= n:
                break
        else:
            return None
        return size""",
    "a loop behind which somebody asks": """for size in self.sizes:
            if size >= n:
                break
        return size if size >= n else None""",
    "a filter with a default": "return next(filter(lambda s: s >= n, self.sizes), None)",
    "the last in a list": "return [s for s in self.sizes if s >= n][-1]",
    "no answer, of sorted ones": f"return next(s for s in sorted(self.sizes) if n <= s){TOLD}",
    "of a loop that ends": f"""for s in self.sizes:
            if s >= n:
                size = s
                break
        else:
            size = max(self.sizes){TOLD}
        return size""",
    "before a loop": f"""size = self.sizes[-1]{TOLD}
        for s in self.sizes:
            if s >= n:
                size = s
                break
        return size""",
    "before a loop from the largest on": f"""size = max(self.sizes){TOLD}
        for s in sorted(self.sizes, reverse=True):
            if s >= n:
                size = s
        return size""",
    "before a loop that ends at the first that is too small": f"""size = self.sizes[-1]{TOLD}
        for s in reversed(self.sizes):
            if s < n:
                break
            size = s
        return size""",
    "before a loop over what is turned round": f"""size = self.sizes[-1]{TOLD}
        for s in self.sizes[::-1]:
            if s >= n:
                size = s
        return size""",
    "no answer of a generator that has a name": f"""fits = (s for s in sorted(self.sizes) if s >= n)
        return next(fits){TOLD}""",
    "a generator that has a name, with a default": """fits = (s for s in sorted(self.sizes) if s >= n)
        return next(fits, None)""",
    "a generator that is used twice": """fits = (s for s in sorted(self.sizes) if s >= n)
        for s in fits:
            return next(fits)""",
    "none before a loop": """size = None
        for s in reversed(self.sizes):
            if s >= n:
                size = s
        return size""",
    "the smallest before a loop": """size = self.sizes[0]
        for s in reversed(self.sizes):
            if s >= n:
                size = s
        return size""",
    "the last place of a count": f"""place = 0
        while place < len(self.sizes) - 1 and self.sizes[place] < n:{TOLD}
            place += 1
        return self.sizes[place]""",
    "the last place of a count, turned round": f"""place = 0
        while self.sizes[place] < n and place + 1 < len(self.sizes):{TOLD}
            place += 1
        return self.sizes[place]""",
    "a count that goes on to the end": """place = 0
        while place < len(self.sizes) and self.sizes[place] < n:
            place += 1
        return self.sizes[place] if place < len(self.sizes) else None""",
    "a count behind a limit": """if n > self.most:
            return None
        place = 0
        while place < len(self.sizes) - 1 and self.sizes[place] < n:
            place += 1
        return self.sizes[place]""",
    "the last place of a search": f"""place = numpy.searchsorted(self.sizes, n)
        return self.sizes[min(place, len(self.sizes) - 1)]{TOLD}""",
    "a place that may not be there": "return self.sizes[bisect.bisect_left(self.sizes, n)]",
    "the last place of others": "return self.sizes[min(bisect.bisect_left(self.x, n), len(self.sizes) - 1)]",
    "the last place of somebody": "return self.sizes[min(n, len(self.sizes) - 1)]",
    "a loop that ends, none": """for s in self.sizes:
            if s >= n:
                size = s
                break
        else:
            size = None
        return size""",
    "another name before a loop": """size, largest = None, self.sizes[-1]
        most = self.sizes[-1]
        for s in self.sizes:
            if s >= n:
                size = s
                break
        return size""",
    "an error": "return next((s for s in self.sizes if s >= n), raise_for(n))",
    "none": "return next((s for s in self.sizes if s >= n), None)",
    "no answer for a number": "return next(s for s in self.sizes if s >= 4)",
    "no answer, looked at before": """if n > max(self.sizes):
            return None
        return next(s for s in self.sizes if s >= n)""",
    "no answer, which is caught": """try:
            return next(s for s in self.sizes if s >= n)
        except StopIteration:
            return None""",
    "the nearest of others": "return min([self.most], key=lambda s: abs(s - n))",
    "the least by another key": "return min(self.sizes, key=lambda s: s % n)",
    "refused before": """if n > self.most:
            return None
        return next((s for s in self.sizes if s >= n), self.sizes[-1])""",
    "the largest that is filled": "return max(s for s in self.sizes if s <= n)",
    "behind a loop, none": """for s in self.sizes:
            if s >= n:
                return s
        return None""",
}


@pytest.mark.parametrize("picked", LARGEST.values(), ids=LARGEST)
def test_the_largest_graph_computes_no_more_than_it_has(tmp_path: Path, picked: str) -> None:
    """What is behind its end is left as an earlier request had it."""
    expected, shown = picking(tmp_path, picked)
    assert expected == shown


OTHERS = """
def rounded(x, buckets):
    return next((one for one in buckets if one >= x), buckets[-1])
"""


def test_what_is_no_size_of_a_graph_may_be_rounded_to_the_largest(tmp_path: Path) -> None:
    """Who captures does not go through it, and keeps nothing under it."""
    program = RUNNER.format(picked="return n", sizes=FIXED, added="pass") + OTHERS
    assert [] == [one for one in analyse(tmp_path, program).shown if one[2] == "GL511"]


@pytest.mark.parametrize("sizes", ["list(range(1, most + 1))", "[1, 2, most]", "sizes_for(most)"])
def test_sizes_that_may_end_with_the_largest_request_have_an_answer(tmp_path: Path, sizes: str) -> None:
    expected, shown = picking(tmp_path, "return next(s for s in self.sizes if s >= n)", sizes)
    assert expected == shown == []


def test_sizes_may_be_the_keys_of_graphs(tmp_path: Path) -> None:
    """Which the picking function goes through, and no other."""
    picked = f"return min((s for s in self.graphs if s >= n), default=max(self.graphs)){TOLD}"
    expected, shown = picking(tmp_path, picked)
    assert expected == shown


@pytest.mark.parametrize(
    ("sizes", "added"),
    [("sizes_for(most)", "pass"), (FIXED, "self.graphs[most] = self.captured(most)"), ("[1, 2, most]", "pass")],
    ids=["of a function", "one more", "the largest request"],
)
def test_graphs_may_be_there_for_the_largest_request(tmp_path: Path, sizes: str, added: str) -> None:
    """Nobody knows all the keys that a table of graphs has."""
    expected, shown = picking(tmp_path, "return next(s for s in self.graphs if s >= n)", sizes, added)
    assert expected == shown == []


NEXT = "return next(s for s in self.sizes if s >= n)"


@pytest.mark.parametrize(
    ("sizes", "added", "picked", "is_told"),
    [
        ("[1, 2, 4] + list(range(8, most + 1, 8))", "pass", NEXT, True),
        ("list(range(8, self.most + 1, 8))", "pass", NEXT, True),
        ("[1, 2, 4] + list(range(8, most + 1, 8)) + [most]", "pass", NEXT, False),
        ("[1, 2, 4] + list(range(8, most + 1, 8))", "self.sizes.append(most)", NEXT, False),
        ("list(range(1, most + 1, 1))", "pass", NEXT, False),
        ("list(range(8, 64 + 1, 8))", "pass", NEXT, False),
        ("list(range(8, most + 1, 8))", "pass", "return next((s for s in self.sizes if s >= n), None)", False),
    ],
    ids=["a step", "a step alone", "the end", "added", "each", "a number", "an answer for all others"],
)
def test_steps_may_end_before_the_largest_request(
    tmp_path: Path, sizes: str, added: str, picked: str, is_told: bool
) -> None:
    """No graph is large enough for what is between the last step and the end."""
    expected, shown = picking(tmp_path, picked, sizes + (TOLD if is_told else ""), added)
    assert expected == shown


@pytest.mark.parametrize(
    ("picked", "sizes", "said"),
    [
        ("return next((s for s in self.sizes if s >= n), self.sizes[-1])", FIXED, "gives the largest graph to a `n`"),
        ("return min(self.sizes, key=lambda s: abs(s - n))", FIXED, "gives the nearest graph to a `n`"),
        ("return next(s for s in self.sizes if s >= n)", FIXED, "finds nothing, and raises, for a `n`"),
        (
            "return next(s for s in self.sizes if s >= n)",
            "[1, 2] + list(range(4, most + 1, 4))",
            "ends before `most` where the step leaves a rest",
        ),
    ],
    ids=["the largest", "the nearest", "no answer", "a gap"],
)
def test_the_message_says_how_a_size_is_missing(tmp_path: Path, picked: str, sizes: str, said: str) -> None:
    report = analyse(tmp_path, RUNNER.format(picked=picked, sizes=sizes, added="pass"), select=("GL511",)).report
    (finding,) = report.findings
    assert said in finding.message
