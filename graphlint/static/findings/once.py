"""A test that is assumed on a way in, whether a run puts it out by itself out: then only the first run finds it so.

`if self.is_raw: self.measure(x)` is behind the first run where `measure` says `self.is_raw = False`, and so is what
`if _pool is None: _pool = make()` does. What asks for a size or a shape is not: another graph may be of another one,
which only matters to what a capture keeps, as one that is refused is noticed and warmed up. Neither is what something
else lights again, or drops: `reset` of an object, `clear` of a table, a new object.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, function_of
from graphlint.static.findings.origins import handed_on_way
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import is_word, rebound_in, segments_with, spelling
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.traversal import (
    assignments_to,
    blocks_in,
    holds,
    last_name,
    names_in,
    surely_in,
    walk,
    words_in,
)
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.stores import Store, Written, stores_to

_FILLING = ("add", "append", "setdefault", "update")
_DROPPING = ("clear", "discard", "pop", "popitem", "popleft", "remove")
_ASKING = ("delattr", "get", "getattr", "hasattr", "pop")
_PLAIN = ("str", "device", "dtype")  # what a key may be that does not come from sizes, by its annotation or its name
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_DEPTH = 3  # of calls behind a test, and of names for names

Taken = Mapping[ir.Expr, bool]


@dataclass(frozen=True, slots=True)
class _Kept:
    """State by its last name, and what puts a test of it out: a value that is `true`, `false`, `something` or `none`,
    an `item` more, or the `size` that is asked for. `alias` is what a table is called where it is asked, or that size.
    """

    name: str
    is_attribute: bool
    needs: str
    alias: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called: a property is named like the attribute that it gives."""
        plain = self.name.strip("_")
        return tuple(dict.fromkeys((self.name, plain, f"_{plain}"))) if self.is_attribute else (self.name,)

    def is_met_by(self, value: ir.Expr | None) -> bool:
        """Whether a value that it is given puts the test out."""
        literal = value.value if isinstance(value, ir.Literal) else self
        match self.needs:
            case "none":
                return literal is None
            case "false":
                return literal is not self and not literal
            case "true":
                return bool(literal)
            case "size":
                return isinstance(value, ir.Name) and value.id == self.alias
        return literal is not None or self.needs == "item"

    def is_undone_by(self, written: Written) -> bool:
        """Whether a statement makes the test hold again, or hands on what may."""
        store, code = written.store, written.definition and written.definition.code
        handed = {one.name for one in code.parameters} if code else set()
        if self.needs == "item":
            return store.form in ("assign", *_DROPPING) and not _makes_room(store)
        value = store.value
        if store.form != "assign":
            return False
        literal = value.value if isinstance(value, ast.Constant) else self
        match self.needs:
            case "none":
                return literal is not None
            case "false":
                return literal is self or bool(literal)
            case "true":
                return not literal
            case "size":
                return literal is not self
        return literal is None or (isinstance(value, ast.Name) and value.id in handed)


@dataclass(frozen=True, slots=True)
class _Asking:
    """A function that asks, the calls on the way to it, and whether the next run is one of the same sizes."""

    function: Function
    sites: tuple[Site, ...]
    of_sizes: bool


