"""A module in, out what it says that parameters of other functions are, from then on, where they are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphlint.rulebook.lexicon import Lexicon
from graphlint.rulebook.signatures import Operation
from graphlint.static.index.module import Module
from graphlint.static.index.parts import called, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import walk
from graphlint.values import UNKNOWN, Const, Value


def left_out(operation: Operation, module: Module, lexicon: Lexicon) -> Mapping[str, Value]:
    """What parameters of an operation are in a module where they are left out, if it says so."""
    names = {parameter.name for parameter in operation.params or ()}
    return {
        parameter: value
        for (package, parameter), value in _presets(module, lexicon).items()
        if parameter in names and operation.name.startswith(f"{package}.")
    }


@remembered_in_run
def _presets(module: Module, lexicon: Lexicon) -> Mapping[tuple[str, str], Value]:
    """The parameters of a package that calls in a module set for all of it; where they disagree, nobody knows."""
    presets: dict[tuple[str, str], Value] = {}
    for setter, parameter in lexicon.presets.items():
        package, _, method = setter.rsplit(".", 2)
        given = set(_given(module, method))
        if given:
            presets[package, parameter] = given.pop() if len(given) == 1 else UNKNOWN
    return presets


def _given(module: Module, method: str) -> Iterator[Value]:
    """What the calls of a method in a module are given."""
    for _, segment in segments_with(module, method, called):
        for part in walk(module.lowered(segment)):
            match part:
                case ir.Call(func=ir.Attribute(attr=name), arguments=(given,)) if name == method:
                    yield Const(given.value.value) if isinstance(given.value, ir.Literal) else UNKNOWN
