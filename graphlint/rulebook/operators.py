"""The rows of operators in, what they do by their qualified names in Python out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from graphlint.rulebook.effects import effect
from graphlint.rulebook.signatures import Operation, parameters

OPERATORS = "torch.ops."  # begins those names, as `torch.ops.aten.add.Tensor` for `aten::add.Tensor`
FAMILY_NAMES = (
    "accumulating", "asking", "autocast-narrow", "autocast-widest", "batch-norms", "benchmarked", "between-two",
    "host-operands", "joining", "overwriting", "products", "receiving", "same-shape", "second-on-host", "shaped-like",
    "unfilled", "unseen", "waiting-backward", "workspaces", "workspaces-by-bias", "workspaces-lt",
)  # fmt: skip
SCHEMA = re.compile(r"(?P<namespace>\w+)::(?P<name>\w+(\.\w+)?)(?P<signature>\((\w+(, \w+)*)?\))?")
_PARTS = 4  # of such a name, without the overload


def read_operators(rows: Mapping[str, Any]) -> dict[str, Operation | str]:
    """What operators do, by qualified name: effects of their own, or what the operation of this name does."""
    found: dict[str, Operation | str] = {}
    for schema, given in rows.items():
        name, signature = operator_name(schema)
        effects = given if isinstance(given, str) else tuple(effect(row) for row in given)
        found[name] = effects if isinstance(effects, str) else Operation(name, parameters(signature), "object", effects)
    return found


def operator_name(schema: str) -> tuple[str, str]:
    """`aten::add.Tensor(self, other)` -> the qualified name in Python, and the signature."""
    match = SCHEMA.fullmatch(schema)
    assert match is not None, schema  # rows are valid
    return f"{OPERATORS}{match['namespace']}.{match['name']}", match["signature"] or "(...)"


def without_overload(name: str) -> str:
    """`torch.ops.aten.add.Tensor` -> `torch.ops.aten.add`."""
    return ".".join(name.split(".")[:_PARTS])
