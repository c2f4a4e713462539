"""One source file in, what it binds at its top level out: functions, classes, imports, assignments.

Bodies of functions are left out of the index; each has its compact form once somebody asks.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from graphlint.reading import reads
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import EndlessSource, UnparsableSource, lower_segment
from graphlint.static.syntax.outline import outline
from graphlint.static.syntax.trees import UNPARSABLE, parse, statements

TOO_DEEP = ("nests too deep to be read", 1)


class Module:
    """One source file under its dotted name."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.is_package = path.name == "__init__.py"
        self.problem: tuple[str, int] | None = None  # what is wrong with the file, and at which line
        self.is_checked = False
        self._lowered: dict[tuple[int, int], ir.Block] = {}

    def __repr__(self) -> str:
        return f"Module({self.name})"

    @cached_property
    def text(self) -> str:
        """The source; empty if it cannot be read or decoded (the engine reports why)."""
        try:
            return read_source(self.path)
        except OSError as problem:
            self.problem = (f"cannot be read: {problem.strerror or problem}", 1)
        except (UnicodeError, SyntaxError, LookupError) as problem:
            self.problem = (f"cannot be decoded: {problem}", 1)
        return ""

    def is_still(self, name: str) -> bool:
        """Whether the file has the name and the text that it had."""
        with contextlib.suppress(OSError, UnicodeError, SyntaxError, LookupError):
            return self.name == name and read_source(self.path) == self.text
        return False

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the text, and where one after the last would."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    def holds(self, segment: Segment, word: str) -> bool:
        """Whether a word may stand in a segment: it does in the text."""
        return self.text.find(word, self._starts[segment.first - 1], self._starts[segment.last]) >= 0

    def lines_with(self, word: str, fits: Callable[[str, int, int], bool]) -> Iterator[int]:
        """The lines of a word, where the text around it fits; it is asked with where the word begins and ends."""
        at = self.text.find(word)
        while at >= 0:
            end = at + len(word)
            if fits(self.text, at, end):
                yield bisect_right(self._starts, at)
            at = self.text.find(word, end)

    @cached_property
    def index(self) -> Index:
        short = outline(self.text)
        if short is not None:
            with contextlib.suppress(*UNPARSABLE):
                return index_module(self, parse(short))
        tree = self._whole_tree()
        try:
            return Index() if tree is None else index_module(self, tree)
        except RecursionError:
            self.problem = TOO_DEEP
            return Index()

    def check_syntax(self) -> None:
        """Note what is wrong anywhere in the file, for the engine to report: an index looks past functions."""
        if not self.is_checked:
            self._whole_tree()

    def _whole_tree(self) -> ast.Module | None:
        self.is_checked = True
        try:
            return parse(self.text)
        except UNPARSABLE as problem:
            self.problem = (f"cannot be parsed: {getattr(problem, 'msg', problem)}", getattr(problem, "lineno", 1) or 1)
        return None

    def deriving(self, name: str) -> list[ClassDefinition]:
        """The classes at the top level that name a class among their bases, or one of the file that does so."""
        names, found = {name}, []
        for cls in self.index.classes.values():
            if any(base.partition("[")[0].rpartition(".")[2] in names for base in cls.bases):
                names.add(cls.name)
                found.append(cls)
        return found

    def class_in(self, segment: Segment, prefix: str) -> ClassDefinition | None:
        """The class statement of a segment inside a function, as the index has those at the top level."""
        with contextlib.suppress(*UNPARSABLE):
            (statement, *_), first = statements(self.source_of(segment))
            ast.increment_lineno(statement, segment.first - first)
            for node in ast.walk(statement):
                if isinstance(node, ast.ClassDef):
                    return _Indexer(self, Index()).class_definition(node, prefix)
        return None

    def lowered(self, segment: Segment) -> ir.Block:
        """The compact form of a segment; empty if nothing can be made of it."""
        key = segment.first, segment.last
        if key not in self._lowered:  # to put its text together for each call takes longer than the call
            self._lowered[key] = self._lower(segment)
        return self._lowered[key]

    def _lower(self, segment: Segment) -> ir.Block:
        try:
            return lower_segment(self.source_of(segment))
        except EndlessSource as problem:
            said = f"{problem} here, and the function or statement around it is not judged"
            self.problem = self.problem or (said, segment.first + problem.line)
        except UnparsableSource:
            self.check_syntax()
        return ()

    def source_of(self, segment: Segment) -> str:
        """The lines of a segment."""
        return "\n".join(self.lines[segment.first - 1 : segment.last]) + "\n"

    def source_at(self, line: int, column: int, end_line: int, end_column: int) -> str:
        """The source text of a place; lines count from 1, columns from 0."""
        if line == end_line:
            return self.lines[line - 1][column:end_column] if line <= len(self.lines) else ""
        parts = [self.lines[line - 1][column:], *self.lines[line : end_line - 1], self.lines[end_line - 1][:end_column]]
        return " ".join(part.strip() for part in parts)

    def absolute(self, module: str, level: int) -> str:
        """The dotted name that a relative import means here."""
        if level == 0:
            return module
        package = self.name.split(".")
        drop = level - 1 if self.is_package else level
        base = package[: len(package) - drop] if drop else package
        return ".".join([*base, module] if module else base)


def read_source(path: Path) -> str:
    """The text of a source file. Raises OSError, UnicodeError or SyntaxError (an unknown encoding declared)."""
    text = importlib.util.decode_source(reads.content(path))  # honours coding comments and the byte order mark
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
    metaclass: str = ""

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


def nested_class(classes: dict[str, ClassDefinition], path: list[str]) -> ClassDefinition | None:
    """The class at the end of a path of names, each inside the one before; None if there is none."""
    cls = None
    for name in path:
        cls = classes.get(name)
        if cls is None:
            return None
        classes = cls.classes
    return cls


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
            for block in _blocks(node):
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
        found.metaclass = next((ast.unparse(k.value) for k in node.keywords if k.arg == "metaclass"), "")
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
            else:
                for block in _blocks(node):
                    self.class_body(block, found)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statements inside a compound one."""
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for block in ("body", "orelse", "finalbody"):
            yield getattr(part, block, [])


def _segment(node: ast.stmt) -> Segment:
    first = node.lineno
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    return Segment(first, node.end_lineno or node.lineno)
