"""A context in, the regions out whose graphs hold what it runs, and when things run, seen from these alone.

What runs between the capture of one graph and its replays is before or behind those of another.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from graphlint.static.domain.contexts import Context, RegionKey
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Module
from graphlint.static.writes.homes import Homes
from graphlint.static.writes.timing import Timing


class Reaching:
    """Knows what each region runs; regions that run the same code are looked at together."""

    def __init__(self, evaluator: Evaluator, captured: Set[tuple[Module, str]]) -> None:
        self.evaluator = evaluator
        self.captured = captured
        self._timings: dict[Set[RegionKey], Timing] = {}

    def regions_of(self, reader: Context) -> Set[RegionKey]:
        """The regions that run a context."""
        return self._regions.get(reader, frozenset())

    def timing(self, regions: Set[RegionKey]) -> Timing:
        """When statements run, seen from some regions."""
        if regions not in self._timings:
            opened = [self.evaluator.regions[key] for key in self.evaluator.regions if key in regions]
            self._timings[regions] = Timing(self.evaluator, self.captured, opened, self.homes)
        return self._timings[regions]

    @cached_property
    def homes(self) -> Homes:
        return Homes(self.evaluator)

    @cached_property
    def everywhere(self) -> Timing:
        """When statements run, seen from all regions."""
        return self.timing(frozenset(self.evaluator.regions))

    @cached_property
    def _regions(self) -> dict[Context, Set[RegionKey]]:
        found: dict[Context, set[RegionKey]] = {}
        for key, opened in self.evaluator.regions.items():
            for context in reached(opened.context):
                found.setdefault(context, set()).add(key)
        shared: dict[Set[RegionKey], Set[RegionKey]] = {}
        return {context: shared.setdefault(regions := frozenset(keys), regions) for context, keys in found.items()}


def reached(*starts: Context) -> set[Context]:
    """Some contexts, and all that they lead to."""
    seen, queue = set(starts), list(starts)
    for context in queue:  # one by one: what is taken off the keys of a dict is gone through, and that grows
        new = [callee for callee in context.calls if callee not in seen]
        queue += new
        seen.update(new)
    return seen
