"""What a callable is graphed with: samples that are no tensors, what its output does not depend on, checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from graphlint.static.domain.program import Function, function_of
from graphlint.static.life.objects import PLAIN, Instance, Made, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import has_gradient, modules_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk


def told_of_samples(
    call: Call, target: Object, samples: list[Object], wanting: Collection[Thing]
) -> Iterator[tuple[str, Place]]:
    """What is wrong with the samples, or unused by the callable, and where."""
    if any(isinstance(sample, PLAIN) for sample in samples):
        yield "samples", call.place
    yield from (("reentrant", place) for place in _reentrant(target))
    if call.given.keywords.get("allow_unused_input") is True or not isinstance(target, Instance):
        return
    forward = _forward(target)
    if forward is None:
        return
    parameters = [one for one in forward.code.parameters if one.kind == "positional"][1:]
    for parameter, sample in zip(parameters, samples, strict=False):
        if parameter.name not in forward.code.loads and has_gradient(sample, wanting):
            yield "unused input", Place(forward, forward.code.body[-1])
    if _unused_children(target):
        yield "unused parameter", call.place


def _reentrant(target: Object) -> Iterator[Place]:
    """Where a module, or one in it, computes parts again by a backward pass inside of the backward pass."""
    for definition in dict.fromkeys(one.cls for one in modules_in(target) if isinstance(one, Instance)):
        for method in (function_of(found[-1], definition) for found in definition.methods.values() if found):
            for part in calls_in(method.code) if method is not None else ():
                given = {one.keyword: one.value for one in part.arguments}.get("use_reentrant")
                is_asked = isinstance(given, ir.Literal) and given.value is True
                if method is not None and is_asked and not _is_optional(part, method.code):
                    yield Place(method, part)


def _is_optional(part: ir.Node, code: ir.Code) -> bool:
    """Whether a condition of a function decides whether something in it runs."""
    branches = (one for one in walk(code.body) if isinstance(one, (ir.If, ir.Conditional)))
    return any(inner is part for one in branches for inner in walk(one))


def _forward(module: Instance) -> Function | None:
    """The `forward` that a class defines itself."""
    definitions = module.cls.methods.get("forward", [])
    return function_of(definitions[-1], module.cls) if definitions else None


def _unused_children(module: Instance) -> bool:
    """Whether a module holds another one that nothing in its class but the constructor speaks of."""
    children = {name for name, value in module.attributes.items() if isinstance(value, Made) and value.given}
    if module.cls.bases and any(base.rpartition(".")[2] != "Module" for base in module.cls.bases):
        return False
    methods = (found[-1] for name, found in module.cls.methods.items() if found and name != "__init__")
    codes = [one.code for one in methods if one.code is not None]
    parts = [part for code in codes for part in walk(code.body)]
    if any(_hands_on(code) for code in codes) or any(map(_goes_through_all, parts)):
        return False
    return not children <= {part.attr for part in parts if isinstance(part, ir.Attribute)}


def _hands_on(code: ir.Code) -> bool:
    """Whether a method does more with its object than to ask for attributes: who gets it may take any part of it."""
    receiver = code.parameters[0].name if code.parameters else None
    parts = list(walk(code.body))
    holders = {id(part.value) for part in parts if isinstance(part, ir.Attribute)}
    return any(isinstance(part, ir.Name) and part.id == receiver and id(part) not in holders for part in parts)


def _goes_through_all(part: object) -> bool:
    match part:
        case ir.Call(func=ir.Name(id="getattr" | "vars")):
            return True
        case ir.Call(func=ir.Attribute(attr="children" | "modules" | "named_children" | "named_modules")):
            return True
    return False
