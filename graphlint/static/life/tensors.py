"""What is asked of the tensors and modules of a rehearsed run: what they hold, and what they were computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from graphlint.static.life.objects import Container, Instance, Made, Object, Tensor, Thing, things_in
from graphlint.static.syntax import ir


def modules_in(value: Object) -> list[Thing]:
    """A module and those that it holds."""
    return [one for one in things_in(value) if isinstance(one, Made) or (isinstance(one, Instance) and one.is_module)]


def tensors_of(value: Object) -> Iterator[Thing]:
    """The tensors that a value is, or holds."""
    if isinstance(value, Container):
        for one in value.values():
            yield from tensors_of(one)
    elif isinstance(value, Tensor) or type(value) is Thing:
        yield value


def history(value: Object, leaves: Collection[Thing] = ()) -> Iterator[Thing]:
    """A tensor and everything that it was computed from, as autograd follows it, up to leaves and what is detached."""
    seen: set[int] = set()
    pending: list[Object] = [value]
    while pending:
        one = pending.pop()
        if not isinstance(one, Thing) or id(one) in seen:
            continue
        seen.add(id(one))
        if one in leaves:
            yield one
        if one in leaves or is_detached(one):
            continue
        yield one
        pending += [*one.source, *(one.values() if isinstance(one, Container) else ())]


def is_detached(thing: Thing) -> bool:
    node = thing.made.node if isinstance(thing, Tensor) and thing.made is not None else None
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in ("detach", "grad")


def has_gradient(value: Object, wanting: Collection[Thing]) -> bool:
    """Whether a tensor requires a gradient: it was asked to, or comes out of a module or of one that does."""
    return any(one in wanting or isinstance(one, Made) for one in history(value, wanting))