class Once:
    """Asks each test once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._order = evaluator.class_order
        self._evaluator = evaluator
        self._temporary: dict[ClassDefinition, bool] = {}

    def is_put_out(
        self, assumption: Assumption, assumed: Iterable[Assumption], sites: tuple[Site, ...], of_sizes: bool = False
    ) -> bool:
        """Whether the run that gets behind a test makes it come out otherwise in the next one, or `of_sizes` in the
        next one of the same sizes.
        """
        if not assumption.is_plain:
            return False
        taken = {test: outcome for one in assumed for test, outcome in ((one.test, one.outcome), *one.asked)}
        function = assumption.function
        for test, outcome in assumption.asked:
            kept = _kept_of(test, outcome, _Asking(function, sites, of_sizes))
            if kept and all(self._is_filled(one, assumption, sites, taken) for one in kept):
                return True
        return False

    def _is_filled(self, kept: _Kept, assumption: Assumption, sites: tuple[Site, ...], taken: Taken) -> bool:
        """Whether what runs behind a test gives state what puts the test out, and nothing else takes it away."""
        if self._is_undone(kept, assumption.function):
            return False
        if kept.needs == "size":  # which the branch that is taken for it asks again
            asked = (part.test for part in walk(assumption.function.code.body) if isinstance(part, ir.If))
            taken = {**taken, **{test: True for test in asked if _too_small(test) == kept}}
        return any(_is_given(kept, block, taken) for block in self._run(assumption, sites, taken))

    def _run(self, assumption: Assumption, sites: tuple[Site, ...], taken: Taken) -> Iterator[Hashable]:
        """What runs behind a test: the rest of its function, what that calls there, and what is on the way to it and
        from it.
        """
        function = assumption.function
        yield from self._behind(function, _rest(function.code, assumption.test, assumption.outcome), taken, _DEPTH)
        is_below = False
        for site in sites:
            if site.function.code is function.code:
                is_below = True
            elif is_below and site.function.code.name not in _CONSTRUCTORS:
                yield site.function.code.body
            elif site.node is not None:
                yield _rest(site.function.code, site.node, True)

    def _behind(self, function: Function, block: Hashable, taken: Taken, depth: int) -> Iterator[Hashable]:
        yield block
        for call in surely_in(block, taken) if depth else ():
            called = self._called(call, function) if isinstance(call, ir.Call) else None
            inner = function_of(called, function.owner) if called is not None else None
            if inner is not None:
                yield from self._behind(inner, inner.code.body, taken, depth - 1)

    def _called(self, call: ir.Call, function: Function) -> Definition | None:
        """The method of its object, or the function of its module, that a function calls."""
        match call.func:
            case ir.Attribute(value=ir.Name(id=owner), attr=name) if owner == function.receiver:
                order = self._order(function.owner) if function.owner is not None else ()
                found = (one for cls in order if isinstance(cls, ClassDefinition) for one in cls.methods.get(name, ()))
                return next(found, None)
            case ir.Name(id=name):
                return next(iter(function.module.index.functions.get(name, ())), None)
        return None

    def _is_undone(self, kept: _Kept, function: Function) -> bool:
        """Whether something outside of constructors makes the test hold again, or may do so."""
        modules = [function.module]
        if kept.is_attribute:
            if self._is_of_one_run(function.owner):
                return True
            order = self._order(function.owner) if function.owner is not None else ()
            modules += [cls.module for cls in order if isinstance(cls, ClassDefinition)]
            project = self._evaluator.project
            modules += [project.module_at(path) for path in project.storing(kept.name)]
        places = [(module, name) for module in dict.fromkeys(modules) for name in kept.names]
        return any(
            kept.is_undone_by(written)
            for module, name in places
            for written in stores_to(module, name, kept.is_attribute)
            if written.definition is not None and written.definition.name not in _CONSTRUCTORS
        ) or any(_deletes(module, name) for module, name in places if kept.needs in ("item", "something", "true"))

    def _is_of_one_run(self, cls: ClassDefinition | None) -> bool:
        """Whether an object of a class may be another one in each run."""
        if cls is not None and cls not in self._temporary:
            self._temporary[cls] = self._evaluator.makes_in_regions(cls)
        return cls is not None and self._temporary[cls]


def _makes_room(store: Store) -> bool:
    """Whether a table drops something because it is full: `while len(plans) >= 64: plans.popitem()`."""
    parts = (part for test in store.tests for part in nodes_in(test))
    measured = (part.args[:1] for part in parts if isinstance(part, ast.Call) and "len" in endings(part.func))
    return store.form in _DROPPING and any(store.name in endings(table) for tables in measured for table in tables)


@remembered_in_run
def _deletes(module: Module, name: str) -> bool:
    """Whether a module deletes an attribute of a name, or an item of what is called so."""
    trees = (tree_of(module.source_of(segment)) for _, segment in segments_with(module, name, is_word))
    parts = (part for tree in trees if tree is not None for part in nodes_in(tree))
    deleted = (target for part in parts if isinstance(part, ast.Delete) for target in part.targets)
    return any(spelling(part).strip(".") == name for target in deleted for part in (target, *_inner(target)))


def _inner(target: ast.expr) -> tuple[ast.expr, ...]:
    return (target.value,) if isinstance(target, ast.Subscript) else ()


def _kept_of(test: ir.Expr, outcome: bool, asking: _Asking) -> tuple[_Kept, ...]:
    """The state that a test asks, all of which puts it out together; nothing if it asks for more.

    What is too small for this run is large enough for the next one of its sizes: `flags is None or held.rows < rows`.
    """
    kept, grown = _kept(test, outcome, asking), _too_small(test) if asking.of_sizes and outcome else None
    if kept is None and grown is None and isinstance(test, ir.Boolean) and test.operator == "or" and outcome:
        sides = [_kept_of(side, outcome, asking) for side in (test.left, test.right)]
        return (*sides[0], *sides[1]) if all(sides) else ()
    return tuple(one for one in (kept, grown) if one is not None)


def _too_small(test: ir.Expr) -> _Kept | None:
    """The size that an attribute is asked for and has not, if a test asks for nothing else."""
    match test:
        case ir.Compare(left=ir.Attribute(attr=name), comparisons=[("<", ir.Name(id=wanted))]):
            return _Kept(name, True, "size", wanted)
        case ir.Compare(left=ir.Name(id=wanted), comparisons=[(">", ir.Attribute(attr=name))]):
            return _Kept(name, True, "size", wanted)
    return None


def _kept(test: ir.Expr, outcome: bool, asking: _Asking) -> _Kept | None:
    """The state that a test asks, and what puts it out; None if it asks for more, or for something else."""
    match test:
        case ir.Unary(operator="not", operand=inner):
            return _kept(inner, not outcome, asking)
        case ir.Boolean(operator=operator, left=left, right=right) if (operator == "or") is outcome and asking.of_sizes:
            # Whether there is something, and whether it still fits: `buffer is None or buffer.shape[0] < rows`, and
            # what comes to the same, `not (found is not None and found.owner is owner)`.
            kept = _kept(left, outcome, asking)
            asked = names_in(left) | {part.attr for part in walk(left) if isinstance(part, ir.Attribute)}
            return kept if kept is not None and not asked.isdisjoint(words_in(right)) else None
        case ir.Compare(left=asked, comparisons=[("is" | "is not" as sign, ir.Literal(value=None))]):
            needs = "something" if outcome is (sign == "is") else "none"
            return _state(asked, needs, asking)
        case ir.Compare(left=key, comparisons=[("in" | "not in" as sign, table)]) if outcome is (sign == "not in"):
            return _state(table, "item", asking) if asking.of_sizes or _is_plain(key, asking.function) else None
        case ir.Call(func=ir.Name(id="hasattr"), arguments=[_, ir.Argument(value=ir.Literal(value=str(name)))]):
            return None if outcome else _Kept(name, True, "something")
        case ir.Attribute() | ir.Name():
            return _state(test, "false" if outcome else "true", asking)
    return None


def _state(asked: ir.Expr, needs: str, asking: _Asking, depth: int = _DEPTH) -> _Kept | None:
    """What outlives a call, by an expression that reads it."""
    match asked:
        case ir.Attribute(attr=name):
            return _Kept(name, True, needs)
        case ir.Name(id=name) if name in rebound_in(asking.function.module) or _is_table(asked, needs, asking):
            return _Kept(name, False, needs)
        case ir.Name(id=name):
            values = [one.value for one in assignments_to(asking.function.code, name) if _is_read(one.value)]
            is_one = len(values) == 1 and depth > 0
            kept = _state(values[0], needs, asking, depth - 1) if is_one and values[0] else None
            return replace(kept, alias=name) if kept is not None and needs == "item" else kept
        case ir.Subscript(value=ir.Attribute(attr=name), index=ir.Literal()) if needs == "item":
            return _Kept(name, True, needs)
        case ir.Call(func=ir.Attribute(value=table, attr="get"), arguments=[ir.Argument(value=key), *_]):
            is_item = needs in ("something", "true") and (asking.of_sizes or _is_plain(key, asking.function))
            return _state(table, "item", asking, depth) if is_item else None
        case ir.Call(func=ir.Name(id="getattr"), arguments=[_, ir.Argument(value=ir.Literal(value=str(name))), *_]):
            return _Kept(name, True, needs)
    return None


def _is_read(value: ir.Expr | None) -> bool:
    if isinstance(value, ir.Subscript):
        return isinstance(value.value, ir.Attribute) and isinstance(value.index, ir.Literal)
    return isinstance(value, (ir.Attribute, ir.Name)) or last_name(getattr(value, "func", None)) in ("get", "getattr")


def _is_table(asked: ir.Name, needs: str, asking: _Asking) -> bool:
    """Whether a name is that of a table of a module, or of a parameter that such a one is handed in for."""
    node, holder = list(handed_on_way(asked, asking.function, asking.sites))[-1]
    if needs != "item" or not isinstance(node, ir.Name):
        return needs == "item" and isinstance(node, ir.Attribute)
    is_local = any(one.name == node.id for one in holder.code.parameters) or bool(assignments_to(holder.code, node.id))
    return not is_local and node.id in holder.module.index.assignments


def _is_plain(key: ir.Expr, function: Function, depth: int = _DEPTH) -> bool:
    """Whether a key surely comes from no size of what a call is given: a word, a device, what its object has."""
    match key:
        case ir.Literal():
            return True
        case ir.Attribute(attr=name) if name in _PLAIN:
            return True
        case ir.Attribute(value=ir.Name(id=owner)) if owner == function.receiver:
            return True
        case ir.Attribute(value=held):  # an index or a kind of a device
            return _is_plain(held, function, depth)
        case ir.Call(func=ir.Name(id="repr" | "str"), arguments=[ir.Argument(value=told)]):
            return _is_plain(told, function, depth)
        case ir.Display(elements=elements):
            return all(_is_plain(one, function, depth) for one in elements)
        case ir.Name(id=name):
            given = next((one for one in function.code.parameters if one.name == name), None)
            if given is not None:
                return given.annotation is not None and last_name(given.annotation) in _PLAIN
            made = [one.value for one in assignments_to(function.code, name)] if depth else []
            return bool(made) and all(one is not None and _is_plain(one, function, depth - 1) for one in made)
    return False


@remembered
def _rest(code: ir.Code, node: ir.Node, outcome: bool) -> tuple[Hashable, ...]:
    """What runs behind a node that stands in a function, if that is a test, where it comes out like this."""
    return _behind_in(code.body, node, outcome)


def _behind_in(block: ir.Block, node: ir.Node, outcome: bool) -> tuple[Hashable, ...]:
    for at, statement in enumerate(block):
        if isinstance(statement, ir.If) and statement.test is node:
            return (statement.body if outcome else statement.orelse, *block[at + 1 :])
        if holds(statement, node):
            inner = next((one for one in blocks_in(statement) if holds(one, node)), None)
            return block[at:] if inner is None else (*_behind_in(inner, node, outcome), *block[at + 1 :])
    return ()


def _is_given(kept: _Kept, block: Hashable, taken: Taken) -> bool:
    """Whether a block surely gives state what puts a test of it out."""
    return not _given_in(block).isdisjoint((*kept.names, kept.alias)) and any(
        _gives(part, kept) for part in surely_in(block, taken)
    )


@remembered
def _given_in(block: Hashable) -> frozenset[object]:
    """The words that stand in a block, and its literals."""
    return words_in(block) | {part.value for part in walk(block) if isinstance(part, ir.Literal)}


def _gives(part: object, kept: _Kept) -> bool:
    match part:
        case ir.Assign(targets=targets, value=value):
            flat = [one for t in targets for one in (t.elements if isinstance(t, ir.Display) else (t,))]
            value = None if any(isinstance(target, ir.Display) for target in targets) else value
            return any(_is_it(target, kept) for target in flat) and kept.is_met_by(value)
        case ir.Call(func=ir.Attribute(value=holder, attr=name)) if name in _FILLING and kept.needs == "item":
            return _is_it(holder, kept, whole=True)
        case ir.Call(func=func, arguments=arguments) if kept.is_attribute and last_name(func) not in _ASKING:
            named = [at for at, one in enumerate(arguments[:2]) if _is_word(one.value, kept.name)]
            return bool(named) and kept.needs == "something" and len(arguments) > named[0] + 1
    return False


def _is_word(node: ir.Expr, word: str) -> bool:
    return isinstance(node, ir.Literal) and node.value == word


def _is_it(target: ir.Expr, kept: _Kept, whole: bool = False) -> bool:
    """Whether an assignment goes to state, or to an item of it where that is what it needs."""
    if kept.needs == "item" and not whole:
        return isinstance(target, ir.Subscript) and _is_it(target.value, kept, whole=True)
    match target:
        case ir.Attribute(attr=name):
            return kept.is_attribute and name in kept.names
        case ir.Name(id=name):
            return name == kept.alias or (not kept.is_attribute and name == kept.name)
    return False
