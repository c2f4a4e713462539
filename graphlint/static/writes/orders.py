"""An expression in, whether it gives numbers in ascending or descending order out, as far as its file says.

Names and attributes are what the file assigns to them: all of it has to agree, and what nobody knows says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from graphlint.static.index.module import Module
from graphlint.static.syntax.trees import assigned_in, endings, nodes_in, tree_of
from graphlint.static.writes.stores import MUTATORS

UP, DOWN, EITHER = 1, -1, 0  # the last is that of one number, or of none
_STEPS = 12  # names and calls that are looked behind
_GROWING = (ast.Add, ast.Mult, ast.LShift)


@dataclass
class Orders:
    """The orders of what a file says; the trees are those of its functions and of its statements."""

    module: Module
    left: int = field(default=_STEPS)

    @cached_property
    def functions(self) -> list[ast.AST]:
        segments = [one.segment for one in self.module.index.all_functions()]
        return [tree for one in segments if (tree := tree_of(self.module.source_of(one))) is not None]

    @cached_property
    def statements(self) -> list[ast.AST]:
        segments = dict.fromkeys(self.module.index.statements)
        return [tree for one in segments if (tree := tree_of(self.module.source_of(one))) is not None]

    def of(self, node: ast.expr, tree: ast.AST) -> int | None:
        """The order of what an expression of a function gives; None where that is not known."""
        self.left = _STEPS
        return self._of(node, tree)

    def _of(self, node: ast.expr | None, tree: ast.AST) -> int | None:
        match node:
            case ast.Call(func=ast.Name(id="sorted"), keywords=given):
                return _sorted(given)
            case ast.Call(func=ast.Name(id="reversed"), args=[one]):
                return _times(-1, self._of(one, tree))
            case ast.Call(func=ast.Name(id="list" | "tuple" | "enumerate"), args=[one, *_]):
                return self._of(one, tree)
            case ast.Call(func=ast.Name(id="range"), args=given):
                return _sign(given[2]) if len(given) > 2 else UP
            case ast.Call(func=func):
                return self._called(next(endings(func), ""))
            case ast.Subscript(value=one, slice=ast.Slice(step=step)):
                return _times(UP if step is None else _sign(step), self._of(one, tree))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return self._displayed(parts, tree)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _agreed([self._of(left, tree), self._of(right, tree)])
            case ast.ListComp(elt=element, generators=[one]) | ast.GeneratorExp(elt=element, generators=[one]):
                return self._of(one.iter, tree) if _rises(element, one.target) else None
            case ast.IfExp(body=body, orelse=orelse):
                return _agreed([self._of(body, tree), self._of(orelse, tree)])
            case ast.Name(id=name):
                own = self._assigned(name, [tree], ast.Name)
                return own if own is not None or _binds(tree, name) else self._assigned(name, self.statements, ast.Name)
            case ast.Attribute(attr=name):
                return self._assigned(name, self.functions, ast.Attribute)
        return None

    def _displayed(self, parts: list[ast.expr], tree: ast.AST) -> int | None:
        """The order of what is written down, and of what is put between."""
        numbers = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, (int, float))]
        others = [self._of(one.value, tree) for one in parts if isinstance(one, ast.Starred)]
        if len(numbers) + len(others) < len(parts):
            return EITHER if len(parts) == 1 else None
        is_up, is_down = numbers == sorted(numbers), numbers == sorted(numbers, reverse=True)
        own = EITHER if is_up and is_down else UP if is_up else DOWN if is_down else None
        return _agreed([own, *others])

    def _called(self, name: str) -> int | None:
        """The order of what a function of the file returns."""
        self.left -= 1
        named = [one for one in self.functions if isinstance(one, ast.FunctionDef) and one.name == name]
        if len(named) != 1 or self.left < 0:
            return None
        returned = [one.value for one in nodes_in(named[0]) if isinstance(one, ast.Return)]
        return _agreed([self._of(one, named[0]) for one in returned])

    def _assigned(self, name: str, trees: Iterable[ast.AST], kind: type[ast.expr]) -> int | None:
        """The order of what has a name, which it may get by being sorted, or by growing."""
        self.left -= 1
        orders: list[int | None] = []
        is_sorted = False
        for tree in trees if self.left >= 0 else ():
            for method, call in _methods(tree, name, kind):
                if method == "sort":
                    orders, is_sorted = [*(orders if is_sorted else []), _sorted(call.keywords)], True
                elif not is_sorted and method != "append":
                    orders.append(None)
            if is_sorted:
                continue
            appended = [call for method, call in _methods(tree, name, kind) if method == "append"]
            if appended:
                orders.append(UP if any(_is_growing(tree, call) for call in appended) else None)
            orders += [self._of(value, tree) for value in _values(tree, name, kind)]
        return _agreed(orders)


def _agreed(orders: list[int | None]) -> int | None:
    """The order that all of these have, if they do."""
    known = {one for one in orders if one != EITHER}
    return (EITHER if orders else None) if not known else known.pop() if len(known) == 1 else None


def _times(sign: int | None, order: int | None) -> int | None:
    return None if sign is None or order is None else sign * order


def _sign(step: ast.expr) -> int | None:
    match step:
        case ast.Constant(value=int()):
            return UP
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return DOWN
    return None


def _sorted(given: list[ast.keyword]) -> int | None:
    """The order that `sorted` gives for its keywords."""
    match given:
        case []:
            return UP
        case [ast.keyword(arg="reverse", value=ast.Constant(value=bool() as is_reverse))]:
            return DOWN if is_reverse else UP
    return None


def _rises(element: ast.expr, target: ast.expr) -> bool:
    """Whether a number grows with another one: `8 * i`, `2**i`, `i + 1`."""
    match element:
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.LShift() | ast.Pow(), right=right):
            sides = [left, right]
            others = [one for one in sides if ast.unparse(one) != ast.unparse(target)]
            return len(others) == 1 and not isinstance(others[0], ast.UnaryOp)
    return ast.unparse(element) == ast.unparse(target)


def _methods(tree: ast.AST, name: str, kind: type[ast.expr]) -> Iterator[tuple[str, ast.Call]]:
    """The methods that change what has a name, with their calls."""
    for node in nodes_in(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in (*MUTATORS, "sort", "reverse"):
                if isinstance(owner, kind) and name in endings(owner):
                    yield method, node


def _values(tree: ast.AST, name: str, kind: type[ast.expr]) -> Iterator[ast.expr]:
    """What is given a name."""
    grown = ((one.target, one.value) for one in nodes_in(tree) if isinstance(one, ast.AugAssign))
    pairs = (*assigned_in(tree), *grown)
    yield from (value for one, value in pairs if isinstance(one, kind) and name in endings(one))


def _binds(tree: ast.AST, name: str) -> bool:
    """Whether a function takes, or binds, a name."""
    parts = nodes_in(tree)
    is_taken = any(isinstance(one, ast.arg) and one.arg == name for one in parts)
    return is_taken or any(isinstance(one, ast.Name) and one.id == name and _is_stored(one) for one in parts)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_growing(tree: ast.AST, call: ast.Call) -> bool:
    """Whether a number is added that a loop makes larger in each round."""
    added = next(iter(call.args), None)
    loops = [
        one for one in nodes_in(tree) if isinstance(one, ast.While) and any(part is call for part in nodes_in(one))
    ]
    grown = [one for loop in loops for one in nodes_in(loop) if isinstance(one, ast.AugAssign)]
    return added is not None and any(
        isinstance(one.op, _GROWING) and ast.unparse(one.target) == ast.unparse(added) for one in grown
    )
