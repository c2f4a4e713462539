"""What is changed for a capture and put back behind it: an exception passes by, and whoever catches it goes on.

A capture may fail where everything before it has worked. The statements between the region and the handler say what
is skipped then: flags that are set back, what is given back that was taken, calls that undo others.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from graphlint.rule import SettingLeft
from graphlint.static.domain.callers import calls_of, place_of
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.project import Project
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    assignments_in,
    assignments_to,
    blocks_in,
    form,
    last_name,
    names_in,
    targets_of,
    walk,
    words_in,
)

Path: TypeAlias = list[tuple[ir.Block, int]]  # the blocks around a statement, from the body of the function inwards
_CAUGHT = frozenset({"Exception", "BaseException", "RuntimeError"})  # and what is no exception of Python's own
_EXITS = frozenset({"exit", "_exit", "abort", "kill"})


class Undo(NamedTuple):
    """What is changed before a region and put back behind it; `names` are what a handler would have to speak of."""

    change: ir.Node
    back: ir.Node
    how: str
    names: frozenset[str]


class Caught(NamedTuple):
    """A `try` whose handlers go on, and where it stands."""

    node: ir.Try
    where: str


Left: TypeAlias = tuple[list[ir.Try], ir.Try | None, list[Undo]]  # by an exception: also where it is caught


@dataclass
class Undone(Listener):
    """Follows one run.

    `releases` are names of functions that give back what was taken, `resets` of those that may put anything back, and
    `pairs` words of names of which the second undoes the first; `order` are the classes that one derives from.
    """

    tell: Tell
    project: Project
    releases: re.Pattern[str]
    resets: re.Pattern[str]
    pairs: Set[str]
    order: Callable[[ClassDefinition], tuple[object, ...]]
    known: dict[tuple[ir.Code, ir.Node], Left]

    def began(self, capture: Capture) -> None:
        open_: list[tuple[Frame, Undo]] = []
        skipped: list[ir.Try] = []  # whose handlers and ends run before the exception is caught
        for frame in [one for one in reversed(self.ledger.frames) if one.statement is not None]:
            if frame.function.qualname == "<module>" or frame.statement is None:
                break
            inner, caught, undos = self._left_by(frame.function, frame.statement.node)
            open_ += [(frame, one) for one in undos]
            skipped += inner
            if caught is not None:
                where = f"{frame.function.module.path.name}:{frame.function.line_of(caught)}"
                self._tell_all(open_, skipped, where, capture)
                return
        self._tell_called(open_, skipped, capture)

    def _left_by(self, function: Function, node: ir.Node) -> Left:
        """What an exception passes by that leaves a statement of a function, which is the same in each run."""
        if (function.code, node) not in self.known:
            path = _path(function.code.body, node)
            tries = [*_tries(path)]
            caught = next((one for one in reversed(tries) if _goes_on(one)), None)
            inner = tries if caught is None else tries[tries.index(caught) :]
            self.known[function.code, node] = inner, caught, [*self._undos(function, path, caught)]
        return self.known[function.code, node]

    def _tell_called(self, open_: list[tuple[Frame, Undo]], skipped: list[ir.Try], capture: Capture) -> None:
        """Look for who calls the outermost function and goes on where that raises."""
        frame = next((one for one in self.ledger.frames if one.statement is not None), None)
        for caught in self._catching(frame.function) if frame is not None and open_ else ():
            self._tell_all(open_, [*skipped, caught.node], caught.where, capture)
            return

    def _catching(self, function: Function) -> Iterator[Caught]:
        name = function.code.name
        defining = [self.project.module_at(path) for path in self.project.defining(name)]
        is_only = len([one for module in defining for one in module.index.all_functions() if one.name == name]) == 1
        for call, caller in calls_of(self.project, function):
            owners = {caller.qualname.rpartition(".")[0]}
            bases = self.order(function.owner) if function.owner is not None else ()
            is_own = not owners.isdisjoint(one.qualname for one in bases if isinstance(one, ClassDefinition))
            if not (is_only or is_own):
                continue
            for block in (one for one in walk(caller.code.body) if isinstance(one, ir.Try) and _goes_on(one)):
                if any(part is call for part in walk(block.body)):
                    yield Caught(block, place_of(call, caller))

    def _tell_all(self, open_: list[tuple[Frame, Undo]], tries: list[ir.Try], where: str, capture: Capture) -> None:
        undoing = [part for one in tries for part in walk((*(handler.body for handler in one.handlers), one.final))]
        for frame, undo in open_:
            if not any(self._may_undo(undo, part, frame.function) for part in undoing):
                node = undo.back if undo.how == "taken" else undo.change
                self.tell(SettingLeft(undo.how, where), Place(frame.function, node, frame.way), capture)

    def _may_undo(self, undo: Undo, part: object, function: Function) -> bool:
        """Whether a node of a handler puts back what was changed, or calls what may."""
        match part:
            case ir.Assign():
                return not undo.names.isdisjoint(_named(one) or "" for one in targets_of(part))
            case ir.Call(func=func):
                name = last_name(func) or ""
                own = [one for one in function.module.index.all_functions() if one.name == name]
                codes = [code for one in own if (code := one.code) is not None]
                return self.resets.match(name) is not None or any(
                    last_name(target) in undo.names
                    for code in codes
                    for one in assignments_in(code)
                    for target in targets_of(one)
                )
        return False

    # What is changed, and put back

    def _undos(self, function: Function, path: Path, caught: ir.Try | None) -> Iterator[Undo]:
        before = [one for block, at in path for one in block[:at]]
        after: list[ir.Stmt] = []
        is_inside = caught is None
        for block, at in path:
            after += block[at + 1 :] if is_inside else ()
            if block[at] is caught:
                is_inside = True
                after += caught.orelse
        for back in after:
            yield from self._flags(function, before, back)
            yield from self._taken(before, back)
            yield from self._paired(before, back)

    def _flags(self, function: Function, before: list[ir.Stmt], back: ir.Stmt) -> Iterator[Undo]:
        """`self.capturing = True`, and `False` behind the region, as it was before."""
        for target, value in _pairs(back):
            name = _named(target)
            spelt = form(target) if name is not None else None
            if name is None or not any(form(other) == spelt for one in before for other, _ in _pairs(one)):
                continue
            if not _is_shared(target, function.code):
                continue
            changes = ((one, given) for one in reversed(before) for other, given in _pairs(one) if form(other) == spelt)
            change, changed = next(changes, (None, None))
            if change is None or changed is None or form(changed) == form(value):
                continue
            first = [*self._first(function, name, change, back)]
            if _is_restored(spelt, changed, value, before, first):
                yield Undo(change, back, "flag", frozenset({name}))

    def _first(self, function: Function, name: str, change: ir.Stmt, back: ir.Stmt) -> Iterator[ir.Expr]:
        """What constructors, and the bodies of classes and files, give an attribute or a global of a name."""
        module = function.module
        segments = [*module.index.assignments.get(name, ())]
        for owner in module.index.classes.values():
            segments += owner.assignments.get(name, ())
        codes = [one.code for one in module.index.all_functions() if one.name == "__init__"]
        found = [one for code in codes if code is not None for one in assignments_in(code)]
        found += [part for one in segments for part in walk(module.lowered(one)) if isinstance(part, ir.Assign)]
        for one in found:
            if one is not change and one is not back:
                yield from (value for target, value in _pairs(one) if last_name(target) == name)

    def _taken(self, before: list[ir.Stmt], back: ir.Stmt) -> Iterator[Undo]:
        """`pages = pool.take(n)`, and `pool.free(pages)` behind the region."""
        calls = [part for part in walk(back) if isinstance(part, ir.Call) and self._releases(part)]
        match back:
            case ir.Evaluate(value=ir.Call(func=func, arguments=arguments) as call) if call in calls:
                given = names_in(tuple(one.value for one in arguments))
                given |= names_in(func.value) if isinstance(func, ir.Attribute) else frozenset()
            case ir.For(iterable=iterable) if calls:
                given = names_in(iterable)
            case _:
                return
        for one in before:
            if isinstance(one, ir.Assign) and isinstance(one.value, ir.Call):
                names = {target.id for target in targets_of(one) if isinstance(target, ir.Name)} & given
                if names:
                    yield Undo(one, calls[0], "taken", frozenset(names))
                    return

    def _releases(self, call: ir.Call) -> bool:
        """Whether a call gives something back, by its name or by what it is told: `pool.reset(slot, free=True)`."""
        told = [one.keyword for one in call.arguments if isinstance(one.value, ir.Literal) and one.value.value is True]
        names = (last_name(call.func), *told)
        return any(self.releases.match(name) is not None for name in names if name is not None)

    def _paired(self, before: list[ir.Stmt], back: ir.Stmt) -> Iterator[Undo]:
        """`cache.freeze()`, and `cache.unfreeze()` behind the region."""
        last = _called(back)
        for one in reversed(before) if last is not None else ():
            first = _called(one)
            if first is None or last is None:
                continue
            if form(first) == form(last):
                return  # it is undone already
            if self._are_paired(first, last):
                yield Undo(first, last, "call", frozenset())
                return

    def _are_paired(self, first: ir.Call, last: ir.Call) -> bool:
        if isinstance(first.func, ir.Attribute) and isinstance(last.func, ir.Attribute):
            if form(first.func.value) != form(last.func.value):
                return False
        elif not (isinstance(first.func, ir.Name) and isinstance(last.func, ir.Name)):
            return False
        one, other = ((last_name(call.func) or "").strip("_").split("_") for call in (first, last))
        apart = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
        return len(one) == len(other) and len(apart) == 1 and " ".join(apart[0]) in self.pairs


def _path(block: ir.Block, node: ir.Node) -> Path:
    for at, one in enumerate(block):
        if one is node:
            return [(block, at)]
        for inner in blocks_in(one):
            if found := _path(inner, node):
                return [(block, at), *found]
    return []


def _tries(path: Path) -> Iterator[ir.Try]:
    """The `try` statements whose bodies hold a statement, the outermost first."""
    for (block, at), (inner, _) in pairwise(path):
        node = block[at]
        if isinstance(node, ir.Try) and inner is node.body:
            yield node


def _goes_on(block: ir.Try) -> bool:
    """Whether what a capture raises is caught by a handler that does not pass it on."""
    return any(_catches(one.kind) and not any(map(_leaves, walk(one.body))) for one in block.handlers)


def _catches(kind: ir.Expr | None) -> bool:
    names = words_in(kind) if kind is not None else frozenset[str]()
    return not names or not names.isdisjoint(_CAUGHT) or names.isdisjoint(vars(builtins))


def _leaves(part: object) -> bool:
    return isinstance(part, ir.Raise) or (isinstance(part, ir.Call) and last_name(part.func) in _EXITS)


def _is_shared(target: ir.Expr, code: ir.Code) -> bool:
    """Whether a target is an attribute, a global, or an item of what a function has not made itself."""
    if isinstance(target, ir.Subscript):
        return not any(assignments_to(code, name) for name in names_in(target.value))
    if isinstance(target, ir.Name):
        declared = (one.names for one in walk(code.body) if isinstance(one, ir.Scope) and one.kind == "global")
        return any(target.id in names for names in declared)
    return isinstance(target, ir.Attribute)


def _pairs(statement: ir.Stmt) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What an assignment gives to what, one by one where tuples are taken apart."""
    value = statement.value if isinstance(statement, ir.Assign) else None
    for target in statement.targets if isinstance(statement, ir.Assign) and value is not None else ():
        if isinstance(target, ir.Display) and isinstance(value, ir.Display):
            yield from zip(target.elements, value.elements, strict=False)
        elif value is not None:
            yield target, value


def _named(target: ir.Expr) -> str | None:
    """The name of an attribute or a global, or the key of an item."""
    if isinstance(target, ir.Subscript):
        key = target.index.value if isinstance(target.index, ir.Literal) else None
        return key if isinstance(key, str) else None
    return last_name(target)


def _is_restored(spelt: object, changed: ir.Expr, value: ir.Expr, before: list[ir.Stmt], first: list[ir.Expr]) -> bool:
    """Whether a flag gets what it had before: by a name, or what it has from the beginning."""
    if isinstance(value, ir.Name):
        saved = (given for one in before for target, given in _pairs(one) if last_name(target) == value.id)
        return any(form(one) == spelt for one in saved)
    if not isinstance(value, ir.Literal) or value.value is None:
        return False
    if not first:
        return isinstance(changed, ir.Literal) and changed.value is True and value.value is False
    return all(isinstance(one, ir.Literal) and one.value == value.value for one in first)


def _called(statement: ir.Stmt) -> ir.Call | None:
    """The call that a statement is."""
    value = statement.value if isinstance(statement, ir.Evaluate) else None
    return value if isinstance(value, ir.Call) else None
