"""A function that captures or replays in, the names out by which it picks the graph: keys of graph caches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from graphlint.rule import Event, IncompleteKey
from graphlint.static.domain.sources import Place, Taken
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.trees import tree_of
from graphlint.static.writes.traces import Traces

_GRAPH = "graph"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STEPS = 3  # names of which a key is made, and those of these


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table of graphs: the names that it is made of, and where; `is_asked` where a table that is filled
    there, or called after graphs, is asked for it.

    `inner` are the first and last line of the function inside of the segment that it stands in, if it does.
    """

    names: frozenset[str]
    pos: ir.Pos
    is_asked: bool
    inner: tuple[int, int] | None = None

    def serves(self, line: int) -> bool:
        """Whether it stands in the same function as a line, or in one around it."""
        return self.inner is None or self.inner[0] <= line <= self.inner[1]

    @property
    def node(self) -> ir.Node:
        """Where it is made."""
        return ir.Node(((self.pos,), 0))


@remembered
def keys_in(source: str) -> tuple[Key, ...]:
    """The keys by which a segment picks one of several graphs; lines count from 1 where it begins."""
    tree = tree_of(source)
    if tree is None:
        return ()
    nodes = list(ast.walk(tree))
    tables = set(_tables(nodes))
    made = {
        target.id: node.value
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found = []
    for index, is_asked in _indices(nodes, tables):
        origin = made.get(index.id) if isinstance(index, ast.Name) else None
        shown = index if origin is None else origin
        names = set(_names(index))
        for _ in range(_STEPS):
            names |= {part for name in names & made.keys() for part in _names(made[name])}
        first, last = shown.lineno - 1, (shown.end_lineno or shown.lineno) - 1
        pos = (first, shown.col_offset, last, shown.end_col_offset or 0)
        found.append(Key(frozenset(names), pos, is_asked, _innermost(tree, index.lineno)))
    return tuple(dict.fromkeys(found))


def _innermost(tree: ast.AST, line: int) -> tuple[int, int] | None:
    """The lines of the smallest function inside of a segment that holds a line."""
    inner = (node for node in ast.walk(tree) if node is not tree and isinstance(node, FUNCTIONS))
    spans = ((node.lineno, node.end_lineno or node.lineno) for node in inner)
    return min((span for span in spans if span[0] <= line <= span[1]), key=lambda span: span[1] - span[0], default=None)


def _tables(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of containers that are asked whether they have a key, that are called after graphs, or replayed."""
    for node in nodes:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[table]):
                yield from _last(table)
            case ast.Call(func=ast.Attribute(value=table, attr="get")):
                yield from _last(table)
            case ast.Attribute(value=ast.Subscript(value=table), attr="replay"):
                yield from _last(table)
            case ast.Subscript(value=table) if any(_GRAPH in name.lower() for name in _last(table)):
                yield from _last(table)


def _filled(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of containers that get items, or that are called after graphs."""
    for node in nodes:
        match node:
            case ast.Subscript(value=table, ctx=ast.Store()):
                yield from _last(table)
            case ast.Name() | ast.Attribute():
                yield from (name for name in _last(node) if _GRAPH in name.lower())


def _indices(nodes: Iterable[ast.AST], tables: set[str]) -> Iterator[tuple[ast.expr, bool]]:
    filled = set(_filled(nodes))
    for node in nodes:
        match node:
            case ast.Subscript(value=table, slice=index) if not isinstance(index, ast.Slice):
                if tables.intersection(_last(table)):
                    yield index, False
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[table]):
                yield left, not filled.isdisjoint(_last(table))
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[left, *_]):
                yield left, not filled.isdisjoint(_last(table))


def _last(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name


def _names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def incomplete_keys(traces: Traces) -> Iterator[tuple[Place, Event]]:
    """Parameters of a function that captures, which decide what the region does, and are in no key of its graphs."""
    for source, uses in traces.uses.items():
        for taken in traces.origins(source):
            opener = traces.openers.get(taken.context) if isinstance(taken, Taken) else None
            if opener is None or not isinstance(taken, Taken) or taken in traces.given:
                continue
            if any(p.name == taken.name and p.kind in ("*", "**") for p in opener.function.code.parameters):
                continue
            kind, use = next(iter(uses.items()))
            line = opener.line - opener.function.first_line + 1
            asked = [key for key in _keys_of(opener) if key.is_asked and key.names and key.serves(line)]
            if asked and not any(taken.name in key.names for key in _keys_of(opener)):
                used = f"{use.place.function.module.path.name}:{use.place.line}"
                yield replace(opener, node=asked[0].node), IncompleteKey(taken.name, kind, used)


def _keys_of(opener: Place) -> tuple[Key, ...]:
    """The keys of the function that opens a region."""
    function = opener.function
    for definition in function.module.index.all_functions():
        if definition.segment.first == function.first_line:
            return keys_in(function.module.source_of(definition.segment))
    return ()
