"""A table of operations in; where it says what nobody would understand, an error with the line and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from graphlint.errors import nearest
from graphlint.finding import Confidence
from graphlint.rulebook.effects import ALWAYS, COUNTED, PREDICATES, SIZE, VALUED, condition
from graphlint.rulebook.operators import FAMILY_NAMES, SCHEMA
from graphlint.rulebook.page import mistake, not_text
from graphlint.rulebook.tables import Table

SECTIONS = ("methods", "effects", "operators", "families", "aliases", "operations")
METHODS = ("telling", "views")
EFFECT = ("effect", "when", "confidence", "help", "message", "proof", "assumed", "example")
CONFIDENCES = tuple(str(confidence) for confidence in Confidence)
# What the words mean stands at `Operation` and `Condition`.
RETURNS = frozenset({
    "tensor", "elementwise", "promoted", "same-shape", "embedded", "copy", "bool-tensor", "int-tensor", "indices",
    "scalar-tensor", "reduction", "bool-reduction", "int-reduction", "extremum", "where", "unique", "loss", "factory",
    "like", "moved", "self", "host-tensor", "device-tensor", "host-array", "tensors", "pair", "triple", "quad", "int",
    "float", "bool", "number", "str", "list", "groups", "states", "shape", "device", "dtype", "none", "object",
    "instance",
})  # fmt: skip
TYPES = ("number", "int", "size")

_NAME = r"[A-Za-z_]\w*"
_PARAMETER = rf"\*{{0,2}}{_NAME}(?:: (?:{'|'.join(TYPES)}))?"
_ROW = re.compile(rf"(?P<name>{_NAME}(?:\.{_NAME})*)(?:\((?:\.\.\.|(?:{_PARAMETER}(?:, {_PARAMETER})*)?)\))?")


def check_operations(table: Table) -> None:
    """Raises UsageError for the first mistake that can be seen without the other tables."""
    table.known(table.data, SECTIONS)
    for section, rows in table.data.items():
        table.expect(rows, dict, section)
    table.known(table.data.get("methods", {}), METHODS, "methods")
    for group, names in table.data.get("methods", {}).items():
        table.strings(names, "methods", group)
    for alias, target in table.data.get("aliases", {}).items():
        table.expect(target, str, "aliases", alias)
    for name, effects in table.data.get("effects", {}).items():
        _check_effects(table, "effects", name, effects)
    for schema, given in table.data.get("operators", {}).items():
        _check_operator(table, schema, given)
    table.known(table.data.get("families", {}), FAMILY_NAMES, "families")
    for family, names in table.data.get("families", {}).items():
        table.strings(names, "families", family)
    for namespace, blocks in table.data.get("operations", {}).items():
        table.expect(blocks, dict, "operations", namespace)
        for returns, block in blocks.items():
            table.expect(block, str, "operations", namespace, returns)
            if returns != "base":
                _check_block(table, namespace, returns, block)


def rows_of(block: str) -> Iterator[tuple[str, str]]:
    """The name and the signature of each line of a block; an attribute has no signature."""
    for line in block.split("\n"):
        if line:
            name, parenthesis, rest = line.partition("(")
            yield name, parenthesis + rest


def _check_block(table: Table, namespace: str, returns: str, block: str) -> None:
    path = ("operations", namespace, returns)
    if returns not in RETURNS and "." not in returns:
        raise table.error(f"no kind of result is called `{returns}`{nearest(returns, RETURNS)}", *path)
    for line in block.split("\n"):
        if line and not _ROW.fullmatch(line):
            said = f"`{line}` is no operation; write `name(parameter, *others, size: int)`, of types {', '.join(TYPES)}"
            raise table.error(said, *path, at=line)


def _check_operator(table: Table, schema: str, given: Any) -> None:
    if not SCHEMA.fullmatch(schema):
        said = f"`{schema}` is no operator; write it as `aten::add.Tensor(self, other)`"
        raise table.error(said, "operators", schema)
    if not isinstance(given, str):
        _check_effects(table, "operators", schema, given)


def _check_effects(table: Table, section: str, name: str, effects: Any) -> None:
    table.expect(effects, list, section, name)
    for place, effect in enumerate(effects):
        _check_effect(table, section, name, place, effect)


def _check_effect(table: Table, section: str, name: str, place: int, effect: object) -> None:
    path = (section, name, place)
    if not isinstance(effect, dict):
        raise table.error(f"`{name}`: expected a list of tables", *path)
    table.known(effect, EFFECT, *path)
    for key, value in effect.items():
        if said := mistake(key, value) if key == "message" else not_text(value):
            raise table.error(f"`{key}`: {said}", *path, at=key)
    if "effect" not in effect:
        raise table.error(f"`{name}`: key `effect` is missing", *path)
    confidence = effect.get("confidence", "high")
    if confidence not in CONFIDENCES:
        said = f"`confidence`: `{confidence}` is not one of {', '.join(CONFIDENCES)}"
        raise table.error(said, *path, at=confidence)
    if effect.get("when") != ALWAYS:
        for text in effect.get("when", "").split():
            if said := _wrong(text):
                raise table.error(f"`when`: {said}", *path, at=text)


def _wrong(text: str) -> str:
    """What is wrong with the text of a condition, if anything is."""
    asked = condition(text)
    predicate, name = asked.predicate, asked.argument
    if predicate not in PREDICATES:
        return f"no condition is called `{predicate}`{nearest(predicate, PREDICATES)}"
    if not name:
        return f"`{text}` names no parameter; write `{predicate}:parameter`, or `{predicate}:*` for any argument"
    if bool(asked.value) != (predicate in VALUED):
        wanted = f"{predicate}:{name}=value" if predicate in VALUED else f"{predicate}:{name}"
        return f"`{text}` is not `{wanted}`"
    if predicate in COUNTED and not SIZE.fullmatch(asked.value or ""):
        return f"`{asked.value}` is no number of elements; write one, or `10*x^0.5` for ten roots of those of `x`"
    return ""
