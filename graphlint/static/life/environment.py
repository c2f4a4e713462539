"""What a run asks of the environment of its process: files that are not tried both ways find nothing set there.

What such a file makes of that is a switch that somebody may turn: whoever else asks for it is tried both ways.
"""

from __future__ import annotations

from contextlib import suppress

from graphlint.static.index.module import Module
from graphlint.static.life.objects import PLAIN, Arguments, Frame, Object, Symbol
from graphlint.static.life.records import Records
from graphlint.static.syntax import ir

_SPELLING = frozenset({"casefold", "lower", "strip", "upper"})  # methods of texts, which make no difference to switches
_NUMBERS = {"int": int, "float": float, "bool": bool}


class Environment(Records):
    """Knows what variables of the environment lead to."""

    unset = 0  # how often something was asked for that nobody has set

    def call_outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call by qualified name; of a variable of the environment, what is to be taken instead."""
        if name in self.interpreter.lexicon.life["environment"] and not self.is_tried(frame.place(node)):
            self.unset += 1
            return given.get(1, "default")
        return super().call_outside(name, given, node, frame)

    def call_method(self, receiver: Object, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of what is not of the project; a text is that text in another spelling."""
        if isinstance(receiver, str) and name in _SPELLING and not given.all():
            return str(getattr(receiver, name)())
        return super().call_method(receiver, name, given, node, frame)

    def call_builtin(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a function of Python's own gives; a number that a text spells is that number."""
        first = given.get(0)
        if name in _NUMBERS and isinstance(first, (str, int)) and len(given.all()) == 1:
            with suppress(ValueError):
                return _NUMBERS[name](first)
        return super().call_builtin(name, given, node, frame)

    def assign_global(self, module: Module, name: str) -> None:
        """Run the statements at the top level of a file that assign a name."""
        asked = self.unset
        super().assign_global(module, name)
        known = self.modules.get(module, {})
        if name in known:
            known[name] = self.turned(known[name], asked, module)

    def turned(self, value: Object, asked: int, module: Module) -> Object:
        """What a file has made of the environment, if that was asked since: a switch, which likely stands like that."""
        is_plain = isinstance(value, PLAIN) and self.unset != asked and module is not self.home
        return Symbol(likely=bool(value)) if is_plain else value
