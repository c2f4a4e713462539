"""What is filled for replays alone, in an object that was prepared for a capture: a field that held nothing then."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import InputReplaced
from graphlint.static.index.module import Definition, Module
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Instance, Object, Place, Tensor, Thing, things_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    calls_in,
    fills_attribute,
    given_for,
    is_none,
    last_name,
    reads_attribute,
)

_CALLED = 3  # how far calls are followed that may set a field


@dataclass
class Late(Listener):
    """Follows one run; of captures that methods prepare for, whose objects belong to those."""

    tell: Tell
    prepared: dict[Capture, set[Thing]] = field(default_factory=dict)  # objects that a capture finds made for it
    filled: dict[tuple[object, str], Place] = field(default_factory=dict)

    def began(self, capture: Capture) -> None:
        if isinstance(capture.manager, Instance):
            held = (one for one in things_in(capture.manager) if one is not capture.manager)
            self.prepared[capture] = {one for one in held if isinstance(one, Instance) and not one.is_module}

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        is_prepared = any(owner in objects for objects in self.prepared.values())
        if before is None and is_prepared and any(isinstance(one, Tensor) for one in things_in(value)):
            self.filled[owner, name] = place

    def replayed(self, capture: Capture, place: Place) -> None:
        """Tell of what no graph can have read, and what the region asks for."""
        for (owner, name), where in self.filled.items():
            is_late = owner in self.prepared.get(capture, ())
            if is_late and _may_set(capture.place.function.code, where.function.module, name):
                continue  # it is a way that this run did not take
            if is_late and any(_reads(one, name) for one in _others(where.function.module, place, where)):
                self.tell(InputReplaced(name, capture.region.line, is_known=False, is_late=True), where, capture)
        self.filled.clear()


def _may_set(code: ir.Code, module: Module, name: str, depth: int = _CALLED) -> bool:
    """Whether a function sets an attribute on one of its ways, by a statement or in an object that it makes, or what it
    calls does, by name, in a file.
    """
    if fills_attribute(code, name):
        return True
    calls = calls_in(code)
    if any(_gives(call, module, name) for call in calls):
        return True
    called = {last_name(call.func) for call in calls} if depth else set()
    codes = (one.code for one in module.index.all_functions() if one.name in called)
    return any(one is not None and one is not code and _may_set(one, module, name, depth - 1) for one in codes)


def _gives(call: ir.Call, module: Module, name: str) -> bool:
    """Whether a call makes an object of a class of the file whose fields are listed, and gives it this one."""
    cls = module.index.classes.get(last_name(call.func) or "")
    if cls is None or name not in cls.annotations:
        return False
    given = given_for(call, name, [*cls.annotations].index(name))
    return given is not None and not is_none(given)


def _others(module: Module, *places: Place) -> list[Definition]:
    """The functions of a file in which none of these places stands."""
    codes = [one.function.code for one in places]
    return [one for one in module.index.all_functions() if one.code is not None and one.code not in codes]


def _reads(definition: Definition, name: str) -> bool:
    """Whether a function asks something for an attribute of this name."""
    code = definition.code
    if code is None or not definition.module.holds(definition.segment, name):
        return False
    return reads_attribute(code, name)
