"""A callable that a graph is made of in, the arguments that it is called with out: its tensors are static inputs."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.contexts import Frame, dispatched
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Bound, Function, Graphed, Instance
from graphlint.static.models.applied import is_handed_plain
from graphlint.static.models.asked import is_asked
from graphlint.static.models.doubts import is_made_on_host, is_only_converted
from graphlint.static.models.uses import is_plain
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import walk
from graphlint.values import NONE, UNKNOWN, Arguments, Host, Mapping, Place, Sequence, Tensor, Value, members, union
from graphlint.values.queries import unsure

ANYTHING = Arguments((), (), UNKNOWN, UNKNOWN)  # what is given where nobody sees the call


def entry_functions(evaluator: Evaluator, target: Value) -> list[tuple[Function, Value | None]]:
    found = [(function, receiver or _self(evaluator, function)) for function, receiver in functions(target)]
    for member in members(target):
        if isinstance(member, Instance):
            name = "__call__" if evaluator.class_method(member.cls, "__call__") is not None else "forward"
            method = evaluator.class_method(member.cls, name)
            found += [(m, member) for m in members(method) if isinstance(m, Function)] if method is not None else []
    return found


def chosen(
    found: list[tuple[Function, Value | None]], named: ir.Expr | None, frame: Frame
) -> Iterator[tuple[Function, Value | None]]:
    """Entries one by one; of objects of several classes, it is assumed that what is `named` is that one."""
    held = [function if receiver is None else receiver for function, receiver in found]
    several = len({one.cls if isinstance(one, Instance) else one for one in held}) > 1
    for _, entry in zip(dispatched(held, named if several else None, frame), found, strict=True):
        yield entry


def entry_arguments(evaluator: Evaluator, function: Function, receiver: Value | None) -> Arguments:
    """The arguments that a graph's entry is called with, as far as its signature tells."""
    parameters = [p for p in function.code.parameters if p.kind in ("positional", "keyword")]
    if receiver is not None or _takes_context(evaluator, function):
        parameters = parameters[1:]
    given = {parameter.name: evaluator.refine(UNKNOWN, parameter, function) for parameter in parameters}
    defaults = {p.name: evaluator.default(p, function) for p in parameters if p.default is not None}
    silent = [p.name for p in parameters if p.annotation is None and given[p.name] == UNKNOWN and p.default is None]
    star = UNKNOWN if any(parameter.kind == "*" for parameter in function.code.parameters) else None
    plain = [name for name in silent if is_plain(evaluator, function, name)]
    silent = [name for name in silent if name in plain or not is_handed_plain(evaluator, function, name)]
    tensors = [name for name in silent if name not in plain]
    is_given = any(_may_be_tensor(value) for value in given.values())
    if not (tensors or is_given or star is not None or receiver is not None):
        tensors = silent  # a graph has an input, and what is no method has none of its own
    given |= dict.fromkeys(tensors, Tensor(Place.DEVICE))
    given |= {name: union((given[name], NONE)) for name in tensors if _asks_for_none(function.code, name)}
    given |= {name: union((given[name], default)) for name, default in defaults.items()}
    asked = [name for name, value in given.items() if _may_be_tensor(value) and is_asked(evaluator, function, name)]
    given |= {name: union((given[name], Host("float"))) for name in asked}  # or a number: else it would not be asked
    doubtful = [name for name in asked if is_made_on_host(evaluator, function.code, function.module, name)]
    doubtful += [name for name in tensors if is_only_converted(evaluator, function, name)]
    given |= {name: unsure(given[name]) for name in doubtful}
    keywords = tuple((name, on_device(value)) for name, value in given.items())
    return Arguments(() if receiver is None else (receiver,), keywords, star, UNKNOWN)


def _takes_context(evaluator: Evaluator, function: Function) -> bool:
    """Whether the first parameter is what an autograd function keeps for its backward pass."""
    owner, kinds = function.owner, evaluator.lexicon.callables
    if owner is None or not any(kinds.get(base) == "applied" for base in evaluator.external_bases(owner)):
        return False
    apart = evaluator.class_method(owner, "setup_context") is not None  # which gets it in the place of `forward`
    return function.code.name == "backward" or (function.code.name == "forward" and not apart)


@remembered
def _asks_for_none(code: ir.Code, name: str) -> bool:
    """Whether a function asks whether it was given something: then it is called without, too."""
    for part in walk(code.body):
        match part:
            case ir.Compare(left=ir.Name(id=asked), comparisons=[("is" | "is not", ir.Literal(value=None))]):
                if asked == name:
                    return True
    return False


def _may_be_tensor(value: Value) -> bool:
    return any(isinstance(member, Tensor) for member in members(value))


def on_device(value: Value) -> Value:
    """A value handed to a region: tensors whose place is not known are static inputs, on the device."""
    if isinstance(value, Sequence):
        if value.elements is None:
            return Sequence(value.kind, None, on_device(value.element))
        return Sequence(value.kind, tuple(on_device(element) for element in value.elements))
    if isinstance(value, Mapping):
        items = tuple((key, on_device(held)) for key, held in value.items)
        return Mapping(items, None if value.other is None else on_device(value.other), value.optional)
    placed: list[Value] = []
    for member in members(value):
        if isinstance(member, Tensor) and member.place is Place.ANYWHERE:
            placed.append(Tensor(Place.DEVICE, member.ndim, member.dtype, member.sure, ones=member.ones))
        else:
            placed.append(member)
    return union(placed)


def functions(value: Value) -> list[tuple[Function, Value | None]]:
    found: list[tuple[Function, Value | None]] = []
    for member in members(value):
        if isinstance(member, Function):
            found.append((member, None))
        elif isinstance(member, Bound) and isinstance(member.function, Function):
            found.append((member.function, member.receiver))
        elif isinstance(member, Graphed):
            found += functions(member.function)
    return found


def _self(evaluator: Evaluator, function: Function) -> Value | None:
    """The object that a method stands for while its class is not made yet."""
    first = function.code.parameters[0].name if function.code.parameters else ""
    return evaluator.instance(function.owner, None, False) if function.owner and first == "self" else None
