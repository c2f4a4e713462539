"""What a callable is graphed with: sample arguments that are no tensors, and what its output does not depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from graphlint.static.domain.program import Function, function_of
from graphlint.static.life.objects import PLAIN, Instance, Made, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import has_gradient
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk


def told_of_samples(
    call: Call, target: Object, samples: list[Object], wanting: Collection[Thing]
) -> Iterator[tuple[str, Place]]:
    """What is wrong with the samples, or unused by the callable, and where."""
    if any(isinstance(sample, PLAIN) for sample in samples):
        yield "samples", call.place
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


def _forward(module: Instance) -> Function | None:
    """The `forward` that a class defines itself."""
    definitions = module.cls.methods.get("forward", [])
    return function_of(definitions[-1], module.cls) if definitions else None


def _unused_children(module: Instance) -> bool:
    """Whether a module holds another one that nothing in its class but the constructor speaks of."""
    children = {name for name, value in module.attributes.items() if isinstance(value, Made) and value.given}
    if module.cls.bases and any(base.rpartition(".")[2] != "Module" for base in module.cls.bases):
        return False
    spoken: set[str] = set()
    for name, definitions in module.cls.methods.items():
        code = definitions[-1].code if definitions else None
        for part in walk(code.body) if code is not None and name != "__init__" else ():
            match part:
                case ir.Attribute():
                    spoken.add(part.attr)
                case ir.Call(func=ir.Name(id="getattr" | "vars")):
                    return False
                case ir.Call(func=ir.Attribute(attr="children" | "modules" | "named_children" | "named_modules")):
                    return False
    return bool({name for name in children if isinstance(module.attributes[name], Made)} - spoken)
