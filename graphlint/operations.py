"""The catalogue of operations in; what a call by its qualified name returns and does under capture out."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from graphlint.effects import Condition, Effect, asked, effect, mistake
from graphlint.errors import UsageError
from graphlint.rulebook import builtin_rules

__all__ = ["Catalogue", "Condition", "Effect", "Operation", "Parameter", "builtin_catalogue", "load_catalogue"]

Value = TypeVar("Value")

_READ = {"number": "scalar-readback", "int": "tensor-size", "size": "tensor-size"}
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "x": "input"}
_OPERANDS = frozenset({"elementwise", "bool-tensor"})
_OPERATORS = "torch.ops."  # begins the names of operators, as `torch.ops.aten.add.Tensor` for `aten::add.Tensor`
_SCHEMA_PARTS = 4  # of such a name, before that of the overload
_SCHEMA = re.compile(r"(?P<namespace>\w+)::(?P<name>\w+(\.\w+)?)(?P<signature>\([\w, ]*\))?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: `type` is `number`, `int` or `size` (integers) where the value is read on the host."""

    name: str
    type: str = ""
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """A callable or an attribute by its qualified name; a method's first parameter is `self`.

    `returns` is the qualified name of a class (it holds a dot: an instance of that class) or one of

    tensor                a tensor on the device of the tensor arguments; its rank is not known
    elementwise           the same, with the rank of the arguments broadcast
    same-shape            the same, with the rank of the first tensor argument
    bool-tensor           like elementwise, of booleans; int-tensor: like same-shape, of integers
    indices               like tensor, of integers
    scalar-tensor         a tensor of rank 0
    reduction             rank 0 unless `dim` is given; bool-reduction, int-reduction: of booleans, of integers
    extremum              one argument: rank 0; a second one that is a tensor: elementwise; else a pair of reductions
    where                 only a condition: a tuple of tensors; else elementwise
    unique                a tensor, or a tuple of tensors if `return_inverse` or `return_counts` is true
    loss                  rank 0 unless `reduction` is given
    factory               a tensor on `device`, else where the tensor arguments are, else on the host
    like                  a tensor on `device`, else where the first argument is
    moved                 the first argument on the device that the other arguments name, else where it was
    self                  the first argument
    host-tensor, device-tensor, host-array      a tensor on the host; one on the device; a NumPy array
    tensors, pair, triple, quad                 a tuple or list of tensors: of unknown length, of two, three, four
    int, float, bool, number, str, list, shape, device, dtype, none     host values; shape is a tuple of ints
    object                something else
    """

    name: str
    params: tuple[Parameter, ...] | None
    returns: str
    effects: tuple[Effect, ...]
    attribute: bool = False

    @property
    def told(self) -> tuple[Effect, ...]:
        """The effects that rows tell of."""
        return tuple(one for one in self.effects if not one.is_implied)

    def bind(self, positional: Sequence[Value], keywords: Mapping[str, Value]) -> dict[str, tuple[Value, ...]]:
        """The values that each parameter gets; values that no parameter takes stand under their position or keyword."""
        params = self.params or ()
        names = {param.name for param in params}
        bound: dict[str, tuple[Value, ...]] = {}
        taken = 0
        for param in params:
            if taken == len(positional) or param.name in keywords:
                break
            end = len(positional) if param.variadic else taken + 1
            bound[param.name] = tuple(positional[taken:end])
            taken = end
        for index in range(taken, len(positional)):
            bound[str(index)] = (positional[index],)
        for keyword, value in keywords.items():
            synonym = _SYNONYMS.get(keyword, keyword)
            bound[synonym if keyword not in names and synonym in names else keyword] = (value,)
        return bound


@dataclass(frozen=True, slots=True)
class _Row:
    namespace: str
    returns: str
    signature: str


