"""Dtypes in, the types of tensors that say where they lie, as `torch.cuda.FloatTensor`, out."""

from __future__ import annotations

from typing import Any

import torch

# What a type of torch is called after; one for each dtype that has had a name of its own.
_NAMES = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Bool": torch.bool,
}  # fmt: skip


class _Kind(type):
    """A class whose instances are tensors of a dtype on the device."""

    dtype: torch.dtype

    def __call__(cls, *given: Any) -> torch.Tensor:
        if len(given) == 1 and not isinstance(given[0], int | torch.Size):
            return torch.tensor(given[0], dtype=cls.dtype, device="cuda")
        return torch.empty(*given, dtype=cls.dtype, device="cuda")

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, torch.Tensor) and one.is_cuda and one.dtype is cls.dtype


def types() -> dict[str, type]:
    """The types by their names in `torch.cuda`."""
    return {
        f"{name}Tensor": _Kind(f"{name}Tensor", (), {"dtype": dtype, "__module__": "torch.cuda"})
        for name, dtype in _NAMES.items()
    }
