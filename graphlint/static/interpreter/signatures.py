"""A function and arguments in, the values of its parameters out, with defaults and what annotations promise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from graphlint.static.domain.contexts import Env
from graphlint.static.domain.program import Function, Instance
from graphlint.static.models.containers import by_name
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.queries import is_number, placed_by_name, unsure

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


_MISTAKES = 2  # arguments that are not what is promised, if a function is another one than is called


class _Shape(NamedTuple):
    """What a function takes: the names of all parameters, of those by position, and of those that have to be given."""

    names: frozenset[str]
    positional: tuple[str, ...]
    wanted: frozenset[str]
    takes_more: bool  # by position
    takes_any: bool  # by keyword


class Signatures:
    """Says what the parameters of a function are."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def bind(self, function: Function, arguments: Arguments) -> Env:
        """The value of each parameter; annotations say what is not known otherwise."""
        bound: Env = {}
        positional = list(arguments.positional)
        keywords = dict(arguments.keywords)
        for parameter in function.code.parameters:
            name = parameter.name
            if parameter.kind == "*":
                if arguments.star is not None:
                    any_of_them = union((*positional, arguments.star))
                    bound[name] = Sequence("tuple", None, any_of_them, tuple(positional))
                else:
                    bound[name] = Sequence("tuple", tuple(positional))
                positional = []
            elif parameter.kind == "**":
                bound[name] = by_name(replace(arguments, keywords=tuple(keywords.items())))
            elif parameter.kind == "positional" and positional:
                bound[name] = self.refine(positional.pop(0), parameter, function)
            elif name in keywords:
                bound[name] = self.refine(keywords.pop(name), parameter, function)
                if name in arguments.optional and parameter.default is not None:
                    bound[name] = union((bound[name], self.default(parameter, function)))
            else:
                bound[name] = self._left_out(parameter, arguments, function)
        return bound

    def fits(self, function: Function, arguments: Arguments) -> bool:
        """Whether a call with these arguments is no TypeError, as far as they are known."""
        if arguments.star is not None or arguments.double_star is not None:
            return True
        shape = _shape(function.code)
        count = len(arguments.positional)
        keywords = {name for name, _ in arguments.keywords}
        return (
            (shape.takes_more or count <= len(shape.positional))
            and (shape.takes_any or keywords - arguments.optional <= shape.names)
            and shape.wanted <= keywords.union(shape.positional[:count])
        )

    def meant(self, targets: list[Value], arguments: Arguments) -> list[Value]:
        """Of several values of which one is called, those that are not promised other things than are handed in."""
        return [t for t in targets if not (isinstance(t, Function) and self._is_for_others(t, arguments))] or targets

    def _is_for_others(self, function: Function, arguments: Arguments) -> bool:
        """Whether annotations promise numbers for tensors, or tensors for numbers, more often than by mistake."""
        parameters, named = function.code.parameters, dict(arguments.keywords)
        positional = [one for one in parameters if one.kind == "positional"]
        handed = list(zip(positional, arguments.positional, strict=False))
        handed += [(one, named[one.name]) for one in parameters if one.name in named]
        told = [(one, value) for one, value in handed if one.annotation is not None]
        kinds = [{_kind(value), _kind(self.refine(UNKNOWN, one, function))} for one, value in told]
        return kinds.count({Host, Tensor}) >= _MISTAKES

    def _left_out(self, parameter: ir.Parameter, arguments: Arguments, function: Function) -> Value:
        possible = []
        if parameter.kind == "positional" and arguments.star is not None:
            possible.append(self._any_of(arguments.star, parameter, function))
        # Settings that nobody knows are what a constructor is told by; a function hands such keywords on as a rule.
        is_set_up = function.code.name == "__init__" and isinstance(parameter.default, ir.Literal)
        if arguments.double_star is not None and (parameter.default is None or is_set_up):
            possible.append(self._any_of(arguments.double_star, parameter, function))
        if parameter.default is not None:
            possible.append(self.default(parameter, function))
        return union(possible) if possible else self.refine(UNKNOWN, parameter, function)

    def _any_of(self, value: Value, parameter: ir.Parameter, function: Function) -> Value:
        """One of several values, which one nobody knows: no tensor where a number or a text is promised, and nothing
        in particular where some of them are tensors and others are not.
        """
        promised = self.refine(UNKNOWN, parameter, function)
        is_scalar = all(isinstance(member, (Host, Const)) for member in members(promised))
        kinds = {isinstance(member, Tensor) for member in members(value)}
        return promised if is_scalar or len(kinds) > 1 else self.refine(value, parameter, function)

    def default(self, parameter: ir.Parameter, function: Function) -> Value:
        """The default of a parameter, in the scope of its function."""
        assert parameter.default is not None
        if isinstance(parameter.default, ir.Literal):
            return Const(parameter.default.value)
        frame = self.interpreter.names.module_frame(function.module, function.first_line)
        frame.env.update(dict(function.closure))
        return self.interpreter.eval(parameter.default, frame)

    def refine(self, value: Value, parameter: ir.Parameter, function: Function) -> Value:
        """An unknown argument with what its annotation, or the convention for its name, promises."""
        if parameter.annotation is not None and any(isinstance(member, Tensor) for member in members(value)):
            value = _told(value, self.interpreter.annotations.promised(parameter.annotation, function.module))
        if UNKNOWN not in members(value):
            return placed_by_name(value, parameter.name)
        promised: Value = UNKNOWN
        if parameter.annotation is not None:
            promised = self.interpreter.annotations.promised(parameter.annotation, function.module)
        elif parameter.default is not None and isinstance(parameter.default, ir.Literal):
            promised = _kind_of(parameter.default.value)
        elif function.owner is not None:
            promised = self.interpreter.classes.annotated(function.owner, parameter.name)
        if promised == UNKNOWN and parameter.name == "device":
            promised = DeviceName(Place.ANYWHERE)
        if promised == UNKNOWN:
            return value
        return placed_by_name(union([promised, *(m for m in members(value) if m != UNKNOWN)]), parameter.name)


