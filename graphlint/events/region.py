"""What happens inside a capture region, and what a detector says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphlint.finding import Confidence, Related
from graphlint.values import (
    Place,
    Sequence,
    Tensor,
    Value,
    members,
)
from graphlint.values.queries import (
    device_tensor,
    host_tensor,
)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a detector says of an event; without a message or help of its own, that of the page stands.

    `{operation}` in a message stands for the source text of the event. `related` are other places to look at.
    What `is_note` costs memory or time alone, whatever else the page is about.
    """

    confidence: Confidence
    message: str | None = None
    help: str | None = None
    related: tuple[Related, ...] = ()
    is_note: bool = False


class Event:
    """Something that happens inside a capture region, at one place of the source."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OperationCall(Event):
    """An operation of the catalogue is called: its qualified name, what its parameters are given, what it returns."""

    name: str
    arguments: Mapping[str, tuple[Value, ...]]
    result: Value

    def given(self, parameter: str) -> Value | None:
        """The argument for a parameter; None if it is left out. Several, for `*sizes`, are a `Sequence`."""
        values = self.arguments.get(parameter)
        if not values:
            return None
        return values[0] if len(values) == 1 else Sequence("arguments", values)


@dataclass(frozen=True, slots=True)
class Operands(Event):
    """Values meet in an elementwise operation or an operator, and one of them is a tensor."""

    values: tuple[Value, ...]
    is_written_to: Callable[[int], bool] = field(compare=False)
    """Whether the program changes, in place, a tensor that goes by the name of the operand at a position."""


@dataclass(frozen=True, slots=True)
class Truth(Event):
    """Python asks a value that can be a tensor for its truth.

    `asker` is `condition` (`if`, `assert`, `and`, a conditional expression), `loop` (`while`), `conversion` (`bool`),
    or `search` (`in`, `max`, `any`, `sorted`: elements are compared one by one). `is_bare_name` tells `if flag:` from
    `if x > 0:`, and `is_attribute` tells `if layer.bias:`.
    """

    value: Value
    asker: str
    is_bare_name: bool = False
    is_attribute: bool = False


@dataclass(frozen=True, slots=True)
class HostRead(Event):
    """Python needs what a value that can be a tensor holds.

    `purpose` is `number` (`int`, `float`), `index` (of a list, or how often it is repeated), `bound` (of a slice),
    `count` (of the rounds of a loop: `range`), or `text`.
    """

    value: Value
    purpose: str


@dataclass(frozen=True, slots=True)
class Item:
    """One part of an index, and the last name of its expression: `mask` in `x[self.mask]`."""

    value: Value
    name: str | None = None

    @property
    def is_surely_mask(self) -> bool:
        """Whether it can be a mask that does not lie on the host, by its dtype."""
        return any(isinstance(m, Tensor) and m.is_mask and m.place is not Place.HOST for m in members(self.value))

    @property
    def is_mask(self) -> bool:
        """Whether it is a mask on the device by its dtype or, where that is not known, by its name."""
        tensor = device_tensor(self.value)
        if tensor is None:
            return False
        return tensor.is_mask or (tensor.dtype is None and (self.name or "").endswith(("mask", "masks")))


@dataclass(frozen=True, slots=True)
class ItemRead(Event):
    """`container[items]`, where the container is a tensor, or not known."""

    container: Value
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ItemWrite(Event):
    """`container[items] = stored`, where the container is a tensor, or not known."""

    container: Value
    items: tuple[Item, ...]
    stored: Value

    @property
    def is_masked(self) -> bool:
        """Whether a mask selects what is written."""
        return any(item.is_surely_mask for item in self.items)

    @property
    def through(self) -> list[Tensor]:
        """The tensors of positions, and the masks, among the parts of the index."""
        found = (device_tensor(item.value) or host_tensor(item.value) for item in self.items)
        return [tensor for tensor in found if tensor is not None and tensor.ndim != 0]


@dataclass(frozen=True, slots=True)
class Made(Event):
    """An operation makes a new tensor on the device, out of these values.

    `within` names the context managers in force around it; `is_foreign` says whether a capture is under way that
    torch's allocator does not know of.
    """

    made: Value
    given: tuple[Value, ...]
    within: frozenset[str]
    is_foreign: bool


@dataclass(frozen=True, slots=True)
class StateWrite(Event):
    """A value is assigned to something that was there before the region: an attribute, an item, a global.

    `enlarges` says whether a condition around it compares a size of what is assigned: `if n > self.buffer.numel():`.
    It `is_passed_on` where the region sets it each time, and nobody else reads it, or to an object that a function is
    handed and that nothing was seen to make: it may be one for this run. It `may_be_held` there before, where what
    makes it is given that.
    """

    value: Value
    enlarges: bool
    is_passed_on: bool = False
    may_be_held: bool = False


@dataclass(frozen=True, slots=True)
class Growth(Event):
    """A value is added to a container that was there before the region, and that is not made anew in it."""

    value: Value


@dataclass(frozen=True, slots=True)
class CachedCall(Event):
    """A function behind `functools.lru_cache` is called; `maxsize` is `NONE` without a bound, and may be `UNKNOWN`.

    It `is_settled` if what it is given is the same for all requests: attributes, devices, and sizes counted from the
    last. It `varies` if some of it surely is not: tensors, lengths, and sizes counted from the first.
    """

    result: Value
    maxsize: Value
    is_settled: bool = False
    varies: bool = False


@dataclass(frozen=True, slots=True)
class ModuleMove(Event):
    """`module.cuda()`, `.cpu()` or `.to(...)` of a module of torch that has parameters.

    `held` is the place where its parameters lie, None if the program never said; `target` the one that is named.
    `is_new` says whether it is made there, or moved nowhere else.
    """

    held: Place | None
    target: Place | None
    is_new: bool
