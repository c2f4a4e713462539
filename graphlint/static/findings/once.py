"""A test that is assumed on a way in, whether a run puts it out by itself out: then only the first run finds it so.

`if self.is_raw: self.measure(x)` is behind the first run where `measure` says `self.is_raw = False`, and so is what
`if _pool is None: _pool = make()` does, `if key not in table: table[key] = make()` with a key of sizes and kinds, and
`self.table = self.table.to(device)`. What asks whether a buffer is large enough is not: another graph may be a larger
one, which only matters to what a capture keeps, as one that is refused is noticed and warmed up. Neither is what
something else lights again, or drops: `reset` of an object, `clear` of a table, a new object.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.assumptions import FIRST_MOVE, RAISED, Assumption
from graphlint.static.domain.contexts import Context, Site
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, function_of
from graphlint.static.findings.kept import DROPPING, Asking, Kept, all_kept_by, has_grown, kept_by_failing, too_small
from graphlint.static.findings.plain import CONSTRUCTORS
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import called, is_word, segments_with, spelling
from graphlint.static.index.roots import is_test
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.traversal import (
    form,
    last_name,
    names_in,
    rest_behind,
    surely_in,
    targets_of,
    walk,
    words_in,
)
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.stores import Written, stores_to

_FILLING = ("add", "append", "setdefault", "update")
_ASKING = ("delattr", "get", "getattr", "hasattr", "pop")
_DEPTH = 3  # of calls behind a test

Taken = Mapping[ir.Expr, bool]
_Run: TypeAlias = tuple[Hashable, Taken]
_Way: TypeAlias = tuple[tuple[Site, ...], Context]  # calls, and what the last of them leads to


class Once:
    """Asks each test once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._order = evaluator.class_order
        self._evaluator = evaluator
        self._temporary: dict[ClassDefinition, bool] = {}

    def is_put_out(
        self,
        assumption: Assumption,
        assumed: Iterable[Assumption],
        sites: tuple[Site, ...],
        place: Context,
        of_sizes: bool = False,
    ) -> bool:
        """Whether the run that gets behind a test to a place makes it come out otherwise in the next one, or `of_sizes`
        in the next one of the same sizes.
        """
        if assumption.form == FIRST_MOVE:
            return self._is_moved_for_good(assumption)
        if assumption.form == RAISED:
            return self._is_filled_behind(assumption, Asking(assumption.function, sites, of_sizes))
        if not assumption.is_plain:
            return False
        taken = {test: outcome for one in assumed for test, outcome in ((one.test, one.outcome), *one.asked)}
        function = assumption.function
        for test, outcome in assumption.asked:
            if has_grown(test, outcome, function.code):
                return True
            kept = all_kept_by(test, outcome, Asking(function, sites, of_sizes))
            if kept and all(self._is_filled(one, assumption, (sites, place), taken, of_sizes) for one in kept):
                return True
        return False

    def _is_filled(self, kept: Kept, assumption: Assumption, way: _Way, taken: Taken, of_sizes: bool) -> bool:
        """Whether what runs behind a test gives state what puts the test out, and nothing else takes it away."""
        if kept.needs == "true" and kept.is_attribute:  # `not self.table` is out as soon as there is an item
            item = replace(kept, needs="item")
            if self._is_filled(item, assumption, way, taken, of_sizes):
                return True
        if self._is_undone(kept, assumption.function, of_sizes):
            return False
        if kept.needs == "size":  # which the branch that is taken for it asks again
            asked = (part.test for part in walk(assumption.function.code.body) if isinstance(part, ir.If))
            taken = {**taken, **{test: True for test in asked if too_small(test) == kept}}
        return any(_is_given(kept, block, known) for block, known in self._run(assumption, *way, taken))

    def _run(self, assumption: Assumption, sites: tuple[Site, ...], place: Context, taken: Taken) -> Iterator[_Run]:
        """What runs behind a test: the rest of its function, what that calls there, and what is on the way to it and
        from it to a place; each with the tests that come out as on that way.
        """
        function = assumption.function
        yield from self._behind(
            function, rest_behind(function.code, assumption.test, assumption.outcome), taken, _DEPTH
        )
        is_below = False
        for site in sites:
            if site.function.code is function.code:
                is_below = True
            elif is_below and site.function.code.name not in CONSTRUCTORS:
                yield site.function.code.body, taken
            elif site.node is not None:
                yield rest_behind(site.function.code, site.node, True), taken
        last = self._function_of(place) if is_below else None
        if last is not None and last is not function.code and last.name not in CONSTRUCTORS:
            yield last.body, taken

    def _function_of(self, place: Context) -> ir.Code | None:
        """The code that stands at a place."""
        qualname = place.function.rpartition(":")[2]
        functions = self._evaluator.project.module_at(Path(place.path)).index.all_functions()
        return next((one.code for one in functions if one.qualname == qualname), None)

    def _behind(self, function: Function, block: Hashable, taken: Taken, depth: int) -> Iterator[_Run]:
        yield block, taken
        for call in surely_in(block, taken) if depth else ():
            called = self._called(call, function) if isinstance(call, ir.Call) else None
            inner = function_of(called, function.owner) if called is not None else None
            if inner is not None and isinstance(call, ir.Call):
                again = _asked_again(inner, call, taken)
                yield from self._behind(inner, inner.code.body, {**taken, **again}, depth - 1)

    def _called(self, call: ir.Call, function: Function) -> Definition | None:
        """The method of its object, or of a base, or the function of its module, that a function calls."""
        order = self._order(function.owner) if function.owner is not None else ()
        match call.func:
            case ir.Attribute(value=ir.Call(func=ir.Name(id="super")), attr=name):
                return _method(order[1:], name)
            case ir.Attribute(value=ir.Name(id=owner), attr=name) if owner == function.receiver:
                return _method(order, name)
            case ir.Name(id=name):
                return next(iter(function.module.index.functions.get(name, ())), None)
        return None

    def _is_moved_for_good(self, assumption: Assumption) -> bool:
        """Whether an attribute of the object of a method lies where it was moved to in the next run as well."""
        match assumption.test:
            case ir.Attribute(value=ir.Name(id=owner), attr=name) if owner == assumption.function.receiver:
                return not self._is_undone(Kept(name, True, "moved"), assumption.function, of_sizes=False)
        return False

    def _is_filled_behind(self, assumption: Assumption, asking: Asking) -> bool:
        """Whether what handles an exception puts there what was missing."""
        for part in walk(assumption.function.code.body):
            for handler in part.handlers if isinstance(part, ir.Try) else ():
                if isinstance(part, ir.Try) and handler.kind is assumption.test:
                    kept = kept_by_failing(part, assumption.test, asking)
                    is_undone = kept is None or self._is_undone(kept, assumption.function, asking.of_sizes)
                    return kept is not None and not is_undone and _is_given(kept, handler.body, {})
        return False

    def _is_undone(self, kept: Kept, function: Function, of_sizes: bool) -> bool:
        """Whether something outside of constructors makes the test hold again, or may do so.

        A method that empties a table, and that nobody calls, is there for who calls it from outside: behind it, a
        capture `of_sizes` that is refused is noticed as ever.
        """
        if kept.maker is not None and self._is_named_in_functions(kept.maker):
            return True
        modules = [function.module]
        if kept.is_attribute:
            if self._is_of_one_run(function.owner):
                return True
            order = self._order(function.owner) if function.owner is not None else ()
            modules += [cls.module for cls in order if isinstance(cls, ClassDefinition)]
            project = self._evaluator.project
            outside = map(project.module_at, project.storing(kept.name))
            modules += [module for module in outside if not is_test(module.name)]  # which sets up what it tests
        places = [(module, name) for module in dict.fromkeys(modules) for name in kept.names]
        lexicon = self._evaluator.lexicon
        undoing = [
            written
            for module, name in places
            for written in stores_to(module, name, kept.is_attribute)
            if written.definition is not None and not self._is_before(written.definition.name, kept)
            if kept.is_undone_by(written, lexicon)
        ]
        if of_sizes and kept.needs == "item":
            undoing = [one for one in undoing if one.store.form not in DROPPING or self._is_called(one)]
        return bool(undoing) or any(
            _deletes(module, name) for module, name in places if kept.needs in ("item", "something", "true")
        )

    def _is_before(self, name: str, kept: Kept) -> bool:
        """Whether a function runs before what is captured does, by its name: what it makes is moved by the next run."""
        prepares = self._evaluator.lexicon.host_state["prepares"]
        return name in CONSTRUCTORS or (kept.needs == "moved" and prepares.match(name) is not None)

    def _is_called(self, written: Written) -> bool:
        """Whether something calls a function by its name that holds a statement."""
        name = written.definition.name if written.definition is not None else ""
        modules = self._evaluator.project.calling(name) if name else ()
        return any(True for module in modules for _ in segments_with(module, name, called))

    def _is_named_in_functions(self, name: str) -> bool:
        """Whether a function speaks of one by its name, and not only what runs at import: decorators and statements."""
        project = self._evaluator.project
        modules = map(project.module_at, project.answering(HoldsAny([name])))
        found = (one for module in modules for one, _ in segments_with(module, name, is_word) if one is not None)
        return any(one.code is not None and name in words_in(one.code.body) for one in found)

    def _is_of_one_run(self, cls: ClassDefinition | None) -> bool:
        """Whether an object of a class may be another one in each run."""
        if cls is not None and cls not in self._temporary:
            self._temporary[cls] = self._evaluator.makes_in_regions(cls)
        return cls is not None and self._temporary[cls]


