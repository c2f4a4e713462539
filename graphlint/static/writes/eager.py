"""Captured functions in, parameters out that no region gives them, and that eager mode gives beside a replay.

What a parameter leads to, such as filling a buffer of the caller, is in no graph then, and who replays goes without.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property

from graphlint.rule import EagerArgument, Event
from graphlint.static.domain.contexts import Context
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.domain.sources import Place
from graphlint.static.index.module import Definition, Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, given_for, is_none, names_in, unset_in, walk
from graphlint.static.writes.traces import Traces

_RECEIVERS = ("self", "cls")
_MIN_NAME = 6  # letters that make the name of a method that replays telling


class EagerArguments:
    """Looks for who calls captured functions, and replays."""

    def __init__(self, evaluator: Evaluator, traces: Traces) -> None:
        self.project = evaluator.project
        self.replays = evaluator.lexicon.life["replays"]
        self.traces = traces

    def events(self) -> Iterator[tuple[Place, Event]]:
        """The places where captured functions ask for what they are only given in eager mode."""
        for function, (context, left) in self._left_out().items():
            for name in sorted(left):
                node = _asked_for(name, function.code)
                given = next(self._given(function, name), None) if node is not None else None
                if node is not None and given is not None:
                    yield Place(function, node, context, ()), EagerArgument(name, *given)

    def _left_out(self) -> dict[Function, tuple[Context, frozenset[str]]]:
        """The parameters that no call in a region gives, of each function."""
        found: dict[Function, tuple[Context, frozenset[str]]] = {}
        for (function, node), context in self.traces.calls.items():
            _, left = found.get(function, (context, unset_in(function.code)))
            # Of a function that is captured itself, nobody sees who calls it.
            given = _given_by(node, function.code) if node is not None else left
            found[function] = context, left - given
        return {function: (context, left) for function, (context, left) in found.items() if left}

    def _given(self, function: Function, name: str) -> Iterator[tuple[str, str]]:
        """Where somebody gives a parameter in eager mode, and replays else: both lines."""
        module = function.module
        for definition in module.index.all_functions():
            code = definition.code
            if code is None or code is function.code or not module.holds(definition.segment, function.code.name):
                continue
            if (module, definition.qualname) in self.traces.captured:
                continue
            for call in calls_in(code):
                value = _value_of(name, call, function.code) if _calls(call, function) else None
                replay = self._replay_without(code.body, value, call) if value is not None else None
                if replay is not None:
                    first = definition.segment.first
                    lines = (first + one.pos[0] for one in (call, replay))
                    told = [f"{module.path.name}:{line}" for line in lines]
                    yield told[0], told[1]

    def _replay_without(self, body: ir.Block, value: ir.Expr, call: ir.Call) -> ir.Call | None:
        """A replay in a block that the call is not in, and that does nothing with what this is given."""
        names = names_in(value)
        for branch in (part for part in walk(body) if isinstance(part, ir.If)):
            for block in (branch.body, branch.orelse):
                parts = list(walk(block))
                replay = next((one for one in parts if isinstance(one, ir.Call) and self._is_replay(one)), None)
                if replay is not None and call not in parts and not names & names_in(block):
                    return replay
        return None

    def _is_replay(self, call: ir.Call) -> bool:
        return isinstance(call.func, ir.Attribute) and call.func.attr in self._replaying

    @cached_property
    def _replaying(self) -> Set[str]:
        """The names of methods that replay, and of those that do it by name."""
        found = set(self.replays)
        for replay in self.replays:
            for module in self.project.calling(replay):
                for definition in module.index.all_functions():
                    if len(definition.name) >= _MIN_NAME and _replays(definition, module, replay):
                        found.add(definition.name)
        return found


def _replays(definition: Definition, module: Module, replay: str) -> bool:
    code = definition.code if module.holds(definition.segment, replay) else None
    calls = calls_in(code) if code is not None else ()
    return any(isinstance(one.func, ir.Attribute) and one.func.attr == replay and not one.arguments for one in calls)


def _calls(call: ir.Call, function: Function) -> bool:
    """Whether a call is one of a function of the same file: of a method, on the object itself."""
    match call.func:
        case ir.Name(id=name):
            return name == function.code.name and function.owner is None
        case ir.Attribute(value=ir.Name(id="self"), attr=name):
            return name == function.code.name and function.owner is not None
    return False


def _given_by(call: ir.Call, code: ir.Code) -> frozenset[str]:
    """The parameters that a call gives something for; all, where a star hides some."""
    if any(one.star for one in call.arguments):
        return frozenset(one.name for one in code.parameters)
    return frozenset(one.name for one in code.parameters if _value_of(one.name, call, code) is not None)


def _value_of(name: str, call: ir.Call, code: ir.Code) -> ir.Expr | None:
    """What a call gives for a parameter; None if that is nothing."""
    names = [one.name for one in code.parameters if one.kind == "positional" and one.name not in _RECEIVERS]
    value = given_for(call, name, names.index(name) if name in names else -1)
    return None if is_none(value) else value


def _asked_for(name: str, code: ir.Code) -> ir.Expr | None:
    """Where a function asks whether it is given something, and hands on a part of it or writes there if it is."""
    for part in walk(code.body):
        match part:
            case ir.Conditional(test=test, body=body, orelse=ir.Literal(value=None)) if _is_given(name, test):
                if name in names_in(body):
                    return part
            case ir.If(test=test, body=block) if _is_given(name, test) and _writes(name, block):
                return test
    return None


def _is_given(name: str, test: ir.Expr) -> bool:
    match test:
        case ir.Compare(left=ir.Name(id=left), comparisons=(("is not", ir.Literal(value=None)),)):
            return left == name
    return False


def _writes(name: str, block: ir.Block) -> bool:
    """Whether statements write to what a name stands for, or hand it to what may do so."""
    for part in walk(block):
        match part:
            case ir.Assign(targets=targets) if any(
                isinstance(one, (ir.Attribute, ir.Subscript)) and name in names_in(one) for one in targets
            ):
                return True
            case ir.Call(func=ir.Attribute(value=value, attr=method)) if method.endswith("_") and name in names_in(
                value
            ):
                return True
            case ir.Call(arguments=arguments) if any(
                one.keyword == "out" and name in names_in(one.value) for one in arguments
            ):
                return True
    return False
