"""A module in, out what it says that parameters of other functions are, from then on, where they are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from graphlint.rulebook.lexicon import Lexicon
from graphlint.rulebook.signatures import Operation
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.index.module import Module
from graphlint.static.index.parts import called, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import walk
from graphlint.values import UNKNOWN, Const, ExternalObject, Value


def left_out(operation: Operation, frame: Frame, lexicon: Lexicon) -> Mapping[str, Value]:
    """What parameters of an operation are where they are left out, if a module says so, or what compiles it."""
    names = {parameter.name for parameter in operation.params or ()}
    presets = {**_presets(frame.module, lexicon), **(_compiled(lexicon) if frame.mode is Mode.SOFT else {})}
    return {
        parameter: value
        for (package, parameter), value in presets.items()
        if parameter in names and operation.name.startswith(f"{package}.")
    }


def as_compiled(made: ExternalObject, lexicon: Lexicon) -> ExternalObject:
    """An object with what a compiler sets of it."""
    presets = _compiled(lexicon).items()
    more = ((name, value) for (package, name), value in presets if made.cls.startswith(f"{package}."))
    return replace(made, arguments=(*made.arguments, *more))


def _compiled(lexicon: Lexicon) -> Mapping[tuple[str, str], Value]:
    names = ((name.rpartition("."), value) for name, value in lexicon.compiled.items())
    return {(package, parameter): Const(value) for (package, _, parameter), value in names}


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
