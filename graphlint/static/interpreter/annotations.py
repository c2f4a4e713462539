"""Annotations in, the values that they promise out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.static.domain.program import Class, Instance
from graphlint.static.index.module import Module
from graphlint.static.models import results
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.static.syntax.traversal import last_name
from graphlint.values import (
    NONE,
    UNKNOWN,
    External,
    ExternalObject,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Union,
    Value,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

PROMISED_CALLABLE = "typing.Callable"  # the class of what is promised to give objects of the project when it is called
_SCALARS = {"int": "int", "float": "float", "bool": "bool", "str": "str", "bytes": "str", "complex": "float"}
_SEQUENCES = {"list": "list", "List": "list", "tuple": "tuple", "Tuple": "tuple", "set": "set", "Sequence": "list",
              "Iterable": "list", "Iterator": "iterator", "Generator": "iterator"}  # fmt: skip
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"})
_TRANSPARENT = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"})


class Annotations:
    """Says what annotations promise."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.known: dict[tuple[Module, str | ir.Expr], Value] = {}

    def quoted(self, source: str, module: Module) -> Value:
        """The value that an annotation, given as source, promises."""
        key = (module, source)
        if key not in self.known:
            self.known[key] = UNKNOWN
            node = lower_expression(source)
            if node is not None:
                self.known[key] = self.promised(node, module)
        return self.known[key]

    def promised(self, node: ir.Expr, module: Module) -> Value:
        """The value that an annotation promises."""
        key = (module, node)  # a node is equal to itself alone
        if key not in self.known:
            self.known[key] = self._promised(node, module)
        return self.known[key]

    def _promised(self, node: ir.Expr, module: Module) -> Value:
        match node:
            case ir.Literal(value=None):
                return NONE
            case ir.Literal(value=str(text)) if text.strip():
                return self.quoted(_quoted(text), module)
            case ir.Binary(operator="|"):
                return union((self.promised(node.left, module), self.promised(node.right, module)))
            case ir.Subscript():
                return self._generic(node, module)
            case ir.Name() | ir.Attribute():
                found = self._of_class(self.interpreter.names.static_value(node, module))
                return self._alias(node.id, module) if found == UNKNOWN and isinstance(node, ir.Name) else found
        return UNKNOWN

    def _alias(self, name: str, module: Module) -> Value:
        """What `Size = tuple[int, int]` promises, here or where it is imported from."""
        for segment in module.index.assignments.get(name, ()):
            for statement in module.lowered(segment):
                if isinstance(statement, ir.Assign) and isinstance(statement.value, (ir.Subscript, ir.Binary)):
                    return self.promised(statement.value, module)
        for imported in module.index.imports.get(name, ()):
            source = self.interpreter.project.module(imported.module) if imported.member else None
            if source is not None and source is not module and imported.member is not None:
                return self._alias(imported.member, source)
        return UNKNOWN

    def _of_class(self, value: Value) -> Value:
        match value:
            case Class():
                return self.interpreter.heap.promised(value.definition)
            case Union():
                return union(self._of_class(member) for member in value.members)
            case External():
                return self._of_name(value.name)
        return UNKNOWN

    def _of_name(self, qualified: str) -> Value:
        """What a class outside the project promises."""
        module, _, name = qualified.rpartition(".")
        if module == "builtins" and name in _SCALARS:
            return Host(_SCALARS[name])
        lexicon, catalogue = self.interpreter.lexicon, self.interpreter.catalogue
        known = catalogue.named(qualified)
        if known in lexicon.tensor_classes:
            return Tensor(Place.ANYWHERE, None, lexicon.dtypes.get(known), Confidence.MEDIUM)
        kind = lexicon.promised(known)
        if kind is not None:
            return results.plain(kind)
        if name in _SEQUENCES and module in ("builtins", "typing", "collections.abc"):
            return Sequence(_SEQUENCES[name], None, UNKNOWN)
        if name in _MAPPINGS and module in ("builtins", "typing", "collections.abc", "collections"):
            return Mapping((), UNKNOWN)
        return ExternalObject(qualified, is_open=True) if catalogue.is_class(qualified) else UNKNOWN

    def _generic(self, node: ir.Subscript, module: Module) -> Value:
        name = last_name(node.value)
        index = node.index
        arguments = index.elements if isinstance(index, ir.Display) and index.kind == "tuple" else (index,)
        if name in _TRANSPARENT:
            promised = [self.promised(argument, module) for argument in arguments[: 1 if name == "Annotated" else None]]
            return union([*promised, NONE] if name == "Optional" else promised)
        if name in _SEQUENCES:
            parts = [self.promised(argument, module) for argument in arguments if not _is_ellipsis(argument)]
            if _SEQUENCES[name] == "tuple" and len(parts) == len(arguments):
                return Sequence("tuple", tuple(parts))
            return Sequence(_SEQUENCES[name], None, parts[0] if parts else UNKNOWN)
        if name in _MAPPINGS:
            return Mapping((), self.promised(arguments[-1], module))
        if name == "Literal":
            return UNKNOWN
        if name in ("type", "Type", "Callable"):  # the last word is what a call gives
            made = self.promised(arguments[-1], module)
            is_object = any(isinstance(member, Instance) for member in members(made))
            return ExternalObject(PROMISED_CALLABLE, (("result", made),)) if is_object else UNKNOWN
        if name == "Unpack":
            return UNKNOWN
        found = self.promised(node.value, module)
        if found != UNKNOWN:
            return found
        # `Float[Tensor, "batch width"]` and its like say what it is first.
        return next((p for a in arguments if isinstance(p := self.promised(a, module), Tensor)), UNKNOWN)


def _quoted(source: str) -> str:
    try:
        ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return "None"
    return source.strip()


def _is_ellipsis(node: ir.Expr) -> bool:
    return isinstance(node, ir.Literal) and node.value is ...
