"""The sizes that a tensor is made with in, its number of dimensions and which of them are one long out."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Given

from graphlint.static.domain.program import Bound, Instance, Method, Partial
from graphlint.values import NONE, Const, Host, Sequence, Tensor, Unknown, Value, members

ONE = Const(1)
_SIZE = Host("int")


def rank(sizes: Given[Value]) -> int | None:
    """The number of dimensions of `zeros(2, 3)` and `zeros((2, 3))`; None if nobody knows."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        return None if sizes[0].elements is None else len(sizes[0].elements)
    if len(sizes) == 1 and not isinstance(sizes[0], (Const, Host)):
        return None
    return len(sizes) or None


def ones(sizes: Given[Value]) -> tuple[int, ...]:
    """The dimensions that are written down to be one long."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = sizes[0].elements or ()
    return tuple(at for at, size in enumerate(sizes) if size == ONE)


def literal_rank(value: Value | None) -> int | None:
    """The rank of a tensor that is made of numbers, or of lists of them."""
    match value:
        case Sequence():
            first = value.element if value.elements is None else value.elements[0] if value.elements else Const(0)
            inner = literal_rank(first)
            return None if inner is None else inner + 1
        case Host():
            return 0 if value.kind in ("int", "float", "bool", "number") else None
        case Tensor():
            return value.ndim
        case Const() if value != NONE:
            return 0
    return None


def broadcast_rank(values: Iterable[Value]) -> int | None:
    """The rank of an elementwise result; numbers have rank 0."""
    rank = 0
    for value in values:
        for member in members(value):
            if isinstance(member, Tensor):
                if member.ndim is None:
                    return None
                rank = max(rank, member.ndim)
            elif isinstance(member, (Unknown, Method, Bound, Partial, Instance)):
                return None
    return rank


def shape(tensor: Tensor) -> Value:
    """What is known of all extents of a tensor."""
    if tensor.ndim is None:
        return Sequence("tuple", None, _SIZE)
    return Sequence("tuple", tuple(ONE if at in tensor.ones else _SIZE for at in range(tensor.ndim)))


def size(tensor: Tensor, dimension: Value) -> Value:
    """What is known of one of them."""
    at = dimension.value if isinstance(dimension, Const) else None
    return ONE if tensor.ndim and isinstance(at, int) and at % tensor.ndim in tensor.ones else _SIZE
