"""Statements of `ast` in, their compact form out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering.abstract.expressions import BINARY, Expressions
from graphlint.static.syntax.lowering.abstract.positions import Positions
from graphlint.static.syntax.lowering.common import is_idle
from graphlint.static.syntax.trees import statements

_NAMED: dict[type, str] = {ast.MatchAs: "name", ast.MatchStar: "name", ast.MatchMapping: "rest"}


def lower(text: str) -> ir.Block:
    """The statements of whole source lines. Raises Misplaced, or one of UNPARSABLE."""
    found, first = statements(text)
    return Statements(Positions(text, first)).block(found)


class Statements(Expressions):
    """Lowers the statements of one segment."""

    def block(self, statements: Iterable[ast.stmt]) -> ir.Block:
        return tuple(lowered for statement in statements for lowered in self.statement(statement))

    def statement(self, node: ast.stmt) -> Iterable[ir.Stmt]:
        method = _STATEMENTS.get(type(node))
        return method(self, node) if method else ()

    def _expression_statement(self, node: ast.Expr) -> Iterable[ir.Stmt]:
        value = self.expr(node.value)
        return () if is_idle(value) else (ir.Evaluate(self.mark(node), value),)

    def _assign(self, node: ast.Assign) -> Iterable[ir.Stmt]:
        return (ir.Assign(self.mark(node), tuple(map(self.expr, node.targets)), self.expr(node.value)),)

    def _annotated(self, node: ast.AnnAssign) -> Iterable[ir.Stmt]:
        annotation = self.expr(node.annotation)
        return (ir.Assign(self.mark(node), (self.expr(node.target),), self.maybe(node.value), annotation),)

    def _augmented(self, node: ast.AugAssign) -> Iterable[ir.Stmt]:
        return (ir.AugAssign(self.mark(node), self.expr(node.target), BINARY[type(node.op)], self.expr(node.value)),)

    def _return(self, node: ast.Return) -> Iterable[ir.Stmt]:
        return (ir.Return(self.mark(node), self.maybe(node.value)),)

    def _raise(self, node: ast.Raise) -> Iterable[ir.Stmt]:
        return (ir.Raise(self.mark(node), self.maybe(node.exc)),)

    def _assert(self, node: ast.Assert) -> Iterable[ir.Stmt]:
        return (ir.Assert(self.mark(node), self.expr(node.test), self.maybe(node.msg)),)

    def _delete(self, node: ast.Delete) -> Iterable[ir.Stmt]:
        return (ir.Delete(self.mark(node), tuple(map(self.expr, node.targets))),)

    def _if(self, node: ast.If) -> Iterable[ir.Stmt]:
        return (ir.If(self.mark(node), self.expr(node.test), self.block(node.body), self.block(node.orelse)),)

    def _for(self, node: ast.For | ast.AsyncFor) -> Iterable[ir.Stmt]:
        target, iterable = self.expr(node.target), self.expr(node.iter)
        return (ir.For(self.mark(node), target, iterable, self.block(node.body), self.block(node.orelse)),)

    def _while(self, node: ast.While) -> Iterable[ir.Stmt]:
        return (ir.While(self.mark(node), self.expr(node.test), self.block(node.body), self.block(node.orelse)),)

    def _with(self, node: ast.With | ast.AsyncWith) -> Iterable[ir.Stmt]:
        items = tuple((self.expr(item.context_expr), self.maybe(item.optional_vars)) for item in node.items)
        return (ir.With(self.mark(node), items, self.block(node.body)),)

    def _try(self, node: ast.Try | ast.TryStar) -> Iterable[ir.Stmt]:
        handlers = tuple(ir.Handler(self.maybe(one.type), one.name, self.block(one.body)) for one in node.handlers)
        orelse, final = self.block(node.orelse), self.block(node.finalbody)
        return (ir.Try(self.mark(node), self.block(node.body), handlers, orelse, final),)

    def _match(self, node: ast.Match) -> Iterable[ir.Stmt]:
        return (ir.Match(self.mark(node), self.expr(node.subject), tuple(map(self.case, node.cases))),)

    def case(self, node: ast.match_case) -> ir.Case:
        literal = self.expr(node.pattern.value) if isinstance(node.pattern, ast.MatchValue) else None
        binds, target = tuple(_bound(node.pattern)), self.target(node.pattern)
        return ir.Case(literal, binds, self.maybe(node.guard), self.block(node.body), target)

    def target(self, pattern: ast.pattern) -> ir.Expr | None:
        """The target of an assignment that binds what a pattern binds; None where there is no such target."""
        place = self.mark(pattern)
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            return ir.Name(place, pattern.name or "_")
        if isinstance(pattern, ast.MatchStar):
            return ir.Starred(place, ir.Name(place, pattern.name or "_"))
        if isinstance(pattern, ast.MatchSequence):
            parts = [self.target(one) for one in pattern.patterns]
            return ir.Display(place, "tuple", tuple(part or ir.Name(place, "_") for part in parts))
        return None

    def _jump(self, node: ast.Break | ast.Continue) -> Iterable[ir.Stmt]:
        return (ir.Jump(self.mark(node), type(node).__name__.lower()),)

    def _scope(self, node: ast.Global | ast.Nonlocal) -> Iterable[ir.Stmt]:
        return (ir.Scope(self.mark(node), type(node).__name__.lower(), tuple(node.names)),)

    def _import(self, node: ast.Import) -> Iterable[ir.Stmt]:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            yield ir.Import(self.mark(node), alias.name if alias.asname else bound, None, bound, 0)

    def _import_from(self, node: ast.ImportFrom) -> Iterable[ir.Stmt]:
        for alias in node.names:
            yield ir.Import(self.mark(node), node.module or "", alias.name, alias.asname or alias.name, node.level)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[ir.Stmt]:
        place = self.mark(node)
        decorators = tuple(map(self.expr, node.decorator_list))
        returns, parameters = self.maybe(node.returns), self.parameters(node.args)
        body, loads, yields = self.inner(lambda: self.block(node.body))
        is_async = isinstance(node, ast.AsyncFunctionDef)
        code = ir.Code(place, node.name, parameters, body, decorators, returns, yields, is_async, loads)
        return (ir.Define(place, code),)

    def _class(self, node: ast.ClassDef) -> Iterable[ir.Stmt]:
        bases = tuple(self.expr(base) for base in node.bases if not isinstance(base, ast.Starred))
        decorators = tuple(map(self.expr, node.decorator_list))
        return (ir.DefineClass(self.mark(node), node.name, bases, self.block(node.body), decorators),)


_STATEMENTS: dict[type, Callable[[Statements, Any], Iterable[ir.Stmt]]] = {
    ast.Expr: Statements._expression_statement, ast.Assign: Statements._assign, ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented, ast.Return: Statements._return, ast.Raise: Statements._raise,
    ast.Assert: Statements._assert, ast.Delete: Statements._delete, ast.If: Statements._if, ast.For: Statements._for,
    ast.AsyncFor: Statements._for, ast.While: Statements._while, ast.With: Statements._with,
    ast.AsyncWith: Statements._with, ast.Try: Statements._try, ast.TryStar: Statements._try,
    ast.Match: Statements._match, ast.Break: Statements._jump, ast.Continue: Statements._jump,
    ast.Global: Statements._scope, ast.Nonlocal: Statements._scope, ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from, ast.FunctionDef: Statements._function,
    ast.AsyncFunctionDef: Statements._function, ast.ClassDef: Statements._class,
}  # fmt: skip


def _bound(pattern: ast.AST) -> Iterator[str]:
    """The names that a pattern binds, the outer ones first."""
    name = getattr(pattern, _NAMED.get(type(pattern), ""), None)
    if name is not None:
        yield name
    for part in ast.iter_child_nodes(pattern):
        yield from _bound(part)
