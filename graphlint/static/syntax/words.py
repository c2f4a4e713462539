"""Source and words in, whether its code uses one of them out: comments, prose and local names do not count."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.static.syntax.trees import UNPARSABLE, nodes_in, statements


@dataclass(frozen=True)
class Words:
    """Names to look for; those of `optional` are told apart by the keyword arguments that a call of them is given."""

    pattern: re.Pattern[str]
    optional: frozenset[str] = frozenset()
    keywords: frozenset[str | None] = frozenset()

    def used_in(self, text: str) -> bool:
        """Whether whole source lines read a name or member that is one of the words."""
        if not self.pattern.search(text):
            return False
        try:
            nodes = [node for statement in statements(text)[0] for node in nodes_in(statement)]
        except UNPARSABLE:
            return True
        local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        without = {id(node.func) for node in nodes if isinstance(node, ast.Call) and not self._tells(node)}
        return any(
            self.pattern.fullmatch(name) and not (name in self.optional and id(node) in without)
            for node in nodes
            for name in _read(node, local)
        )

    def _tells(self, call: ast.Call) -> bool:
        return any(keyword.arg in self.keywords for keyword in call.keywords)


def _read(node: ast.AST, local: set[str]) -> Iterator[str]:
    """The names that a node reads from outside the source it stands in; a string may be one for `getattr`."""
    if isinstance(node, ast.Name):
        if node.id not in local:
            yield node.id
    elif isinstance(node, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            yield node.attr
    elif isinstance(node, ast.alias):
        yield node.name.rpartition(".")[2]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
