"""The first operator in which a replay differs from eager, on tensors of the host."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.compare.divergence import Divergence  # noqa: E402
from graphlint.runtime.trace.operators import Traced  # noqa: E402
from graphlint.runtime.trace.places import Place  # noqa: E402

HERE = (Place(compile("x", "step.py", "eval"), 0, "step"),)


def traced(operator: str, *values: float, numbers: tuple[object, ...] = (), is_unfilled: bool = False) -> Traced:
    return Traced(operator, HERE, numbers, [torch.tensor(values)], is_unfilled)


ADD, MUL = traced("aten.add", 1.0, numbers=(2,)), traced("aten.mul", 3.0)


def test_equal_runs_do_not_diverge() -> None:
    """Nothing differs, so nothing is blamed for it."""
    assert Divergence([ADD, MUL], [ADD, MUL], [ADD, MUL]).first() == (MUL, "nothing")


def test_another_operator_is_another_path() -> None:
    """A branch that was decided at capture leads to other operators, or to fewer."""
    assert Divergence([ADD, MUL], [ADD, ADD], [ADD, ADD]).first() == (ADD, "path")
    assert Divergence([ADD], [ADD, MUL], [ADD, MUL]).first() == (MUL, "path")
    assert Divergence([ADD], [MUL, ADD], [MUL, ADD]).first() == (MUL, "path")
    assert Divergence([MUL, ADD], [ADD], [ADD]).first() == (MUL, "path")


def test_another_number_is_named_before_the_result_that_it_changes() -> None:
    """A Python number that went into a kernel is the cause."""
    other = traced("aten.add", 2.0, numbers=(3,))
    assert Divergence([ADD, MUL], [other, MUL], [other, MUL]).first() == (ADD, "numbers")


def test_memory_that_nobody_has_filled_is_no_result() -> None:
    """What it holds is chance; the kernel that fills it differs by its numbers."""
    some, other = (traced("aten.empty_like.default", number, is_unfilled=True) for number in (1.0, 2.0))
    fill, fill_other = (traced("mine.fill.default", numbers=(number,)) for number in (1, 2))
    assert Divergence([some, fill], [other, fill_other], [other, fill_other]).first() == (fill, "numbers")


def test_a_result_counts_only_beyond_what_eager_runs_differ_by() -> None:
    """Two eager runs tell how much noise there is."""
    near, far = traced("aten.mul", 3.5), traced("aten.mul", 300.0)
    assert Divergence([ADD, near], [ADD, MUL], [ADD, MUL]).first() == (near, "results")
    assert Divergence([ADD, near], [ADD, MUL], [ADD, traced("aten.mul", 3.1)]).first() == (near, "nothing")
    assert Divergence([ADD, far], [ADD, MUL], [ADD, traced("aten.mul", 3.1)]).first() == (far, "results")
