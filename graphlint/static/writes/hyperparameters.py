"""Steps of optimizers in regions in, events out for those whose groups a schedule or an assignment changes later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from graphlint.rule import Event, OptimizerStep
from graphlint.static.domain.sources import Place
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.bodies import Body
from graphlint.static.writes.schedules import GROUPS, Schedules
from graphlint.static.writes.sizes import pos_of
from graphlint.static.writes.stores import Store, stores_in
from graphlint.static.writes.timing import Timing, When
from graphlint.static.writes.traces import Traces
from graphlint.values import UNKNOWN, Const, ExternalObject, Mapping, Sequence, Tensor, members
from graphlint.values import Place as Side

RATE = "lr"
_SWEPT = "momentum"
_CYCLES = "cycle_momentum"  # the argument of schedulers that turns it off


@dataclass(frozen=True, slots=True)
class _Changed:
    """A value of the groups of an optimizer that something changes: where, and when; `fills` if it is a tensor."""

    key: str
    place: str
    when: When
    fills: bool = False


class Steps:
    """Looks at the steps that have been traced."""

    def __init__(self, traces: Traces, timing: Timing, schedules: Schedules) -> None:
        self.traces = traces
        self.timing = timing
        self.schedules = schedules
        self.lexicon = schedules.lexicon

    def events(self) -> Iterator[tuple[Place, Event]]:
        """Every step whose optimizer has numbers that something changes."""
        for optimizer, place in self.traces.steps.values():
            own = place.function.module
            homes = self.timing.homes.modules
            modules = dict.fromkeys((own, *homes)) if len(homes) == 1 else [own]
            changed = [one for module in modules for one in self._changes(module) if _is_missed(one, optimizer)]
            if changed:
                surest = max(one.when for one in changed)
                told = [one for one in changed if one.when is surest]
                keys = tuple(dict.fromkeys(one.key for one in told))
                places = tuple(dict.fromkeys(one.place for one in told))
                event = OptimizerStep(keys, places, surest is When.SURELY, optimizer.made)
                maker = self._maker(optimizer, place) if keys == (RATE,) else None  # the rest cannot be a tensor
                if maker is None:
                    yield place, event
                else:
                    yield maker, replace(event, made=None, step=(place.span.path, place.line))

    def _maker(self, optimizer: ExternalObject, place: Place) -> Place | None:
        """Where an optimizer is made, which is where a rate is mended; None where no call of its class stands there."""
        if optimizer.made is None:
            return None
        path, line = optimizer.made
        module, cls = self.traces.evaluator.project.module_at(Path(path)), optimizer.cls.rpartition(".")[2]
        for segment in (*(one.segment for one in module.index.all_functions()), *module.index.statements):
            for name, call in _calls_in(module.source_of(segment)) if segment.first <= line <= segment.last else ():
                imported = {one.member for one in module.index.imports.get(name, ())}
                if call.lineno + segment.first - 1 == line and cls in (name, *imported):
                    function = replace(place.function, module=module, first_line=segment.first)
                    return replace(place, function=function, node=ir.Node(((pos_of(call),), 0)))
        return None

    def _changes(self, module: Module) -> Iterator[_Changed]:
        definitions = [(one, one.segment) for one in module.index.all_functions()]
        parts = [*definitions, *((None, segment) for segment in module.index.statements)]
        rates = {name for _, segment in parts for name in _given_as_rate(module.source_of(segment))}
        for definition, segment in parts:
            source, before = module.source_of(segment), segment.first - 1
            filled = (store for store in stores_in(source) if store.name in rates or store.key == RATE)
            for key, store in (*_assigned_in(source), *((RATE, store) for store in filled if _fills(store))):
                if _switch(store) is not None:  # is set once, and follows no schedule
                    continue
                spans = tuple((first + before, last + before) for first, last in store.loops)
                when = self.timing.at(Body(module, definition, store.inner), store.line + before, spans)
                if when is not When.NEVER:
                    yield _Changed(key, f"{module.path.name}:{store.line + before}", when, _fills(store))
            for name, call in _calls_in(source):
                if self.schedules.is_made(name, call, module):
                    place = f"{module.path.name}:{call.lineno + before}"
                    yield _Changed(RATE, place, When.SURELY)
                    if self.lexicon.host_state["sweeps"].match(name) and not _keeps_momentum(call):
                        yield _Changed(_SWEPT, place, When.SURELY)


def with_values_of_groups(optimizer: ExternalObject, module: Module) -> ExternalObject:
    """An optimizer with what its groups hold by themselves, or what a module writes into groups.

    Whose groups these are is not followed. A switch is taken for what it is set to; any other value that is written is
    not known, and a value that the constructor was given then stands for it.
    """
    params = optimizer.argument("params", 0)
    elements = params.elements or () if isinstance(params, Sequence) else ()
    groups = [group for element in elements for group in members(element) if isinstance(group, Mapping)]
    own = [(key.value, value) for group in groups for key, value in group.items if isinstance(key, Const)]
    written = [(key, _switch(store)) for key, store in _assigned_to_groups(module)]
    switches = [(key, Const(on)) for key, on in written if on is not None]
    others = [(key, UNKNOWN) for key, on in written if on is None]
    named = [(key, value) for key, value in own if isinstance(key, str)]
    return replace(optimizer, arguments=(*switches, *named, *optimizer.arguments, *others))


def replaces(module: Module, key: str) -> bool:
    """Whether a module puts what a call gives into groups: a tensor, it may be, which schedules fill."""
    return any(name == key and isinstance(store.value, ast.Call) for name, store in _assigned_to_groups(module))


def _assigned_to_groups(module: Module) -> Iterator[tuple[str, Store]]:
    for segment in (*(one.segment for one in module.index.all_functions()), *module.index.statements):
        yield from _assigned_in(module.source_of(segment))


def _switch(store: Store) -> bool | None:
    """What is written, if it is `True` or `False`."""
    match store.value:
        case ast.Constant(value=bool(value)):
            return value
    return None


def _is_missed(change: _Changed, optimizer: ExternalObject) -> bool:
    """Whether a captured step does not see a change: it reads numbers and tensors of the host once."""
    given = optimizer.argument(change.key, 1 if change.key == RATE else None)
    tensors = [member for member in members(given) if isinstance(member, Tensor)] if given is not None else []
    return all(one.place is Side.HOST for one in tensors) if tensors else not change.fills


def _fills(store: Store) -> bool:
    """Whether a tensor is changed in place: `group["lr"].fill_(rate)`."""
    return store.form.endswith("_")


@remembered
def _assigned_in(source: str) -> tuple[tuple[str, Store], ...]:
    """The values of parameter groups that a segment assigns, by key."""
    tree = tree_of(source)
    if tree is None or GROUPS not in source:
        return ()
    groups = {
        node.target.id
        for node in nodes_in(tree)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _is_groups(node.iter)
    }
    groups |= {
        target.id
        for node in nodes_in(tree)
        if isinstance(node, ast.Assign) and _is_group(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    keys = {}
    for node in nodes_in(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            holder, key = node.value, node.slice
            is_group = isinstance(holder, ast.Name) and holder.id in groups
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and (is_group or _is_group(holder)):
                keys[node.lineno] = key.value
    return tuple((keys[store.line], store) for store in stores_in(source) if store.line in keys)


def _is_groups(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == GROUPS


def _is_group(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and _is_groups(node.value)


@remembered
def _calls_in(source: str) -> tuple[tuple[str, ast.Call], ...]:
    """The calls of a segment by their last names."""
    tree = tree_of(source)
    found = []
    for node in nodes_in(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                found.append((name, node))
    return tuple(found)


def _given_as_rate(source: str) -> Iterator[str]:
    """The last names of what a segment gives as learning rates: `lr=self.rate`."""
    for _, call in _calls_in(source):
        for keyword in call.keywords:
            match keyword.value:
                case ast.Name(id=name) | ast.Attribute(attr=name) if keyword.arg == RATE:
                    yield name


def _keeps_momentum(call: ast.Call) -> bool:
    """Whether a call turns the cycles of momentum off."""
    off = (one.value for one in call.keywords if one.arg == _CYCLES)
    return any(isinstance(value, ast.Constant) and value.value is False for value in off)
