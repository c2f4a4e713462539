"""A class and a method in, the methods that it leads to out, and those by which a stranger gets to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import TypeAlias

from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in, walk

Having: TypeAlias = Callable[[str], Iterable[ClassDefinition]]
CALLED = ("__call__", "forward")  # what objects are made for, if nothing else is known of them


def entrance_of(owner: ClassDefinition, name: str) -> str:
    """The method that a stranger calls to get to a method: the first that leads to one that is private."""
    if not name.startswith("_"):
        return name
    public = (one for one in owner.methods if not one.startswith("_") or one in CALLED)
    return next((one for one in public if name in leads_to(owner, one)), name)


def leads_to(owner: ClassDefinition, name: str) -> list[str]:
    """A method, and those of its class that it calls, directly or not."""
    found = [name] if name in owner.methods else []
    for one in found:
        called = (call.func for call in calls_of(owner, one) if isinstance(call.func, ir.Attribute))
        own = (func.attr for func in called if isinstance(func.value, ir.Name) and func.value.id == "self")
        found += dict.fromkeys(other for other in own if other in owner.methods and other not in found)
    return found


def calls_of(owner: ClassDefinition, name: str) -> tuple[ir.Call, ...]:
    """The calls that stand in a method."""
    code = owner.methods[name][-1].code
    return calls_in(code) if code is not None else ()


def switches_of(owner: ClassDefinition, name: str) -> Iterator[tuple[str, str]]:
    """The other methods that set a flag which a method asks, itself or by those that it leads to, and the flag."""
    own = leads_to(owner, name)
    asked = {
        part.attr
        for one in own
        if (code := owner.methods[one][-1].code) is not None
        for test in (node.test for node in walk(code.body) if isinstance(node, ir.If))
        for part in walk(test)
        if isinstance(part, ir.Attribute)
    }
    for other, definitions in owner.methods.items():
        code = definitions[-1].code
        if code is None or other in ("__init__", *own):
            continue
        for node in assignments_in(code):
            if isinstance(node.value, ir.Literal) and node.value.value is True:
                flags = (one.attr for one in node.targets if isinstance(one, ir.Attribute) and one.attr in asked)
                yield from ((other, flag) for flag in flags)


def changes_of(owner: ClassDefinition, names: Iterable[str], moving: Set[str], having: Having) -> Iterator[str]:
    """The public methods that exchange what an object holds, and that neither these methods nor others come to.

    Methods that may exchange what a model is made of are `moving`; `having` are the classes with a method of a name.
    """
    led = {other for name in names for other in leads_to(owner, name)}
    led |= {other for name in owner.methods for other in leads_to(owner, name)[1:]}
    for name in owner.methods:
        is_open = name not in led and not name.startswith("_")
        if is_open and any(
            _exchanges(owner, one, moving) or _lets_exchange(owner, one, having) for one in leads_to(owner, name)
        ):
            yield name


def _lets_exchange(owner: ClassDefinition, name: str, having: Having) -> bool:
    """Whether a method calls one of what the object holds that exchanges what that holds."""
    calls = (one.func for one in calls_of(owner, name))
    held = {one.attr for one in calls if isinstance(one, ir.Attribute) and isinstance(one.value, ir.Attribute)}
    return any(
        _exchanges(other, method, frozenset()) for method in held for other in having(method) if other is not owner
    )


def _exchanges(owner: ClassDefinition, name: str, moving: Set[str]) -> bool:
    """Whether a method gives attributes something else, or moves what they hold."""
    code = owner.methods[name][-1].code
    if code is None:
        return False
    given = (node.targets for node in assignments_in(code) if not isinstance(node.value, ir.Literal))
    calls = (one.func for one in calls_in(code))
    is_moved = any(isinstance(func, ir.Attribute) and func.attr in moving for func in calls)
    return is_moved or any(isinstance(target, ir.Attribute) for targets in given for target in targets)
