"""An operator of the device in, whether the host would wait for it, as measured on a GPU, out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from graphlint.runtime.trace.operators import Call, Operator

UNPINNED = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned"
_INDEXING = ("aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index")
_MASKS = (torch.bool, torch.uint8)
# Operators that read a result back, whatever they are given.
_WAIT = frozenset({
    "_local_scalar_dense", "nonzero", "masked_select", "_unique", "_unique2", "unique_consecutive", "unique_dim",
    "bincount", "allclose", "segment_reduce", "_ctc_loss", "_ctc_loss_backward", "masked_scatter_backward",
    "_to_sparse", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc", "sparse_mask",
    "_linalg_check_errors", "_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_lstsq", "linalg_lu",
    "linalg_lu_factor_ex", "linalg_ldl_solve", "linalg_matrix_exp", "cholesky", "cholesky_inverse", "cholesky_solve",
    "to_padded_tensor", "_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_mask",
})  # fmt: skip
# Operators that read back a number of the device which they take as a tensor: the positions of those.
_READ = {
    "aten::masked_fill.Tensor": (2,), "aten::masked_fill_.Tensor": (2,),
    "aten::index_fill.int_Tensor": (3,), "aten::index_fill_.int_Tensor": (3,),
    "aten::linspace.Tensor_Tensor": (0, 1), "aten::linspace.Tensor_Scalar": (0,), "aten::linspace.Scalar_Tensor": (1,),
    "aten::logspace.Tensor_Tensor": (0, 1), "aten::logspace.Tensor_Scalar": (0,), "aten::logspace.Scalar_Tensor": (1,),
    "aten::linalg_pinv.atol_rtol_tensor": (0,), "aten::normal.Tensor_Tensor": (1,), "aten::normal.float_Tensor": (1,),
}  # fmt: skip
_FEW = 10  # elements of the tested ones, per elements of the others, up to which `isin` does not sort
_MIXING = frozenset({
    "copy_", "_to_copy", "index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "is_pinned",
    "_pack_padded_sequence", "_ctc_loss", "segment_reduce", "set_", "tensor_split", "_foreach_copy_", "resize_as_",
})  # fmt: skip


def waits(call: Call) -> bool:
    """Whether the host waits for the device in the course of an operator other than a copy."""
    waiting = _waiting(call.operator)
    return waiting is not None and waiting(call)


@functools.cache
def _waiting(operator: Operator) -> Callable[[Call], bool] | None:
    """What tells of a call of an operator whether it waits; None where none does."""
    name = operator.schema.removeprefix("aten::")
    if name in _WAIT:
        return lambda call: True
    if operator.schema in _INDEXING:
        return _indexes_by_mask
    read = _READ.get(operator.overload)
    if read is not None:
        return lambda call: any(_is_device(one) for position in read for one in call.args[position : position + 1])
    return _WAITING.get(name)


def _seeks_bounds(call: Call) -> bool:
    """Without bounds, `histc` looks for them."""
    low, high = (*call.args, 0, 0)[2:4] if len(call.args) > 2 else (call.kwargs.get("min"), call.kwargs.get("max"))
    return bool((low or 0) == (high or 0))


def _sorts(call: Call) -> bool:
    elements, tested = (one.numel() if isinstance(one, torch.Tensor) else 1 for one in call.args[:2])
    return bool(tested >= _FEW * elements**0.145)


def _checks(call: Call) -> bool:
    return bool(call.kwargs.get("check_errors", False))


# Operators of which it depends on other arguments.
_WAITING: dict[str, Callable[[Call], bool]] = {
    "equal": lambda call: call.args[0] is not call.args[1],
    "repeat_interleave": lambda call: call.kwargs.get("output_size") is None,
    "linalg_cholesky_ex": _checks, "linalg_inv_ex": _checks, "_linalg_solve_ex": _checks,
    "histc": _seeks_bounds,
    "_grouped_mm": lambda call: bool(call.args[0].dtype is torch.float32),
    "isin": _sorts,
}  # fmt: skip


def uploads(call: Call) -> bool:
    """Whether an operand of the host has to be copied to the device."""
    if call.schema == "aten::where":
        return any(not one.is_cuda for one in call.tensors)
    if call.schema not in _INDEXING:
        return False
    hosts = [one for one in _indices(call) if not one.is_cuda]
    if len(call.args) == 2:  # a mask of the host that reads is counted there
        return any(one.dtype not in _MASKS for one in hosts)
    return bool(hosts) or (not call.args[2].is_cuda and not _fills_mask(call))


def is_host_result(call: Call, number: int) -> bool:
    """Whether a result of an operator of the device lies on the host."""
    return number == 1 and call.schema == "aten::_pack_padded_sequence"


def is_number_written(call: Call, tensor: torch.Tensor) -> bool:
    """Whether a tensor of C++ is a number that is written through an index, which stays one of the host."""
    return call.schema in _INDEXING and call.args[2:3] != () and call.args[2] is tensor and not tensor.dim()


def mixes(call: Call) -> bool:
    """Whether an operator of the device takes a tensor of the host that is not a single number."""
    if call.schema.removeprefix("aten::") in _MIXING or call.operator.namespace not in ("aten", "prims"):
        return False
    given = call.tensors
    return any(one.is_cuda for one in given) and any(not one.is_cuda and one.dim() for one in given)


def _indexes_by_mask(call: Call) -> bool:
    """A mask has as many indices as the device finds, but one number is written without counting them."""
    return any(one.dtype in _MASKS and one.is_cuda for one in _indices(call)) and not _fills_mask(call)


def _fills_mask(call: Call) -> bool:
    """Whether one number of the host is written through one mask."""
    if len(call.args) < 3 or call.args[2].is_cuda or call.args[2].numel() != 1:
        return False
    return len(_indices(call)) == 1 and _indices(call)[0].dtype in _MASKS


def _indices(call: Call) -> list[torch.Tensor]:
    return [one for one in call.args[1] if isinstance(one, torch.Tensor)]


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cuda