def _method(order: Iterable[object], name: str) -> Definition | None:
    """The first method of a name, of some classes."""
    found = (one for cls in order if isinstance(cls, ClassDefinition) for one in cls.methods.get(name, ()))
    return next(found, None)


def _asked_again(function: Function, call: ir.Call, taken: Taken) -> Taken:
    """The tests of a function that is called that are asked in the same words before the call, of the same names."""
    given = {one.value.id for one in call.arguments if isinstance(one.value, ir.Name)}
    asked = [part.test for part in walk(function.code.body) if isinstance(part, ir.If)]
    known: dict[Hashable, bool] = {form(test): outcome for test, outcome in taken.items()} if asked else {}
    own = {one.name for one in function.code.parameters if one.name != function.receiver}
    outcomes = {one: _outcome(one, known) for one in asked if own.intersection(names_in(one)) <= given}
    return {one: outcome for one, outcome in outcomes.items() if outcome is not None}


def _outcome(test: ir.Expr, known: Mapping[Hashable, bool]) -> bool | None:
    """How a test comes out by what is known of its parts, if all of these decide it."""
    if isinstance(test, ir.Boolean) and form(test) not in known:
        left, right = _outcome(test.left, known), _outcome(test.right, known)
        decides = test.operator == "or"
        return decides if decides in (left, right) else left if left == right else None
    return known.get(form(test))


