"""What the program asserts of its captures in, whether what is assumed on a way goes against it out.

`assert not (args.use_graphs and args.unpad)` says that nothing is captured where `unpad` is set; `if args.unpad: assert
not args.use_graphs` and `if args.use_graphs and args.unpad: raise ValueError` say the same. Flags are known by their
last names, since a configuration is handed on under many.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from graphlint.reading.questions import HoldsAny
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.index.project import Project
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.trees import nodes_in, tree_of

Promise: TypeAlias = "tuple[tuple[ast.expr, bool], ...]"  # tests that do not all come out like this

_ASKING = r"(?m)^[ \t]*(assert|if|elif)\b.*graph"
_WORD = "graph"
_NAME = re.compile(r"\w+")


class Promises:
    """What the files of a program assert of flags by which it captures."""

    def __init__(self, project: Project, lexicon: Lexicon) -> None:
        self.project = project
        self.captures = lexicon.host_state["captures"]

    def forbid(self, said: Mapping[str, bool]) -> bool:
        """Whether nothing is captured where flags of these names are so."""
        return any(all(_holds(test, self._known(said)) is outcome for test, outcome in one) for one in self._of(said))

    def _known(self, said: Mapping[str, bool]) -> dict[str, bool]:
        return {**dict.fromkeys(self._flags, True), **said}

    def _of(self, said: Mapping[str, bool]) -> Iterator[Promise]:
        for names, promise in self._all:
            if not names.isdisjoint(said):
                yield promise

    @cached_property
    def _flags(self) -> frozenset[str]:
        return frozenset(name for names, _ in self._all for name in names if self.captures.match(name))

    @cached_property
    def _all(self) -> list[tuple[frozenset[str], Promise]]:
        """Every promise that speaks of such a flag, with the names in it."""
        found = []
        for path in self.project.answering(HoldsAny([_WORD], _ASKING)):
            module = self.project.module_at(path)
            segments = [one.segment for one in module.index.all_functions()]
            for segment in (*segments, *module.index.statements):
                source = module.source_of(segment)
                for names, promise in promises_in(source) if self._may_promise(source) else ():
                    if any(map(self.captures.match, names)):
                        found.append((names, promise))
        return found

    def _may_promise(self, source: str) -> bool:
        """Whether a segment may assert something of such a flag: which saves parsing most of them."""
        is_said = _WORD in source and ("assert" in source or "raise" in source)
        return is_said and any(map(self.captures.match, set(_NAME.findall(source))))


@remembered
def promises_in(source: str) -> tuple[tuple[frozenset[str], Promise], ...]:
    """What the assertions of a segment promise, and the names in each."""
    tree = tree_of(source)
    found = tuple(_promises(tree, ())) if tree is not None else ()
    return tuple((frozenset(_names(one)), one) for one in found)


def _promises(node: ast.AST, around: Promise) -> Iterator[Promise]:
    match node:
        case ast.Assert(test=test):
            yield (*around, (test, False))
        case ast.Raise() if around:
            yield around
        case ast.If(test=test):
            for outcome, block in ((True, node.body), (False, node.orelse)):
                for statement in block:
                    yield from _promises(statement, (*around, (test, outcome)))
            return
        case ast.Try():
            return  # whoever catches what is raised goes on
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _promises(child, around)


def _names(promise: Promise) -> Iterator[str]:
    for test, _ in promise:
        for part in nodes_in(test):
            if isinstance(part, ast.Attribute):
                yield part.attr


def _holds(test: ast.expr, known: Mapping[str, bool]) -> bool | None:
    """How a test comes out as far as flags are known; None if that does not tell."""
    match test:
        case ast.Attribute(attr=name):
            return known.get(name)
        case ast.Constant(value=bool() as value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            held = _holds(operand, known)
            return None if held is None else not held
        case ast.BoolOp(op=op, values=values):
            deciding = isinstance(op, ast.Or)
            outcomes = {_holds(value, known) for value in values}
            return deciding if deciding in outcomes else None if None in outcomes else not deciding
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=bool() as value)]):
            held = _holds(left, known)
            return None if held is None else held is value
    return None
