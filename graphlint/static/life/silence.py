"""Where no gradients are computed: in blocks of context managers, and in functions that are decorated with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.static.life.ledger import Listener
from graphlint.static.life.objects import Frame, Object, Place
from graphlint.static.life.process import Resolve


@dataclass
class Silence(Listener):
    """Follows one run; what is `inferring` lets no gradients be computed."""

    inferring: frozenset[str]
    resolve: Resolve
    managers: list[Object] = field(default_factory=list)  # that are entered

    def surrounded(self, manager: Object, place: Place) -> None:
        call = self.ledger.origin(manager)
        if call is not None and call.name in self.inferring:
            self.managers.append(manager)

    def exited(self, manager: Object, place: Place) -> None:
        self.managers = [one for one in self.managers if one is not manager]

    @property
    def is_silent(self) -> bool:
        """Whether what runs now computes no gradients."""
        return bool(self.managers) or any(map(self._is_decorated, self.ledger.frames))

    def _is_decorated(self, frame: Frame) -> bool:
        decorators = frame.function.code.decorators
        return any(self.resolve(one, frame.function.module) in self.inferring for one in decorators)
