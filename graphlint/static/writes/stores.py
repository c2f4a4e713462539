"""A piece of source in, the statements out that write to names, attributes and items, with what stands around each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.trees import endings, nodes_in, tree_of

# Methods of containers that change what they hold.
MUTATORS = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove",
    "setdefault", "update",
})  # fmt: skip
UNKNOWN_KEY = object()


@dataclass(frozen=True, slots=True)
class Named:
    """A key that is the value of a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Inner:
    """The key of an item of an item, which has a key itself."""

    outer: object
    key: object


_FLAGS = (ast.BitAnd, ast.BitOr)  # a flag that is joined with another one counts nothing
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A statement that writes.

    `target` is the variable or attribute, also where an item of it is written, whose `key` is then given. `form` is
    `assign`, `augment`, `item`, `bind` (the target of a loop or a `with`), or the name of a method that changes it.
    `inner` are the names of the functions inside of the segment that hold it, `tests` the conditions around it, and
    `loops` the first and last line of each loop. Lines are those of the file.
    """

    target: ast.Name | ast.Attribute
    form: str
    value: ast.expr | None
    line: int
    key: object = None
    tests: tuple[ast.expr, ...] = ()
    loops: tuple[tuple[int, int], ...] = ()
    inner: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()
    is_less: bool = False  # whether the value is taken off
    receiver: str | None = None  # the first parameter of the function that runs it

    @property
    def name(self) -> str:
        """The last name of the target."""
        return self.target.id if isinstance(self.target, ast.Name) else self.target.attr

    @property
    def depends_on_itself(self) -> bool:
        """Whether it makes the new value out of the old one."""
        if self.form != "assign":
            return self.form != "bind"
        spelt = ast.dump(self.target).replace("Store()", "Load()")
        return self.value is not None and any(
            ast.dump(part) == spelt for part in nodes_in(self.value) if isinstance(part, type(self.target))
        )

    @property
    def is_lazy(self) -> bool:
        """Whether it fills what is empty: `if self.x is None`, `if not self.ready`, `if key not in self.table`.

        What goes on with a value does so each time, but where there was none in front of it.
        """
        if self.form == "augment":
            return any(self._asks_for_none(test) for test in self.tests)
        return any(self._asks_for_itself(test) for test in self.tests)

    def _asks_for_none(self, test: ast.expr) -> bool:
        match test:
            case ast.Compare(left=asked, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
                return self.name in endings(asked)
        return False

    def _signs(self) -> tuple[type[ast.cmpop], ...]:
        """The comparisons that ask for what is empty; of a container, one with its length does so as well."""
        signs = (ast.Is, ast.NotIn, ast.In, ast.Eq)
        return signs if self.form in ("assign", "item") else (*signs, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

    def _asks_for_itself(self, test: ast.expr) -> bool:
        names = {name for part in nodes_in(test) for name in endings(part)}
        emptiness = any(
            (isinstance(part, ast.Compare) and isinstance(part.ops[0], self._signs()))
            or (isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not))
            for part in nodes_in(test)
        )
        words = {part.value for part in nodes_in(test) if isinstance(part, ast.Constant)}
        return emptiness and (self.name in names or self.name in words)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A store, with the module and the function that it stands in; None stands for the top level."""

    module: Module
    definition: Definition | None
    segment: Segment
    store: Store

    @property
    def qualname(self) -> str:
        """The function that runs it."""
        outer = self.definition.qualname if self.definition is not None else "<module>"
        return ".<locals>.".join((outer, *self.store.inner))

    @property
    def is_own(self) -> bool:
        """Whether it writes an attribute of the object that the method is called on."""
        target = self.store.target
        return (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == self.store.receiver
        )


@remembered_in_run
def stores_to(module: Module, name: str, is_attribute: bool) -> tuple[Written, ...]:
    """The statements of a module that write to variables, or to attributes, of a name."""
    kind = ast.Attribute if is_attribute else ast.Name
    return tuple(
        Written(module, definition, segment, _moved(store, segment.first - 1))
        for definition, segment in segments_with(module, name, is_word)
        for store in stores_in(module.source_of(segment))
        if isinstance(store.target, kind) and store.name == name
    )


