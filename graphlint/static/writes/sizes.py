"""A file that captures in, where it has no graph for a request out: the largest is picked, or steps end before it.

Long, because what picks a size is spelt in many ways.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from graphlint.rule import Event, SizeMissing
from graphlint.static.domain.program import Function, function_of
from graphlint.static.domain.sources import Place
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, calls_in, last_name, walk
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.filtered import (
    asked_of,
    ending_with_the_largest,
    going_back,
    is_largest,
    without_an_answer,
)
from graphlint.static.writes.listed import is_open
from graphlint.static.writes.stepped import staying_with_the_largest, with_generator
from graphlint.static.writes.stores import MUTATORS
from graphlint.static.writes.traces import Traces

# One of them says which is the largest, or where it stands.
_PICKING = ("max", "0", "1", "bisect", "break", "next", "min", "searchsorted")
_LOOPS = (ast.For, ast.GeneratorExp, ast.Lambda, ast.ListComp)
_RECEIVERS = ("self", "cls")
_SEARCHING = ("bisect", "searchsorted")  # how the names of functions begin that say where something would stand


def too_small(traces: Traces) -> Iterator[tuple[Place, Event]]:
    """Where a file that opens regions picks a size."""
    openers = traces.openers.values()
    for module, opener in {one.function.module: one for one in openers}.items():
        functions = [(one, module.source_of(one.segment)) for one in module.index.all_functions()]
        picked = {name for _, source in functions if "next" in source for name in unanswered_in(source)}
        is_picked = any(picks_in(source) for _, source in functions)
        sizes = (
            captured(module, {one.function for one in openers if one.function.module is module}) if is_picked else ()
        )
        for definition, source in functions:
            found = [
                (pick.pos, SizeMissing(pick.asked, pick.how))
                for pick in picks_in(source)
                if not pick.names.isdisjoint(sizes) and (pick.how != "unanswered" or is_open(module, pick.names))
            ]
            steps = steps_in(source) if picked and "range" in source else ()
            found += [(pos, SizeMissing(end, "gap")) for name, pos, end in steps if name in picked]
            function = function_of(definition) if found else None
            if function is not None:
                for pos, event in found:
                    yield replace(opener, function=function, node=ir.Node(((pos,), 0))), event


def captured(module: Module, openers: Set[Function]) -> set[str]:
    """The names of what functions that capture, or lead to those of the file, go through, or keep things in."""
    codes, names = [one.code for one in openers], {_called(one.qualname) for one in openers}
    known = {definition.qualname: definition.code for definition in module.index.all_functions()}
    left = {name: code for name, code in known.items() if code is not None and code not in codes}
    while leading := [name for name, code in left.items() if names & {last_name(one.func) for one in calls_in(code)}]:
        codes += [left.pop(name) for name in leading]
        names |= {_called(name) for name in leading}
    found: set[str] = set()
    for part in (part for code in codes for part in walk(code.body)):
        match part:
            case ir.For(iterable=iterable):
                found |= _names(iterable)
            case ir.Comprehension(clauses=clauses):
                found |= {name for _, iterable, _ in clauses for name in _names(iterable)}
            case ir.Assign(targets=targets):
                found |= {name for one in targets if isinstance(one, ir.Subscript) for name in _names(one.value)}
    for one in (one for code in codes for one in assignments_in(code)):
        made = [part for part in walk(one.value) if isinstance(part, ir.Comprehension)] if one.value is not None else ()
        if any(names & _callees(part) for part in made):
            found |= {name for target in one.targets for name in _names(target)}
    named = (one for code in codes for one in assignments_in(code) if one.value is not None)
    behind = [
        one.value for one in named if any(isinstance(target, ir.Name) and target.id in found for target in one.targets)
    ]
    return found.union(*(_names(value) for value in behind if value is not None))


def _callees(node: ir.Node) -> set[str | None]:
    """The names of what is called in an expression."""
    return {last_name(part.func) for part in walk(node) if isinstance(part, ir.Call)}


def _called(qualname: str) -> str | None:
    """The name that a function is called by: to call `__init__`, one calls its class."""
    *outer, name = qualname.split(".")
    return outer[-1] if name == "__init__" and outer else name


def _names(node: ir.Expr) -> set[str]:
    """The names in an expression, but for those of what is called."""
    parts = list(walk(node))
    called = {id(part.func) for part in parts if isinstance(part, ir.Call)}
    names = {last_name(part) for part in parts if isinstance(part, (ir.Name, ir.Attribute)) and id(part) not in called}
    return {name for name in names if name is not None} - {*_RECEIVERS}


class Pick(NamedTuple):
    """Where a function picks a size, for what, out of what is named so, and how that goes wrong."""

    pos: ir.Pos
    asked: str
    names: frozenset[str]
    how: str


@remembered
def picks_in(source: str) -> tuple[Pick, ...]:
    """Where a function gives the largest of some sizes to what fits in none, or the nearest, or has no answer."""
    tree = tree_of(source) if any(word in source for word in _PICKING) else None
    if not isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ()
    nodes = nodes_in(tree)
    largest: list[tuple[ast.AST, str]] = []
    for block in (getattr(node, name, ()) for node in nodes for name in ("body", "orelse")):
        largest += _of_loops(block) if isinstance(block, list) else ()
    largest += [one for node in nodes for one in _of_call(node)]
    largest += _of_place(tree) if any(word in source for word in _SEARCHING) else ()
    picks = [Pick(pos_of(node), asked, _named_in(node), "largest") for node, asked in largest]
    ended = [*ending_with_the_largest(tree), *staying_with_the_largest(tree)]
    others = {"largest": ended, "unanswered": [*without_an_answer(tree)]}
    others["largest"] += going_back(tree) if "bisect" in source else ()
    picks += [Pick(pos_of(one.node), one.asked, _named_in(one.sizes), how) for how in others for one in others[how]]
    for node in nodes:
        picks += [Pick(pos_of(node), asked, _named_in(node), "nearest") for asked in _nearest(node)]
        unanswered = [*_unanswered(node), *_unanswered(with_generator(node, nodes))]
        picks += [Pick(pos_of(node), asked, _named_in(sizes), "unanswered") for sizes, asked in unanswered]
    return tuple(one for one in picks if not _is_refused(tree, one.asked))


def _named_in(node: ast.AST) -> frozenset[str]:
    return frozenset(name for part in nodes_in(node) for name in endings(part))


@remembered
def unanswered_in(source: str) -> tuple[str, ...]:
    """The names of sizes out of which a function takes the first that is large enough, with no answer if none is."""
    tree = tree_of(source)
    searched = (sizes for node in nodes_in(tree) for sizes, _ in _unanswered(node)) if tree is not None else ()
    return tuple(name for sizes in searched for name in endings(sizes))


@remembered
def steps_in(source: str) -> tuple[tuple[str, ir.Pos, str], ...]:
    """What is given a list of sizes, some of them by steps of more than one up to an end; where, and that end."""
    tree = tree_of(source)
    found: list[tuple[str, ir.Pos, str]] = []
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Assign(targets=[target], value=value):
                again = [one for one in found if one[0] in endings(value)]
                found += [(name, pos, end) for _, pos, end in again for name in endings(target)]
                ends = [end for part in nodes_in(value) for end in _end_of(part)]
                others = {ast.unparse(part) for part in nodes_in(value) if isinstance(part, (ast.Name, ast.Attribute))}
                is_once = len(ends) == 1 and ast.unparse(value).count(ends[0]) == 1 and ends[0] in others
                if is_once and not _is_added(tree, ends[0]):
                    found += [(name, pos_of(value), ends[0]) for name in endings(target)]
    return tuple(found)


def _is_added(tree: ast.AST | None, end: str) -> bool:
    """Whether a function adds a size to a list."""
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=given) if name in MUTATORS:
                if any(end in ast.unparse(one) for one in given):
                    return True
    return False


def _end_of(node: ast.AST) -> Iterator[str]:
    """The last number of `range(16, end + 1, 16)`, as it is spelt."""
    match node:
        case ast.Call(
            func=ast.Name(id="range"),
            args=[_, ast.BinOp(left=end, op=ast.Add(), right=ast.Constant(value=1)), ast.Constant(value=int() as step)],
        ) if step > 1 and isinstance(end, (ast.Name, ast.Attribute)):
            yield ast.unparse(end)


def _unanswered(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The sizes of `next(s for s in sizes if s >= n)`, also by `filter`, or of `[...][0]`, and what is asked for."""
    match node:
        case (
            ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp(generators=[one])])
            | ast.Subscript(value=ast.ListComp(generators=[one]), slice=ast.Constant(value=0))
        ):
            asked = [(one.iter, asked_of(test, one.target)) for test in one.ifs]
        case ast.Call(
            func=ast.Name(id="next"),
            args=[
                ast.Call(
                    func=ast.Name(id="filter"),
                    args=[ast.Lambda(args=ast.arguments(args=[ast.arg(arg=size)]), body=test), sizes],
                )
            ],
        ):
            asked = [(sizes, asked_of(test, ast.Name(id=size)))]
        case _:
            return
    yield from ((sizes, name) for sizes, name in asked if name is not None and not name.isdigit())


