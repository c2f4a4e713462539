"""A file that captures in, where sizes of graphs are passed over out: a larger graph is picked than a request needs.

Of sizes in ascending order, the last one that is large enough is the largest of all, and so is the first of those in
descending order. Or a single one of a list of sizes is captured, and requests of others find no graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphlint.reading.questions import HoldsAny
from graphlint.rule import Event, SizesPassedOver
from graphlint.static.domain.program import Function, function_of
from graphlint.static.domain.sources import Place
from graphlint.static.index.module import Definition, Module
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.orders import DOWN, EITHER, UP, Orders
from graphlint.static.writes.sizes import captured, pos_of
from graphlint.static.writes.traces import Traces

_MIN_NAME = 5  # letters that make the name of what opens regions telling
_MAX_USERS = 20  # files that use what others open
_SMALLER, _LARGER = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)


@dataclass(frozen=True, slots=True)
class Pick:
    """Where one of some sizes is picked for what is asked; it is the largest if they have this order, or either."""

    node: ast.AST
    asked: str
    sizes: ast.expr
    order: int


def passed_over(traces: Traces) -> Iterator[tuple[Place, Event]]:
    """Where a file that opens regions, or uses what opens them, picks the largest of some sizes, or captures one."""
    for module, (opener, functions) in _capturing(traces).items():
        for home, sizes in _homes(traces.evaluator.project, module, captured(module, functions)):
            orders = Orders(home)
            for definition in home.index.all_functions():
                source = home.source_of(definition.segment)
                tree = tree_of(source) if _may_pick(source) else None
                picks = [(one.node, _said(one)) for one in picks_in(tree) if _is_largest(one, tree, sizes, orders)]
                picks += [(node, SizesPassedOver(shown, "only")) for node, shown in _single(tree, home)]
                function = function_of(definition) if picks else None
                if function is None:
                    continue
                for node, event in picks:
                    yield replace(opener, function=function, node=ir.Node(((pos_of(node),), 0))), event


def _homes(project: Project, module: Module, sizes: set[str]) -> Iterator[tuple[Module, set[str]]]:
    """A file, with the names of sizes, and the files that it has some of them from."""
    yield module, sizes
    for name in sorted(sizes & module.index.imports.keys()):
        for one in module.index.imports[name]:
            home = project.module(one.module) if one.member is not None else None
            if home is not None and home is not module and one.member is not None and project.is_checked(home):
                yield home, {one.member}


def _may_pick(source: str) -> bool:
    """Whether a function goes through something, and compares or slices, which saves parsing most of them."""
    return "for " in source and any(sign in source for sign in "<>:]")


def _said(pick: Pick) -> SizesPassedOver:
    return SizesPassedOver(pick.asked, {UP: "last", DOWN: "first", EITHER: "largest"}[pick.order])


def _is_largest(pick: Pick, tree: ast.AST | None, sizes: set[str], orders: Orders) -> bool:
    named = {name for part in nodes_in(pick.sizes) for name in endings(part)}
    if tree is None or named.isdisjoint(sizes):
        return False
    return pick.order == EITHER or orders.of(pick.sizes, tree) == pick.order


def _capturing(traces: Traces) -> dict[Module, tuple[Place, set[Function]]]:
    """The files that open regions or use those who do, each with an opener and the functions of its own that do so."""
    found: dict[Module, tuple[Place, set[Function]]] = {}
    names: dict[str, Place] = {}
    for opener in traces.openers.values():
        function = opener.function
        _, functions = found.setdefault(function.module, (opener, set()))
        functions.add(function)
        names |= dict.fromkeys((name for name in function.qualname.split(".") if len(name) >= _MIN_NAME), opener)
    project = traces.evaluator.project
    users = 0
    for path in project.answering(HoldsAny(sorted(names))) if names else ():
        module = project.module_at(path)
        known = names.keys() & module.index.imports.keys()
        if module in found or not known or users >= _MAX_USERS:
            continue
        users += 1
        using = [one for one in module.index.all_functions() if any(_speaks_of(one, name) for name in known)]
        functions = {one for one in map(function_of, using) if one is not None}
        found[module] = names[min(known)], functions
    return found


def _speaks_of(definition: Definition, name: str) -> bool:
    return definition.module.holds(definition.segment, name)


def picks_in(tree: ast.AST | None) -> Iterator[Pick]:
    """Where a function picks a size that is large enough, and would get the largest if they had some order."""
    filtered: dict[str, ast.expr] = {}
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as value):
                filtered[name] = value
            case ast.For():
                yield from _of_loop(node)
            case ast.Call(func=ast.Name(id="max"), args=[ast.GeneratorExp() | ast.ListComp() as sizes]):
                yield from _of_filter(node, sizes, EITHER)
            case ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp() as sizes, *_]):
                yield from _of_filter(node, sizes, DOWN)
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Name(id="max"), args=[ast.Name(id=name)]) if name in filtered:
                yield from _of_filter(node, filtered[name], EITHER)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in filtered:
                yield from _of_item(node, filtered[name], index)
            case ast.Subscript(value=ast.ListComp() as sizes, slice=index):
                yield from _of_item(node, sizes, index)


def _of_item(node: ast.AST, sizes: ast.expr, index: ast.expr) -> Iterator[Pick]:
    match index:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            yield from _of_filter(node, sizes, UP)
        case ast.Constant(value=0):
            yield from _of_filter(node, sizes, DOWN)


def _of_filter(node: ast.AST, sizes: ast.expr, order: int) -> Iterator[Pick]:
    """What is picked of `s for s in sizes if s >= n`."""
    match sizes:
        case (
            ast.GeneratorExp(elt=ast.Name(id=name), generators=[one])
            | ast.ListComp(elt=ast.Name(id=name), generators=[one])
        ):
            asked = _asked(one.ifs[0], name, _LARGER) if len(one.ifs) == 1 and name in endings(one.target) else None
            if asked is not None:
                yield Pick(node, asked, one.iter, order)


def _of_loop(loop: ast.For) -> Iterator[Pick]:
    """A loop whose rounds all give the same name what they come to, or which ends with the first that is enough."""
    match loop.target, loop.iter:
        case ast.Name(id=size), _:
            names = {size}
        case ast.Tuple(elts=[ast.Name(id=number), ast.Name(id=size)]), ast.Call(func=ast.Name(id="enumerate")):
            names = {number, size}
        case ast.Tuple(elts=[ast.Name(id=size), ast.Name(id=kept)]), ast.Call() as items if _is_of_items(items):
            names = {size, kept}
        case _:
            return
    match loop.body:
        case [ast.If(test=test, body=body, orelse=[])]:
            asked = _asked(test, size, _LARGER)
        case [ast.If(test=test, body=[ast.Continue()], orelse=[]), *body]:
            asked = _asked(test, size, _SMALLER)
        case _:
            return
    if asked is None or not body:
        return
    match body[-1]:
        case ast.Break() if all(_keeps(one, names) for one in body[:-1]):
            yield Pick(loop.iter, asked, loop.iter, DOWN)
        case ast.Return(value=ast.expr() as value) if len(body) == 1 and names & _names(value):
            yield Pick(loop.iter, asked, loop.iter, DOWN)
        case _ if all(_keeps(one, names) for one in body):
            yield Pick(loop.iter, asked, loop.iter, UP)


def _is_of_items(call: ast.Call) -> bool:
    """Whether a loop goes through the keys of a table with what is kept under them, sorted by those or not."""
    match call:
        case ast.Call(func=ast.Name(id="sorted"), args=[ast.Call() as items]):
            return _is_of_items(items)
        case ast.Call(func=ast.Attribute(attr="items"), args=[]):
            return True
    return False


def _keeps(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement gives a name what a round of a loop comes to, whatever it held before."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            return bool(names & _names(value)) and ast.unparse(target) not in map(ast.unparse, _parts(value))
    return False


def _parts(value: ast.expr) -> list[ast.expr]:
    return [one for one in nodes_in(value) if isinstance(one, (ast.Name, ast.Attribute))]


def _names(value: ast.AST) -> set[str]:
    return {one.id for one in nodes_in(value) if isinstance(one, ast.Name)}


def _asked(test: ast.expr, size: str, signs: tuple[type[ast.cmpop], ...]) -> str | None:
    """What a size is compared with, if the comparison says that it is larger, or smaller."""
    turned = _SMALLER if signs is _LARGER else _LARGER
    match test:
        case ast.Compare(left=ast.Name(id=left), ops=[sign], comparators=[right]) if left == size:
            return ast.unparse(right) if isinstance(sign, signs) and size not in _names(right) else None
        case ast.Compare(left=left, ops=[sign], comparators=[ast.Name(id=right)]) if right == size:
            return ast.unparse(left) if isinstance(sign, turned) and size not in _names(left) else None
    return None


def _single(tree: ast.AST | None, module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Loops over a slice of one that keep what they capture by the size, where requests are looked up by theirs."""
    for loop in nodes_in(tree) if tree is not None else ():
        match loop:
            case ast.For(target=ast.Name(id=size), iter=sizes):
                sliced = next((one for one in nodes_in(sizes) if _is_single(one)), None)
                kept = {name for part in nodes_in(loop) for name in _kept_by(part, size)}
                if isinstance(sliced, ast.Subscript) and any(_is_asked(module, one) for one in kept):
                    yield sizes, ast.unparse(sliced.value)


def _is_single(node: ast.AST) -> bool:
    """Whether a node is `sizes[-1:]` or `sizes[:1]`."""
    match node:
        case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.Constant(value=1), step=None)):
            return True
        case ast.Subscript(
            slice=ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), upper=None, step=None)
        ):
            return True
    return False


def _kept_by(node: ast.AST, size: str) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[ast.Subscript(value=table, slice=ast.Name(id=key))]) if key == size:
            yield from endings(table)


def _is_asked(module: Module, table: str) -> bool:
    """Whether the file asks a table whether it has a graph for a size."""
    for definition in module.index.all_functions():
        tree = tree_of(module.source_of(definition.segment)) if module.holds(definition.segment, table) else None
        for node in nodes_in(tree) if tree is not None else ():
            match node:
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[asked]):
                    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Attribute):
                        asked = asked.func.value  # of `keys()`
                    if table in endings(asked):
                        return True
    return False
