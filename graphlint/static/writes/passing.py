"""A region in, whether its graph outlives the function that captures it out; if not, what that function runs later.

A benchmark or a test captures, replays and drops its graph: what others write before or behind that, no replay misses.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from graphlint.finding import Region
from graphlint.static.domain.contexts import Context, OpenRegion
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import Definition, Module
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.called import calls_in
from graphlint.static.writes.reaching import reached
from graphlint.static.writes.stores import Written

_CALLS = 3  # functions that call one another behind a capture, as far as their modules are known
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class PassingGraph:
    """A graph that the function which captures it drops; lines are those of the file."""

    module: Module
    definition: Definition
    first: int  # from this line on, the graph may be there

    def may_run(self, written: Written) -> bool:
        """Whether the function writes by itself, or calls what writes once its graph is there."""
        if written.definition is self.definition:
            return True
        return written.definition is not None and written.definition.name in self._called(written.module)

    def _called(self, other: Module) -> set[str]:
        """The names of what may run from there on, as far as its own module and another one say."""
        segment = self.definition.segment
        calls = calls_in(self.module.source_of(segment), segment.first - 1)
        found = {one.name for one in calls if one.inner or one.line >= self.first}
        functions = [(m, one) for m in dict.fromkeys((self.module, other)) for one in m.index.all_functions()]
        for _ in range(_CALLS):
            inner = [(m, one) for m, one in functions if one.name in found and one is not self.definition]
            found |= {one.name for m, f in inner for one in calls_in(m.source_of(f.segment), f.segment.first - 1)}
        return found


class PassingGraphs:
    """Knows which contexts are captured into such graphs alone."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def may_be_missed(self, written: Written, reader: Context) -> bool:
        """Whether a graph that reads somewhere may be there when something is written."""
        passing, others = self._captured
        return reader in others or any(graph.may_run(written) for graph, contexts in passing if reader in contexts)

    @functools.cached_property
    def _captured(self) -> tuple[list[tuple[PassingGraph, set[Context]]], set[Context]]:
        """Each graph that is dropped, with what it captures; and what other graphs capture."""
        found = [(self._of(opened), opened.context) for opened in self.evaluator.regions.values()]
        passing = [(graph, reached(context)) for graph, context in found if graph is not None]
        return passing, reached(*(context for graph, context in found if graph is None))

    def _of(self, opened: OpenRegion) -> PassingGraph | None:
        region = opened.region
        if opened.foreign or region.entry is not None:
            return None
        return _passing_graph(self.evaluator.project.module_at(Path(region.path)), region)


def _passing_graph(module: Module, region: Region) -> PassingGraph | None:
    for definition in module.index.all_functions():
        segment = definition.segment
        if segment.first <= region.line <= segment.last:
            tree = tree_of(module.source_of(segment))
            line = region.line - segment.first + 1
            name = _graph_at(tree, line) if tree is not None else None
            if tree is None or name is None or _escapes(tree, name, line):
                return None
            return PassingGraph(module, definition, _first_line(tree, name, line) + segment.first - 1)
    return None


def _graph_at(tree: ast.AST, line: int) -> str | None:
    """The variable of the graph that is captured on a line, if the function has made it."""
    asked: list[ast.expr] = []
    for node in nodes_in(tree):
        match node:
            case ast.With(items=items) if any(item.context_expr.lineno == line for item in items):
                calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
                asked += [one for call in calls for one in (*call.args, *(k.value for k in call.keywords))[:1]]
            case ast.Call(func=ast.Attribute(value=graph, attr="capture_begin"), lineno=at) if at == line:
                asked.append(graph)
    names = (one.id for one in asked if isinstance(one, ast.Name))
    return next((name for name in names if any(_makes(node, name) for node in nodes_in(tree))), None)


def _makes(node: ast.AST, name: str) -> bool:
    """Whether a statement makes a graph, going by what it calls."""
    match node:
        case ast.Assign(value=ast.Call(func=ast.Name(id=made) | ast.Attribute(attr=made))):
            return name in _targets(node) and "graph" in made.lower()
    return False


def _first_line(tree: ast.AST, name: str, line: int) -> int:
    """Where the graph may be there: behind the region, and in all of the loops that keep it for their next round."""
    made = [n.lineno for n in nodes_in(tree) if isinstance(n, ast.stmt) and _makes(n, name)]
    spans = [(n.lineno, n.end_lineno or 0) for n in nodes_in(tree) if isinstance(n, _LOOPS)]
    keeping = [first for first, last in spans if first <= line <= last and not any(first <= at <= last for at in made)]
    return min(keeping, default=line)


def _escapes(tree: ast.AST, name: str, line: int) -> bool:
    """Whether a graph, or a function that holds it, gets to where it outlives its function."""
    nodes, held = nodes_in(tree), {name}
    while True:
        found = held | {one for node in nodes for one in _holders(node, held)}
        if found == held:
            break
        held = found
    return any(_lets_out(node, held, line) for node in nodes)


def _holders(node: ast.AST, held: set[str]) -> Iterator[str]:
    """The names that come to hold what some names hold."""
    match node:
        case ast.Assign(value=value) if _holds(value, held):
            yield from _targets(node)
        case ast.FunctionDef(name=name, body=body) | ast.AsyncFunctionDef(name=name, body=body):
            if name not in held and any(_reads(one, held) for statement in body for one in nodes_in(statement)):
                own = {one.id for statement in body for one in nodes_in(statement) if _is_store(one)}
                if not held & own:  # the function that makes the graph is none that holds it
                    yield name


def _lets_out(node: ast.AST, held: set[str], line: int) -> bool:
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return not held.isdisjoint(names)
        case ast.Return(value=value) | ast.Yield(value=value) | ast.YieldFrom(value=value) if value is not None:
            return _holds(value, held)
        case ast.Assign(targets=targets, value=value) if not all(isinstance(t, ast.Name) for t in targets):
            return _holds(value, held)
        case ast.Call(func=func, args=args, keywords=keywords) if func.lineno != line:
            given = [*args, *(keyword.value for keyword in keywords)]
            return any(_reads(one, held) for one in given) or (_keeps(func) and any(_holds(one, held) for one in given))
    return False


def _keeps(func: ast.expr) -> bool:
    """Whether what is called may keep a function that it is given: a class, or a method of an object."""
    match func:
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name[:1].isupper() or name in ("append", "add", "register", "setdefault")
    return True


def _holds(value: ast.expr, held: set[str]) -> bool:
    """Whether a value is one of some names, or a function or container that holds it; what a call gives is not."""
    match value:
        case ast.Call(func=ast.Name(id="partial") | ast.Attribute(attr="partial")):
            return any(_holds(one, held) for one in value.args)
        case ast.Call():
            return False
        case ast.Lambda(body=body):
            return any(_reads(one, held) for one in nodes_in(body))
        case ast.Name():
            return _reads(value, held)
    return any(_holds(one, held) for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr))


def _reads(node: ast.AST, held: set[str]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in held


def _is_store(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _targets(node: ast.Assign) -> set[str]:
    return {one.id for target in node.targets for one in nodes_in(target) if _is_store(one)}
