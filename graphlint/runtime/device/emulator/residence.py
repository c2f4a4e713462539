"""A tensor in, where it would lie if there were a device out: the storage knows, so that views and parameters do."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy
from torch.utils.weak import WeakIdKeyDictionary

_FIRST_SWEEP = 4096  # storages, from which on those that are gone are forgotten
CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
_Base: Any = torch._C.TensorBase
_untyped_storage = _Base.untyped_storage
real_device = _Base.device.__get__


class Kind(enum.Enum):
    """Memory of the device, pinned memory of the host, or a helper of C++ that lies where its company does.

    `NOWHERE` is what a program itself puts on the meta device, where only shapes are emulated.
    """

    DEVICE = enum.auto()
    PINNED = enum.auto()
    HELPER = enum.auto()
    NOWHERE = enum.auto()


class Residence:
    """Where storages lie; the weak reference to each keeps its identity from being given to another one."""

    def __init__(self) -> None:
        self._kinds: dict[int, tuple[StorageWeakRef, Kind]] = {}
        self._without_storage: Any = WeakIdKeyDictionary()  # sparse ones and the like: their kinds
        self._sweep_at = _FIRST_SWEEP
        self._here = threading.local()

    @property
    def is_bare(self) -> bool:
        """Whether this thread runs kernels, to which tensors say where they really lie."""
        return getattr(self._here, "is_bare", False)

    @contextlib.contextmanager
    def bare(self) -> Iterator[None]:
        """Inside, kernels run that are written in Python and build on the devices of what they are given."""
        before, self._here.is_bare = self.is_bare, True
        try:
            yield
        finally:
            self._here.is_bare = before

    def place(self, tensor: torch.Tensor, kind: Kind) -> None:
        """Remember where a tensor lies."""
        storage = storage_of(tensor)
        if storage is None:
            self._without_storage[tensor] = kind
        elif self.kind_of_storage(storage) is not kind:
            self.place_storage(storage, kind)

    def place_storage(self, storage: Any, kind: Kind) -> None:
        self._kinds[storage._cdata] = StorageWeakRef(storage), kind
        if len(self._kinds) > self._sweep_at:
            self._kinds = {key: one for key, one in self._kinds.items() if not one[0].expired()}
            self._sweep_at = 2 * len(self._kinds) + _FIRST_SWEEP

    def kind(self, tensor: torch.Tensor) -> Kind | None:
        """None for ordinary memory of the host."""
        try:  # asked for many times an operator, so that the common case takes one step
            known = self._kinds.get(_untyped_storage(tensor)._cdata)
        except (NotImplementedError, RuntimeError, ValueError):
            storage = storage_of(tensor)
            if storage is None:
                is_wrapper = real_device(tensor).type == "cuda"  # of others, which all lie there
                known_here: Kind | None = self._without_storage.get(tensor, Kind.DEVICE if is_wrapper else None)
                return known_here
            return self.kind_of_storage(storage)
        return known[1] if known is not None else None

    def kind_of_storage(self, storage: Any) -> Kind | None:
        known = self._kinds.get(storage._cdata)
        return known[1] if known is not None else None

    def of_device(self) -> Iterator[Any]:
        """All storages that lie there now."""
        for reference, kind in list(self._kinds.values()):
            storage = torch.UntypedStorage._new_with_weak_ptr(reference.cdata) if kind is Kind.DEVICE else None
            if storage is not None:
                yield storage

    def is_device(self, tensor: torch.Tensor) -> bool:
        return self.kind(tensor) is Kind.DEVICE

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return self.kind(tensor) is Kind.PINNED


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage; None for a layout that has none."""
    try:
        if is_lazy(tensor):
            with torch._C.DisableTorchFunctionSubclass():
                return _untyped_storage(tensor)
        return _untyped_storage(tensor)
    except (NotImplementedError, RuntimeError):
        return None
