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


@dataclass(frozen=True)
class Taken:
    """Functions and classes of torch that others know by names of their own, as after `from torch import …`."""

    names: tuple[tuple[Names, str, tuple[tuple[Names, str], ...]], ...]

    def renew(self) -> None:
        """Where torch has another one by now, it is known by these names as well."""
        for taker, name, places in self.names:
            for owner, key in places:
                if owner.get(key, taker[name]) is not taker[name]:
                    taker[name] = owner[key]


def taken() -> Taken:
    """What is known now; a fork would have to copy all that is looked at here."""
    places: defaultdict[int, list[tuple[Names, str]]] = defaultdict(list)
    for module, names in _modules():
        if _is_within(module, _TORCH):
            for key, value in names.items():
                if callable(value):
                    places[id(value)].append((names, key))
    return Taken(
        tuple(
            (names, key, tuple(places[id(value)]))
            for module, names in _modules()
            if not _is_within(module, *_OWN)
            for key, value in names.items()
            if id(value) in places
        )
    )


def _modules() -> Iterator[tuple[str, Names]]:
    for name, module in list(sys.modules.items()):
        if issubclass(type(module), ModuleType):  # some answer for what they stand for, once they have loaded it
            yield name, vars(module)


def _is_within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
