"""A test in, the state that it asks out, with what puts the test out and what makes it hold again.

Long, because programs ask in many ways whether something is there already: by None, by keys, by counts and by sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.assumptions import is_put_out
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.findings.origins import handed_on_way, is_handed_in
from graphlint.static.findings.plain import MADE_OF, is_plain
from graphlint.static.index.parts import function_at, rebound_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    assignments_to,
    branches_in,
    counted_in,
    excludes,
    form,
    holds,
    last_name,
    names_in,
    parts_got,
    rest_behind,
    walk,
    words_in,
)
from graphlint.static.syntax.trees import endings, nodes_in
from graphlint.static.writes.stores import Store, Written

DROPPING = ("clear", "discard", "pop", "popitem", "popleft", "remove")
_ASKING = ("get", "getattr", "setdefault")
_DEPTH = 3  # of names for names


@dataclass(frozen=True, slots=True)
class Kept:
    """State by its last name, and what puts a test of it out: a value that is `true`, `false`, `something` or `none`,
    an `item` more, one that was `moved` to where it is needed, the `same`, or the `size` that is asked for. `alias` is
    what it is called where it is asked, or that size, and `maker` the function that makes it, for one inside of that.
    """

    name: str
    is_attribute: bool
    needs: str
    alias: str | None = None
    maker: str | None = None

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

    def is_undone_by(self, written: Written, lexicon: Lexicon) -> bool:
        """Whether a statement makes the test hold again, or hands on what may."""
        store, code = written.store, written.definition and written.definition.code
        handed = {one.name for one in code.parameters} if code else set()
        if self.needs == "item":
            if (
                self.maker is not None
                and written.qualname.split(".")[0] == self.maker
                and self.name not in store.shared
            ):
                return store.form in DROPPING
            return store.form in ("assign", *DROPPING) and not _makes_room(store)
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
            case "same":
                return not isinstance(value, (ast.Attribute, ast.Name))
            case "moved":
                is_named = isinstance(value, ast.Name) and value.id not in handed
                return not (literal is None or is_named or _is_moved(value, lexicon))
        return literal is None or (isinstance(value, ast.Name) and value.id in handed)


@dataclass(frozen=True, slots=True)
class Asking:
    """A function that asks, the calls on the way to it, and whether the next run is one of the same sizes."""

    function: Function
    sites: tuple[Site, ...]
    of_sizes: bool

    def behind(self, test: ir.Expr, outcome: bool) -> Hashable:
        """The branch where a test, or one that it is asked beside, holds, or what runs where it does not."""
        branches = branches_in(self.function.code).items()
        if not outcome:
            return next((rest_behind(self.function.code, asked, False) for asked, _ in branches if asked is test), ())
        return next((one.body for asked, one in branches if holds(asked, test)), ())

    def is_same(self, key: ir.Expr) -> bool:
        """Whether a key is that of the run before, in a table that this has filled."""
        if self.of_sizes:
            return True
        return is_plain(key, self.function, self.sites) and not is_handed_in(self.function, self.sites)


def all_kept_by(test: ir.Expr, outcome: bool, asking: Asking) -> tuple[Kept, ...]:
    """The state that a test asks, all of which puts it out together; nothing if it asks for more.

    What is too small for this run is large enough for the next one of its sizes: `flags is None or held.rows < rows`.
    """
    kept, grown = kept_by(test, outcome, asking), too_small(test) if asking.of_sizes and outcome else None
    if kept is None and grown is None and isinstance(test, ir.Boolean) and test.operator == "or" and outcome:
        sides = [all_kept_by(side, outcome, asking) for side in (test.left, test.right)]
        return (*sides[0], *sides[1]) if all(sides) else ()
    return tuple(one for one in (kept, grown) if one is not None)


def too_small(test: ir.Expr) -> Kept | None:
    """The size that an attribute is asked for and has not, if a test asks for nothing else."""
    match test:
        case ir.Compare(left=ir.Attribute(attr=name), comparisons=[("<", ir.Name(id=wanted))]):
            return Kept(name, True, "size", wanted)
        case ir.Compare(left=ir.Name(id=wanted), comparisons=[(">", ir.Attribute(attr=name))]):
            return Kept(name, True, "size", wanted)
    return None


def has_grown(test: ir.Expr, outcome: bool, code: ir.Code) -> bool:
    """Whether a table holds more than before, as what is compiled or tuned puts there once: `len(cache) > size`, where
    `size` was `len(cache)`.
    """
    match test:
        case ir.Compare(
            left=ir.Call(func=ir.Name(id="len"), arguments=[_]),
            comparisons=[(">" | "!=", ir.Name(id=name))],
        ) if outcome:
            made = [one.value for one in assignments_to(code, name)]
            counted = (part for part in walk(made[0]) if isinstance(part, ir.Call)) if len(made) == 1 else ()
            return any(form(one) == form(test.left) for one in counted)
    return False


def kept_by(test: ir.Expr, outcome: bool, asking: Asking) -> Kept | None:
    """The state that a test asks, and what puts it out; None if it asks for more, or for something else."""
    match test:
        case ir.Unary(operator="not", operand=inner):
            return kept_by(inner, not outcome, asking)
        case ir.Boolean(operator=operator, left=left, right=right) if (operator == "or") is outcome:
            # Whether there is something, and whether it still fits: `buffer is None or buffer.shape[0] < rows`, and
            # what comes to the same, `not (found is not None and found.owner is owner)`.
            kept = kept_by(left, outcome, asking)
            asked = names_in(left) | {part.attr for part in walk(left) if isinstance(part, ir.Attribute)}
            is_asked = kept is not None and not asked.isdisjoint(words_in(right))
            return kept if is_asked and (asking.of_sizes or kept_by(right, outcome, asking) is not None) else None
        case ir.Compare(left=asked, comparisons=[("is" | "is not" as sign, ir.Literal(value=None))]):
            needs = "something" if outcome is (sign == "is") else "none"
            return _state(asked, needs, asking)
        case ir.Compare(left=key, comparisons=[("in" | "not in" as sign, table)]) if outcome is (sign == "not in"):
            return _state(table, "item", asking) if asking.is_same(key) else None
        case ir.Compare(left=ir.Attribute() as kept_value, comparisons=[("!=" | "==" as sign, other)]) if outcome is (
            sign == "!="
        ) and is_put_out(_unlike(test, other), asking.behind(test, outcome), asking.function):
            return _state(kept_value, "same", asking) if is_plain(other, asking.function, asking.sites) else None
        case ir.Compare(left=one, comparisons=[("!=" | "==" as sign, other)]) if outcome is (sign == "!="):
            sides = (side.value for side in (one, other) if isinstance(side, ir.Attribute) and side.attr in MADE_OF)
            return next(filter(None, (_state(held, "moved", asking) for held in sides)), None)
        case ir.Call(func=ir.Name(id="hasattr"), arguments=[_, ir.Argument(value=ir.Literal(value=str(name)))]):
            return None if outcome else Kept(name, True, "something")
        case ir.Compare(
            left=ir.Call(func=ir.Name(id="len"), arguments=[ir.Argument(value=counted)]),
            comparisons=[("==" | "!=" | ">" as sign, ir.Literal(value=0))],
        ) if outcome is (sign == "=="):
            return _state(counted_in(counted), "item", asking)
        case ir.Name() if (made := _question(test, asking)) is not None:
            return kept_by(made, outcome, asking)
        case ir.Attribute() | ir.Name():
            return _state(test, "false" if outcome else "true", asking)
    return None


def _unlike(test: ir.Compare, other: ir.Expr) -> ir.Compare:
    return replace(test, comparisons=(("!=", other),))


def kept_by_failing(tried: ir.Try, kind: ir.Expr, asking: Asking) -> Kept | None:
    """The state that is read where an exception of a kind says that there is none: `table[key]`, `self.value`."""
    for part in walk(tried.body):
        match part:
            case ir.Subscript(value=table, index=key) if last_name(kind) == "KeyError":
                return _state(table, "item", asking) if asking.is_same(key) else None
            case ir.Attribute(value=ir.Name(id=owner), attr=name) if last_name(kind) == "AttributeError":
                return Kept(name, True, "something") if owner == asking.function.receiver else None
    return None


def _state(asked: ir.Expr, needs: str, asking: Asking, depth: int = _DEPTH) -> Kept | None:
    """What outlives a call, by an expression that reads it."""
    match asked:
        case ir.Attribute(value=held, attr=name):
            is_own = isinstance(held, ir.Name) and held.id == asking.function.receiver
            return Kept(name, True, needs) if is_own or needs != "moved" else None  # others come with each call
        case ir.Name(id=name) if name in rebound_in(asking.function.module) or _is_table(asked, needs, asking):
            return Kept(name, False, needs)
        case ir.Name(id=name) if needs == "item" and (maker := _maker(name, asking.function)) is not None:
            return Kept(name, False, needs, maker=maker)
        case ir.Name(id=name) if needs == "item" and (of := _gone_through(asking.function.code, name)) is not None:
            return Kept(of, True, needs, alias=name)
        case ir.Name(id=name):
            values = [one.value for one in _given(asked, asking) if _is_read(one.value)]
            is_one = len(values) == 1 and depth > 0
            kept = _state(values[0], needs, asking, depth - 1) if is_one and values[0] else None
            return replace(kept, alias=name) if kept is not None and needs == "item" else kept
        case ir.Subscript(value=ir.Attribute(attr=name), index=key) if needs == "item":
            return Kept(name, True, needs) if isinstance(key, ir.Literal) or asking.is_same(key) else None
        case ir.Subscript(value=table, index=key) if needs == "moved" and asking.is_same(key):
            return _state(table, "item", asking, depth)
        case ir.Walrus(value=value):
            return _state(value, needs, asking, depth)
        case ir.Call(func=ir.Attribute(value=table, attr="setdefault"), arguments=[ir.Argument(value=key), *_]):
            return _state(table, "item", asking, depth) if needs == "item" and asking.is_same(key) else None
        case ir.Call(func=ir.Attribute(value=table, attr="get"), arguments=[ir.Argument(value=key), *_]):
            is_item = needs in ("something", "true") and asking.is_same(key)
            return _state(table, "item", asking, depth) if is_item else None
        case ir.Call(func=ir.Name(id="getattr"), arguments=[_, ir.Argument(value=ir.Literal(value=str(name))), *_]):
            return Kept(name, True, needs)
    return None


def _question(asked: ir.Name, asking: Asking) -> ir.Compare | None:
    """The comparison that a local name is the answer of."""
    match [one.value for one in _given(asked, asking)]:
        case [ir.Compare() as made]:
            return made
    return None


def _given(asked: ir.Name, asking: Asking) -> list[ir.Assign]:
    """The assignments to a local name, but for those of another branch than the one in which it is asked; it may stand
    for a part of an item that is there as a whole or not at all: `x, y = table.get(key, (None, None))`.
    """
    code = asking.function.code
    given = (*assignments_to(code, asked.id), *parts_got(code, asked.id))
    return [one for one in given if not excludes(code, one, asked)]


def _maker(name: str, function: Function) -> str | None:
    """The function that gives a name its value for those inside of it, of which this is one."""
    outer = function_at(function.module, function.first_line) if function.is_nested else None
    code = outer.code if outer is not None else None
    if code is None or any(one.name == name for one in function.code.parameters) or assignments_to(function.code, name):
        return None
    return code.name if assignments_to(code, name) else None


def _gone_through(code: ir.Code, name: str) -> str | None:
    """The attribute whose items a name stands for, one after the other: `for group in self.param_groups`, or those of
    `zip` or `enumerate`.
    """
    for part in walk(code.body):
        match part:
            case ir.For(target=target, iterable=iterable):
                for one, of in _taken_from(target, iterable):
                    if isinstance(one, ir.Name) and one.id == name and isinstance(of, ir.Attribute):
                        return None if assignments_to(code, name) else of.attr
    return None


def _taken_from(target: ir.Expr, iterable: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What the names of a loop are taken from."""
    match target, iterable:
        case ir.Display(elements=names), ir.Call(func=ir.Name(id="zip"), arguments=given):
            yield from zip(names, (one.value for one in given), strict=False)
        case ir.Display(elements=[_, one]), ir.Call(func=ir.Name(id="enumerate"), arguments=[given, *_]):
            yield one, given.value
        case _:
            yield target, iterable


