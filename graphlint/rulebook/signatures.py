"""A call by its name: the parameters that it has, what it returns and what it does under capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphlint.rulebook.effects import Effect

Value = TypeVar("Value")

_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "x": "input"}


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
    promoted              elementwise, of the dtype that all tensors have; a whole number beside them changes nothing
    same-shape            the same, with the rank of the first tensor argument
    embedded              like tensor, with one more dimension than `indices`, or else `input`, has
    copy                  the same of a tensor; the first argument, if it is anything else
    bool-tensor           like elementwise, of booleans; int-tensor: like same-shape, of integers
    indices               like tensor, of integers
    scalar-tensor         a tensor of rank 0
    reduction             rank 0 unless `dim` is given; bool-reduction, int-reduction: of booleans, of integers
    extremum              one argument: rank 0; a second one that is a tensor: elementwise; else a pair of reductions
    where                 only a condition: a tuple of tensors; else promoted, whatever the condition is
    unique                a tensor, or a tuple of tensors if `return_inverse` or `return_counts` is true
    loss                  rank 0 unless `reduction` is given
    factory               a tensor on `device`, else where the tensor arguments are, else on the host
    like                  a tensor on `device`, else where the first argument is
    moved                 the first argument on the device that the other arguments name, else where it was
    self                  the first argument
    host-tensor, device-tensor, host-array      a tensor on the host; one on the device; a NumPy array
    tensors, pair, triple, quad                 a tuple or list of tensors: of unknown length, of two, three, four
    int, float, bool, number, str, list, shape, device, dtype, none     host values; shape is a tuple of ints
    states                a dictionary of dictionaries: what an optimizer keeps for each parameter
    groups                a list of dictionaries, with tensors on the device under `params`: what an optimizer updates
    object                something else
    """

    name: str
    params: tuple[Parameter, ...] | None
    returns: str
    effects: tuple[Effect, ...]
    attribute: bool = False
    is_elementwise: bool = False
    """Whether several operands meet in it."""

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


def parameters(signature: str) -> tuple[Parameter, ...] | None:
    """`(input, *size: size)` -> its parameters; `(...)` -> None."""
    if signature == "(...)":
        return None
    parts = (part.partition(": ") for part in signature[1:-1].split(", ") if part)
    return tuple(Parameter(name.lstrip("*"), kind, name.startswith("*")) for name, _, kind in parts)
