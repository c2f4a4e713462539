"""What a tensor covers of its memory, and what is left of that beside others."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.trace.extents import common, count, covered, joined, without  # noqa: E402

WHOLE = torch.zeros(6, 8, dtype=torch.int32)


@pytest.mark.parametrize(
    "part",
    [
        WHOLE, WHOLE[2:4], WHOLE[:2, :3], WHOLE[:, 1:], WHOLE[::2], WHOLE[:, ::3], WHOLE.t()[1:3], WHOLE[3, 5],
        WHOLE[:0], WHOLE[:1].expand(5, 8), WHOLE.view(2, 3, 8)[:, 1], WHOLE.short(),
        WHOLE.view(2, 2, 3, 4).permute(0, 3, 1, 2)[:, :2],
    ],
)  # fmt: skip
def test_a_tensor_covers_the_bytes_that_it_writes(part: torch.Tensor) -> None:
    """No others, in order and without gaps that are none."""
    memory = torch.zeros(part.untyped_storage().nbytes(), dtype=torch.uint8)
    filled = memory.view(part.dtype).as_strided(part.shape, part.stride(), part.storage_offset()).fill_(-1)
    found = covered(filled)
    assert [at for first, last in found for at in range(first, last)] == memory.nonzero().flatten().tolist()
    assert found == joined(found)


def test_a_tensor_in_too_many_pieces_covers_all_between_its_ends() -> None:
    """Which is what counts as written."""
    assert covered(torch.zeros(5000, 2)[:, 0]) == [(0, 4 * (2 * 4999 + 1))]


def test_what_is_left_is_in_one_and_not_in_the_other() -> None:
    """As sets of bytes have it."""
    chance = random.Random(0)
    for _ in range(300):
        one, other = ([(at, at + chance.randrange(6)) for at in chance.sample(range(40), 5)] for _ in range(2))
        bytes_of = [{at for first, last in each for at in range(first, last)} for each in (one, other)]
        left = without(one, other)
        assert {at for first, last in left for at in range(first, last)} == bytes_of[0] - bytes_of[1]
        assert count(left) == len(bytes_of[0] - bytes_of[1])
        assert count(common(one, other)) == len(bytes_of[0] & bytes_of[1])
