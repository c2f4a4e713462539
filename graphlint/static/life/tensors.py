"""What is asked of the tensors and modules of a rehearsed run: what they hold, and what they were computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, TypeGuard

from graphlint.rulebook.operations import TENSOR
from graphlint.rulebook.signatures import Operation
from graphlint.static.life.objects import (
    Arguments,
    Container,
    Instance,
    Made,
    Object,
    Place,
    Symbol,
    Tensor,
    Thing,
    things_in,
)
from graphlint.static.life.record import Write
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

_ALIKE = "_like"  # how the name ends of what gives a tensor as large as another one
_TO_HOST = frozenset({f"{TENSOR}.cpu", f"{TENSOR}.numpy"})


def sizes_asked(operation: Operation | None, given: Arguments) -> tuple[Object, ...] | None:
    """The sizes of the tensor that an operation is asked to make, if they come first."""
    first = operation.params[0] if operation is not None and operation.params else None
    if first is None or first.type != "size" or not given.positional:
        return None
    one = given.positional[0]
    if isinstance(one, Container):
        return None if one.is_open else tuple(one.elements)
    return tuple(given.positional)


def several(view: Tensor) -> Container:
    """A tuple of views."""
    view.is_part = True
    views: list[Object] = [view, Tensor(view.made, base=view.base, is_part=True)]
    return Container(view.made, view.made_in, kind="tuple", elements=views)


def modules_in(value: Object) -> list[Thing]:
    """A module and those that it holds."""
    return [one for one in things_in(value) if isinstance(one, Made) or (isinstance(one, Instance) and one.is_module)]


def is_parallel(value: object) -> TypeGuard[Made]:
    """Whether a value is a module that is wrapped to run on several devices, whose gradients are summed up."""
    return isinstance(value, Made) and value.cls.endswith("DistributedDataParallel")


def parts_of(module: Thing, place: Place, is_named: bool) -> Container:
    """The modules that one holds, and itself, which `modules()` gives as well; with their names, if those are asked."""
    held: list[Object] = [*modules_in(module)]
    if is_named:
        held = [Container(place, kind="tuple", elements=[Symbol(), one]) for one in held]
    return Container(place, elements=held)


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


def shape_of(tensor: Tensor, sized: Collection[str]) -> Thing:
    """The sizes of a tensor: those of another one, or those that it was just made by, by a function for that."""
    first = next(iter(tensor.source), None)
    if tensor.factory.endswith(_ALIKE) and isinstance(first, Tensor):
        shape: Thing = first.attributes.setdefault("shape", shape_of(first, sized))
        return shape
    sizes = tensor.sizes if tensor.factory in sized else None
    if sizes and all(type(size) is int for size in sizes):
        return Container(tensor.made, tensor.made_in, kind="tuple", elements=list(sizes))
    return Thing(source=(tensor,))


def is_of_host(root: Thing) -> bool:
    return isinstance(root, Tensor) and (root.place == "host" or root.factory in _TO_HOST)


def is_copied(root: Thing) -> bool:
    return isinstance(root, Tensor) and root.factory.rpartition(".")[2] == "clone"


def is_detached(thing: Thing) -> bool:
    node = thing.made.node if isinstance(thing, Tensor) and thing.made is not None else None
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in ("detach", "grad")


def has_gradient(value: Object, wanting: Collection[Thing]) -> bool:
    """Whether a tensor requires a gradient: it was asked to, or comes out of a module or of one that does."""
    return any(one in wanting or isinstance(one, Made) for one in history(value, wanting))


class End(NamedTuple):
    """What says where a view ends, as it is written, and its value: `n` in `buffer[:n]`."""

    spelt: str
    value: Object
    code: ir.Code

    def is_same(self, other: End, is_keyed: bool) -> bool:
        """Whether another one is as far: the same value, or what one function cuts by, each of which has a graph."""
        is_alike = is_keyed and self.spelt == other.spelt and self.code is other.code
        return is_alike or (self.value is not None and self.value is other.value)


def end_of(target: Thing | None, place: Place) -> End | None:
    """Where a view ends that is written to, or read, at a place."""
    while isinstance(target, Tensor):
        for part in walk(target.index) if target.index is not None else ():
            if isinstance(part, ir.Slice):
                lower, upper, _ = part.bounds
                if upper is not None and is_start(lower) and not isinstance(upper, ir.Literal):
                    cut = target.made or place  # the view may come from another function
                    return End(cut.function.source(upper), target.bounds.get(upper), cut.function.code)
        target = target.base
    return None


def only_grows(writes: Iterable[Write], end: Object) -> bool:
    """Whether no write went further than this number, so that nothing of before lies behind it."""
    ends = [end_of(one.target, one.place) for one in writes]
    known = [one.value for one in ends if one is not None and type(one.value) is int]
    return type(end) is int and len(known) == len(ends) and max(known, default=end) <= end


def begin_alike(one: Thing, other: Thing) -> bool:
    """Whether two tensors lie in one memory from the same place on, whatever their length."""
    wholes = [part.base if _is_beginning(part) else part for part in (one, other) if isinstance(part, Tensor)]
    return len(wholes) == 2 and wholes[0] is wholes[1]


def _is_beginning(part: Tensor) -> bool:
    return isinstance(part.index, ir.Slice) and is_start(part.index.bounds[0]) and part.index.bounds[2] is None


def is_start(lower: ir.Expr | None) -> bool:
    """Whether a slice begins where the dimension does."""
    return lower is None or (isinstance(lower, ir.Literal) and lower.value == 0)