def _nearest(node: ast.AST) -> Iterator[str]:
    """What `min(sizes, key=lambda s: abs(s - n))` asks for."""
    match node:
        case ast.Call(
            func=ast.Name(id="min"),
            keywords=[
                ast.keyword(
                    arg="key",
                    value=ast.Lambda(
                        args=ast.arguments(args=[ast.arg(arg=size)]),
                        body=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=one, op=ast.Sub(), right=other)]),
                    ),
                )
            ],
        ):
            sides = ast.unparse(one), ast.unparse(other)
            if size in sides and sides[0] != sides[1]:
                yield sides[sides[0] == size]


def _of_call(call: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """`next((s for s in sizes if s >= n), sizes[-1])`, and `min(..., default=max(sizes))`."""
    match call:
        case ast.BoolOp(
            op=ast.Or(),
            values=[ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp() as sizes, ast.Constant()]), default],
        ):
            yield from _of_default(call, sizes, default)
        case ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp() as sizes, default]):
            yield from _of_default(call, sizes, default)
        case ast.Call(func=ast.Name(id="next"), args=[ast.Call() as sifted, default]):
            searched = _unanswered(ast.Call(call.func, [sifted], []))
            yield from ((call, asked) for sizes, asked in searched if is_largest(default, sizes))
        case ast.Call(
            func=ast.Name(id="min"), args=[ast.GeneratorExp() as sizes], keywords=[ast.keyword(value=default)]
        ):
            yield from _of_default(call, sizes, default)


