"""The operators of a replay and of two eager runs in; the first one that differs, and why, out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from graphlint.runtime.compare.comparison import differing, noise_floor
from graphlint.runtime.trace.operators import Traced


@dataclass(frozen=True, slots=True)
class Divergence:
    """What the graph did, what eager did on the same input, and what eager did once more."""

    replayed: list[Traced]
    eager: list[Traced]
    again: list[Traced]

    @property
    def draws_otherwise(self) -> bool:
        """Whether the graph draws other random numbers than eager: other operators do, or in another order."""
        return way(self.replayed, draws=True) != way(self.eager, draws=True)

    def first(self) -> tuple[Traced, str]:
        """The first operator that differs, and in what: its `path`, `numbers` or `results`; `nothing` differs else."""
        for position, (found, expected) in enumerate(zip(self.replayed, self.eager, strict=False)):
            if found.operator != expected.operator or shapes(found) != shapes(expected):
                is_more = not expected.stack or self._goes_on_behind(position)
                return found if is_more else expected, "path"
            if found.numbers != expected.numbers:
                return found, "numbers"
            if found.is_unfilled:
                continue
            floor = noise_floor([expected.results, self.again[position].results] if position < len(self.again) else [])
            if any(one.is_mismatch for one in differing(found.results, expected.results, floor)):
                return found, "results"
        shorter, longer = sorted((self.replayed, self.eager), key=len)
        if len(longer) > len(shorter):
            return longer[len(shorter)], "path"
        return self.replayed[-1] if self.replayed else Traced("", (), (), []), "nothing"

    def _goes_on_behind(self, position: int) -> bool:
        """Whether the graph does something that eager leaves out, and later what eager does instead."""
        found, expected = self.replayed[position], self.eager[position]
        is_later = any(_stand_alike(expected, one) for one in self.replayed[position:])
        return is_later and not any(_stand_alike(found, one) for one in self.eager[position:])


def way(operators: list[Traced], *, draws: bool = False) -> list[tuple[str, tuple[object, ...]]]:
    """What the host decided about each operator, or only about those that draw random numbers."""
    return [(one.operator, one.numbers) for one in operators if one.draws or not draws]


def _stand_alike(one: Traced, other: Traced) -> bool:
    return (one.operator, one.stack) == (other.operator, other.stack)


def shapes(traced: Traced) -> list[torch.Size]:
    return [result.shape for result in traced.results]
