"""A node in, everything that stands in it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from graphlint.static.syntax.ir import Attribute, Name


def names_in(node: object) -> set[str]:
    """The names that stand in a node."""
    return {part.id for part in walk(node) if isinstance(part, Name)}


def words_in(node: object) -> set[str]:
    """The names that stand in a node, those behind dots among them."""
    return names_in(node) | {part.attr for part in walk(node) if isinstance(part, Attribute)}


def walk(node: object) -> Iterator[object]:
    """A node, or a tuple of them, and everything that stands in it."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif is_dataclass(node):
        for part in fields(node):
            yield from walk(getattr(node, part.name))