def _of_place(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """`sizes[min(bisect_left(sizes, n), len(sizes) - 1)]`, also where one of the calls has a name of its own."""
    named: dict[str, ast.expr] = {}
    inner: set[int] = set()
    for node in nodes_in(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named[name] = value
            case ast.Subscript(value=sizes, slice=ast.Call() as place):
                inner.add(id(place))
                yield from ((node, asked) for asked in _of_last(place, named, ast.dump(sizes)))
            case ast.Call() if id(node) not in inner:
                yield from ((node, asked) for asked in _of_last(node, named))


def _of_last(call: ast.Call, named: dict[str, ast.expr], sizes: str | None = None) -> Iterator[str]:
    """What is searched for in sizes, perhaps these ones, if it is at the last place where it is larger than all."""
    match call:
        case ast.Call(
            func=ast.Name(id="min"),
            args=[
                found,
                ast.BinOp(
                    left=ast.Call(func=ast.Name(id="len"), args=[counted]), op=ast.Sub(), right=ast.Constant(value=1)
                ),
            ],
        ) if sizes is None or ast.dump(counted) == sizes:
            found = named.get(found.id, found) if isinstance(found, ast.Name) else found
            yield from (asked for searched, asked in _bisected(found) if searched == ast.dump(counted))


def _bisected(node: ast.expr) -> Iterator[tuple[str, str]]:
    """What is searched, and for what."""
    match node:
        case ast.Call(func=func, args=[sizes, asked]) if any(name.startswith(_SEARCHING) for name in endings(func)):
            yield ast.dump(sizes), ast.unparse(asked)


def _of_default(call: ast.AST, sizes: ast.GeneratorExp, default: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    (one, *_) = sizes.generators
    tests = [asked_of(test, one.target) for test in one.ifs]
    if len(tests) == 1 and tests[0] is not None and is_largest(default, one.iter):
        yield call, tests[0]


def _of_loops(block: list[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    """`for s in sizes: if s >= n: return s`, and `return sizes[-1]` behind it; or `break`, and another name for it."""
    found: tuple[ast.stmt, ast.expr, ast.expr, ast.expr, ast.expr]
    for first, second in pairwise([*block, ast.Pass()]):
        match first, second:
            case ast.For(target=target, iter=sizes, body=[ast.If(test=test, body=[ast.Return()])]), ast.Return(
                value=ast.expr() as value
            ):
                found = second, target, test, value, sizes
            case ast.For(
                target=target,
                iter=sizes,
                body=[ast.If(test=test, body=[ast.Assign(targets=[name]), ast.Break()])],
                orelse=[ast.Assign(targets=[other], value=value) as last],
            ), _ if ast.dump(name) == ast.dump(other):
                found = last, target, test, value, sizes
            case ast.Assign(targets=[other], value=value), ast.For(
                target=target,
                iter=sizes,
                body=[ast.If(test=test, body=[ast.Assign(targets=[name]), ast.Break()])],
                orelse=[],
            ) if ast.dump(name) == ast.dump(other):
                found = first, target, test, value, sizes
            case _:
                continue
        where, target, test, value, sizes = found
        asked = asked_of(test, target)
        if asked is not None and is_largest(value, sizes):
            yield where, asked


def _is_refused(tree: ast.AST, asked: str) -> bool:
    """Whether the function has another way for what is too large: a condition on it, besides those in loops."""
    loops = [node for node in nodes_in(tree) if isinstance(node, _LOOPS) or _counts_up(node)]
    inner = {id(part) for loop in loops for part in nodes_in(loop)}
    compared = (node for node in nodes_in(tree) if isinstance(node, ast.Compare) and id(node) not in inner)
    return any(asked in (ast.unparse(side) for side in (one.left, *one.comparators)) for one in compared)


def _counts_up(node: ast.AST) -> bool:
    """Whether a loop does nothing but to go on to the next place."""
    return isinstance(node, ast.While) and all(isinstance(one, ast.AugAssign) for one in node.body)


def pos_of(node: ast.AST) -> ir.Pos:
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    return (first - 1, getattr(node, "col_offset", 0), last - 1, getattr(node, "end_col_offset", 0))
