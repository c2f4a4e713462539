"""A value in, what a copy of it is out."""

from __future__ import annotations

from graphlint.values import UNKNOWN, Tensor, Unknown, Value, members, union


def copied(value: Value | None, tensor: Value) -> Value:
    """A tensor of its own for what is one or may be one; anything else is as it was."""
    given = tuple(members(value or UNKNOWN))
    kept = [member for member in given if not isinstance(member, (Tensor, Unknown))]
    return union(kept if len(kept) == len(given) else (*kept, tensor))
