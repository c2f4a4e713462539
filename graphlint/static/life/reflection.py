"""Attributes by a name that is a value, and what the program asks of the kinds of objects."""

from __future__ import annotations

from abc import abstractmethod

from graphlint.static.life.captures import Captures
from graphlint.static.life.objects import Arguments, Frame, Instance, Made, Object, Outside, Place, Symbol, Thing
from graphlint.static.life.questions import ArrayAsked, identity
from graphlint.static.syntax import ir

_SETTING = "__setattr__"


class Reflection(Captures):
    """Evaluates `getattr` and its like."""

    @abstractmethod
    def set_attribute(self, owner: Object, name: str, value: Object, place: Place) -> None: ...

    def reflected(self, kind: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What `getattr`, `setattr` or `hasattr` gives."""
        owner, name, place = given.get(0), given.get(1), frame.place(node)
        if kind == "setattr":
            self._set(owner, name, given.get(2), place)
            return None
        if kind == "hasattr":
            if not isinstance(name, str) or not isinstance(owner, Instance):
                return Symbol()
            return name in owner.attributes or self.interpreter.classes.find(owner.cls, name) is not None
        if isinstance(name, str):
            return self.attribute(owner, name, frame, node)
        self.ledger.read(given.all(), place)
        made = Thing(place, self.ledger.capture, source=tuple(one for one in given.all() if isinstance(one, Thing)))
        if not isinstance(owner, Thing) or isinstance(owner, Instance):
            return made
        # What nobody knows the name of is the same when it is asked for by the same name.
        return self.passed(owner, _unnamed(name), owner.attributes.setdefault(_unnamed(name), made))

    def _set(self, owner: Object, name: Object, value: Object, place: Place) -> None:
        """Give an attribute a value, by a name that somebody may know."""
        if isinstance(name, str):
            self.set_attribute(owner, name, value, place)
        elif isinstance(owner, Thing) and not isinstance(owner, Instance):
            self.ledger.read(value, place)
            self.set_attribute(owner, _unnamed(name), value, place)

    def _super_method(self, owner: Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of a bound super class; Python's own sets an attribute."""
        receiver = owner.state["receiver"]
        if name == _SETTING and self.interpreter.classes.find(owner.state["of"], name, owner.state["after"]) is None:
            self._set(receiver, given.get(0), given.get(1), frame.place(node))
            return None
        return super()._super_method(owner, name, given, node, frame)

    def kind_of(self, value: Object, cls: Object) -> Symbol:
        """Whether something is of a class, which nobody knows; of an array, that is remembered."""
        arrays = self.interpreter.lexicon.life["arrays"]
        if type(value) is Thing and isinstance(cls, Outside) and cls.name in arrays:
            return ArrayAsked(value, ("isinstance", value, identity(cls)))
        return Symbol()


def _unnamed(name: Object) -> str:
    """What stands for a name that nobody knows."""
    return f"<{id(name)}>"
