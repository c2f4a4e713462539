"""A module in, out what it says that parameters of other functions are, from then on, where they are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from graphlint.rulebook.signatures import Operation
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.imports import loaded_with
from graphlint.static.index.module import Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import walk
from graphlint.values import UNKNOWN, Const, ExternalObject, Value


def left_out(operation: Operation, frame: Frame, evaluator: Evaluator) -> Mapping[str, Value]:
    """What parameters of an operation are where they are left out, if a module says so, or what compiles it."""
    names = {parameter.name for parameter in operation.params or ()}
    return {name: value for name, value in _known(operation.name, frame, evaluator).items() if name in names}


def with_presets(made: ExternalObject, frame: Frame, evaluator: Evaluator) -> ExternalObject:
    """An object as if it had been made with what is known of the parameters that were left out."""
    more = tuple(_known(made.cls, frame, evaluator).items())
    return replace(made, arguments=(*made.arguments, *more)) if more else made


def _known(name: str, frame: Frame, evaluator: Evaluator) -> Mapping[str, Value]:
    """The parameters that are set for all of a package that has a name; what compiles a region has the last word."""
    lexicon = evaluator.lexicon
    found: dict[str, Value] = {}
    for setter, parameter in lexicon.presets.items():
        package, holder, member = setter.rsplit(".", 2)
        given = _given(frame.module, holder, member, evaluator.project) if name.startswith(f"{package}.") else ()
        if given:
            found[parameter] = next(iter(given)) if len(given) == 1 else UNKNOWN
    for compiled, value in lexicon.compiled.items() if frame.mode is Mode.SOFT else ():
        package, _, parameter = compiled.rpartition(".")
        if name.startswith(f"{package}."):
            found[parameter] = Const(value)
    return found


@remembered_in_run
def _given(module: Module, holder: str, member: str, project: Project) -> Set[Value]:
    """What a module makes of a member of a class, in whichever function, or what it imports does as it is imported."""
    if own := {value for _, value in _said(module, holder, member)}:
        return own
    users = {*project.calling(member), *map(project.module_at, project.storing(member))} - {module}
    said = {user: {value for is_top, value in _said(user, holder, member) if is_top} for user in users}
    loaded = loaded_with(module, project) if any(said.values()) else ()
    return {value for user in loaded for value in said.get(user, ())}


def _said(module: Module, holder: str, member: str) -> Iterator[tuple[bool, Value]]:
    """What a member of a class is given or set to in a module, each with whether that is as it is imported."""
    for definition, segment in segments_with(module, member, is_word):
        for part in walk(module.lowered(segment)):
            match part:
                case ir.Call(func=ir.Attribute(attr=name), arguments=(given,)) if name == member:
                    value: ir.Expr | None = given.value
                case ir.Assign(targets=targets) if any(_is_member(one, holder, member) for one in targets):
                    value = part.value
                case _:
                    continue
            yield definition is None, Const(value.value) if isinstance(value, ir.Literal) else UNKNOWN


def _is_member(target: ir.Expr, holder: str, member: str) -> bool:
    match target:
        case ir.Attribute(value=ir.Name(id=name) | ir.Attribute(attr=name), attr=attribute):
            return name == holder and attribute == member
    return False
