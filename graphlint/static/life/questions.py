"""Questions about objects that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.static.life.objects import PLAIN, ClassRef, Container, Object, Outside, Place, Symbol, Tensor, Thing

OF_HOST = ("cpu", "host", "np")  # the last words of names of what no graph reads


class Question(Symbol):
    """The answer to a comparison that nobody knows; `is_counted` if no number in it is spelt out."""

    __slots__ = ("asked", "is_counted")

    def __init__(self, asked: tuple[object, ...], is_counted: bool = False) -> None:
        super().__init__()
        self.asked = asked
        self.is_counted = is_counted


class ArrayAsked(Question):
    """The answer to whether something is an array, which nobody knows."""

    __slots__ = ("array",)

    def __init__(self, array: Thing, asked: tuple[object, ...]) -> None:
        super().__init__(asked)
        self.array = array


class Opposite(Symbol):
    """`not` of what nobody knows."""

    __slots__ = ("negated",)

    def __init__(self, negated: Object) -> None:
        super().__init__()
        self.negated = negated


def identity(value: Object) -> object:
    """What a value is known by as a key: what it is where that is plain, its elements in a tuple, else itself."""
    if isinstance(value, (*PLAIN, Outside, ClassRef)):
        return (type(value).__name__, value)
    if isinstance(value, Container) and value.kind == "tuple":
        return tuple(identity(element) for element in value.elements)
    return value


def spelt(key: Object) -> str:
    """How a key is called: as it is written where that is plain; what others hold goes on without an end."""
    return str(key) if isinstance(key, PLAIN) else type(key).__name__.lower()


def same(left: Object, right: Object) -> bool | None:
    """Whether two values are one object; None where nobody knows."""
    if left is right:
        return True
    unknown = [side for side in (left, right) if type(side) is Thing or isinstance(side, Symbol)]
    are_named = all(isinstance(side, (*PLAIN, Outside, ClassRef)) for side in (left, right))
    if None in (left, right) and any(isinstance(side, Symbol) and side.read is not None for side in unknown):
        return False  # a number, which was read out of a tensor
    return None if unknown else (left == right if are_named else False)


def holds(container: Container, value: Object) -> bool | None:
    """Whether a container holds a value; None where nobody knows."""
    known = [key for key, _ in container.keyed.values()] if container.kind == "dict" else container.elements
    held = {identity(one) for one in known}
    if identity(value) in held:
        return True
    is_certain = isinstance(value, (*PLAIN, Symbol, Thing)) and not container.is_open
    if not held and is_certain:
        return False
    return False if is_certain and all(map(is_plain, (value, *known))) else None


def is_plain(value: Object) -> bool:
    """Whether a value is known by what it is, and so are its elements in a tuple."""
    if isinstance(value, Container) and value.kind == "tuple":
        return not value.is_open and all(map(is_plain, value.elements))
    return isinstance(value, (*PLAIN, Outside, ClassRef))


def positive(sign: str) -> tuple[str, bool]:
    """A comparison without its negation, and whether it had one."""
    return {"is not": ("is", True), "not in": ("in", True), "!=": ("==", True)}.get(sign, (sign, False))


def read_in(values: Iterable[Object]) -> Place | None:
    """Where the first of some values was read out of a tensor."""
    return next((value.read for value in values if isinstance(value, Symbol) and value.read is not None), None)


def parts_of(value: Object) -> Iterator[Object]:
    """A value, and what it was computed from."""
    pending, seen = [value], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        match one:
            case Container():
                pending += one.values()
            case Symbol():
                pending += one.of
            case Thing():
                pending += [*one.source, *one.numbers, *(one.bounds.values() if isinstance(one, Tensor) else ())]


def things_of(values: Iterable[Object]) -> frozenset[Thing]:
    """What a number is computed from that comes out of some values."""
    behind = ((one,) if isinstance(one, Thing) else one.of if isinstance(one, Symbol) else () for one in values)
    return frozenset(thing for things in behind for thing in things)


def is_class(name: str) -> bool:
    """Whether a name outside the project is written as classes are."""
    return name.rpartition(".")[2][:1].isupper()
