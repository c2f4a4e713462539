"""What operators gave in eager in, the same values one after the other, by the line that runs the operator, out."""

from __future__ import annotations

from collections import deque

from graphlint.runtime.trace.places import Place, Stack

_KEPT = 64  # values of one waiting operator on one line

Site = tuple[str, Place | None]  # an operator and the line of user code that runs it


def site_of(operator: str, stack: Stack) -> Site:
    return operator, stack[0] if stack else None


class EagerValues:
    """What waiting operators gave in eager, by site, to go on with where a capture refuses them."""

    def __init__(self) -> None:
        self._kept: dict[Site, deque[object]] = {}

    def __contains__(self, site: Site) -> bool:
        return site in self._kept

    def keep(self, site: Site, value: object) -> None:
        self._kept.setdefault(site, deque(maxlen=_KEPT)).append(value)

    def next(self, site: Site) -> object:
        """The values of a site, one after the other and then from the beginning; None where there is none."""
        kept = self._kept.get(site)
        if kept:
            kept.rotate(-1)
        return kept[-1] if kept else None
