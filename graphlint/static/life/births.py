"""State that gets its first value in a region: each replay is a first step, and makes that value again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphlint.rule import StateBorn
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Made, Object, Place, Thing, things_in
from graphlint.static.life.record import Call

CACHED = "functools.cache"  # what a cached function is answered by, the first time


@dataclass
class Births(Listener):
    """Follows one run; `starting` are operations by name, each with the argument without which it keeps nothing."""

    tell: Tell
    starting: Mapping[str, str]
    restoring: frozenset[str]
    started: set[Thing] = field(default_factory=set)

    def answered(self, call: Call) -> None:
        if call.name == CACHED:
            capture = self.ledger.capture
            if capture is not None and any(one.root.made_in is capture for one in things_in(call.result)):
                self._born(call.place, in_cache=True)
        elif isinstance(call.owner, Made):
            if call.last in self.restoring:
                self.started.add(call.owner)
            self._started(call.name, call.owner, call.place)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if isinstance(module, Made):
            self._started(module.cls, module, place)

    def _started(self, name: str, owner: Made, place: Place) -> None:
        switch = self.starting.get(name)
        if switch is None or owner in self.started or (switch and not owner.given.get(switch)):
            return
        self.started.add(owner)
        if owner not in self.ledger.escaped:
            self._born(place)

    def _born(self, place: Place, in_cache: bool = False) -> None:
        """Tell of it where all that ran before is known."""
        capture = self.ledger.capture
        if capture is not None and self.ledger.is_whole and not self.ledger.decided and not self.ledger.is_cut:
            self.tell(StateBorn(in_cache), place, capture)
