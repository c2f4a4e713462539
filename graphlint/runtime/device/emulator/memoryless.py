"""Tensors that have a shape alone in, what they say of themselves as if they had memory out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from graphlint.runtime.device.emulator.residence import CPU, CUDA, Kind, Residence, real_device
from graphlint.runtime.device.emulator.shapes import Shapes, is_unreal
from graphlint.runtime.device.emulator.tensors import Patch

_TENSOR: Any = torch.Tensor
_Base: Any = torch._C.TensorBase
_address_of: Any = torch._C.StorageBase.data_ptr
_FIRST = 1 << 46  # address
_ALIGNED = 512  # bytes
_FIRST_SWEEP = 4096  # storages, from which on those that are gone are forgotten


class Addresses:
    """Addresses for memory that is not there, each with as much room as its storage would take."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, int]] = {}
        self._next = _FIRST
        self._sweep_at = _FIRST_SWEEP

    def of(self, storage: Any) -> int:
        """The address of a storage; 0 for an empty one."""
        found = int(_address_of(storage))
        if found or not storage.nbytes():
            return found
        if storage._cdata not in self._known:
            self._known[storage._cdata] = StorageWeakRef(storage), self._next
            self._next += (storage.nbytes() // _ALIGNED + 1) * _ALIGNED
        address = self._known[storage._cdata][1]
        if len(self._known) > self._sweep_at:
            self._known = {key: one for key, one in self._known.items() if not one[0].expired()}
            self._sweep_at = 2 * len(self._known) + _FIRST_SWEEP
        return address


class Memoryless:
    """What takes the place of stand-ins of tensors where most of them have no memory."""

    def __init__(self, residence: Residence, shapes: Shapes, wait: Callable[[], None]) -> None:
        self.residence = residence
        self.shapes = shapes
        self.wait = wait
        self.addresses = Addresses()

    def patches(self) -> list[Patch]:
        """What stands in place of what; the stand-ins of other tensors are there already."""
        storage = torch.UntypedStorage
        return [
            (_TENSOR, "device", property(self._device)),
            (_TENSOR, "is_cuda", property(lambda tensor: self._device(tensor).type == "cuda")),
            (_TENSOR, "is_meta", property(lambda tensor: self._device(tensor).type == "meta")),
            (_TENSOR, "data_ptr", lambda tensor: self._data_ptr(tensor)),
            (_TENSOR, "numpy", self._reading(_TENSOR.numpy)),
            (_TENSOR, "tolist", self._reading(_TENSOR.tolist)),
            (storage, "data_ptr", lambda one: self.addresses.of(one)),
            (storage, "device", property(self._device_of_storage)),
            (storage, "clone", self._cloning(storage.clone)),
            (torch._tensor_str, "_str", self._printing(torch._tensor_str._str)),
        ]

    def _device(self, tensor: torch.Tensor) -> torch.device:
        found: torch.device = real_device(tensor)
        return found if self.residence.is_bare else self._told(found, self.residence.kind(tensor))

    def _device_of_storage(self, storage: Any) -> torch.device:
        return self._told(torch._C.StorageBase.device.__get__(storage), self.residence.kind_of_storage(storage))

    def _told(self, found: torch.device, kind: Kind | None) -> torch.device:
        if kind is Kind.DEVICE:
            return CUDA
        return CPU if found.type == "meta" and kind is not Kind.NOWHERE else found

    def _data_ptr(self, tensor: torch.Tensor) -> int:
        if not is_unreal(tensor) or not tensor.numel():
            return int(_Base.data_ptr(tensor))
        first: int = tensor.storage_offset() * tensor.element_size()
        return self.addresses.of(tensor.untyped_storage()) + first

    def _reading(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """A large tensor of the host stays without numbers until it is read."""

        @functools.wraps(read)
        def given(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            is_copied = kwargs.get("force") if read.__name__ == "numpy" else True
            if is_copied and self._device(tensor).type == "cuda":
                tensor = tensor.detach().cpu()
            is_host = is_unreal(tensor) and self._device(tensor).type == "cpu"
            return read(self.shapes.filled(tensor) if is_host else tensor, *args, **kwargs)

        return given

    def _cloning(self, clone: Callable[..., Any]) -> Callable[..., Any]:
        def cloned(storage: Any) -> Any:
            if torch._C.StorageBase.device.__get__(storage).type != "meta":
                return clone(storage)
            made = torch.UntypedStorage(storage.nbytes(), device="meta")
            kind = self.residence.kind_of_storage(storage)
            if kind is not None:
                self.residence.place_storage(made, kind)
            return made

        return cloned

    def _printing(self, printed: Callable[..., str]) -> Callable[..., str]:
        """The text leaves out the numbers, but whoever prints waits for them."""

        @functools.wraps(printed)
        def text(tensor: torch.Tensor, **kwargs: Any) -> str:
            if not is_unreal(tensor):
                return printed(tensor, **kwargs)
            if self.residence.is_device(tensor):
                self.wait()
            return f"tensor(..., device='{self._device(tensor)}', size={tuple(tensor.shape)}, dtype={tensor.dtype})"

        return text
