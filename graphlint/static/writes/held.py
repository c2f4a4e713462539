"""A statement that keeps what its function is given in, whether all calls that are known give it one and the same out.

`set_context(False)` in front of a capture and in front of its replays keeps what the graph has read, whatever eager
code calls it with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphlint.static.domain.sources import State
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.trees import endings, nodes_in, tree_of
from graphlint.static.writes.stores import Written

_NOTHING = object()


def is_held(written: Written, others: Iterable[Written], homes: Iterable[Module], state: State) -> bool:
    """Whether the files that capture give a function one constant for what it writes, as its class does."""
    value = written.store.value
    if written.definition is None or written.store.inner or not isinstance(value, ast.Name):
        return False
    given = set(_given(written, value.id, dict.fromkeys((written.module, *homes))))
    set_up = {one.store.value.value for one in others if isinstance(one.store.value, ast.Constant)} - {None}
    return len(given) == 1 and _NOTHING not in given and set_up | set(_in_class(state)) <= given


def _in_class(state: State) -> Iterator[object]:
    """The constants that stand for an attribute in the body of its class."""
    cls = state.owner if isinstance(state.owner, ClassDefinition) else None
    for segment in cls.assignments.get(state.name, ()) if cls is not None else ():
        for one in cls.module.lowered(segment) if cls is not None else ():
            value = one.value if isinstance(one, ir.Assign) else None
            if isinstance(value, ir.Literal) and value.value is not None:
                yield value.value


def _given(written: Written, name: str, modules: Iterable[Module]) -> Iterator[object]:
    """What calls of a function in some files give a parameter of its: a constant, or nothing that is known."""
    assert written.definition is not None and written.definition.code is not None
    is_method = "." in written.definition.qualname
    names = [one.name for one in written.definition.code.parameters][is_method:]
    for module in modules if name in names else ():
        yield from _given_in(module, written.definition.name, name, names.index(name))


@remembered_in_run
def _given_in(module: Module, called: str, name: str, position: int) -> frozenset[object]:
    """What the calls in a file of all that goes by a name give a parameter."""
    trees = (tree_of(module.source_of(segment)) for _, segment in segments_with(module, called, is_word))
    nodes = (node for tree in trees if tree is not None for node in nodes_in(tree))
    calls = (node for node in nodes if isinstance(node, ast.Call) and called in endings(node.func))
    return frozenset(_constant(call, name, position) for call in calls)


def _constant(call: ast.Call, name: str, position: int) -> object:
    by_name = (one.value for one in call.keywords if one.arg == name)
    by_position = call.args[position : position + 1]
    match next(by_name, by_position[0] if by_position else None):
        case ast.Constant(value=value):
            return value
    return _NOTHING
