"""Numbers, dtypes and tables beside tensors in a container: they are no tensors behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import functools
from dataclasses import dataclass
import torch

@dataclass
class Recipe:
    name: str = "a"

def first(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            first(one, found)
    return found[0] if found else value

def marked(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        for key, value in list(kwargs.items()):
            kwargs[key] = first(value, [])
        return function(*args, **kwargs)
    return wrapped

def renewed(inputs):
    for index, one in enumerate(inputs):
        if isinstance(one, torch.Tensor):
            inputs[index] = one + 0
    return inputs

def copied(inputs):
    made = []
    for one in inputs:
        made.append(one + 0 if isinstance(one, torch.Tensor) else one)
    return made

@marked
def quantise(x: torch.Tensor, other: torch.Tensor, {annotated}):
    {use}
    return x + 1

def step(x, y, flag: bool):
    x, y, z, *_ = {inputs}
    {unpacked}

def capture(flag: bool, recipe, kind, table):
    x, y = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        quantise(x=x, other=y, value={given})
        step(x, y, flag)
"""


def _codes(
    tmp_path: Path,
    annotated: str = "value",
    use: str = "pass",
    given: str = "None",
    inputs: str = "[x, y, flag]",
    unpacked: str = "pass",
) -> set[str]:
    text = PROGRAM
    for name, part in {"annotated": annotated, "use": use, "given": given, "inputs": inputs}.items():
        text = text.replace("{" + name + "}", part)
    return {one.code for one in analyse(tmp_path, text.replace("{unpacked}", unpacked)).report.findings} - {"GL507"}


@pytest.mark.parametrize(
    ("annotated", "use", "given"),
    [
        ("value: torch.dtype = torch.half", "bool(value == torch.half)", "kind"),
        ("value: dict = None", "print(value['size'])", "table"),
        ("value: Recipe = None", "str(value)", "recipe"),
    ],
)
def test_what_an_annotation_says_is_none_becomes_no_tensor_on_its_way(
    tmp_path: Path, annotated: str, use: str, given: str
) -> None:
    """A decorator puts what may be a tensor of any argument in the place of each."""
    assert _codes(tmp_path, annotated, use, given) == set()


@pytest.mark.parametrize(
    ("annotated", "use", "given", "found"),
    [
        ("value: torch.Tensor = None", "str(value)", "y", "GL102"),
        ("value: int = 0", "str(value)", "y.sum()", "GL102"),
        ("value=None", "bool(value.sum() > 0)", "y", "GL301"),
        ("value: Recipe = None", "str(value)", "y", "GL102"),
    ],
)
def test_what_is_given_as_a_tensor_is_one(tmp_path: Path, annotated: str, use: str, given: str, found: str) -> None:
    """Where a number is promised, too, and where nothing else could be meant."""
    assert _codes(tmp_path, annotated, use, given) == {found}


@pytest.mark.parametrize("inputs", ["[x, y, flag]", "renewed([x, y, flag])", "copied([x, y, flag])"])
def test_a_flag_among_tensors_stays_one(tmp_path: Path, inputs: str) -> None:
    """Also where tensors are put into the list, or it is made anew."""
    assert _codes(tmp_path, inputs=inputs, unpacked="bool(z)") == set()


@pytest.mark.parametrize("inputs", ["[x, y, y]", "renewed([x, y, y.sum()])", "copied([x, y, y])"])
def test_a_tensor_among_tensors_stays_one(tmp_path: Path, inputs: str) -> None:
    """The same lists, of tensors alone."""
    assert _codes(tmp_path, inputs=inputs, unpacked="bool(z.sum() > 0)") == {"GL301"}


def test_a_list_of_numbers_may_be_filled_with_tensors(tmp_path: Path) -> None:
    """Where there are only numbers, what is put somewhere takes the place of one."""
    program = """
        import torch
        def capture(y: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                sums = [0, 0, 0]
                for index in range(y.shape[0]):
                    sums[index] = y.sum()
                str(sums[1])
        """
    assert {one.code for one in analyse(tmp_path, program).report.findings} == {"GL102"}


MOVED = """
import torch

class Worker:
    def load(self, ids):
        self.map = None if ids is None else torch.tensor(ids)

    def {method}(self, head):
        self.map = {moved}

    def step(self, x):
        if self.map is not None:
            return self.map[x]
        return x

def capture(worker: Worker, n):
    x = torch.zeros(n.shape, dtype=torch.int64, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        worker.step(x)
"""


@pytest.mark.parametrize(("method", "moved"), [("move", "self.map.to(head.device)"), ("enlarge", "self.map.cuda()")])
def test_what_is_moved_later_lies_there_behind_a_test_too(tmp_path: Path, method: str, moved: str) -> None:
    """That it is not None says nothing of where it lies."""
    text = MOVED.format(method=method, moved=moved)
    assert "GL304" not in {one.code for one in analyse(tmp_path, text, confidence=Confidence.LOW).report.findings}


def test_what_nobody_moves_lies_on_the_host(tmp_path: Path) -> None:
    """And asks for integers: an index of any other rank than 0 raises wherever it runs, so that it is a hint where none
    is known.
    """
    text = MOVED.replace("self.map = {moved}", "self.other = head").format(method="keep")
    one = text.replace("torch.zeros(n.shape,", "torch.zeros((),")
    for program, least in ((text, Confidence.LOW), (one, Confidence.MEDIUM)):
        found = analyse(tmp_path, program, confidence=least).report.findings
        assert "GL304" in {one.code for one in found}


COUNTED = """
import torch

def moved(tensor, as_numpy=False):
    if tensor.is_cuda:
        copy = tensor.to("cpu", non_blocking=True)
        tensor = copy.numpy() if as_numpy else copy
    return tensor

class Dispatcher:
    def __init__(self, moves):
        self.splits = None
        self.moves = moves

    def count(self, x):
        self.splits = x.sum(axis=0)

    def move(self, moves):
        if moves == self.moves:
            self.splits = {moved}

    def dispatch(self, x):
        self.move("before")
        y = x.new_empty([sum(self.splits), 4])
        torch.distributed.all_to_all_single(x, y, output_split_sizes=self.splits)

def capture(dispatcher: Dispatcher):
    x = torch.zeros(4, 4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        dispatcher.count(x)
        dispatcher.dispatch(x)
"""


@pytest.mark.parametrize("moved, count", [("moved(self.splits, as_numpy=True)", 0), ("self.splits * 2", 2)])
def test_what_an_earlier_step_may_have_made_an_array_is_hardly_a_tensor(tmp_path: Path, moved: str, count: int) -> None:
    """Neither where it is asked for a size, nor where it is summed up to one."""
    shown = analyse(tmp_path, COUNTED.format(moved=moved)).shown
    assert [code for _, _, code in shown].count("GL304") == count
