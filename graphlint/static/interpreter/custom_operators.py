"""The name of an operator in, the functions of the program that implement it out: `torch.ops.engine.fused_moe`.

They are handed to the library under that name, by calls and decorators of it or of helpers around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Bound, Function
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name, walk
from graphlint.values import Place, Value, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_PATH = 4  # names: those of the library, of the operator's namespace, and its own


class CustomOperators:
    """The operators that a program registers; each is looked for once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._known: dict[tuple[str, str], tuple[Value, ...]] = {}

    def implementations(self, name: str) -> tuple[Value, ...]:
        """The functions that implement the operator that a dotted name, or one of its overloads, stands for."""
        *_, namespace, operator = name.split(".")[:_PATH]
        key = namespace, operator
        if key not in self._known:
            self._known[key] = ()
            self._known[key] = tuple(dict.fromkeys(self._find({operator, f"{namespace}::{operator}"}, operator)))
        return self._known[key]

    def _find(self, spellings: set[str], operator: str) -> Iterator[Value]:
        project = self.interpreter.project
        for module in dict.fromkeys(module for text in sorted(spellings) for module in project.saying(text)):
            yield from self._handed_over(module, spellings)
        for module in map(project.module_at, project.defining(operator)):
            yield from self._decorated(module, operator)

    def _handed_over(self, module: Module, spellings: set[str]) -> Iterator[Value]:
        """What calls at the top level of a module, and decorators, hand over under one of these names."""
        for segment in module.index.statements:
            if any(module.holds(segment, text) for text in spellings):
                for node in walk(module.lowered(segment)):
                    if isinstance(node, ir.Call) and self._implements(node) and self._says(node, spellings):
                        yield from self._functions(node, self.interpreter.names.module_frame(module, segment.first))
        for definitions in module.index.functions.values():
            for definition in definitions:
                code = definition.code if any(module.holds(definition.segment, text) for text in spellings) else None
                for decorator in code.decorators if code is not None else ():
                    if self._implements(decorator) and self._says(decorator, spellings):
                        yield from _plain(self.interpreter.names.definition(definition))

    def _decorated(self, module: Module, operator: str) -> Iterator[Value]:
        """A function of a module that a decorator registers under its own name."""
        for definition in module.index.functions.get(operator, ()):
            code = definition.code
            for decorator in code.decorators if code is not None else ():
                if self._implements(decorator):
                    yield from _plain(self.interpreter.names.definition(definition))

    def _implements(self, node: ir.Expr) -> bool:
        """Whether what is called takes what implements an operator, and not what describes one."""
        name, kinds = called_name(node) or "", self.interpreter.lexicon.operators
        return kinds["implements"].match(name) is not None and kinds["describes"].match(name) is None

    def _says(self, node: ir.Expr, spellings: set[str]) -> bool:
        """Whether a call is given one of these names, and is not for the host."""
        arguments = node.arguments if isinstance(node, ir.Call) else ()
        literals = (a.value.value for a in arguments if isinstance(a.value, ir.Literal))
        texts = {text for text in literals if isinstance(text, str)}
        place = self.interpreter.lexicon.place
        return not spellings.isdisjoint(texts) and all(place(text.lower()) is not Place.HOST for text in texts)

    def _functions(self, node: ir.Call, frame: Frame) -> Iterator[Value]:
        describes = self.interpreter.lexicon.operators["describes"]
        for argument in node.arguments:
            if describes.match(argument.keyword or "") is None:
                given = argument.value
                if isinstance(given, ir.Lambda):
                    yield from _plain(self.interpreter.eval(given, frame))
                else:
                    yield from _plain(self.interpreter.names.static_value(given, frame.module))


def _plain(value: Value) -> Iterable[Value]:
    return (member for member in members(value) if isinstance(member, (Bound, Function)))
