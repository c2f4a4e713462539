"""Batches at the edges of their buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.examine.buckets import Buckets, poisoned  # noqa: E402

SIZES = (1, 4)
Tensor = Any


def rows(number: int) -> tuple[Tensor, Tensor]:
    """A batch: features, and the token of each row."""
    return torch.arange(number * 3.0).reshape(number, 3), torch.arange(number) % 5


def independent(x: Tensor, tokens: Tensor) -> Tensor:
    return x * 2 + tokens[:, None]


def averaging(x: Tensor, tokens: Tensor) -> Tensor:
    return x - x.mean(0) + tokens[:, None]


def summing(x: Tensor, tokens: Tensor) -> Tensor:
    return x + (tokens * torch.arange(1, len(tokens) + 1)).sum()


class Engine:
    """Pads to the next bucket and serves from static buffers; each way of doing it wrong can be chosen."""

    def __init__(self, wrong: str = "", model: Callable[..., Tensor] = independent) -> None:
        self.wrong, self.model = wrong, model
        self.x, self.tokens = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)

    def __call__(self, x: Tensor, tokens: Tensor) -> Tensor:
        number = len(x)
        if number > 4 and self.wrong == "truncates":
            x, tokens, number = x[:4], tokens[:4], 4
        elif number > 4 and self.wrong != "overflows":
            raise ValueError("at most 4 rows")
        if not number and self.wrong == "empty":
            raise IndexError("no bucket")
        size = next((size for size in SIZES if size >= number), 4)
        if self.wrong != "float tail":
            self.x[number:].zero_()
        if self.wrong != "token tail":
            self.tokens[number:].zero_()
        self.x[:number].copy_(x)
        self.tokens[:number].copy_(tokens)
        return self.model(self.x[:size], self.tokens[:size])[: size if self.wrong == "uncut" else number]


def troubles_of(engine: Engine, eager: Callable[..., Tensor] = independent) -> list[str]:
    return list(Buckets(engine, SIZES, rows, eager, (engine.x, engine.tokens)).troubles())


def test_rows_that_do_not_meet_are_safe() -> None:
    """Neither padding nor an empty batch changes anything."""
    assert [] == list(Buckets(independent, SIZES, rows).troubles())
    assert [] == troubles_of(Engine())


@pytest.mark.parametrize("call", [averaging, summing])
def test_padding_that_leaks_is_told(call: Callable[..., Tensor]) -> None:
    """Through a mean of floating-point rows, and through a sum of tokens, which cannot be NaN."""
    (trouble,) = list(Buckets(call, SIZES, rows).troubles())
    assert trouble.startswith("2 rows in the bucket of 4: padding leaks into the rows before it: `output`: Tensor-like")


@pytest.mark.parametrize("buffer", [0, 1])
def test_a_tail_that_keeps_the_batch_before_is_told(buffer: int) -> None:
    """Of numbers, which may be NaN, and of tokens, which may not."""
    found = troubles_of(Engine("token tail" if buffer else "float tail"))
    tails = {"2 rows": "rows 2 to 3", "3 rows": "rows 3 to 3"}
    assert [f"{n}: {tail} of static buffer {buffer} still hold the batch before" for n, tail in tails.items()] == found


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("empty", "an empty batch: IndexError: no bucket; give no rows, or raise a ValueError"),
        ("truncates", "5 rows, one beyond the last bucket: not what eager gives, and no error: "),
        ("overflows", "5 rows, one beyond the last bucket: RuntimeError: The size of tensor a (4) must match"),
    ],
)
def test_a_wrong_engine_is_told_at_the_edge_where_it_is_wrong(wrong: str, said: str) -> None:
    """And at no other."""
    (trouble,) = troubles_of(Engine(wrong))
    assert trouble.startswith(said)


def test_an_engine_that_gives_its_padding_is_told() -> None:
    """The shapes differ from those of eager."""
    found = troubles_of(Engine("uncut"))
    assert [one.split(":")[0] for one in found] == ["2 rows", "3 rows", "an empty batch"]


def test_a_leak_between_batches_is_told() -> None:
    """A model that averages over the bucket sees rows that are not there; eager does not."""
    found = troubles_of(Engine(model=averaging), averaging)
    assert [one.split(":")[0] for one in found] == ["2 rows", "3 rows"]


def test_an_engine_that_raises_is_told() -> None:
    """At each size, with the error in one line."""

    def raising(*_args: Tensor) -> Tensor:
        raise KeyError("bucket\nmore")

    found = list(Buckets(raising, SIZES, rows, independent).troubles())
    assert "1 row: KeyError: 'bucket\\nmore'" == found[0] and 6 == len(found)


def test_poison_is_nan_where_there_is_one_and_leaves_valid_rows() -> None:
    """Integers are those of other rows; what has no rows stays."""
    bias = torch.ones(2)
    x, tokens, other = poisoned((*rows(4), bias), 2, 4)
    assert x[:2].equal(rows(4)[0][:2]) and x[2:].isnan().all()
    assert tokens[:2].equal(rows(4)[1][:2]) and set(tokens.tolist()) <= {0, 1, 2, 3}
    assert other.equal(bias) and other is not bias
