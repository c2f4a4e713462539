"""Expressions of `ast` in, their compact form out."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering.abstract.positions import Placed, Positions, key_of
from graphlint.static.syntax.lowering.common import Scope, formatted

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_COMPREHENSIONS: dict[type[ast.expr], str] = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}
_UNCHANGED = -1  # a part of an f-string without `!r` and its like


class Expressions(Scope):
    """Lowers the expressions of one segment, and gathers the names that the function around them reads."""

    def __init__(self, places: Positions) -> None:
        super().__init__()
        self.places = places

    def mark(self, node: Placed) -> ir.Mark:
        return self.places, key_of(node)

    def parameters(self, arguments: ast.arguments) -> tuple[ir.Parameter, ...]:
        positional = [*arguments.posonlyargs, *arguments.args]
        missing = [None] * (len(positional) - len(arguments.defaults))
        return (
            *map(partial(self.parameter, "positional"), positional, [*missing, *arguments.defaults]),
            *([self.parameter("*", arguments.vararg)] if arguments.vararg else ()),
            *map(partial(self.parameter, "keyword"), arguments.kwonlyargs, arguments.kw_defaults),
            *([self.parameter("**", arguments.kwarg)] if arguments.kwarg else ()),
        )

    def parameter(self, kind: str, node: ast.arg, default: ast.expr | None = None) -> ir.Parameter:
        return ir.Parameter(node.arg, kind, self.maybe(default), self.maybe(node.annotation))

    def maybe(self, node: ast.expr | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: ast.expr) -> ir.Expr:
        method = _EXPRESSIONS.get(type(node))
        return method(self, node) if method else ir.Literal(self.mark(node), ...)

    def _name(self, node: ast.Name) -> ir.Expr:
        self.loads.add(node.id)
        return ir.Name(self.mark(node), node.id)

    def _literal(self, node: ast.Constant) -> ir.Expr:
        return ir.Literal(self.mark(node), node.value)

    def _attribute(self, node: ast.Attribute) -> ir.Expr:
        return ir.Attribute(self.mark(node), self.expr(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> ir.Expr:
        index = node.slice
        if isinstance(index, ast.Tuple) and not self.places.is_bracketed(index):
            parts = tuple(self.index(element, node) for element in index.elts)
            return ir.Subscript(self.mark(node), self.expr(node.value), ir.Display(self.mark(node), "tuple", parts))
        return ir.Subscript(self.mark(node), self.expr(node.value), self.index(index, node))

    def index(self, node: ast.expr, subscript: ast.Subscript) -> ir.Expr:
        if isinstance(node, ast.Slice):
            bounds = (self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
            return ir.Slice(self.mark(subscript), bounds)
        return self.element(node)

    def _call(self, node: ast.Call) -> ir.Expr:
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if node.keywords and any(isinstance(argument, ast.Starred) for argument in node.args):
            given.sort(key=lambda argument: (argument.lineno, argument.col_offset))
        return ir.Call(self.mark(node), self.expr(node.func), tuple(map(self.argument, given)))

    def argument(self, node: ast.expr | ast.keyword) -> ir.Argument:
        if isinstance(node, ast.keyword):
            return ir.Argument(self.expr(node.value), node.arg, "" if node.arg else "**")
        if isinstance(node, ast.Starred):
            return ir.Argument(self.expr(node.value), None, "*")
        return ir.Argument(self.expr(node))

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> ir.Expr:
        return ir.Display(self.mark(node), type(node).__name__.lower(), tuple(map(self.element, node.elts)))

    def element(self, node: ast.expr) -> ir.Expr:
        if isinstance(node, ast.Starred):
            value = self.expr(node.value)
            return ir.Starred(value.mark, value)
        return self.expr(node)

    def _dict(self, node: ast.Dict) -> ir.Expr:
        items = tuple((self.maybe(key), self.expr(value)) for key, value in zip(node.keys, node.values, strict=True))
        return ir.DictDisplay(self.mark(node), items)

    def _binary(self, node: ast.BinOp) -> ir.Expr:
        return ir.Binary(self.mark(node), BINARY[type(node.op)], self.expr(node.left), self.expr(node.right))

    def _unary(self, node: ast.UnaryOp) -> ir.Expr:
        operator, operand = _UNARY[type(node.op)], self.expr(node.operand)
        if operator == "-" and isinstance(operand, ir.Literal) and isinstance(operand.value, (int, float)):
            return ir.Literal(self.mark(node), -operand.value)
        return ir.Unary(self.mark(node), operator, operand)

    def _boolean(self, node: ast.BoolOp) -> ir.Expr:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        found = self.expr(node.values[0])
        for number, value in enumerate(node.values[1:], 2):
            part = node
            if number < len(node.values):
                part = ast.BoolOp(node.op, node.values[:number], lineno=node.lineno, col_offset=node.col_offset)
            found = ir.Boolean(self.mark(part), operator, found, self.expr(value))
        return found

    def _comparison(self, node: ast.Compare) -> ir.Expr:
        pairs = zip(node.ops, node.comparators, strict=True)
        parts = tuple((_COMPARE[type(operator)], self.expr(right)) for operator, right in pairs)
        return ir.Compare(self.mark(node), self.expr(node.left), parts)

    def _conditional(self, node: ast.IfExp) -> ir.Expr:
        return ir.Conditional(self.mark(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _lambda(self, node: ast.Lambda) -> ir.Expr:
        place, parameters = self.mark(node), self.parameters(node.args)
        body, loads, yields = self.inner(lambda: (ir.Return(self.mark(node.body), self.expr(node.body)),))
        return ir.Lambda(place, ir.Code(place, "<lambda>", parameters, body, is_generator=yields, loads=loads))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ir.Expr:
        clauses = self.clauses(node.generators)
        return ir.Comprehension(self.mark(node), _COMPREHENSIONS[type(node)], None, self.expr(node.elt), clauses)

    def _dict_comprehension(self, node: ast.DictComp) -> ir.Expr:
        clauses = self.clauses(node.generators)
        return ir.Comprehension(self.mark(node), "dict", self.expr(node.key), self.expr(node.value), clauses)

    def clauses(self, nodes: list[ast.comprehension]) -> tuple[tuple[ir.Expr, ir.Expr, tuple[ir.Expr, ...]], ...]:
        return tuple((self.expr(one.target), self.expr(one.iter), tuple(map(self.expr, one.ifs))) for one in nodes)

    def _formatted(self, node: ast.JoinedStr) -> ir.Expr:
        parts: list[str | ir.Expr] = []
        plain = True
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.places.check_names(part.value)
                parts.append(self.expr(part.value))
                plain = plain and part.conversion == _UNCHANGED and part.format_spec is None
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
        return formatted(self.mark(node), parts, plain)

    def _walrus(self, node: ast.NamedExpr) -> ir.Expr:
        return ir.Walrus(self.mark(node), self.expr(node.target), self.expr(node.value))

    def _yield(self, node: ast.Yield) -> ir.Expr:
        self.yields = True
        return ir.Yield(self.mark(node), self.maybe(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> ir.Expr:
        self.yields = True
        return ir.Yield(self.mark(node), self.expr(node.value), delegated=True)

    def _await(self, node: ast.Await) -> ir.Expr:
        return ir.Await(self.mark(node), self.expr(node.value))


_EXPRESSIONS: dict[type, Callable[[Expressions, Any], ir.Expr]] = {
    ast.Name: Expressions._name, ast.Constant: Expressions._literal, ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript, ast.Call: Expressions._call, ast.Tuple: Expressions._display,
    ast.List: Expressions._display, ast.Set: Expressions._display, ast.Dict: Expressions._dict,
    ast.BinOp: Expressions._binary, ast.UnaryOp: Expressions._unary, ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._comparison, ast.IfExp: Expressions._conditional, ast.Lambda: Expressions._lambda,
    ast.ListComp: Expressions._comprehension, ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension, ast.DictComp: Expressions._dict_comprehension,
    ast.JoinedStr: Expressions._formatted, ast.NamedExpr: Expressions._walrus, ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from, ast.Await: Expressions._await,
}  # fmt: skip