class Catalogue:
    """Operations by qualified name; rows are read when they are first asked for."""

    def __init__(
        self,
        rows: dict[str, _Row],
        bases: dict[str, str],
        effects: dict[str, list[dict[str, str]]],
        aliases: dict[str, str],
        methods: dict[str, frozenset[str]],
        operators: dict[str, Operation],
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

    def find(self, name: str) -> Operation | None:
        """The operation called `name`: its own row, or that of its alias, base class, function or out-of-place form."""
        if name not in self._found:
            self._found[name] = None
            self._found[name] = self._search(name)
        return self._found[name]

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
        if name.startswith(_OPERATORS):
            return self._operator(name)
        return self._inherited(name) or self._in_place(name) or self._method(name) or self._matched(name)

    def _operator(self, name: str) -> Operation | None:
        """The row of an operator: of its overload, of all of its overloads, or of the function that it is."""
        schema = ".".join(name.split(".")[:_SCHEMA_PARTS])
        row = self.operators.get(name)
        if row is None and schema != name:
            return self.find(schema)
        function = self._matched(schema) or self._in_place(schema)
        if row is None:
            return function
        return row if function is None else replace(row, returns=function.returns)

    def _inherited(self, name: str) -> Operation | None:
        owner, _, member = name.rpartition(".")
        if owner in self.aliases:
            return self.find(f"{self.aliases[owner]}.{member}")
        row = self._rows.get(owner)
        base = self._bases.get(row.namespace) if row is not None and row.returns == "instance" else None
        return self.find(f"{base}.{member}") if base not in (None, owner) else None

    def _method(self, name: str) -> Operation | None:
        owner, _, member = name.rpartition(".")
        function = self.find(f"torch.{member}") if owner == "torch.Tensor" else None
        return _as_method(function, name) if function is not None else None

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
        params = _parameters(row.signature)
        returns = name if row.returns == "instance" else row.returns
        entries = [*self.effects.get(name, ()), *self.effects.get(f"{name.rpartition('.')[0]}.*", ())]
        implied = (replace(one, is_implied=True) for one in _implied(row.returns, params or ()))
        effects = (*(effect(entry) for entry in entries), *implied)
        return Operation(name, params, returns, effects, attribute=not row.signature)


@functools.cache
def builtin_catalogue() -> Catalogue:
    """The catalogue of this project's own rules."""
    return load_catalogue(builtin_rules() / "operations.toml")


def load_catalogue(path: Path) -> Catalogue:
    """Read the catalogue at `path`. Raises UsageError for what is no TOML, and for a row of effects that is wrong."""
    text = path.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    rows: dict[str, _Row] = {}
    bases: dict[str, str] = {}
    for namespace, blocks in data["operations"].items():
        for returns, block in blocks.items():
            if returns == "base":
                bases[namespace] = block
                continue
            for line in block.split("\n"):
                name, parenthesis, rest = line.partition("(")
                if name:
                    rows[f"{namespace}.{name}"] = _Row(namespace, returns, parenthesis + rest)
    for section, mistaken in (("effects", _mistake_of_effects), ("operators", _mistake_of_operator)):
        for name, entries in data[section].items():
            wrong = mistaken(name, entries)
            if wrong:
                raise UsageError(f"{path}:{_line(text, section, name)}: `{name}`: {wrong}")
    operators, aliases = _operators(data["operators"])
    groups = [
        {group: frozenset(names) for group, names in data[section].items()} for section in ("methods", "families")
    ]
    return Catalogue(rows, bases, data["effects"], data["aliases"] | aliases, groups[0], operators, groups[1])


def _operators(entries: Mapping[str, Any]) -> tuple[dict[str, Operation], dict[str, str]]:
    """The operators that have rows of their own, and those that do what another operation does, by qualified name."""
    operators: dict[str, Operation] = {}
    aliases: dict[str, str] = {}
    for schema, given in entries.items():
        name, signature = operator_name(schema)
        if isinstance(given, str):
            aliases[name] = given
        else:
            params = _parameters(signature)
            operators[name] = Operation(name, params, "object", tuple(effect(row) for row in given))
    return operators, aliases


def operator_name(schema: str) -> tuple[str, str]:
    """`aten::add.Tensor(self, other)` -> the qualified name in Python, and the signature."""
    match = _SCHEMA.fullmatch(schema)
    assert match is not None, schema  # rows are valid
    return f"{_OPERATORS}{match['namespace']}.{match['name']}", match["signature"] or "(...)"


def _mistake_of_effects(name: str, rows: Any) -> str:
    """What is wrong with the effects of an operation; empty if nothing is."""
    return mistake(rows)


def _mistake_of_operator(schema: str, rows: Any) -> str:
    """What is wrong with a row of an operator; empty if nothing is."""
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        return "not the name of an operator, as `aten::add.Tensor(self, other)`"
    if isinstance(rows, str):
        return ""
    names = {param.name for param in _parameters(match["signature"] or "(...)") or ()}
    wrong = mistake(rows)
    return wrong or next((f"a condition asks `{one}`, which is no parameter" for one in asked(rows) - names), "")


def _line(text: str, section: str, key: str) -> int:
    """The line on which the row of a section begins."""
    lines = text.split("\n")
    start = lines.index(f"[{section}]") if f"[{section}]" in lines else 0
    return next((n for n, line in enumerate(lines[start:], start + 1) if line.startswith(f'"{key}"')), start + 1)


def _pattern(alias: str) -> re.Pattern[str]:
    """A `*` stands for one module's name, and the last one for the rest."""
    head, _, tail = alias.rpartition("*")
    return re.compile(re.escape(head).replace(r"\*", "[a-z0-9_]+") + "(?P<rest>.+)" + re.escape(tail))


def _parameters(signature: str) -> tuple[Parameter, ...] | None:
    """`(input, *size: size)` -> its parameters; `(...)` -> None."""
    if signature == "(...)":
        return None
    parts = (part.partition(": ") for part in signature[1:-1].split(", ") if part)
    return tuple(Parameter(name.lstrip("*"), kind, name.startswith("*")) for name, _, kind in parts)


def _implied(returns: str, params: tuple[Parameter, ...]) -> list[Effect]:
    """What follows from the kind of result and the types of the parameters."""
    effects = [Effect(_READ[param.type], (Condition("device", param.name),)) for param in params if param.type]
    if returns == "factory":
        effects.append(Effect("allocation", (Condition("cuda", "device"), Condition("absent", "out"))))
    if returns == "device-tensor":
        effects.append(Effect("allocation"))
    if returns == "like":
        effects.append(Effect("allocation", (Condition("device", "*"),)))
    if returns in _OPERANDS and sum(not param.type for param in params) > 1:
        effects.append(Effect("host-operand", (Condition("device", "*"), Condition("host", "*"))))
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
