"""libcst expressions in, their compact form out."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import libcst as cst

from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering.common import Scope, formatted

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.MatrixMultiply: "@", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitAnd: "&",
    cst.BitOr: "|", cst.BitXor: "^",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//", cst.ModuloAssign: "%", cst.PowerAssign: "**", cst.MatrixMultiplyAssign: "@",
    cst.LeftShiftAssign: "<<", cst.RightShiftAssign: ">>", cst.BitAndAssign: "&", cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
}  # fmt: skip
_UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not"}
_COMPARE: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==", cst.NotEqual: "!=", cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=", cst.Is: "is", cst.IsNot: "is not", cst.In: "in", cst.NotIn: "not in",
}  # fmt: skip
_CONSTANT_NAMES: dict[str, object] = {"True": True, "False": False, "None": None}
_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list", cst.SetComp: "set", cst.DictComp: "dict", cst.GeneratorExp: "iterator",
}  # fmt: skip
Plain: TypeAlias = cst.SimpleString | cst.Integer | cst.Float | cst.Imaginary


class Expressions(Scope):
    """Lowers the expressions of one segment, and gathers the names that the function around them reads."""

    def __init__(self, places: ir.Places) -> None:
        super().__init__()
        self.places = places

    def mark(self, node: cst.CSTNode) -> ir.Mark:
        return self.places, id(node)

    def parameters(self, params: cst.Parameters) -> tuple[ir.Parameter, ...]:
        lowered: list[ir.Parameter] = []

        def add(param: cst.Param, kind: str) -> None:
            annotation = self.expr(param.annotation.annotation) if param.annotation else None
            lowered.append(ir.Parameter(param.name.value, kind, self.maybe(param.default), annotation))

        for param in (*params.posonly_params, *params.params):
            add(param, "positional")
        if isinstance(params.star_arg, cst.Param):
            add(params.star_arg, "*")
        for param in params.kwonly_params:
            add(param, "keyword")
        if params.star_kwarg is not None:
            add(params.star_kwarg, "**")
        return tuple(lowered)

    def maybe(self, node: cst.BaseExpression | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: cst.CSTNode) -> ir.Expr:
        method = _EXPRESSIONS.get(type(node))
        return method(self, node) if method else ir.Literal(self.mark(node), ...)

    def _name(self, node: cst.Name) -> ir.Expr:
        constant = _CONSTANT_NAMES.get(node.value, self)
        if constant is not self:
            return ir.Literal(self.mark(node), constant)
        self.loads.add(node.value)
        return ir.Name(self.mark(node), node.value)

    def _attribute(self, node: cst.Attribute) -> ir.Expr:
        return ir.Attribute(self.mark(node), self.expr(node.value), node.attr.value)

    def _subscript(self, node: cst.Subscript) -> ir.Expr:
        parts = [self.index(element.slice, node) for element in node.slice]
        is_tuple = len(parts) > 1 or isinstance(node.slice[0].comma, cst.Comma) or isinstance(parts[0], ir.Starred)
        index = ir.Display(self.mark(node), "tuple", tuple(parts)) if is_tuple else parts[0]
        return ir.Subscript(self.mark(node), self.expr(node.value), index)

    def index(self, node: cst.BaseSlice, subscript: cst.Subscript) -> ir.Expr:
        if isinstance(node, cst.Slice):
            bounds = (self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
            return ir.Slice(self.mark(subscript), bounds)
        assert isinstance(node, cst.Index)
        value = self.expr(node.value)
        return ir.Starred(value.mark, value) if node.star else value

    def _call(self, node: cst.Call) -> ir.Expr:
        arguments = tuple(
            ir.Argument(self.expr(a.value), a.keyword.value if a.keyword else None, a.star) for a in node.args
        )
        return ir.Call(self.mark(node), self.expr(node.func), arguments)

    def _display(self, node: cst.Tuple | cst.List | cst.Set) -> ir.Expr:
        elements = tuple(self.element(e) for e in node.elements)
        return ir.Display(self.mark(node), type(node).__name__.lower(), elements)

    def element(self, node: cst.BaseElement) -> ir.Expr:
        value = self.expr(node.value)
        return ir.Starred(value.mark, value) if isinstance(node, cst.StarredElement) else value

    def _dict(self, node: cst.Dict) -> ir.Expr:
        items = tuple(
            (self.expr(e.key) if isinstance(e, cst.DictElement) else None, self.expr(e.value)) for e in node.elements
        )
        return ir.DictDisplay(self.mark(node), items)

    def _binary(self, node: cst.BinaryOperation) -> ir.Expr:
        return ir.Binary(self.mark(node), BINARY[type(node.operator)], self.expr(node.left), self.expr(node.right))

    def _unary(self, node: cst.UnaryOperation) -> ir.Expr:
        operator, operand = _UNARY[type(node.operator)], self.expr(node.expression)
        if operator == "-" and isinstance(operand, ir.Literal) and isinstance(operand.value, (int, float)):
            return ir.Literal(self.mark(node), -operand.value)
        return ir.Unary(self.mark(node), operator, operand)

    def _boolean(self, node: cst.BooleanOperation) -> ir.Expr:
        operator = "and" if isinstance(node.operator, cst.And) else "or"
        return ir.Boolean(self.mark(node), operator, self.expr(node.left), self.expr(node.right))

    def _comparison(self, node: cst.Comparison) -> ir.Expr:
        parts = tuple((_COMPARE[type(c.operator)], self.expr(c.comparator)) for c in node.comparisons)
        return ir.Compare(self.mark(node), self.expr(node.left), parts)

    def _conditional(self, node: cst.IfExp) -> ir.Expr:
        return ir.Conditional(self.mark(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _lambda(self, node: cst.Lambda) -> ir.Expr:
        place, parameters = self.mark(node), self.parameters(node.params)
        body, loads, yields = self.inner(lambda: (ir.Return(self.mark(node.body), self.expr(node.body)),))
        return ir.Lambda(place, ir.Code(place, "<lambda>", parameters, body, is_generator=yields, loads=loads))

    def _comprehension(self, node: Any) -> ir.Expr:
        clauses: list[tuple[ir.Expr, ir.Expr, tuple[ir.Expr, ...]]] = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            tests = tuple(self.expr(test.test) for test in clause.ifs)
            clauses.append((self.expr(clause.target), self.expr(clause.iter), tests))
            clause = clause.inner_for_in
        kind = _COMPREHENSIONS[type(node)]
        if isinstance(node, cst.DictComp):
            return ir.Comprehension(self.mark(node), kind, self.expr(node.key), self.expr(node.value), tuple(clauses))
        return ir.Comprehension(self.mark(node), kind, None, self.expr(node.elt), tuple(clauses))

    def _formatted(self, node: cst.FormattedString) -> ir.Expr:
        parts: list[str | ir.Expr] = []
        plain = True
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                parts.append(self.expr(part.expression))
                plain = plain and part.format_spec is None and part.conversion is None and part.equal is None
            elif isinstance(part, cst.FormattedStringText):
                parts.append(_text(part, node))
        return formatted(self.mark(node), parts, plain)

    def _concatenated(self, node: cst.ConcatenatedString) -> ir.Expr:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(left, ir.Literal) and isinstance(right, ir.Literal):
            if isinstance(left.value, str) and isinstance(right.value, str):
                return ir.Literal(self.mark(node), left.value + right.value)
            if isinstance(left.value, bytes) and isinstance(right.value, bytes):
                return ir.Literal(self.mark(node), left.value + right.value)
        pieces = [_formatted(part) for part in (left, right)]
        plain = all(piece.plain for piece in pieces)
        parts = [part for piece in pieces for part in piece.parts]
        return formatted(self.mark(node), parts, plain)

    def _literal(self, node: Plain) -> ir.Expr:
        text = node.value
        if isinstance(node, cst.SimpleString) and not node.prefix and "\\" not in text:
            return ir.Literal(self.mark(node), node.raw_value)  # as most are, and quicker than to evaluate it
        if text.isdecimal():
            return ir.Literal(self.mark(node), int(text))
        return ir.Literal(self.mark(node), _evaluated(text))

    def _walrus(self, node: cst.NamedExpr) -> ir.Expr:
        return ir.Walrus(self.mark(node), self.expr(node.target), self.expr(node.value))

    def _yield(self, node: cst.Yield) -> ir.Expr:
        self.yields = True
        if isinstance(node.value, cst.From):
            return ir.Yield(self.mark(node), self.expr(node.value.item), delegated=True)
        return ir.Yield(self.mark(node), self.maybe(node.value))

    def _await(self, node: cst.Await) -> ir.Expr:
        return ir.Await(self.mark(node), self.expr(node.expression))


def _evaluated(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is none of our business
        return ast.literal_eval(text)


def _text(part: cst.FormattedStringText, string: cst.FormattedString) -> str:
    """What stands between the expressions of an f-string."""
    text = part.value.replace("{{", "{").replace("}}", "}")
    if "\\" in text and "r" not in string.prefix.lower():
        with contextlib.suppress(SyntaxError):  # libcst takes the name of a character for an expression
            return str(_evaluated(f"{string.quote}{text}{string.quote}"))
    return text


def _formatted(part: ir.Expr) -> ir.Formatted:
    """A string beside an f-string, as one."""
    if isinstance(part, ir.Formatted):
        return part
    return ir.Formatted(part.mark, (str(part.value) if isinstance(part, ir.Literal) else "",), True)


_EXPRESSIONS: dict[type, Callable[[Expressions, Any], ir.Expr]] = {
    cst.Name: Expressions._name, cst.Attribute: Expressions._attribute, cst.Subscript: Expressions._subscript,
    cst.Call: Expressions._call, cst.Tuple: Expressions._display, cst.List: Expressions._display,
    cst.Set: Expressions._display, cst.Dict: Expressions._dict, cst.BinaryOperation: Expressions._binary,
    cst.UnaryOperation: Expressions._unary, cst.BooleanOperation: Expressions._boolean,
    cst.Comparison: Expressions._comparison, cst.IfExp: Expressions._conditional, cst.Lambda: Expressions._lambda,
    cst.ListComp: Expressions._comprehension, cst.SetComp: Expressions._comprehension,
    cst.DictComp: Expressions._comprehension, cst.GeneratorExp: Expressions._comprehension,
    cst.FormattedString: Expressions._formatted, cst.ConcatenatedString: Expressions._concatenated,
    cst.SimpleString: Expressions._literal, cst.Integer: Expressions._literal, cst.Float: Expressions._literal,
    cst.Imaginary: Expressions._literal, cst.NamedExpr: Expressions._walrus, cst.Yield: Expressions._yield,
    cst.Await: Expressions._await,
}  # fmt: skip
