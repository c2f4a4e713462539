"""The syntax tree of a module in, what it binds at its top level out: functions, classes, imports, assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphlint.static.syntax import ir

if TYPE_CHECKING:
    from graphlint.static.index.project import Module


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of whole source lines; `first` counts from 1 and includes decorators, `last` is inclusive."""

    first: int
    last: int


@dataclass(slots=True, eq=False)
class Definition:
    """A function of a module or class: where it stands, and its compact form once somebody asks."""

    module: Module
    name: str
    qualname: str
    segment: Segment
    line: int

    @property
    def code(self) -> ir.Code | None:
        for statement in self.module.lowered(self.segment):
            if isinstance(statement, ir.Define) and statement.code.name == self.name:
                return statement.code
        return None


@dataclass(slots=True, eq=False)
class ClassDefinition:
    """A class of a module: its bases as source, its methods, and the statements of its body."""

    module: Module
    name: str
    qualname: str
    segment: Segment
    line: int
    bases: tuple[str, ...]
    decorators: tuple[str, ...]
    methods: dict[str, list[Definition]] = field(default_factory=dict)
    classes: dict[str, ClassDefinition] = field(default_factory=dict)
    assignments: dict[str, list[Segment]] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def functions(self) -> Iterator[Definition]:
        for definitions in self.methods.values():
            yield from definitions
        for inner in self.classes.values():
            yield from inner.functions()


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name bound by an import: the module, and the member taken from it (None: the module itself)."""

    module: str
    member: str | None


@dataclass(slots=True, eq=False)
class Index:
    """What a module binds at its top level, also below `if`, `try` and `with`."""

    functions: dict[str, list[Definition]] = field(default_factory=dict)
    classes: dict[str, ClassDefinition] = field(default_factory=dict)
    imports: dict[str, list[ImportedName]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    assignments: dict[str, list[Segment]] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    mutations: dict[str, list[Segment]] = field(default_factory=dict)
    statements: list[Segment] = field(default_factory=list)

    def all_functions(self) -> Iterator[Definition]:
        for definitions in self.functions.values():
            yield from definitions
        for inner in self.classes.values():
            yield from inner.functions()


def index_module(module: Module, tree: ast.Module) -> Index:
    """What the statements at the top of a module bind."""
    index = Index()
    _Indexer(module, index).visit_module(tree.body)
    return index


class _Indexer:
    def __init__(self, module: Module, index: Index) -> None:
        self.module = module
        self.index = index

    def visit_module(self, body: Iterable[ast.stmt]) -> None:
        """The whole top level; its statements are kept as they stand, for running the file as a script."""
        for node in body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                self.index.statements.append(_segment(node))
            self.visit(node)

    def visit(self, node: ast.stmt) -> None:
        index = self.index
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            index.functions.setdefault(node.name, []).append(self.definition(node, ""))
        elif isinstance(node, ast.ClassDef):
            index.classes[node.name] = self.class_definition(node, "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.split(".")[0]
                module = alias.name if alias.asname else bound
                index.imports.setdefault(bound, []).append(ImportedName(module, None))
        elif isinstance(node, ast.ImportFrom):
            source = self.module.absolute(node.module or "", node.level)
            for alias in node.names:
                if alias.name == "*":
                    index.stars.append(source)
                else:
                    imported = ImportedName(source, alias.name)
                    index.imports.setdefault(alias.asname or alias.name, []).append(imported)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self.assignment(node)
        elif isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call):
                self.mutation(node.value.func, node)
        else:
            handlers = [handler.body for handler in getattr(node, "handlers", ())]
            for block in (
                getattr(node, "body", ()),
                getattr(node, "orelse", ()),
                getattr(node, "finalbody", ()),
                *handlers,
            ):
                for inner in block:
                    self.visit(inner)

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        segment = _segment(node)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, (ast.Subscript, ast.Attribute)):
                self.mutation(target, node)
                continue
            for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                if not (isinstance(node, ast.AnnAssign) and node.value is None):
                    self.index.assignments.setdefault(name, []).append(segment)
                if isinstance(node, ast.AnnAssign):
                    self.index.annotations[name] = ast.unparse(node.annotation)

    def mutation(self, target: ast.expr, node: ast.stmt) -> None:
        """`name.register(...)`, `name["key"] = ...`: what fills a registry after it was made."""
        while isinstance(target, (ast.Attribute, ast.Subscript, ast.Call)):
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name):
            self.index.mutations.setdefault(target.id, []).append(_segment(node))

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str) -> Definition:
        return Definition(self.module, node.name, prefix + node.name, _segment(node), node.lineno)

    def class_definition(self, node: ast.ClassDef, prefix: str) -> ClassDefinition:
        qualname = prefix + node.name
        bases = tuple(ast.unparse(base) for base in node.bases)
        decorators = tuple(ast.unparse(d) for d in node.decorator_list)
        found = ClassDefinition(self.module, node.name, qualname, _segment(node), node.lineno, bases, decorators)
        self.class_body(node.body, found)
        return found

    def class_body(self, body: Iterable[ast.stmt], found: ClassDefinition) -> None:
        prefix = found.qualname + "."
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.methods.setdefault(node.name, []).append(self.definition(node, prefix))
            elif isinstance(node, ast.ClassDef):
                found.classes[node.name] = self.class_definition(node, prefix)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.assignments.setdefault(target.id, []).append(_segment(node))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.annotations[node.target.id] = ast.unparse(node.annotation)
                if node.value is not None:
                    found.assignments.setdefault(node.target.id, []).append(_segment(node))
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                self.class_body(node.body, found)
                self.class_body(getattr(node, "orelse", ()), found)


def _segment(node: ast.stmt) -> Segment:
    first = node.lineno
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    return Segment(first, node.end_lineno or node.lineno)
