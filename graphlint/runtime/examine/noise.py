"""Steps of eager and of replays in, the first that differ by more than eager differs from itself, or rounds, out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.runtime.compare.comparison import Difference, first_mismatch, noise_floor
from graphlint.runtime.compare.generators import reseed
from graphlint.runtime.examine.arguments import Values, nudge

_SEEDS = (1, 2, 3)  # more than one, since a sum may come out alike by chance
Floors = list[dict[str, float]]  # by step: how far each leaf may be


@dataclass
class Noise:
    """Both run from their beginning whenever they are asked for; eager `wavers` where it is not equal to itself."""

    eager: Callable[..., Iterator[Values]]
    replays: Callable[[], Iterator[Values]]
    wavers: bool = False
    _steps: list[Values] = field(default_factory=list, init=False)

    def mismatch(self) -> tuple[int, Difference] | None:
        """The position of the first step that differs, and how."""
        steps = self._steps = list(self.eager())
        floors = self._apart(steps)
        mismatch = first_mismatch(self.replays(), steps, floors)
        if mismatch is None:
            return None
        return first_mismatch(self.replays(), steps, self._rounded(steps, floors))

    def is_of_draws(self) -> bool:
        """Whether what differs is no more than what other random numbers change."""
        runs = [list(self.eager(lambda _, by=by: reseed(by))) for by in _SEEDS]
        floors = [noise_floor(drawn, "") for drawn in zip(self._steps, *runs, strict=True)]
        widest = {name: max(floor.get(name, 0.0) for floor in floors) for floor in floors for name in floor}
        return first_mismatch(self.replays(), self._steps, [widest] * len(floors)) is None

    def _apart(self, steps: list[Values]) -> Floors:
        """How far two eager runs are apart."""
        floors = [noise_floor(runs, "") for runs in zip(steps, self.eager(), strict=True)]
        self.wavers = any(far for floor in floors for far in floor.values())
        return floors

    def _rounded(self, steps: list[Values], floors: Floors) -> Floors:
        """How far results move when each number that goes in is rounded otherwise: other kernels may do no better."""
        try:
            moved = [noise_floor(runs, "") for runs in zip(steps, self.eager(nudge), strict=True)]
        except (ValueError, IndexError, RuntimeError):
            return floors
        return [
            before | {name: max(far, before.get(name, 0.0)) for name, far in after.items() if far < math.inf}
            for before, after in zip(floors, moved, strict=True)
        ]
