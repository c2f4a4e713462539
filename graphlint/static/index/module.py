"""One source file in, what it binds at its top level out: functions, classes, imports, assignments.

Bodies of functions are left out of the index; each has its compact form once somebody asks.
"""

from __future__ import annotations

import ast
import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from graphlint.reading import reads
from graphlint.static.index.looked import Fits, Looked, anywhere, line_starts, places, source_text, uncommented
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import EndlessSource, UnparsableSource, lower_segment
from graphlint.static.syntax.outline import outline
from graphlint.static.syntax.trees import UNPARSABLE, Problem, move, nodes_in, parse, parsed, statements

Answer = TypeVar("Answer")

TOO_DEEP = ("nests too deep to be read", 1)


class Module:
    """One source file under its dotted name."""

    def __init__(self, name: str, path: Path, text: str | None = None) -> None:
        self.name = name
        self.path = path
        self.is_package = path.name == "__init__.py"
        self.problem: Problem | None = None  # what is wrong with the file, and at which line
        if text is not None:
            self.looked = Looked(text)
        self._lowered: dict[tuple[int, int], tuple[ir.Block, Problem | None]] = {}

    def __repr__(self) -> str:
        return f"Module({self.name})"

    @property
    def text(self) -> str:
        """The source; empty if it cannot be read or decoded (the engine reports why)."""
        self.looked.is_whole = True
        return self.looked.text

    @cached_property
    def looked(self) -> Looked:
        """The source, with what is looked at of it."""
        return Looked(self._read())

    def _read(self) -> str:
        try:
            return read_source(self.path)
        except OSError as problem:
            self.problem = (f"cannot be read: {problem.strerror or problem}", 1)
        except (UnicodeError, SyntaxError, LookupError) as problem:
            self.problem = (f"cannot be decoded: {problem}", 1)
        return ""

    def begin(self) -> Looked:
        """Let another run look at the file, which is as it was."""
        self.problem, self.looked = None, Looked(self.looked.text)
        return self.looked

    @property
    def is_empty(self) -> bool:
        """Whether there is no source, or none that can be read."""
        return not self.looked.text

    def _lines(self, first: int, last: int) -> str:
        """The text of some lines, as far as there are any, without its end; they count from 1 and include the last."""
        starts, end = self._starts, len(self._starts) - 1
        return self.looked.text[starts[first - 1] : starts[min(last, end)] - 1] if first <= end else ""

    @cached_property
    def _starts(self) -> Sequence[int]:
        return line_starts(self.looked.text)

    def ask(self, question: Callable[..., Answer], *given: Any) -> Answer:
        """What a question to the text comes to; it is asked with the text first, and once in a run."""
        return self.looked.ask(question, *given)

    def holds(self, segment: Segment, word: str) -> bool:
        """Whether a word may stand in a segment: it does in the text."""
        self.looked.words.add((word, anywhere))
        return self.looked.text.find(word, self._starts[segment.first - 1], self._starts[segment.last]) >= 0

    def lines_with(self, word: str, fits: Fits) -> Iterator[int]:
        """The lines of functions and statements with a word, where the text around it fits."""
        self.looked.words.add((word, fits))
        return (bisect_right(self._starts, at) for at in places(self.looked.text, word, fits))

    @property
    def index(self) -> Index:
        index, is_of_outline, problem = self._indexed
        self.looked.is_whole |= not is_of_outline
        self.problem = problem or self.problem
        return index

    @cached_property
    def _indexed(self) -> tuple[Index, bool, Problem | None]:
        """The index, whether it is one of the outline, and what is wrong."""
        short = outline(self.looked.text)
        if short is not None:
            with contextlib.suppress(*UNPARSABLE):
                return index_module(self, parse(short.text)), True, None
        tree, problem = parsed(self.looked.text)
        try:
            return Index() if tree is None else index_module(self, tree), False, problem
        except RecursionError:
            return Index(), False, TOO_DEEP

    def check_syntax(self) -> None:
        """Note what is wrong anywhere in the file, for the engine to report: an index looks past functions."""
        self.looked.is_parsed = True
        self.looked.is_whole |= self._mistake is not None
        self.problem = self._mistake or self.problem

    @cached_property
    def _mistake(self) -> Problem | None:
        return parsed(self.looked.text)[1]

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
            move(statement, segment.first - first)
            for node in nodes_in(statement):
                if isinstance(node, ast.ClassDef):
                    return _Indexer(self, Index()).class_definition(node, prefix)
        return None

    def lowered(self, segment: Segment) -> ir.Block:
        """The compact form of a segment; empty if nothing can be made of it."""
        key = segment.first, segment.last
        self.looked.see(key)
        if key not in self._lowered:  # to put its text together for each call takes longer than the call
            self._lowered[key] = self._lower(segment)
        block, problem = self._lowered[key]
        self.looked.is_whole |= problem is not None  # a mistake before it would be told instead
        self.problem = self.problem or problem
        return block

    def _lower(self, segment: Segment) -> tuple[ir.Block, Problem | None]:
        try:
            return lower_segment(self.source_of(segment)), None
        except EndlessSource as problem:
            said = f"{problem} here, and the function or statement around it is not judged"
            return (), (said, segment.first + problem.line)
        except UnparsableSource:
            return (), self._mistake

    def source_of(self, segment: Segment, is_exact: bool = False) -> str:
        """The lines of a segment, for who parses them; `is_exact` for who looks at comments, too."""
        self.looked.see((segment.first, segment.last), is_exact)
        return self._lines(segment.first, segment.last) + "\n"

    def source_at(self, line: int, column: int, end_line: int, end_column: int) -> str:
        """The source text of a place, without comments; lines count from 1, columns from 0."""
        parts = self._lines(line, end_line).split("\n")
        if line == end_line:
            return parts[0][column:end_column]
        parts = [parts[0][column:], *parts[1:-1], parts[-1][:end_column]]
        return " ".join(part.strip() for part in uncommented(parts))

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
    return source_text(reads.content(path))


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

    def own_functions(self) -> Iterator[Definition]:
        """Those that stand in no class."""
        for definitions in self.functions.values():
            yield from definitions

    def all_functions(self) -> Iterator[Definition]:
        yield from self.own_functions()
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
        self.around: dict[str, tuple[ast.stmt, int]] = {}  # what classes stand in at the top level, and their size

    def visit_module(self, body: Iterable[ast.stmt]) -> None:
        """The whole top level; its statements are kept as they stand, for running the file as a script."""
        for node in body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
                self.index.statements.append(_segment(node))
            self.visit(node, node)

    def visit(self, node: ast.stmt, top: ast.stmt) -> None:
        index = self.index
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            index.functions.setdefault(node.name, []).append(self.definition(node, ""))
        elif isinstance(node, ast.ClassDef):
            self.add_class(self.class_definition(node, ""), top)
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
                    index.imports.setdefault(alias.asname or alias.name, []).append(ImportedName(source, alias.name))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self.assignment(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.mutation(node.value.func, node)
        else:
            for block in _blocks(node):
                for inner in block:
                    self.visit(inner, top)

    def add_class(self, found: ClassDefinition, top: ast.stmt) -> None:
        """Keep the last class of a name, but of those in branches of one statement the longest: others stand in."""
        size, around = found.segment.last - found.segment.first, self.around.get(found.name)
        if around is None or around[0] is not top or size >= around[1]:
            self.index.classes[found.name], self.around[found.name] = found, (top, size)

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        segment = _segment(node)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, (ast.Subscript, ast.Attribute)):
                self.mutation(target, node)
                continue
            for name in (n.id for n in nodes_in(target) if isinstance(n, ast.Name)):
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
    first = min((node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))))
    return Segment(first, node.end_lineno or node.lineno)
