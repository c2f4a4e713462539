"""A class and a method in, the methods that it leads to out, and those by which a stranger gets to it."""

from __future__ import annotations

from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import assignments_in, calls_in, fills_attribute, reads_attribute, walk

CALLED = ("__call__", "forward")  # what objects are made for, if nothing else is known of them


def entrance_of(owner: ClassDefinition, name: str) -> str:
    """The method that a stranger calls to get to a method: the first that leads to one that is private."""
    if not name.startswith("_"):
        return name
    public = (one for one in owner.methods if not one.startswith("_") or one in CALLED)
    return next((one for one in public if name in leads_to(owner, one)), name)


@remembered_in_run
def leads_to(owner: ClassDefinition, name: str) -> tuple[str, ...]:
    """A method, and those of its class that it calls, directly or not."""
    found = [name] if name in owner.methods else []
    for one in found:
        called = (call.func for call in calls_of(owner, one) if isinstance(call.func, ir.Attribute))
        own = (func.attr for func in called if isinstance(func.value, ir.Name) and func.value.id == "self")
        found += dict.fromkeys(other for other in own if other in owner.methods and other not in found)
    return tuple(found)


def calls_of(owner: ClassDefinition, name: str) -> tuple[ir.Call, ...]:
    """The calls that stand in a method."""
    code = owner.methods[name][-1].code
    return calls_in(code) if code is not None else ()


@remembered_in_run
def switches_of(owner: ClassDefinition, name: str) -> tuple[tuple[str, str], ...]:
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
    found: list[tuple[str, str]] = []
    for other, definitions in owner.methods.items():
        code = definitions[-1].code
        if code is None or other in ("__init__", *own):
            continue
        for node in assignments_in(code):
            if isinstance(node.value, ir.Literal) and node.value.value is True:
                flags = (one.attr for one in node.targets if isinstance(one, ir.Attribute) and one.attr in asked)
                found += ((other, flag) for flag in flags)
    return tuple(found)


@remembered_in_run
def setters_of(owner: ClassDefinition, name: str) -> tuple[tuple[str, str], ...]:
    """The other methods that set an attribute which a method asserts to be there, as `switches_of` has them."""
    own = leads_to(owner, name)
    codes = [code for one in own if (code := owner.methods[one][-1].code) is not None]
    asserted = {  # in the order of the source
        part.attr: None
        for code in codes
        for node in walk(code.body)
        if isinstance(node, ir.Assert)
        for part in walk(node.test)
        if isinstance(part, ir.Attribute) and isinstance(part.value, ir.Name) and part.value.id == "self"
    }
    others = [one for one in owner.methods if one not in ("__init__", *own)]
    return tuple((other, attribute) for other in others for attribute in asserted if sets(owner, other, attribute))


def is_abstract(owner: ClassDefinition, name: str) -> bool:
    """Whether a method does nothing but raise, so that other classes have to say what it does."""
    code = owner.methods[name][-1].code
    told = [one for one in code.body if not isinstance(one, ir.Evaluate)] if code is not None else []
    return len(told) == 1 and isinstance(told[0], ir.Raise)


def sets(owner: ClassDefinition, name: str, attribute: str) -> bool:
    """Whether a method gives an attribute something."""
    code = owner.methods[name][-1].code
    return code is not None and fills_attribute(code, attribute)


def looks_at(owner: ClassDefinition, name: str) -> set[str]:
    """The methods that read an attribute; to assign it is no reading."""
    codes = {method: definitions[-1].code for method, definitions in owner.methods.items()}
    return {method for method, code in codes.items() if code is not None and reads_attribute(code, name)}
