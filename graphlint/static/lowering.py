"""Source of one definition or statement in, compact form out: libcst parses, one pass lowers.

The result depends on the text alone, so that it is shared by every file that repeats it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from graphlint.static import ir

_WRAPPER = "if True:\n"  # gives an indented segment a parent, so that columns stay as they are in the file

_BINARY = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.MatrixMultiply: "@", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitAnd: "&",
    cst.BitOr: "|", cst.BitXor: "^",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//", cst.ModuloAssign: "%", cst.PowerAssign: "**", cst.MatrixMultiplyAssign: "@",
    cst.LeftShiftAssign: "<<", cst.RightShiftAssign: ">>", cst.BitAndAssign: "&", cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
}  # fmt: skip
_UNARY = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not"}
_COMPARE = {
    cst.Equal: "==", cst.NotEqual: "!=", cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=", cst.Is: "is", cst.IsNot: "is not", cst.In: "in", cst.NotIn: "not in",
}  # fmt: skip


class UnparsableSource(Exception):
    """A segment that libcst does not accept."""


@cache
def lower_segment(text: str) -> ir.Block:
    """The statements of a segment of whole source lines, indented or not."""
    wrapped = text[:1] in " \t"
    try:
        module = cst.parse_module(_WRAPPER + text if wrapped else text)
    except (cst.ParserSyntaxError, RecursionError) as problem:
        raise UnparsableSource(str(problem)) from problem
    # `MetadataWrapper.resolve` would add a visit of the whole tree that the positions do not need: a third of the time.
    positions = PositionProvider()._gen(MetadataWrapper(module, unsafe_skip_copy=True))
    lowering = _Lowering(positions, 2 if wrapped else 1)
    statements = module.body
    if wrapped:
        statements = statements[0].body.body  # type: ignore[union-attr, assignment]
    return lowering.block(statements)


class _Lowering:
    def __init__(self, positions: Any, first_line: int) -> None:
        self.positions = positions
        self.first_line = first_line
        self.loads: set[str] = set()
        self.yields = False

    def pos(self, node: cst.CSTNode) -> ir.Pos:
        span = self.positions[node]
        start, end = span.start, span.end
        return (start.line - self.first_line, start.column, end.line - self.first_line, end.column)

    # Statements

    def block(self, statements: Iterable[cst.CSTNode]) -> ir.Block:
        lowered: list[ir.Stmt] = []
        for statement in statements:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    lowered.extend(self.statement(small))
            else:
                lowered.extend(self.statement(statement))
        return tuple(lowered)

    def suite(self, body: cst.BaseSuite) -> ir.Block:
        if isinstance(body, cst.SimpleStatementSuite):
            return tuple(s for small in body.body for s in self.statement(small))
        return self.block(body.body)

    def statement(self, node: cst.CSTNode) -> Iterable[ir.Stmt]:
        method = _STATEMENTS.get(type(node))
        return method(self, node) if method else ()

    def _expression_statement(self, node: cst.Expr) -> Iterable[ir.Stmt]:
        if isinstance(node.value, (cst.SimpleString, cst.Ellipsis)):
            return ()
        return (ir.Evaluate(self.pos(node), self.expr(node.value)),)

    def _assign(self, node: cst.Assign) -> Iterable[ir.Stmt]:
        targets = tuple(self.expr(t.target) for t in node.targets)
        return (ir.Assign(self.pos(node), targets, self.expr(node.value)),)

    def _annotated(self, node: cst.AnnAssign) -> Iterable[ir.Stmt]:
        annotation = self.expr(node.annotation.annotation)
        return (ir.Assign(self.pos(node), (self.expr(node.target),), self.maybe(node.value), annotation),)

    def _augmented(self, node: cst.AugAssign) -> Iterable[ir.Stmt]:
        return (
            ir.AugAssign(self.pos(node), self.expr(node.target), _BINARY[type(node.operator)], self.expr(node.value)),
        )

    def _return(self, node: cst.Return) -> Iterable[ir.Stmt]:
        return (ir.Return(self.pos(node), self.maybe(node.value)),)

    def _raise(self, node: cst.Raise) -> Iterable[ir.Stmt]:
        return (ir.Raise(self.pos(node), self.maybe(node.exc)),)

    def _assert(self, node: cst.Assert) -> Iterable[ir.Stmt]:
        return (ir.Assert(self.pos(node), self.expr(node.test), self.maybe(node.msg)),)

    def _delete(self, node: cst.Del) -> Iterable[ir.Stmt]:
        return (ir.Delete(self.pos(node), (self.expr(node.target),)),)

    def _if(self, node: cst.If) -> Iterable[ir.Stmt]:
        orelse: ir.Block = ()
        if isinstance(node.orelse, cst.If):
            orelse = tuple(self._if(node.orelse))
        elif node.orelse is not None:
            orelse = self.suite(node.orelse.body)
        return (ir.If(self.pos(node), self.expr(node.test), self.suite(node.body), orelse),)

    def _for(self, node: cst.For) -> Iterable[ir.Stmt]:
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        target, iterable = self.expr(node.target), self.expr(node.iter)
        return (ir.For(self.pos(node), target, iterable, self.suite(node.body), orelse),)

    def _while(self, node: cst.While) -> Iterable[ir.Stmt]:
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        return (ir.While(self.pos(node), self.expr(node.test), self.suite(node.body), orelse),)

    def _with(self, node: cst.With) -> Iterable[ir.Stmt]:
        items = tuple((self.expr(i.item), self.expr(i.asname.name) if i.asname else None) for i in node.items)
        return (ir.With(self.pos(node), items, self.suite(node.body)),)

    def _try(self, node: cst.Try | cst.TryStar) -> Iterable[ir.Stmt]:
        handlers = []
        for handler in node.handlers:
            name = handler.name.name.value if handler.name and isinstance(handler.name.name, cst.Name) else None
            handlers.append(ir.Handler(self.maybe(handler.type), name, self.suite(handler.body)))
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        final = self.suite(node.finalbody.body) if node.finalbody else ()
        return (ir.Try(self.pos(node), self.suite(node.body), tuple(handlers), orelse, final),)

    def _match(self, node: cst.Match) -> Iterable[ir.Stmt]:
        cases = []
        for case in node.cases:
            literal = self.expr(case.pattern.value) if isinstance(case.pattern, cst.MatchValue) else None
            binds = tuple(
                part.name.value
                for part in _descendants(case.pattern)
                if isinstance(part, (cst.MatchAs, cst.MatchStar)) and part.name is not None
            )
            target = self.target(case.pattern)
            cases.append(ir.Case(literal, binds, self.maybe(case.guard), self.suite(case.body), target))
        return (ir.Match(self.pos(node), self.expr(node.subject), tuple(cases)),)

    def target(self, pattern: cst.CSTNode) -> ir.Expr | None:
        """The target of an assignment that binds what a pattern binds; None where there is no such target."""
        if isinstance(pattern, cst.MatchAs) and pattern.pattern is None:
            return ir.Name(self.pos(pattern), pattern.name.value if pattern.name else "_")
        if isinstance(pattern, (cst.MatchTuple, cst.MatchList)):
            parts = [self.target(p if isinstance(p, cst.MatchStar) else p.value) for p in pattern.patterns]
            return ir.Display(self.pos(pattern), "tuple", tuple(p or ir.Name(self.pos(pattern), "_") for p in parts))
        if isinstance(pattern, cst.MatchStar):
            return ir.Starred(self.pos(pattern), ir.Name(self.pos(pattern), pattern.name.value if pattern.name else "_"))
        return None

    def _jump(self, node: cst.CSTNode) -> Iterable[ir.Stmt]:
        return (ir.Jump(self.pos(node), type(node).__name__.lower()),)

    def _scope(self, node: cst.Global | cst.Nonlocal) -> Iterable[ir.Stmt]:
        names = tuple(item.name.value for item in node.names)
        return (ir.Scope(self.pos(node), type(node).__name__.lower(), names),)

    def _import(self, node: cst.Import) -> Iterable[ir.Stmt]:
        for alias in node.names:
            module = _dotted(alias.name)
            bound = _dotted(alias.asname.name) if alias.asname else module.split(".")[0]  # type: ignore[arg-type]
            yield ir.Import(self.pos(node), module if alias.asname else bound, None, bound, 0)

    def _import_from(self, node: cst.ImportFrom) -> Iterable[ir.Stmt]:
        module = _dotted(node.module) if node.module else ""
        if isinstance(node.names, cst.ImportStar):
            yield ir.Import(self.pos(node), module, "*", "*", len(node.relative))
            return
        for alias in node.names:
            member = _dotted(alias.name)
            bound = _dotted(alias.asname.name) if alias.asname else member  # type: ignore[arg-type]
            yield ir.Import(self.pos(node), module, member, bound, len(node.relative))

    def _function(self, node: cst.FunctionDef) -> Iterable[ir.Stmt]:
        return (ir.Define(self.pos(node), self.code(node)),)

    def _class(self, node: cst.ClassDef) -> Iterable[ir.Stmt]:
        bases = tuple(self.expr(base.value) for base in node.bases if not base.star)
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        body = self.suite(node.body)
        return (ir.DefineClass(self.pos(node), node.name.value, bases, body, decorators),)

    def code(self, node: cst.FunctionDef | cst.Lambda) -> ir.Code:
        """A function with its own set of names read, which it also hands to the one around it."""
        outer_loads, outer_yields = self.loads, self.yields
        decorators: tuple[ir.Expr, ...] = ()
        returns = None
        if isinstance(node, cst.FunctionDef):
            decorators = tuple(self.expr(d.decorator) for d in node.decorators)
            returns = self.expr(node.returns.annotation) if node.returns else None
        parameters = self.parameters(node.params)
        self.loads, self.yields = set(), False
        if isinstance(node, cst.FunctionDef):
            name, body = node.name.value, self.suite(node.body)
        else:
            name = "<lambda>"
            body = (ir.Return(self.pos(node.body), self.expr(node.body)),)
        loads, yields = frozenset(self.loads), self.yields
        self.loads, self.yields = outer_loads | loads, outer_yields
        is_async = isinstance(node, cst.FunctionDef) and node.asynchronous is not None
        return ir.Code(self.pos(node), name, parameters, body, decorators, returns, yields, is_async, loads)

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

    # Expressions

    def maybe(self, node: cst.BaseExpression | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: cst.CSTNode) -> ir.Expr:
        method = _EXPRESSIONS.get(type(node))
        return method(self, node) if method else ir.Literal(self.pos(node), ...)

    def _name(self, node: cst.Name) -> ir.Expr:
        constant = _CONSTANT_NAMES.get(node.value, self)
        if constant is not self:
            return ir.Literal(self.pos(node), constant)
        self.loads.add(node.value)
        return ir.Name(self.pos(node), node.value)

    def _attribute(self, node: cst.Attribute) -> ir.Expr:
        return ir.Attribute(self.pos(node), self.expr(node.value), node.attr.value)

    def _subscript(self, node: cst.Subscript) -> ir.Expr:
        parts = [self.index(element.slice) for element in node.slice]
        is_tuple = len(parts) > 1 or isinstance(node.slice[0].comma, cst.Comma)
        index = ir.Display(self.pos(node), "tuple", tuple(parts)) if is_tuple else parts[0]
        return ir.Subscript(self.pos(node), self.expr(node.value), index)

    def index(self, node: cst.BaseSlice) -> ir.Expr:
        if isinstance(node, cst.Slice):
            bounds = (self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
            return ir.Slice(self.pos(node), bounds)
        assert isinstance(node, cst.Index)
        value = self.expr(node.value)
        return ir.Starred(value.pos, value) if node.star else value

    def _call(self, node: cst.Call) -> ir.Expr:
        arguments = tuple(
            ir.Argument(self.expr(a.value), a.keyword.value if a.keyword else None, a.star) for a in node.args
        )
        return ir.Call(self.pos(node), self.expr(node.func), arguments)

    def _display(self, node: cst.Tuple | cst.List | cst.Set) -> ir.Expr:
        elements = tuple(self.element(e) for e in node.elements)
        return ir.Display(self.pos(node), type(node).__name__.lower(), elements)

    def element(self, node: cst.BaseElement) -> ir.Expr:
        value = self.expr(node.value)
        return ir.Starred(value.pos, value) if isinstance(node, cst.StarredElement) else value

    def _dict(self, node: cst.Dict) -> ir.Expr:
        items = tuple(
            (self.expr(e.key) if isinstance(e, cst.DictElement) else None, self.expr(e.value)) for e in node.elements
        )
        return ir.DictDisplay(self.pos(node), items)

    def _binary(self, node: cst.BinaryOperation) -> ir.Expr:
        return ir.Binary(self.pos(node), _BINARY[type(node.operator)], self.expr(node.left), self.expr(node.right))

    def _unary(self, node: cst.UnaryOperation) -> ir.Expr:
        operator, operand = _UNARY[type(node.operator)], self.expr(node.expression)
        if operator == "-" and isinstance(operand, ir.Literal) and isinstance(operand.value, (int, float)):
            return ir.Literal(self.pos(node), -operand.value)
        return ir.Unary(self.pos(node), operator, operand)

    def _boolean(self, node: cst.BooleanOperation) -> ir.Expr:
        operator = "and" if isinstance(node.operator, cst.And) else "or"
        return ir.Boolean(self.pos(node), operator, self.expr(node.left), self.expr(node.right))

    def _comparison(self, node: cst.Comparison) -> ir.Expr:
        parts = tuple((_COMPARE[type(c.operator)], self.expr(c.comparator)) for c in node.comparisons)
        return ir.Compare(self.pos(node), self.expr(node.left), parts)

    def _conditional(self, node: cst.IfExp) -> ir.Expr:
        return ir.Conditional(self.pos(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _lambda(self, node: cst.Lambda) -> ir.Expr:
        return ir.Lambda(self.pos(node), self.code(node))

    def _comprehension(self, node: Any) -> ir.Expr:
        clauses: list[tuple[ir.Expr, ir.Expr, tuple[ir.Expr, ...]]] = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            tests = tuple(self.expr(test.test) for test in clause.ifs)
            clauses.append((self.expr(clause.target), self.expr(clause.iter), tests))
            clause = clause.inner_for_in
        kind = _COMPREHENSIONS[type(node)]
        if isinstance(node, cst.DictComp):
            return ir.Comprehension(self.pos(node), kind, self.expr(node.key), self.expr(node.value), tuple(clauses))
        return ir.Comprehension(self.pos(node), kind, None, self.expr(node.elt), tuple(clauses))

    def _formatted(self, node: cst.FormattedString) -> ir.Expr:
        parts: list[str | ir.Expr] = []
        plain = True
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                parts.append(self.expr(part.expression))
                plain = plain and part.format_spec is None and part.conversion is None and part.equal is None
            else:
                text = part.value  # type: ignore[attr-defined]
                parts.append(text.replace("{{", "{").replace("}}", "}"))
        return ir.Formatted(self.pos(node), tuple(parts), plain and "r" not in node.prefix.lower())

    def _concatenated(self, node: cst.ConcatenatedString) -> ir.Expr:
        left, right = self.expr(node.left), self.expr(node.right)
        parts = [p.parts if isinstance(p, ir.Formatted) else (str(p.value),) for p in (left, right)]  # type: ignore[union-attr]
        if isinstance(left, ir.Literal) and isinstance(right, ir.Literal) and type(left.value) is type(right.value):
            return ir.Literal(self.pos(node), left.value + right.value)  # type: ignore[operator]
        return ir.Formatted(self.pos(node), parts[0] + parts[1], all(getattr(p, "plain", True) for p in (left, right)))

    def _literal(self, node: cst.CSTNode) -> ir.Expr:
        text: str = node.value  # type: ignore[attr-defined]
        return ir.Literal(self.pos(node), int(text) if text.isdecimal() else ast.literal_eval(text))

    def _walrus(self, node: cst.NamedExpr) -> ir.Expr:
        return ir.Walrus(self.pos(node), self.expr(node.target), self.expr(node.value))

    def _yield(self, node: cst.Yield) -> ir.Expr:
        self.yields = True
        if isinstance(node.value, cst.From):
            return ir.Yield(self.pos(node), self.expr(node.value.item), delegated=True)
        return ir.Yield(self.pos(node), self.maybe(node.value))

    def _await(self, node: cst.Await) -> ir.Expr:
        return ir.Await(self.pos(node), self.expr(node.expression))


_CONSTANT_NAMES: dict[str, object] = {"True": True, "False": False, "None": None}
_COMPREHENSIONS = {cst.ListComp: "list", cst.SetComp: "set", cst.DictComp: "dict", cst.GeneratorExp: "iterator"}
_STATEMENTS: dict[type, Callable[[_Lowering, Any], Iterable[ir.Stmt]]] = {
    cst.Expr: _Lowering._expression_statement, cst.Assign: _Lowering._assign, cst.AnnAssign: _Lowering._annotated,
    cst.AugAssign: _Lowering._augmented, cst.Return: _Lowering._return, cst.Raise: _Lowering._raise,
    cst.Assert: _Lowering._assert, cst.Del: _Lowering._delete, cst.If: _Lowering._if, cst.For: _Lowering._for,
    cst.While: _Lowering._while, cst.With: _Lowering._with, cst.Try: _Lowering._try, cst.TryStar: _Lowering._try,
    cst.Match: _Lowering._match, cst.Break: _Lowering._jump, cst.Continue: _Lowering._jump,
    cst.Global: _Lowering._scope, cst.Nonlocal: _Lowering._scope, cst.Import: _Lowering._import,
    cst.ImportFrom: _Lowering._import_from, cst.FunctionDef: _Lowering._function, cst.ClassDef: _Lowering._class,
}  # fmt: skip
_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], ir.Expr]] = {
    cst.Name: _Lowering._name, cst.Attribute: _Lowering._attribute, cst.Subscript: _Lowering._subscript,
    cst.Call: _Lowering._call, cst.Tuple: _Lowering._display, cst.List: _Lowering._display,
    cst.Set: _Lowering._display, cst.Dict: _Lowering._dict, cst.BinaryOperation: _Lowering._binary,
    cst.UnaryOperation: _Lowering._unary, cst.BooleanOperation: _Lowering._boolean,
    cst.Comparison: _Lowering._comparison, cst.IfExp: _Lowering._conditional, cst.Lambda: _Lowering._lambda,
    cst.ListComp: _Lowering._comprehension, cst.SetComp: _Lowering._comprehension,
    cst.DictComp: _Lowering._comprehension, cst.GeneratorExp: _Lowering._comprehension,
    cst.FormattedString: _Lowering._formatted, cst.ConcatenatedString: _Lowering._concatenated,
    cst.SimpleString: _Lowering._literal, cst.Integer: _Lowering._literal, cst.Float: _Lowering._literal,
    cst.Imaginary: _Lowering._literal, cst.NamedExpr: _Lowering._walrus, cst.Yield: _Lowering._yield,
    cst.Await: _Lowering._await,
}  # fmt: skip


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _descendants(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _descendants(child)