@remembered
def stores_in(source: str) -> tuple[Store, ...]:
    """What a segment writes; lines count from 1 where it begins."""
    tree = tree_of(source)
    if tree is None:
        return ()
    nothing = Store(ast.Name("", ast.Store()), "", None, 0)
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return tuple(_stores(tree.body, replace(nothing, receiver=_first_parameter(tree))))
    return tuple(_stores([tree], nothing))


def _first_parameter(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    arguments = [*node.args.posonlyargs, *node.args.args]
    return arguments[0].arg if arguments else None


def _stores(body: list[ast.stmt], around: Store) -> Iterator[Store]:
    shared = {name for node in body if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    around = replace(around, shared=around.shared | shared)
    for index, node in enumerate(body):
        yield from _of_statement(node, around)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner, receiver = (*around.inner, node.name), _first_parameter(node)
                nothing = replace(around, inner=inner, receiver=receiver, loops=(), tests=(), shared=frozenset())
                yield from _stores(node.body, nothing)
                continue
            case ast.If():
                inside = replace(around, tests=(*around.tests, node.test))
                yield from _stores(node.body, inside)
                yield from _stores(node.orelse, inside)
                if _leaves(node.body):  # what follows runs where the test fails
                    behind = replace(around, tests=(*around.tests, node.test))
                    yield from _stores(body[index + 1 :], behind)
                    return
                continue
        within = around
        if isinstance(node, _LOOPS):
            tests = (*around.tests, node.test) if isinstance(node, ast.While) else around.tests
            span = node.lineno, node.end_lineno or node.lineno
            within = replace(around, loops=(*around.loops, span), tests=tests)
        for block in _blocks(node):
            yield from _stores(block, within)


def _of_statement(node: ast.stmt, around: Store) -> Iterator[Store]:
    """What one statement writes by itself."""
    if isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.Call):
        yield from _called(node.value, around)
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _target(target, "assign", value, node, around)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield from _target(target, "assign", value, node, around)
        case ast.AugAssign(target=target, value=value, op=op):
            form = "assign" if isinstance(op, _FLAGS) else "augment"
            yield from _target(target, form, value, node, replace(around, is_less=isinstance(op, ast.Sub)))
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _target(target, "bind", None, node, around)
        case ast.Expr(value=ast.Call() as call):
            yield from _called(call, around)


def _called(call: ast.Call, around: Store) -> Iterator[Store]:
    """What a method changes that is called."""
    match call.func:
        case ast.Attribute(value=holder, attr=method) as func:
            if method in MUTATORS or (method.endswith("_") and not method.endswith("__")):
                yield from _target(holder, method, call.args[0] if call.args else None, func, around)
            if method == "__setitem__":
                yield from _target(holder, "item", call.args[-1] if call.args else None, func, around)


def _target(target: ast.expr, form: str, value: ast.expr | None, node: ast.AST, around: Store) -> Iterator[Store]:
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(elements) else ()
            for index, element in enumerate(elements):
                yield from _target(element, form, values[index] if values else value, node, around)
        case ast.Starred(value=inner):
            yield from _target(inner, form, value, node, around)
        case ast.Name() | ast.Attribute():
            yield replace(around, target=target, form=form, value=value, line=getattr(node, "lineno", 0))
        case ast.Subscript(value=(ast.Name() | ast.Attribute()) as holder, slice=index):
            form = "item" if form == "assign" else form
            yield replace(
                around, target=holder, form=form, value=value, line=getattr(node, "lineno", 0), key=_key(index)
            )
        case ast.Subscript(
            value=ast.Subscript(value=(ast.Name() | ast.Attribute()) as holder, slice=outer), slice=index
        ):
            line, key = getattr(node, "lineno", 0), Inner(_key(outer), _key(index))
            yield replace(around, target=holder, form="item", value=value, line=line, key=key)


def _key(index: ast.expr) -> object:
    """The key of an item: a constant, spelt out or by its name."""
    match index:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return Named(name)
    return UNKNOWN_KEY


def is_of_file(name: str, module: Module) -> bool:
    """Whether a file defines or imports a name for all of its functions."""
    return name in module.index.assignments or name in module.index.imports


def _moved(store: Store, by: int) -> Store:
    """A store with the lines of the file."""
    loops = tuple((first + by, last + by) for first, last in store.loops)
    return replace(store, line=store.line + by, loops=loops)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        for block in ("body", "orelse", "finalbody"):
            held = getattr(part, block, None)
            if isinstance(held, list):
                yield held


def _leaves(block: list[ast.stmt]) -> bool:
    return isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
