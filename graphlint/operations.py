"""A call by its qualified name in; what it returns and does under capture out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from graphlint.finding import Confidence

Value = TypeVar("Value")

FUNCTIONS, TENSOR = "torch", "torch.Tensor"  # most methods of the one are functions of the other

_READ = {"number": "scalar-readback", "int": "tensor-as-size", "size": "tensor-as-size"}
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "x": "input"}
_ELEMENTWISE = frozenset({"elementwise", "bool-tensor"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold of one argument.

    `argument` is a parameter's name, `*` (any argument, the receiver included), or `x.y`: what the call that made the
    object bound to `x` was given as `y`. A list, tuple or dict display counts as device, host, tensor or bool if one of
    its elements does. The answer is yes, no or maybe.

    absent, given         left out or None; the opposite
    none                  None was passed
    true, not-true        a true constant; left out or anything but a true constant
    false, not-false      a false constant; left out or anything but a false constant
    equals                a constant, or a name of torch, that is spelled as one of `value`, which `|` separates
    negative              a constant below zero
    device, host          a tensor on the device; a tensor on the host
    tensor, not-tensor    a tensor; given, and no tensor: numbers, lists, arrays
    number                a Python number, but no boolean
    sequence, not-sequence      a list or tuple; given, and neither
    bool, not-bool        a mask: a tensor of booleans; a tensor of another dtype
    cuda, cpu             names a device of that type: a string, `torch.device`, index (cuda), tensor type or tensor
    pinned, not-pinned    a host tensor in page-locked memory; a host tensor elsewhere
    fresh                 made inside the capture region
    distinct              another object than the argument that `value` names
    not-dtype             a tensor of another dtype than `value`
    within, outside       (of a context manager or a capture that torch does not know of, not of an argument) the call
                          stands inside it; it does not
    """

    predicate: str
    argument: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens under capture if all conditions hold; without conditions it always happens."""

    name: str
    when: tuple[Condition, ...] = ()
    confidence: Confidence = Confidence.HIGH
    help: str | None = None
    message: str | None = None


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
    is_elementwise: bool = False
    """Whether several operands meet in it."""

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
    ) -> None:
        self._rows = rows
        self._bases = bases
        self.effects = effects
        self.aliases = aliases
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
        return self._inherited(name) or self._in_place(name) or self._method(name) or self._matched(name)

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
        effects = (*(_effect(entry) for entry in entries), *_implied(row.returns, params or ()))
        elementwise = row.returns in _ELEMENTWISE and sum(not param.type for param in params or ()) > 1
        return Operation(name, params, returns, effects, attribute=not row.signature, is_elementwise=elementwise)


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


def _effect(entry: dict[str, str]) -> Effect:
    when = entry.get("when", "device:*")
    conditions = () if when == "always" else tuple(_condition(text) for text in when.split())
    confidence = Confidence[entry.get("confidence", "high").upper()]
    return Effect(entry["effect"], conditions, confidence, entry.get("help"), entry.get("message"))


def _condition(text: str) -> Condition:
    predicate, _, argument = text.partition(":")
    name, equals, value = argument.partition("=")
    return Condition(predicate, name, value if equals else None)


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
