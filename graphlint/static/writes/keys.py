"""A function that captures or replays in, the names out by which it picks the graph: keys of graph caches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from graphlint.rule import Event, IncompleteKey
from graphlint.static.domain.callers import may_stay
from graphlint.static.domain.program import function_of
from graphlint.static.domain.sources import Place, Taken
from graphlint.static.index.module import Definition
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import walk
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.traces import Traces

_GRAPH = "graph"
_EMPTY = (ast.Dict, ast.DictComp, ast.List, ast.ListComp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_RECEIVERS = ("self", "cls")
_STEPS = 3  # names of which a key is made, and those of these


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table of graphs: the names that it is made of, and where; `is_asked` where a table that is filled
    there, or called after graphs, is asked for it.

    One that a call makes anew has nothing to be asked for that it has not put there itself. Where the table is that of
    a `holder`, what comes from there is kept beside it, and is no part of keys.
    `inner` are the first and last line of the function inside of the segment that it stands in, if it does. Where a
    `helper` makes it, that is `given` the names of each argument, by position or keyword.
    """

    names: frozenset[str]
    pos: ir.Pos
    is_asked: bool
    inner: tuple[int, int] | None = None
    helper: str = ""
    given: tuple[tuple[int | str, frozenset[str]], ...] = ()
    holder: frozenset[str] = frozenset()
    is_of_graphs: bool = False  # by the name of the table

    def serves(self, line: int) -> bool:
        """Whether it stands in the same function as a line, or in one around it."""
        return self.inner is None or self.inner[0] <= line <= self.inner[1]

    @property
    def node(self) -> ir.Node:
        """Where it is made."""
        return ir.Node(((self.pos,), 0))


@remembered
def keys_in(source: str) -> tuple[Key, ...]:
    """The keys by which a segment picks one of several graphs; lines count from 1 where it begins."""
    tree = tree_of(source)
    if tree is None:
        return ()
    nodes = nodes_in(tree)
    tables = set(_tables(nodes))
    made = {
        target.id: node.value
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found = []
    anew = {(name, _innermost(tree, value.lineno)) for name, value in made.items() if isinstance(value, _EMPTY)}
    for table, index, is_asked in _indices(nodes, tables):
        if isinstance(table, ast.Name) and (table.id, _innermost(tree, index.lineno)) in anew:
            is_asked = False  # no later call finds what this one has put there
        shown = index
        for _ in range(_STEPS):
            shown = made.get(shown.id, shown) if isinstance(shown, ast.Name) else shown
        names = set(_names(index))
        for _ in range(_STEPS):
            names |= {part for name in names & made.keys() for part in _names(made[name])}
        first, last = shown.lineno - 1, (shown.end_lineno or shown.lineno) - 1
        pos = (first, shown.col_offset, last, shown.end_col_offset or 0)
        helper, given = _call(shown)
        holder = _variables(table.value) if isinstance(table, ast.Attribute) else frozenset()
        named = any(_GRAPH in name.lower() for name in endings(table))
        inner = _innermost(tree, index.lineno)
        found.append(Key(frozenset(names), pos, is_asked, inner, helper, given, holder, named))
    return tuple(dict.fromkeys(found))


def _call(node: ast.expr) -> tuple[str, tuple[tuple[int | str, frozenset[str]], ...]]:
    """The last name of what is called, and the names in each argument; nothing where a star hides some."""
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return "", ()
    given: dict[int | str, frozenset[str]] = {n: _variables(one) for n, one in enumerate(node.args)}
    for keyword in node.keywords:
        if keyword.arg is None:
            return "", ()
        given[keyword.arg] = _variables(keyword.value)
    return next(endings(node.func), ""), tuple(given.items())


def _innermost(tree: ast.AST, line: int) -> tuple[int, int] | None:
    """The lines of the smallest function inside of a segment that holds a line."""
    inner = (node for node in nodes_in(tree) if node is not tree and isinstance(node, FUNCTIONS))
    spans = ((node.lineno, node.end_lineno or node.lineno) for node in inner)
    return min((span for span in spans if span[0] <= line <= span[1]), key=lambda span: span[1] - span[0], default=None)


def _tables(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of containers that are asked whether they have a key, that are called after graphs, or replayed."""
    for node in nodes:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[table]):
                yield from endings(table)
            case ast.Call(func=ast.Attribute(value=table, attr="get")):
                yield from endings(table)
            case ast.Attribute(value=ast.Subscript(value=table), attr="replay"):
                yield from endings(table)
            case ast.Subscript(value=table) if any(_GRAPH in name.lower() for name in endings(table)):
                yield from endings(table)


def _filled(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of containers that get items, or that are called after graphs."""
    for node in nodes:
        match node:
            case ast.Subscript(value=table, ctx=ast.Store()):
                yield from endings(table)
            case ast.Name() | ast.Attribute():
                yield from (name for name in endings(node) if _GRAPH in name.lower())


def _indices(nodes: Iterable[ast.AST], tables: set[str]) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """The tables that are asked or filled, each with the key, and whether it is asked for it."""
    filled = set(_filled(nodes))
    for node in nodes:
        match node:
            case ast.Subscript(value=table, slice=index) if not isinstance(index, ast.Slice):
                if tables.intersection(endings(table)):
                    yield table, index, False
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[table]):
                yield table, left, not filled.isdisjoint(endings(table))
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[left, *_]):
                yield table, left, not filled.isdisjoint(endings(table))


