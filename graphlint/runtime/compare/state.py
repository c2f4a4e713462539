"""A callable and its arguments in, the state that it can reach out: to keep, to put back, and to compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.compare.comparison import differing, same, unequal
from graphlint.runtime.compare.generators import random_state, set_random_state
from graphlint.runtime.compare.holders import ABSENT, parts_of, put_back
from graphlint.runtime.compare.reach import Walk

LIMIT = 100_000  # objects: a second or two


@dataclass(frozen=True)
class Change:
    """What became of a name: `value`, `moved`, `rebound`, `host`, `created`, `removed`, or `generator`.

    A tensor with another `value` is the same object, or another one in the same place; one that `moved` is the same
    object at another address; a name that is `rebound` stands for another tensor elsewhere. `before` and `after` are
    given for a host value or a length.
    """

    name: str
    kind: str
    before: object = None
    after: object = None


@dataclass(frozen=True)
class State:
    """What is in reach: tensors and host values by names such as `model.blocks[0].weight`.

    `unvisited` objects were left out because of the limit. `unreadable` tensors have no memory of their own (sparse
    ones, wrappers of other tensors, the meta device), and no snapshot keeps them.
    """

    roots: tuple[tuple[str, object], ...]
    limit: int
    tensors: Mapping[str, Tensor]
    hosts: Mapping[str, object]
    unvisited: int
    unreadable: tuple[str, ...]

    def snapshot(self, before: Snapshot | None = None) -> Snapshot:
        """What is in reach at this moment, which stays alive as long as the snapshot does.

        It shares with an earlier one the copies of memory that has not changed.
        """
        return Snapshot(Walk(self.roots, self.limit), before)


def reachable(callable: object, args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int = LIMIT) -> State:
    """What a callable can read and write through itself, its arguments, its closure, and the globals that it names.

    Functions and classes are followed; globals count where no installed package defines them.
    """
    arguments = [(f"args[{position}]", value) for position, value in enumerate(args)]
    name = getattr(getattr(callable, "func", callable), "__name__", type(callable).__name__.lower())
    return reachable_from(((name, callable), *arguments, *kwargs.items()), limit)


def reachable_from(roots: tuple[tuple[str, object], ...], limit: int = LIMIT) -> State:
    """The same for objects by names of their own."""
    walk = Walk(roots, limit)
    tensors: dict[str, Tensor] = {}
    for tensor in walk.tensors:
        tensors.setdefault(walk.names[id(tensor)], tensor)  # of two with one name, the nearest
    hosts = {name: value for name, value in walk.slots.items() if not isinstance(value, Tensor)} | walk.lengths
    unreadable = tuple(walk.names[id(tensor)] for tensor in walk.tensors if not _is_readable(tensor))
    return State(roots, limit, tensors, hosts, walk.unvisited, unreadable)


def kept(state: State, before: Mapping[str, object]) -> dict[str, object]:
    """What the tensors of a state hold, by name; the copy in `before` again where that has not changed."""
    alike = {
        name: (tensor, old)
        for name, tensor in state.tensors.items()
        if name not in state.unreadable
        and isinstance(old := before.get(name), Tensor)
        and (old.shape, old.dtype, old.device) == (tensor.shape, tensor.dtype, tensor.device)
    }
    differs = dict(zip(alike, unequal(list(alike.values())), strict=True))
    return {
        name: before[name] if not differs.get(name, True) else tensor.detach().clone()
        for name, tensor in state.tensors.items()
    }


@dataclass(frozen=True)
class _SavedTensor:
    """Where a tensor was, which `alias` still is, and what it held."""

    tensor: Tensor
    alias: Tensor
    saved: Tensor

    def is_at(self, other: Tensor) -> bool:
        return _layout(self.alias) == _layout(other)


class Snapshot:
    """Names, addresses, values, host values and random states of one moment."""

    def __init__(self, walk: Walk, before: Snapshot | None = None) -> None:
        self._walk = walk
        self._contents = [(holder, parts_of(holder)) for holder in walk.holders]
        self._random = {name: (source, random_state(source)) for name, source in walk.sources.items()}
        known = before._memory if before is not None else {}
        self._memory: dict[int, tuple[Tensor, Tensor]] = {}
        self._places = {id(tensor): self._place(tensor, known) for tensor in walk.tensors if _is_readable(tensor)}

    def held(self) -> dict[str, Tensor]:
        """What each tensor held, by name; not to be written."""
        return {self._walk.names[key]: place.saved for key, place in self._places.items()}

    def restore(self) -> None:
        """Put back what names stand for, where tensors lie, what memory holds, and the random states."""
        for holder, parts in self._contents:
            put_back(holder, parts)
        with torch.no_grad():
            for place in self._places.values():
                if not place.is_at(place.tensor):
                    place.tensor.data = place.alias
            for live, saved in self._memory.values():
                live.copy_(saved)
        for source, state in self._random.values():
            set_random_state(source, state)

    def changes(self, later: Snapshot) -> list[Change]:
        """What became of the same state until a later snapshot; waits once for each device."""
        found, pairs = [], []
        for key, place in self._places.items():
            if key in later._places:
                pairs.append((self._walk.names[key], place, later._places[key]))
        before, after = self._walk.slots, later._walk.slots
        for name in before | after:
            old, new = before.get(name, ABSENT), after.get(name, ABSENT)
            kind = "" if old is new else _kind(old, new)
            one, other = self._places.get(id(old)), later._places.get(id(new))
            if kind == "rebound" and one and other and one.is_at(other.alias):
                pairs.append((name, one, other))  # another view of the same memory
            elif kind == "host":
                found.append(Change(name, kind, old, new))
            elif (kind == "created" and id(new) in self._places) or (kind == "removed" and id(old) in later._places):
                continue  # it has another name as well
            elif kind:
                found.append(Change(name, kind))
        for name, length in self._walk.lengths.items():
            if (now := later._walk.lengths.get(name, length)) != length:
                found.append(Change(name, "host", length, now))
        found += [Change(name, "moved") for name, one, other in pairs if not one.is_at(other.alias)]
        alike = [(name, one.saved, other.saved) for name, one, other in pairs if one.is_at(other.alias)]
        changed = unequal([(one, other) for _, one, other in alike])
        found += [Change(name, "value") for (name, _, _), differs in zip(alike, changed, strict=True) if differs]
        for name, (_, state) in self._random.items():
            if name in later._random and differing(later._random[name][1], state, {}):
                found.append(Change(name, "generator"))
        return found

    def _place(self, tensor: Tensor, known: Mapping[int, tuple[Tensor, Tensor]]) -> _SavedTensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._memory:
            # Bytes of whole storages: what shares memory is kept once, and neither dtype nor autograd has a say.
            live = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            _, old = known.get(storage._cdata, (live, live))
            is_same = old is not live and old.shape == live.shape and torch.equal(old, live)
            self._memory[storage._cdata] = live, old if is_same else live.clone()
        kept = self._memory[storage._cdata][1].untyped_storage()
        saved = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return _SavedTensor(
            tensor, tensor.data, saved.set_(kept, tensor.storage_offset(), tensor.shape, tensor.stride())
        )


def _kind(old: object, new: object) -> str:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return "rebound"
    if old is ABSENT or isinstance(new, Tensor):
        return "created"
    if new is ABSENT or isinstance(old, Tensor):
        return "removed"
    return "" if same(new, old) else "host"


def _layout(tensor: Tensor) -> tuple[object, ...]:
    return tensor.untyped_storage()._cdata, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _is_readable(tensor: Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        return False
    try:
        storage = tensor.untyped_storage()
        return not storage.nbytes() or bool(storage.data_ptr())
    except (NotImplementedError, RuntimeError):
        return False  # a wrapper of other tensors, or one that only stands for a tensor
