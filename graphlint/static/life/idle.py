"""Classes in, buffers out that are made for graphs alone and that nothing fills: fresh tensors are handed over instead.

No region needs to be seen for that: who makes a buffer where graphs are asked for means it to be what they read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from graphlint.reading.questions import HoldsAny, HoldsLine
from graphlint.rule import IdleBuffer
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.index.project import Project
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.hooks import classes_of
from graphlint.static.life.objects import Capture, Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in, is_one_of, walk
from graphlint.static.syntax.trees import nodes_in, tree_of

_ASKED = HoldsLine("graph", r"[ \t]+if [^\n]*graph[^\n]*:[^\n]*\n(?:[ \t]*#[^\n]*\n)*[ \t]+self\.\w+ = ")
_MIN_NAME = 5  # letters that make the name of what is handed over telling


class Buffer(NamedTuple):
    """An attribute that is made where graphs are asked for: its name, and the place."""

    name: str
    place: Place


def idle_buffers(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[tuple[IdleBuffer, Place, Capture]]:
    """What methods hand over in place of the buffers of their class that nothing reads or fills."""
    for path in files:
        if not interpreter.project.ask(path, _ASKED):
            continue
        for owner in classes_of(interpreter.project.module_at(path)):
            for buffer in _made_for_graphs(interpreter, owner):
                handed = [*_handed_over(owner, buffer.name)]
                if handed and not _is_used(interpreter.project, buffer.name):
                    longest = max(len(name) for name, _ in handed)  # of `x` and `y_x`, the latter is what it is for
                    for name, place in [one for one in handed if len(one[0]) == longest]:
                        event = IdleBuffer(buffer.name, name, buffer.place.line)
                        yield event, place, Capture.unseen("__init__", buffer.place)


def _made_for_graphs(interpreter: Interpreter, owner: ClassDefinition) -> Iterator[Buffer]:
    """The tensors that a constructor makes under a condition that asks for graphs."""
    for function in _functions(owner):
        if function.code.name != "__init__":
            continue
        for branch in (one for one in walk(function.code.body) if isinstance(one, ir.If)):
            if not any(interpreter.lexicon.host_state["captures"].match(name) for name in _words(branch.test)):
                continue
            for part in walk(branch.body):
                match part:
                    case ir.Assign(
                        targets=(ir.Attribute(value=ir.Name(id="self"), attr=name),), value=ir.Call(func=func)
                    ):
                        made = interpreter.catalogue.find(interpreter.names.qualified_name(func, function.module))
                        if made is not None and made.returns == "factory":
                            yield Buffer(name, Place(function, part))


def _handed_over(owner: ClassDefinition, buffer: str) -> Iterator[tuple[str, Place]]:
    """Where methods give something else the tensor of a call by the name that a buffer has, but for what it is for."""
    for function in _functions(owner):
        if function.code.name == "__init__":
            continue
        made = {name for one in assignments_in(function.code) for name in _made_by_call(one)}
        for part in assignments_in(function.code):
            for target in part.targets:
                if isinstance(target, ir.Attribute) and _is_for(buffer, target.attr) and is_one_of(part.value, made):
                    yield target.attr, Place(function, part)
        for call in calls_in(function.code):
            for one in call.arguments:
                if one.keyword is not None and _is_for(buffer, one.keyword) and is_one_of(one.value, made):
                    yield one.keyword, Place(function, call)


def _made_by_call(node: ir.Assign) -> Iterator[str]:
    """The local names that get what a call gives."""
    if isinstance(node.value, ir.Call):
        for target in node.targets:
            parts = target.elements if isinstance(target, ir.Display) else (target,)
            yield from (part.id for part in parts if isinstance(part, ir.Name))


def _is_for(buffer: str, name: str) -> bool:
    """Whether a buffer is called after what it is for, and something before or behind that."""
    return len(name) >= _MIN_NAME and name != buffer and (buffer.endswith(f"_{name}") or buffer.startswith(f"{name}_"))


def _functions(owner: ClassDefinition) -> Iterator[Function]:
    for definitions in owner.methods.values():
        function = function_of(definitions[-1], owner)
        if function is not None:
            yield function


def _words(test: ir.Expr) -> Iterator[str]:
    """The names in a condition."""
    for part in walk(test):
        match part:
            case ir.Name(id=name) | ir.Attribute(attr=name):
                yield name


def _is_used(project: Project, name: str) -> bool:
    """Whether anything reads an attribute, fills what it holds, or has its name in a string."""
    paths = project.answering(HoldsAny([name]))
    return any(_uses(project.module_at(path), name) for path in paths)


def _uses(module: Module, name: str) -> bool:
    for _, segment in segments_with(module, name, is_word):
        tree = tree_of(module.source_of(segment))
        for part in nodes_in(tree) if tree is not None else ():
            match part:
                case ast.Name(id=known, ctx=ast.Load()) | ast.Attribute(attr=known, ctx=ast.Load()) if known == name:
                    return True
                case ast.Constant(value=str() as text) if text == name:
                    return True
    return False
