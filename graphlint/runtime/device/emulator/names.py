"""Names that modules took from torch before there was an emulator in; they stand for what torch has now out."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_TORCH = "torch"
_OWN = (_TORCH, __name__.rpartition(".")[0])  # what is replaced, and what calls the originals

Names = dict[str, Any]
Place = tuple[Names, str]


@dataclass(frozen=True)
class Taken:
    """Functions and classes of torch that others know by names of their own, as after `from torch import …`.

    Each with where torch has it, and where others do.
    """

    names: tuple[tuple[Any, tuple[Place, ...], tuple[Place, ...]], ...]

    def renew(self) -> None:
        """Where torch has another one by now, it is known by these names as well."""
        for was, places, takers in self.names:
            now = was
            for owner, key in places:
                now = owner.get(key, now)
            if now is not was:
                for taker, name in takers:
                    taker[name] = now


def taken() -> Taken:
    """What is known now; a fork would have to copy all that is looked at here."""
    own = [names for module, names in _modules() if _is_within(module, _TORCH)]
    known = {id(value) for names in own for value in names.values()}
    takers: defaultdict[int, list[Place]] = defaultdict(list)
    for module, names in _modules():
        if not _is_within(module, *_OWN):
            for key, value in names.items():
                if id(value) in known and callable(value):
                    takers[id(value)].append((names, key))
    values: dict[int, Any] = {}
    places: defaultdict[int, list[Place]] = defaultdict(list)
    for names in own:
        for key, value in names.items():
            if id(value) in takers:
                values[id(value)] = value
                places[id(value)].append((names, key))
    return Taken(tuple((value, tuple(places[one]), tuple(takers[one])) for one, value in values.items()))


def _modules() -> Iterator[tuple[str, Names]]:
    for name, module in list(sys.modules.items()):
        if issubclass(type(module), ModuleType):  # some answer for what they stand for, once they have loaded it
            yield name, vars(module)


def _is_within(name: str, *packages: str) -> bool:
    return f"{name}.".startswith(tuple(f"{package}." for package in packages))
