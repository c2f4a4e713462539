"""Lists as an index: one of numbers is uploaded, one of tensors stands for a tuple of them; and empty lists are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse, in_region

from graphlint.finding import Confidence

AROUND = """
class Columns:
    def __init__(self, found):
        self.known, self.found = [1, 2], list(found.columns)

    def pick(self, x, found, indices):
        return {picked}
"""


@pytest.mark.parametrize(
    ("picked", "confidence"),
    [
        ("x[self.known]", Confidence.HIGH),
        ("x[..., self.known]", Confidence.HIGH),
        ("x[self.found]", Confidence.MEDIUM),
        ("x[[found.kinds[one] for one in indices]]", Confidence.MEDIUM),
        ("x[[slice(0, n) if n != one else slice(0, 2) for n in x.shape for one in indices]]", None),
        ("x[torch.tensor(self.known)]", Confidence.HIGH),
        ("x[torch.tensor(indices or 3)]", None),  # a number is read where it lies
        ("x[0, torch.tensor(indices or 3)]", Confidence.HIGH),
        ("x[torch.tensor(3)]", None),
        ("x[[slice(1), slice(2)]]", None),
        ("x[[x.long(), x.long()]]", None),
        ("x[[x.long() for one in indices]]", None),
    ],
)
def test_only_a_list_of_numbers_is_surely_uploaded(tmp_path: Path, picked: str, confidence: Confidence | None) -> None:
    """One of tensors is a tuple of indices, each where it lies."""
    text = in_region("Columns(unknown).pick(x, unknown, unknown)", AROUND.format(picked=picked))
    found = [one.confidence for one in analyse(tmp_path, text).report.findings if one.code == "GL204"]
    assert found == ([] if confidence is None else [confidence])


@pytest.mark.parametrize(
    ("held", "is_told"), [("[]", False), ("[[]]", False), ("[[], []]", False), ("[[1]]", True), ("[[], [1]]", True)]
)
def test_what_has_no_elements_is_not_uploaded(tmp_path: Path, held: str, is_told: bool) -> None:
    text = in_region(f"y = torch.tensor({held}, device=x.device)")
    assert is_told is ("GL203" in {code for _, _, code in analyse(tmp_path, text).shown})


COMPARED = """
import torch

def step(x, limit, rows):
    return x / {call}

def main(rows):
    x, limit = torch.ones(4, device="cuda"), torch.ones((), device="cuda")
    {run}
"""
RUNS = {
    "captured": "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n        step(x, limit, rows)",
    "compiled": "torch.compile(step, mode='reduce-overhead', fullgraph=True)(x, limit, rows)",
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("call", "is_turned"),
    [
        ("max(limit, 1e-5)", True),
        ("min(limit, limit + 1)", True),
        ("max([limit, limit * 2])", True),
        ("max(limit, limit + 1, key=lambda one: one)", False),
        ("(limit if limit > 1e-5 else 1)", False),
        ("sorted([limit, limit + 1])[0]", False),
    ],
)
def test_a_compiler_turns_the_greatest_into_an_operation(tmp_path: Path, call: str, run: str, is_turned: bool) -> None:
    """Python itself asks a tensor for true or false."""
    found = {code for _, _, code in analyse(tmp_path, COMPARED.format(call=call, run=RUNS[run])).found}
    assert ("GL301" in found) is not (is_turned and run == "compiled")


WRITTEN = """
import torch

def step(x, at, rows):
    {stored}
    return x

def main(rows):
    x, at = torch.ones(4, 4, device="cuda"), torch.zeros(2, dtype=torch.long, device="cuda")
    {run}
"""


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    ("stored", "is_compiled"),
    [("x[at] = 1.0", True), ("x[0, 1] = 1.0", True), ("x[[0, 2]] = 1.0", False), ("x[at] = torch.ones(())", False)],
)
def test_a_compiler_makes_a_number_a_part_of_its_kernel(
    tmp_path: Path, stored: str, is_compiled: bool, run: str
) -> None:
    """Nothing is uploaded for it; a list of rows, and a tensor of the host, are."""
    text = WRITTEN.format(stored=stored, run=RUNS[run].replace("limit", "at"))
    found = {code for _, _, code in analyse(tmp_path, text).found}
    assert ("GL204" in found) is not (is_compiled and run == "compiled")


@pytest.mark.parametrize("picked", ["T", "real", "T.ravel()", "T[0]"])
def test_a_view_of_an_array_is_uploaded_as_the_array_is(tmp_path: Path, picked: str) -> None:
    """NumPy has these as torch has them: `order.T`."""
    around = "import numpy\norder = numpy.arange(4).reshape(2, 2)\n"
    found = analyse(tmp_path, in_region(f"x[order.{picked}]", around)).report.findings
    assert ["GL204"] == [one.code for one in found]


@pytest.mark.parametrize("asked", ["ndim", "shape[0]"])
def test_what_an_array_says_of_itself_is_no_array(tmp_path: Path, asked: str) -> None:
    around = "import numpy\norder = numpy.arange(4).reshape(2, 2)\n"
    assert not analyse(tmp_path, in_region(f"x[order.{asked}]", around)).shown
