"""libcst statements in, their compact form out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering.common import is_idle
from graphlint.static.syntax.lowering.concrete.expressions import BINARY, Expressions
from graphlint.static.syntax.lowering.concrete.positions import Positions
from graphlint.static.syntax.trees import WRAPPER

_NAMED: dict[type, str] = {cst.MatchAs: "name", cst.MatchStar: "name", cst.MatchMapping: "rest"}


def lower(text: str) -> ir.Block:
    """The statements of whole source lines. Raises what libcst raises for a text that it does not accept."""
    if text[:1] not in (" ", "\t"):
        module = _parse(text)
        return Statements(Positions(module, 0)).block(module.body)
    module = _parse(WRAPPER + text)
    wrapper = module.body[0]
    assert isinstance(wrapper, cst.If)
    return Statements(Positions(module, -1)).suite(wrapper.body)


def _parse(text: str) -> cst.Module:
    """The tree of a text. Its nodes go unchecked, which is a tenth of the work: libcst's own parser makes no others."""
    check = cst.CSTNode.__post_init__
    cst.CSTNode.__post_init__ = _accept  # type: ignore[assignment,method-assign]
    try:
        return cst.parse_module(text)
    finally:
        cst.CSTNode.__post_init__ = check  # type: ignore[method-assign]


def _accept(_node: cst.CSTNode) -> None: ...


