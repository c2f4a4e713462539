"""A definition in, the parameters of its header out, without a look at its body."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphlint.static.index.module import Definition, Segment
from graphlint.static.syntax.trees import UNPARSABLE, parse

_LONGEST = 80  # lines of a header


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the parameters by how they are given; those in `required` have no default."""

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    required: frozenset[str]
    star: bool = False
    double_star: bool = False


def header(definition: Definition) -> Header | None:
    """The header of a function; None where nothing can be made of it."""
    text = ""
    lines = definition.module.source_of(Segment(definition.line, definition.segment.last)).split("\n")
    for line in lines[:_LONGEST]:
        text += line.lstrip() + "\n"
        if ":" in line:
            for body in ("    pass\n", ""):
                try:
                    (node,) = parse(text + body).body
                except UNPARSABLE:
                    continue
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    return _header(node.args)
    return None


def _header(given: ast.arguments) -> Header:
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    keywords = [argument.arg for argument in given.kwonlyargs]
    without_default = positional[: len(positional) - len(given.defaults)]
    without_default += [name for name, default in zip(keywords, given.kw_defaults, strict=True) if default is None]
    return Header(
        tuple(positional),
        tuple(keywords),
        frozenset(without_default),
        given.vararg is not None,
        given.kwarg is not None,
    )
