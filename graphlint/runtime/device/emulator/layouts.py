"""A tensor of any layout in, the plain tensors that it is made of, and what makes it of them again, out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Build = Callable[[Sequence[torch.Tensor]], torch.Tensor]
_ROWS = (torch.sparse_csr, torch.sparse_bsr)  # the layouts that compress rows
_COMPRESSED = (*_ROWS, torch.sparse_csc, torch.sparse_bsc)


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one stretch of memory."""
    return tensor.layout is torch.strided and not tensor.is_nested


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The plain tensors that share the memory of a tensor; none where nobody knows them."""
    if is_plain(tensor):
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in _ROWS:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in _COMPRESSED:
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.values()] if tensor.layout is torch.strided else []


def builder(tensor: torch.Tensor) -> Build:
    """What makes a tensor like this one of such parts."""
    size, layout = tensor.shape if not tensor.is_nested else torch.Size(), tensor.layout
    if layout is torch.sparse_coo:
        is_coalesced = tensor.is_coalesced()
        return lambda given: torch.sparse_coo_tensor(
            given[0], given[1], size, check_invariants=False, is_coalesced=is_coalesced
        )
    if layout in _COMPRESSED:
        return lambda given: torch.sparse_compressed_tensor(*given, size, layout=layout, check_invariants=False)
    nested: Any = tensor
    outline = nested._nested_tensor_size(), nested._nested_tensor_strides(), nested._nested_tensor_storage_offsets()
    return lambda given: torch._nested_view_from_buffer(given[0], *outline)
