"""A call in, out whether it makes something that changes the learning rate of an optimizer."""

from __future__ import annotations

import ast
import re

from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Class, Function, ModuleValue
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, words_in
from graphlint.values import External, Value

GROUPS = "param_groups"  # the attribute of every optimizer of torch


class Schedules:
    """Knows schedules of torch and of libraries by their names, and those of the program by what they do."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.lexicon = evaluator.lexicon

    def is_made(self, name: str, call: ast.Call, module: Module) -> bool:
        """Whether a call makes one: one of another library does if it is given something that the module steps."""
        if not self.lexicon.is_scheduler(name):
            return False
        match self._named(call.func, module):
            case Function(code=code):
                made = (called for called in map(_called, calls_in(code)) if called != code.name)
                return GROUPS in words_in(code.body) or any(map(self.lexicon.is_scheduler, made))
            case Class(definition=cls):
                derives = set(self.evaluator.external_bases(cls)) - {"builtins.object"}
                return bool(derives) or cls.module.holds(cls.segment, GROUPS)
            case External(name=qualified) if self.lexicon.is_catalogued(qualified):
                return True
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return not {_last_name(one) for one in given}.isdisjoint(module.ask(_stepped, self.lexicon.modules["steps"]))

    def _named(self, func: ast.expr, module: Module) -> Value | None:
        """What a dotted name stands for at the top level of a module."""
        match func:
            case ast.Name(id=name):
                return self.evaluator.module_member(module, name)
            case ast.Attribute(value=holder, attr=name):
                match self._named(holder, module):
                    case External(name=package):
                        return External(f"{package}.{name}")
                    case ModuleValue(module=inner):
                        return self.evaluator.module_member(inner, name)
        return None


def _stepped(text: str, steps: frozenset[str]) -> frozenset[str]:
    """The last names of what a module calls the methods of a training iteration of, or asks for its groups."""
    return frozenset(re.findall(rf"(\w+)(?:\[[^\]\n]*\])?\.(?:{'|'.join(sorted({*steps, GROUPS}))})\b", text))


def _called(call: ir.Call) -> str:
    match call.func:
        case ir.Name(id=name) | ir.Attribute(attr=name):
            return name
    return ""


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Subscript(value=holder):
            return _last_name(holder)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