def _kind(value: Value) -> type[Tensor] | type[Host] | None:
    """What a value surely is: a tensor, or a number or a string."""
    if all(isinstance(member, Tensor) for member in members(value)):
        return Tensor
    is_plain = all(isinstance(m, Host) or (isinstance(m, Const) and m.value is not None) for m in members(value))
    return Host if is_plain else None


@remembered
def _shape(code: ir.Code) -> _Shape:
    parameters = code.parameters
    kinds = {parameter.kind for parameter in parameters}
    positional = tuple(p.name for p in parameters if p.kind == "positional")
    wanted = frozenset(p.name for p in parameters if p.kind in ("positional", "keyword") and p.default is None)
    return _Shape(frozenset(p.name for p in parameters), positional, wanted, "*" in kinds, "**" in kinds)


def _told(value: Value, promised: Value) -> Value:
    """What may be a tensor, where an annotation says what it is: on its way through containers it has become one.

    It is none where a dtype or a table is promised, nor where an object is, if it may be one. Where it may be something
    else, too, and the tensor is a guess, a number that is promised is the better one.
    """
    kept = [member for member in members(value) if not isinstance(member, Tensor)]
    if kept and is_number(promised):
        return unsure(value)
    if promised == NONE or not all(_is_no_tensor(member, kept) for member in members(promised)):
        return value
    return union(kept) if kept else promised


def _is_no_tensor(promised: Value, given: list[Value]) -> bool:
    """Whether nobody gives a tensor where this is promised, as one may where a number or a sequence is."""
    match promised:
        case Instance():
            return any(isinstance(member, (Instance, Unknown)) for member in given)
        case Host():
            return not is_number(promised)
    return promised == NONE or isinstance(promised, (DeviceName, Mapping))


def _kind_of(default: object) -> Value:
    if isinstance(default, (bool, int, float, str)):
        return Host(type(default).__name__)
    return UNKNOWN
