"""The catalogue of operations in; what a call by its qualified name returns and does under capture out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphlint.rulebook.effects import Condition, Effect, effect
from graphlint.rulebook.operators import OPERATORS, without_overload
from graphlint.rulebook.signatures import Operation, Parameter, parameters

FUNCTIONS, TENSOR = "torch", "torch.Tensor"  # most methods of the one are functions of the other

_READ = {"number": "scalar-readback", "int": "tensor-as-size", "size": "tensor-as-size"}
_SEVERAL = "tensors"  # what a function calls the first of its parameters that takes a list of them: no tensor has it
_ELEMENTWISE = frozenset({"elementwise", "promoted", "bool-tensor"})


@dataclass(frozen=True, slots=True)
class Row:
    """An operation as it stands in a table; the signature of an attribute is empty."""

    namespace: str
    returns: str
    signature: str


class Catalogue:
    """Operations by qualified name; rows are read when they are first asked for."""

    def __init__(
        self,
        rows: dict[str, Row],
        bases: dict[str, str],
        effects: dict[str, list[dict[str, str]]],
        aliases: dict[str, str],
        methods: dict[str, frozenset[str]],
        operators: dict[str, Operation | str],
        families: dict[str, frozenset[str]],
    ) -> None:
        self._rows = rows
        self._bases = bases
        self.effects = effects
        self.aliases = aliases
        self.operators = operators
        self.families = families
        self.telling = methods["telling"]
        self.views = methods["views"]
        self._patterns = [(_pattern(alias), name) for alias, name in aliases.items() if "*" in alias]
        self._found: dict[str, Operation | None] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def find(self, name: str) -> Operation | None:
        """The operation called `name`: its own row, or that of its alias, base class, function or out-of-place form."""
        if name not in self._found:
            self._found[name] = None
            self._found[name] = self._search(name)
        return self._found[name]

    def function(self, name: str) -> Operation | None:
        """A function on tensors."""
        return self.find(f"{FUNCTIONS}.{name}")

    def method(self, name: str) -> Operation | None:
        """A method or attribute of tensors."""
        return self.find(f"{TENSOR}.{name}")

    def named(self, name: str) -> str:
        """The name under which the catalogue knows something, its own where it does not."""
        operation = self.find(name)
        return name if operation is None else operation.name

    def call(self, name: str) -> Operation | None:
        """What a call of an instance of the class `name` does."""
        return self.find(f"{name}.forward") or self.find(f"{name}.__call__")

    def is_class(self, name: str) -> bool:
        row = self._rows.get(self.aliases.get(name, name))
        return row is not None and row.returns == "instance"

    def _search(self, name: str) -> Operation | None:
        if name in self._rows:
            return self._read(name)
        if name in self.aliases:
            return self.find(self.aliases[name])
        if name.startswith(OPERATORS):
            return self._operator(name)
        return self._inherited(name) or self._in_place(name) or self._method(name) or self._matched(name)

    def _operator(self, name: str) -> Operation | None:
        """The row of an operator, of its overload or of all of them, and what is known of the function that it is."""
        schema = without_overload(name)
        row = self.operators.get(name)
        if isinstance(row, str):
            return self.find(row)
        if row is None and schema != name:
            return self.find(schema)
        function = self._matched(schema) or self._in_place(schema)
        if row is None:
            return function
        return row if function is None else replace(row, returns=function.returns, effects=row.effects + function.told)

    def _inherited(self, name: str) -> Operation | None:
        owner, _, member = name.rpartition(".")
        if owner in self.aliases:
            return self.find(f"{self.aliases[owner]}.{member}")
        row = self._rows.get(owner)
        base = self._bases.get(row.namespace) if row is not None and row.returns == "instance" else None
        return self.find(f"{base}.{member}") if base not in (None, owner) else None

    def _method(self, name: str) -> Operation | None:
        owner, _, member = name.rpartition(".")
        function = self.function(member) if owner == TENSOR else None
        if function is None or (function.params and function.params[0].name == _SEVERAL):
            return None
        return _as_method(function, name)

    def _in_place(self, name: str) -> Operation | None:
        if not name.endswith("_") or name.endswith("__"):
            return None
        function = self.find(name[:-1])
        return replace(function, name=name, returns="self") if function is not None else None

    def _matched(self, name: str) -> Operation | None:
        for pattern, targets in self._patterns:
            match = pattern.fullmatch(name)
            if match is not None:
                found = (self.find(target.replace("*", match["rest"])) for target in targets.split("|"))
                return next((operation for operation in found if operation is not None), None)
        return None

    def _read(self, name: str) -> Operation:
        row = self._rows[name]
        params = parameters(row.signature)
        returns = name if row.returns == "instance" else row.returns
        entries = [*self.effects.get(name, ()), *self.effects.get(f"{name.rpartition('.')[0]}.*", ())]
        implied = (replace(one, is_implied=True) for one in _implied(row.returns, params or ()))
        effects = (*(effect(entry) for entry in entries), *implied)
        elementwise = row.returns in _ELEMENTWISE and sum(not param.type for param in params or ()) > 1
        return Operation(name, params, returns, effects, attribute=not row.signature, is_elementwise=elementwise)


def _pattern(alias: str) -> re.Pattern[str]:
    """A `*` stands for one module's name, and the last one for the rest."""
    head, _, tail = alias.rpartition("*")
    return re.compile(re.escape(head).replace(r"\*", "[a-z0-9_]+") + "(?P<rest>.+)" + re.escape(tail))


def _implied(returns: str, params: tuple[Parameter, ...]) -> list[Effect]:
    """What follows from the kind of result and the types of the parameters."""
    effects = [Effect(_READ[param.type], (Condition("device", param.name),)) for param in params if param.type]
    if returns == "factory":
        effects.append(Effect("region-allocation", (Condition("cuda", "device"), Condition("absent", "out"))))
    if returns == "device-tensor":
        effects.append(Effect("region-allocation"))
    if returns == "like":
        effects.append(Effect("region-allocation", (Condition("device", "*"),)))
    return effects


def _as_method(function: Operation, name: str) -> Operation:
    """The function with its first parameter as the receiver."""
    if not function.params:
        return replace(function, name=name)
    first = function.params[0].name
    effects = tuple(
        replace(effect, when=tuple(_renamed(one, first) for one in effect.when)) for effect in function.effects
    )
    return replace(function, name=name, params=(Parameter("self"), *function.params[1:]), effects=effects)


def _renamed(condition: Condition, first: str) -> Condition:
    return replace(condition, argument="self") if condition.argument == first else condition
