"""Arguments that are moved by the least that their types can tell."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.examine.arguments import nudge  # noqa: E402


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_numbers_move_by_one_unit_of_their_last_place(dtype: object) -> None:
    """Every other one up, and down, a parameter as well."""
    tensor = torch.nn.Parameter(torch.full((2, 2), 1.0, dtype=dtype))
    nudge([tensor])
    eps = torch.finfo(dtype).eps
    assert [[1 - eps, 1 + eps], [1 - eps, 1 + eps]] == tensor.tolist()


def test_what_cannot_be_rounded_stays() -> None:
    """Whole numbers, truth values, and a tensor that repeats one element."""
    tensors = torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool), torch.ones(1).expand(3)
    nudge(tensors)
    assert all((tensor == 1).all() for tensor in tensors)