@remembered_in_run
def _deletes(module: Module, name: str) -> bool:
    """Whether a module deletes an attribute of a name, or an item of what is called so."""
    trees = (tree_of(module.source_of(segment)) for _, segment in segments_with(module, name, is_word))
    parts = (part for tree in trees if tree is not None for part in nodes_in(tree))
    deleted = (target for part in parts if isinstance(part, ast.Delete) for target in part.targets)
    return any(spelling(part).strip(".") == name for target in deleted for part in (target, *_inner(target)))


def _inner(target: ast.expr) -> tuple[ast.expr, ...]:
    return (target.value,) if isinstance(target, ast.Subscript) else ()


def _is_given(kept: Kept, block: Hashable, taken: Taken) -> bool:
    """Whether a block surely gives state what puts a test of it out."""
    return not _given_in(block).isdisjoint((*kept.names, kept.alias)) and any(
        _gives(part, kept) for part in surely_in(block, taken)
    )


@remembered
def _given_in(block: Hashable) -> frozenset[object]:
    """The words that stand in a block, and its literals."""
    return words_in(block) | {part.value for part in walk(block) if isinstance(part, ir.Literal)}


def _gives(part: object, kept: Kept) -> bool:
    match part:
        case ir.Assign(targets=targets, value=value):
            value = None if any(isinstance(target, ir.Display) for target in targets) else value
            return any(_is_it(target, kept) for target in targets_of(part)) and kept.is_met_by(value)
        case ir.Call(func=ir.Attribute(value=holder, attr=name)) if name in _FILLING and kept.needs == "item":
            return _is_it(holder, kept, whole=True)
        case ir.Call(func=func, arguments=arguments) if kept.is_attribute and last_name(func) not in _ASKING:
            named = [at for at, one in enumerate(arguments[:2]) if _is_word(one.value, kept.name)]
            return bool(named) and kept.needs == "something" and len(arguments) > named[0] + 1
    return False


def _is_word(node: ir.Expr, word: str) -> bool:
    return isinstance(node, ir.Literal) and node.value == word


def _is_it(target: ir.Expr, kept: Kept, whole: bool = False) -> bool:
    """Whether an assignment goes to state, or to an item of it where that is what it needs."""
    if kept.needs == "item" and not whole:
        return isinstance(target, ir.Subscript) and _is_it(target.value, kept, whole=True)
    match target:
        case ir.Attribute(attr=name):
            return kept.is_attribute and name in kept.names
        case ir.Name(id=name):
            return name == kept.alias or (not kept.is_attribute and name == kept.name)
    return False
