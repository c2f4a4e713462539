"""A callable that serves batches in buckets in; what it does wrong at their edges, one sentence each, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.compare.comparison import leaves
from graphlint.runtime.examine.arguments import copied

Args = tuple[Any, ...]


@dataclass(frozen=True)
class Buckets:
    """What serves, and how to ask it.

    `make(n)` gives the arguments of a batch of n rows, with the rows in dimension 0 of each tensor. Without `eager`,
    `call` is what a bucket captures, and is given padded arguments; with it, `call` serves any batch of at most
    `sizes[-1]` rows by itself, and gives what `eager` gives. `buffers` are its static inputs, rows in dimension 0.
    """

    call: Callable[..., Any]
    sizes: tuple[int, ...]
    make: Callable[[int], Any]
    eager: Callable[..., Any] | None = None
    buffers: Sequence[Tensor] = ()

    def args(self, rows: int) -> Args:
        """The arguments of a batch."""
        made = self.make(rows)
        return made if isinstance(made, tuple) else (made,)

    def troubles(self) -> Iterator[str]:
        """What is wrong, in the order of the sizes."""
        with torch.no_grad():
            if self.eager is None:
                for size in self.sizes:
                    for rows in sorted({0, size // 2}):
                        yield from self._leaks(rows, size)
                return
            for rows in sorted({rows for size in self.sizes for rows in (size // 2, size - 1, size) if rows}):
                yield from self._serves(self.eager, rows)
            yield from self._empty(self.eager)
            yield from self._over_capacity(self.eager, self.sizes[-1] + 1)

    def _leaks(self, rows: int, size: int) -> Iterator[str]:
        """Whether padding of NaN and other values changes the rows before it."""
        name = f"{_batch(rows)} in the bucket of {size}"
        full = self.args(size)
        try:
            expected = _rows(self.call(*_copy(full)), rows, size)
            found = _rows(self.call(*poisoned(full, rows, size)), rows, size)
        except Exception as error:
            yield f"{name}: {_said(error)}"
            return
        if (apart := _differing(found, expected)) is not None:
            yield f"{name}: padding leaks into the rows before it: {apart}"

    def _serves(self, eager: Callable[..., Any], rows: int) -> Iterator[str]:
        """Whether a batch gives what eager gives, and leaves the same buffers, whatever a full batch left before it."""
        name, size = _batch(rows), next(size for size in self.sizes if size >= rows)
        args, full = self.args(rows), self.args(size)
        tails: list[list[tuple[str, Tensor]]] = []
        try:
            expected = _rows(eager(*_copy(args)), rows, rows)
            for before in (full, poisoned(full, 0, size)):
                self.call(*_copy(before))
                found = _rows(self.call(*_copy(args)), rows, rows)
                tails.append([(str(n), buffer[rows:size].clone()) for n, buffer in enumerate(self.buffers)])
        except Exception as error:
            yield f"{name}: {_said(error)}"
            return
        if (apart := _differing(found, expected)) is not None:
            yield f"{name}: not what eager gives, after a full batch of {size}: {apart}"
        for one, other in zip(*tails, strict=True):
            if _differing([one], [other]) is not None:
                yield f"{name}: rows {rows} to {size - 1} of static buffer {one[0]} still hold the batch before"

    def _empty(self, eager: Callable[..., Any]) -> Iterator[str]:
        """An empty batch gives what eager gives, or is refused with a ValueError."""
        try:
            args = self.args(0)
            expected = _rows(eager(*_copy(args)), 0, 0)
            found = _rows(self.call(*_copy(args)), 0, 0)
        except ValueError:
            return
        except Exception as error:
            yield f"an empty batch: {_said(error)}; give no rows, or raise a ValueError"
            return
        if (apart := _differing(found, expected)) is not None:
            yield f"an empty batch: not what eager gives: {apart}"

    def _over_capacity(self, eager: Callable[..., Any], rows: int) -> Iterator[str]:
        """A batch beyond the last bucket gives what eager gives, or is refused with a ValueError."""
        name, args = f"{rows} rows, one beyond the last bucket", self.args(rows)
        expected = _rows(eager(*_copy(args)), rows, rows)
        try:
            found = _rows(self.call(*_copy(args)), rows, rows)
        except ValueError:
            return
        except Exception as error:
            yield f"{name}: {_said(error)}; serve them eagerly, or raise a ValueError"
            return
        if (apart := _differing(found, expected)) is not None:
            yield f"{name}: not what eager gives, and no error: {apart}"


def poisoned(full: Args, rows: int, size: int) -> Args:
    """The batch with NaN from `rows` on; what cannot be NaN gets the values of other rows, which are valid."""
    args = _copy(full)
    for (_, own), (_, other) in zip(leaves(list(full)), leaves(list(args)), strict=True):
        if isinstance(own, Tensor) and isinstance(other, Tensor) and _has_rows(own, size):
            other[rows:] = float("nan") if own.dtype.is_floating_point or own.dtype.is_complex else own.flip(0)[rows:]
    return args


def _copy(args: Args) -> Args:
    return copied((args, {}))[0]


def _rows(output: object, rows: int, size: int) -> list[tuple[str, Tensor]]:
    """The first rows of each tensor, as they are now: a later batch may overwrite them."""
    named = [(name, leaf) for name, leaf in leaves(output, "output") if isinstance(leaf, Tensor)]
    return [(name, (leaf[:rows] if _has_rows(leaf, size) else leaf).detach().clone()) for name, leaf in named]


def _has_rows(tensor: Tensor, size: int) -> bool:
    return bool(tensor.dim() > 0 and tensor.shape[0] == size)


def _differing(found: list[tuple[str, Tensor]], expected: list[tuple[str, Tensor]]) -> str | None:
    """How the first leaf differs by more than its dtype rounds, as PyTorch says it; None where none does."""
    if [name for name, _ in found] != [name for name, _ in expected]:
        return f"{len(found)} tensors instead of {len(expected)}"
    for (name, one), (_, other) in zip(found, expected, strict=True):
        try:
            torch.testing.assert_close(one, other, equal_nan=True)
        except AssertionError as error:
            lines = " ".join(str(error).split())
            return f"`{name}`: {lines}"
    return None


def _batch(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
