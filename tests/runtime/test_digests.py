"""What stands for the numbers of tensors: equal for equal bits, and for no others."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.compare.digests import alike, digests  # noqa: E402

NUMBERS = torch.arange(12.0).reshape(3, 4)


def equal(one: object, other: object) -> bool:
    return alike(digests(one), digests(other))


@pytest.mark.parametrize(
    "tensor",
    [
        NUMBERS, NUMBERS.t(), NUMBERS.half(), NUMBERS.bool(), NUMBERS.long(), NUMBERS + 1j, NUMBERS[:0], NUMBERS[0, 0],
        NUMBERS.to_sparse(), torch.tensor([float("nan")]), torch.zeros((1 << 20) + 3, dtype=torch.int8),
    ],
)  # fmt: skip
def test_a_copy_is_alike(tensor: torch.Tensor) -> None:
    """Whatever its type and layout, and in a tree as well."""
    assert equal(tensor, tensor.clone())
    assert equal({"a": [tensor, 1]}, {"a": [tensor.clone(), 1]})


@pytest.mark.parametrize(
    "other",
    [
        NUMBERS.flip(0), NUMBERS.t(), NUMBERS.reshape(4, 3), NUMBERS.double(), NUMBERS[:2],
        NUMBERS.nextafter(torch.tensor(99.0)), torch.cat([NUMBERS[1:], NUMBERS[:1]]),
    ],
)  # fmt: skip
def test_other_numbers_places_shapes_and_types_are_not_alike(other: torch.Tensor) -> None:
    """And neither are other trees."""
    assert not equal(NUMBERS, other)
    assert not equal([NUMBERS], [NUMBERS, NUMBERS]) and not equal([NUMBERS, 1], [NUMBERS, 2])


def test_one_number_far_behind_makes_a_difference() -> None:
    """Stretches are told apart, too."""
    long = torch.zeros((1 << 20) + 3)
    for place in (0, 1 << 20, (1 << 20) + 2):
        other = long.clone()
        other[place] = 1.0
        assert not equal(long, other)
    assert not equal(torch.cat([long + 1, long]), torch.cat([long, long + 1]))
