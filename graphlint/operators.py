"""The rows of operators in, what they do by their qualified names in Python out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from graphlint.effects import asked, effect, mistake
from graphlint.signatures import Operation, parameters

OPERATORS = "torch.ops."  # begins those names, as `torch.ops.aten.add.Tensor` for `aten::add.Tensor`
FAMILY_NAMES = frozenset({
    "accumulating", "asking", "batch-norms", "host-operands", "joining", "second-on-host", "unfilled", "unseen",
    "waiting-backward",
})  # fmt: skip
_PARTS = 4  # of such a name, without the overload
_SCHEMA = re.compile(r"(?P<namespace>\w+)::(?P<name>\w+(\.\w+)?)(?P<signature>\([\w, ]*\))?")


def read_operators(entries: Mapping[str, Any]) -> tuple[dict[str, Operation], dict[str, str]]:
    """The operators that have rows of their own, and those that do what another operation does, by qualified name."""
    operators: dict[str, Operation] = {}
    aliases: dict[str, str] = {}
    for schema, given in entries.items():
        name, signature = operator_name(schema)
        if isinstance(given, str):
            aliases[name] = given
        else:
            params = parameters(signature)
            operators[name] = Operation(name, params, "object", tuple(effect(row) for row in given))
    return operators, aliases


def operator_name(schema: str) -> tuple[str, str]:
    """`aten::add.Tensor(self, other)` -> the qualified name in Python, and the signature."""
    match = _SCHEMA.fullmatch(schema)
    assert match is not None, schema  # rows are valid
    return f"{OPERATORS}{match['namespace']}.{match['name']}", match["signature"] or "(...)"


def mistake_of_operator(schema: str, rows: Any) -> str:
    """What is wrong with a row of an operator; empty if nothing is."""
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        return "not the name of an operator, as `aten::add.Tensor(self, other)`"
    if isinstance(rows, str):
        return ""
    names = {param.name for param in parameters(match["signature"] or "(...)") or ()}
    wrong = mistake(rows)
    return wrong or next(
        (f"a condition asks `{one}`, which is no parameter" for one in sorted(asked(rows) - names)), ""
    )


def mistake_of_family(name: str, members: Any) -> str:
    """What is wrong with a family of operators; empty if nothing is."""
    if name not in FAMILY_NAMES:
        return f"not one of {', '.join(sorted(FAMILY_NAMES))}"
    is_list = isinstance(members, list) and all(isinstance(one, str) for one in members)
    return "" if is_list else "a list of names is expected"


def without_overload(name: str) -> str:
    """`torch.ops.aten.add.Tensor` -> `torch.ops.aten.add`."""
    return ".".join(name.split(".")[:_PARTS])