def _names(node: ast.AST) -> Iterator[str]:
    return (name for part in nodes_in(node) for name in endings(part))


def _variables(node: ast.AST) -> frozenset[str]:
    return frozenset(part.id for part in nodes_in(node) if isinstance(part, ast.Name))


def incomplete_keys(traces: Traces) -> Iterator[tuple[Place, Event]]:
    """Parameters of a function that captures, which decide what the region does, and are in no key of its graphs.

    Where that function has no keys of its own, those of its file that call it have.
    """
    for source, uses in traces.uses.items():
        for taken in traces.origins(source):
            opener = traces.openers.get(taken.context) if isinstance(taken, Taken) else None
            if opener is None or not isinstance(taken, Taken) or taken in traces.given:
                continue
            if any(p.name == taken.name and p.kind in ("*", "**") for p in opener.function.code.parameters):
                continue
            kind, use = next(iter(uses.items()))
            evaluator = traces.evaluator
            is_cache = evaluator.lexicon.host_state["caches"].match(taken.name) is not None
            if is_cache and may_stay(evaluator.project, opener.function, taken.name):
                continue  # whoever calls gives what is the same for each request
            if use.place.is_soft:  # what is compiled is compiled anew for another number
                continue
            event = IncompleteKey(taken.name, kind, f"{use.place.function.module.path.name}:{use.place.line}")
            line = opener.line - opener.function.first_line + 1
            keys = [key for one in definitions_of(opener) for key in keys_of(one)]
            asked = [key for key in keys if key.is_asked and key.names and key.serves(line)]
            if asked and not any(taken.name in key.names for key in keys):
                yield asked[0].place(opener, {taken.name}), event
            for definition, names, at in _callers(opener, taken.name) if not asked else ():
                outer = [key for key in keys_of(definition) if key.is_asked and key.names and key.serves(at)]
                if outer and not any(names & (key.names | key.key.holder) for key in outer):
                    yield outer[0].place(opener, names), event


@dataclass(frozen=True, slots=True)
class _Found:
    """A key of a function: of what a helper is given that `makes` it there, the names that it uses."""

    key: Key
    names: frozenset[str]
    definition: Definition
    makes: tuple[Definition, ir.Node] | None = None

    @property
    def is_asked(self) -> bool:
        return self.key.is_asked

    def serves(self, line: int) -> bool:
        return self.key.serves(line)

    def place(self, like: Place, missing: Set[str]) -> Place:
        """Where it is made, of the same region as another place: in the helper, if that is given what is missing."""
        is_given = self.makes is not None and missing & self.key.names
        one, node = self.makes if self.makes is not None and is_given else (self.definition, self.key.node)
        function = function_of(one)
        assert function is not None
        return replace(like, function=function, node=node)


def definitions_of(opener: Place) -> Iterator[Definition]:
    """The function that opens a region."""
    module = opener.function.module
    yield from (one for one in module.index.all_functions() if one.segment.first == opener.function.first_line)


def keys_of(definition: Definition) -> Iterator[_Found]:
    """The keys of a function."""
    module = definition.module
    for key in keys_in(module.source_of(definition.segment)) if definition.code is not None else ():
        helpers = [one for one in module.index.all_functions() if one.name == key.helper] if key.helper else []
        code = helpers[0].code if len(helpers) == 1 else None
        returned = [one.value for one in walk(code.body) if isinstance(one, ir.Return)] if code is not None else []
        if code is None or not returned or returned[-1] is None:
            yield _Found(key, key.names, definition)
            continue
        parameters = [one.name for one in code.parameters if one.name not in _RECEIVERS]
        used = (names for at, names in key.given if at in code.loads or _at(parameters, at) in code.loads)
        yield _Found(key, frozenset().union(*used), definition, (helpers[0], returned[-1]))


def _callers(opener: Place, parameter: str) -> Iterator[tuple[Definition, frozenset[str], int]]:
    """The functions of a file that call one, the parameters of theirs that they give it for one of its own, and the
    line of the call, which counts from 1 where they begin.
    """
    function = opener.function
    parameters = [one.name for one in function.code.parameters if one.name not in _RECEIVERS]
    for definition in function.module.index.all_functions():
        if definition.code is None or not function.module.holds(definition.segment, function.code.name):
            continue
        own = {one.name for one in definition.code.parameters if one.kind in ("positional", "keyword")} - {*_RECEIVERS}
        tree = tree_of(function.module.source_of(definition.segment))
        calls = [part for part in nodes_in(tree) if isinstance(part, ast.Call)] if tree is not None else []
        for call in calls:
            name, given = _call(call)
            for at, names in given if name == function.code.name else ():
                if parameter == at or parameter == _at(parameters, at):
                    yield from [(definition, names & own, call.lineno)] if names & own else []


def _at(parameters: list[str], at: int | str) -> str:
    """The parameter that stands at a position."""
    return parameters[at] if isinstance(at, int) and at < len(parameters) else ""