def _is_read(value: ir.Expr | None) -> bool:
    if isinstance(value, ir.Subscript):
        return isinstance(value.value, (ir.Attribute, ir.Name))
    return isinstance(value, (ir.Attribute, ir.Name)) or last_name(getattr(value, "func", None)) in _ASKING


def _is_table(asked: ir.Name, needs: str, asking: Asking) -> bool:
    """Whether a name is that of a table of a module, or of a parameter that such a one is handed in for."""
    node, holder = list(handed_on_way(asked, asking.function, asking.sites))[-1]
    if needs != "item" or not isinstance(node, ir.Name):
        return needs == "item" and isinstance(node, ir.Attribute)
    is_local = any(one.name == node.id for one in holder.code.parameters) or bool(assignments_to(holder.code, node.id))
    return not is_local and node.id in holder.module.index.assignments


def _is_moved(value: ast.expr | None, lexicon: Lexicon) -> bool:
    """Whether a value is brought to a device, by a method whose name and arguments do not say that this is the host, or
    is computed of one that is.
    """
    match value:
        case ast.Call(func=ast.Attribute(attr=method)) if lexicon.methods.get(method) == "moves":
            texts = [part.value for part in nodes_in(value) if isinstance(part, ast.Constant)]
            named = [method, *(str(text).partition(":")[0] for text in texts)]
            return all(lexicon.devices.get(name) != "host" for name in named)
        case ast.Call(args=args):
            return any(_is_moved(one, lexicon) for one in args)
    return False


def _makes_room(store: Store) -> bool:
    """Whether a table drops something because it is full: `while len(plans) >= 64: plans.popitem()`."""
    parts = (part for test in store.tests for part in nodes_in(test))
    measured = (part.args[:1] for part in parts if isinstance(part, ast.Call) and "len" in endings(part.func))
    return store.form in DROPPING and any(store.name in endings(table) for tables in measured for table in tables)
