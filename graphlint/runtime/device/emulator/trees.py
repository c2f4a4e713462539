"""What CUDA graph trees of torch ask of an allocator in, answers for memory that is never used twice out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.residence import CPU, Kind, Residence
from graphlint.runtime.trace.operators import Call

_storage_at: Callable[..., Any] = torch._C._construct_storage_from_data_pointer
_use_count: Callable[[int], int] = torch._C._storage_Use_Count


class Trees:
    """Memory at addresses: storages over it come and go, as the outputs of a replay do, while a pool keeps it.

    Trees know memory by its address, and whether somebody holds it by the references to a storage; so what a pool
    keeps alive here does not count.
    """

    def __init__(self, residence: Residence) -> None:
        self.residence = residence
        self._allocated: dict[int, StorageWeakRef] = {}  # to a pool, outside of captures, by address
        self._is_allocating = False
        self._kept: dict[int, Any] = {}  # storages behind those that are made from an address
        self._lost: dict[int, tuple[StorageWeakRef, str]] = {}  # storages that a later run has taken the memory of

    def functions(self) -> dict[str, Any]:
        """What the half of torch that is written in C++ has for them."""
        return {
            "_cuda_getCheckpointState": lambda *_: (),
            "_cuda_setCheckpointPoolState": _nothing,
            "_cudnn_set_conv_benchmark_empty_cache": _nothing,
            "_has_Standard_Deleter": lambda _storage: True,
            "_free_And_Remove_DeleterFn": _nothing,
            "_construct_storage_from_data_pointer": self._storage,
            "_construct_CUDA_Tensor_From_Storage_And_Metadata": _tensor,
            "_set_storage_access_error_msg": lambda tensor, said: self._lose(tensor.untyped_storage(), said),
            "_set_storage_data_ptr_access_error_msg": self._lose_by_reference,
            "_storage_Use_Count": self._references,
            "_tensors_data_ptrs_at_indices_equal": _are_at,
        }

    def allocated(self, tensor: torch.Tensor) -> None:
        """Memory of the device that is new."""
        if self._is_allocating:
            storage = tensor.untyped_storage()
            self._allocated[storage.data_ptr()] = StorageWeakRef(storage)

    def require_owned(self, call: Call) -> None:
        """Raises RuntimeError where an operator uses memory that a later run has taken."""
        for tensor in call.tensors if self._lost else ():
            _, said = self._lost.get(tensor.untyped_storage()._cdata, (None, ""))
            if said:
                raise RuntimeError(said)

    @contextlib.contextmanager
    def pool(self, _device: int, mem_pool: object, stream: torch.cuda.Stream) -> Iterator[None]:
        """Inside, memory belongs to a pool; in place of what torch has, which sets a device that C++ has to know."""
        stream.wait_stream(torch.cuda.current_stream())
        self._allocated.clear()
        self._is_allocating = True
        try:
            with torch.cuda.stream(stream):
                yield
        finally:
            self._is_allocating = False
        torch.cuda.current_stream().wait_stream(stream)

    def _storage(self, address: int, _device: torch.device, size: int) -> Any:
        known = self._allocated.get(address)
        alive = torch.UntypedStorage._new_with_weak_ptr(known.cdata) if known is not None else None
        if alive is not None:
            self._kept[alive._cdata] = alive
        storage = _storage_at(address, CPU, size)
        self.residence.place_storage(storage, Kind.DEVICE)
        for owner in (*self._kept.values(), *(one for graph in Recording.living for one in graph.kept.values())):
            if owner.data_ptr() == address:
                Recording.owners[storage._cdata] = StorageWeakRef(storage), owner
        return storage

    def is_held(self, storage: Any) -> bool:
        """Whether somebody holds memory of a graph, which holds it as well, or a storage over it."""
        known = Recording.owners.values()
        over = any(owner is storage and not reference.expired() for reference, owner in known)
        return over or self._references(storage._cdata) > 0

    def _references(self, storage: int) -> int:
        is_kept = storage in self._kept or any(storage in one.kept for one in Recording.living)
        return _use_count(storage) - is_kept

    def _lose(self, storage: Any, said: str) -> None:
        self._lost[storage._cdata] = StorageWeakRef(storage), said

    def _lose_by_reference(self, storage: int, said: str) -> None:
        found = torch.UntypedStorage._new_with_weak_ptr(storage)
        if found is not None:
            self._lose(found, said)


def _tensor(metadata: dict[str, Any], storage: Any) -> torch.Tensor:
    empty = torch.empty(0, dtype=metadata["dtype"], device="cuda")
    return empty.set_(storage, metadata["storage_offset"], metadata["size"], metadata["stride"])


def _are_at(tensors: Sequence[Any], addresses: Sequence[int | None], indices: Sequence[int]) -> bool:
    return all(tensors[index].data_ptr() == addresses[index] for index in indices)


def _nothing(*_args: object) -> None:
    """There is nothing to do."""