class Statements(Expressions):
    """Lowers the statements of one segment."""

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
        value = self.expr(node.value)
        return () if is_idle(value) else (ir.Evaluate(self.mark(node), value),)

    def _assign(self, node: cst.Assign) -> Iterable[ir.Stmt]:
        targets = tuple(self.expr(t.target) for t in node.targets)
        return (ir.Assign(self.mark(node), targets, self.expr(node.value)),)

    def _annotated(self, node: cst.AnnAssign) -> Iterable[ir.Stmt]:
        annotation = self.expr(node.annotation.annotation)
        return (ir.Assign(self.mark(node), (self.expr(node.target),), self.maybe(node.value), annotation),)

    def _augmented(self, node: cst.AugAssign) -> Iterable[ir.Stmt]:
        return (
            ir.AugAssign(self.mark(node), self.expr(node.target), BINARY[type(node.operator)], self.expr(node.value)),
        )

    def _return(self, node: cst.Return) -> Iterable[ir.Stmt]:
        return (ir.Return(self.mark(node), self.maybe(node.value)),)

    def _raise(self, node: cst.Raise) -> Iterable[ir.Stmt]:
        return (ir.Raise(self.mark(node), self.maybe(node.exc)),)

    def _assert(self, node: cst.Assert) -> Iterable[ir.Stmt]:
        return (ir.Assert(self.mark(node), self.expr(node.test), self.maybe(node.msg)),)

    def _delete(self, node: cst.Del) -> Iterable[ir.Stmt]:
        target = node.target
        if isinstance(target, cst.Tuple) and not target.lpar:
            return (ir.Delete(self.mark(node), tuple(self.expr(element.value) for element in target.elements)),)
        return (ir.Delete(self.mark(node), (self.expr(target),)),)

    def _if(self, node: cst.If) -> Iterable[ir.Stmt]:
        orelse: ir.Block = ()
        if isinstance(node.orelse, cst.If):
            orelse = tuple(self._if(node.orelse))
        elif node.orelse is not None:
            orelse = self.suite(node.orelse.body)
        return (ir.If(self.mark(node), self.expr(node.test), self.suite(node.body), orelse),)

    def _for(self, node: cst.For) -> Iterable[ir.Stmt]:
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        target, iterable = self.expr(node.target), self.expr(node.iter)
        return (ir.For(self.mark(node), target, iterable, self.suite(node.body), orelse),)

    def _while(self, node: cst.While) -> Iterable[ir.Stmt]:
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        return (ir.While(self.mark(node), self.expr(node.test), self.suite(node.body), orelse),)

    def _with(self, node: cst.With) -> Iterable[ir.Stmt]:
        items = tuple((self.expr(i.item), self.expr(i.asname.name) if i.asname else None) for i in node.items)
        return (ir.With(self.mark(node), items, self.suite(node.body)),)

    def _try(self, node: cst.Try | cst.TryStar) -> Iterable[ir.Stmt]:
        handlers = []
        for handler in node.handlers:
            name = handler.name.name.value if handler.name and isinstance(handler.name.name, cst.Name) else None
            handlers.append(ir.Handler(self.maybe(handler.type), name, self.suite(handler.body)))
        orelse = self.suite(node.orelse.body) if node.orelse else ()
        final = self.suite(node.finalbody.body) if node.finalbody else ()
        return (ir.Try(self.mark(node), self.suite(node.body), tuple(handlers), orelse, final),)

    def _match(self, node: cst.Match) -> Iterable[ir.Stmt]:
        cases = []
        for case in node.cases:
            literal = self.expr(case.pattern.value) if isinstance(case.pattern, cst.MatchValue) else None
            binds = tuple(
                name.value
                for part in _descendants(case.pattern)
                if (name := getattr(part, _NAMED.get(type(part), ""), None)) is not None
            )
            target = self.target(case.pattern)
            cases.append(ir.Case(literal, binds, self.maybe(case.guard), self.suite(case.body), target))
        return (ir.Match(self.mark(node), self.expr(node.subject), tuple(cases)),)

    def target(self, pattern: cst.CSTNode) -> ir.Expr | None:
        """The target of an assignment that binds what a pattern binds; None where there is no such target."""
        place = self.mark(pattern)
        if isinstance(pattern, cst.MatchAs) and pattern.pattern is None:
            return ir.Name(place, pattern.name.value if pattern.name else "_")
        if isinstance(pattern, cst.MatchStar):
            return ir.Starred(place, ir.Name(place, pattern.name.value if pattern.name else "_"))
        if isinstance(pattern, (cst.MatchTuple, cst.MatchList)):
            parts = [self.target(p if isinstance(p, cst.MatchStar) else p.value) for p in pattern.patterns]
            return ir.Display(place, "tuple", tuple(part or ir.Name(place, "_") for part in parts))
        return None

    def _jump(self, node: cst.CSTNode) -> Iterable[ir.Stmt]:
        return (ir.Jump(self.mark(node), type(node).__name__.lower()),)

    def _scope(self, node: cst.Global | cst.Nonlocal) -> Iterable[ir.Stmt]:
        names = tuple(item.name.value for item in node.names)
        return (ir.Scope(self.mark(node), type(node).__name__.lower(), names),)

    def _import(self, node: cst.Import) -> Iterable[ir.Stmt]:
        for alias in node.names:
            module = _dotted(alias.name)
            bound = _dotted(alias.asname.name) if alias.asname else module.split(".")[0]
            yield ir.Import(self.mark(node), module if alias.asname else bound, None, bound, 0)

    def _import_from(self, node: cst.ImportFrom) -> Iterable[ir.Stmt]:
        module = _dotted(node.module) if node.module else ""
        if isinstance(node.names, cst.ImportStar):
            yield ir.Import(self.mark(node), module, "*", "*", len(node.relative))
            return
        for alias in node.names:
            member = _dotted(alias.name)
            bound = _dotted(alias.asname.name) if alias.asname else member
            yield ir.Import(self.mark(node), module, member, bound, len(node.relative))

    def _function(self, node: cst.FunctionDef) -> Iterable[ir.Stmt]:
        place = self.mark(node)
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        returns = self.expr(node.returns.annotation) if node.returns else None
        parameters = self.parameters(node.params)
        body, loads, yields = self.inner(lambda: self.suite(node.body))
        is_async = node.asynchronous is not None
        code = ir.Code(place, node.name.value, parameters, body, decorators, returns, yields, is_async, loads)
        return (ir.Define(place, code),)

    def _class(self, node: cst.ClassDef) -> Iterable[ir.Stmt]:
        bases = tuple(self.expr(base.value) for base in node.bases if not base.star)
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        body = self.suite(node.body)
        return (ir.DefineClass(self.mark(node), node.name.value, bases, body, decorators),)


_STATEMENTS: dict[type, Callable[[Statements, Any], Iterable[ir.Stmt]]] = {
    cst.Expr: Statements._expression_statement, cst.Assign: Statements._assign, cst.AnnAssign: Statements._annotated,
    cst.AugAssign: Statements._augmented, cst.Return: Statements._return, cst.Raise: Statements._raise,
    cst.Assert: Statements._assert, cst.Del: Statements._delete, cst.If: Statements._if, cst.For: Statements._for,
    cst.While: Statements._while, cst.With: Statements._with, cst.Try: Statements._try, cst.TryStar: Statements._try,
    cst.Match: Statements._match, cst.Break: Statements._jump, cst.Continue: Statements._jump,
    cst.Global: Statements._scope, cst.Nonlocal: Statements._scope, cst.Import: Statements._import,
    cst.ImportFrom: Statements._import_from, cst.FunctionDef: Statements._function, cst.ClassDef: Statements._class,
}  # fmt: skip


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _descendants(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _descendants(child)
