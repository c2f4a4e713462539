"""What a rule's detector may import: the events of a region, what is known of values, and how to report.

A detector stands beside the page of its rule (`rules/gl505_growing_memory.py`) and is one function:

    from collections.abc import Iterator

    from graphlint.rule import OperationCall, Confidence, Hit

    def detect(event: OperationCall) -> Iterator[Hit]:
        if event.name == "acme.flush" and not event.given("lazily"):
            yield Hit(Confidence.HIGH, message="`{operation}` waits")

The annotation says which events it wants: one kind, or several as in `Truth | HostRead`. It is called for each such
event inside a capture region; what it yields is reported at the place of the event, under the code of its page. The
same detector serves both witnesses. `check` gives it what can be known from the source: a value may be a `Union`, or
`UNKNOWN`. `verify` gives it what a run did: values are known, and it sees `OperationCall` alone.

Values are immutable and compared by what they hold. `members(value)` are the alternatives of a value; the questions
(`device_tensor`, `tensors_in`, `truth`, ...) look at all of them. How sure a report is follows from how sure the value
is: `Tensor.sure` says it of the place of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphlint.finding import Confidence
from graphlint.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Place,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    members,
)
from graphlint.values.queries import (
    certainty,
    device_tensor,
    fresh_tensor,
    host_tensor,
    is_doubtful,
    is_number,
    place_of_device,
    tensors_in,
    truth,
)

__all__ = [
    "FALSE",
    "NONE",
    "TRUE",
    "UNKNOWN",
    "ActivationsOverwritten",
    "CachedCall",
    "CaptureBranch",
    "CaptureMisused",
    "ConcurrentReplay",
    "Confidence",
    "Const",
    "DeviceName",
    "EagerBeside",
    "Event",
    "External",
    "ExternalObject",
    "FirstCall",
    "GeneratorUsed",
    "GradientDropped",
    "GradientFound",
    "GraphCollected",
    "GraphDropped",
    "GraphedMisuse",
    "Growth",
    "Hit",
    "Host",
    "HostCount",
    "HostDraw",
    "HostRead",
    "HostStateRead",
    "HostStateWrite",
    "IncompleteKey",
    "InferenceTensor",
    "InputFreed",
    "InputReplaced",
    "Item",
    "ItemRead",
    "ItemWrite",
    "LooseEnd",
    "Made",
    "ModeIgnored",
    "ModeSwitched",
    "ModuleMove",
    "NeverReplayed",
    "Operands",
    "OperationCall",
    "OptimizerStep",
    "OutputKept",
    "OutputRead",
    "OutsideDependency",
    "PartialFill",
    "PinnedTouched",
    "Place",
    "RandomState",
    "Recapture",
    "RepeatedState",
    "Sequence",
    "SettingLeft",
    "StaleMemo",
    "StaleReplay",
    "StateWrite",
    "Tensor",
    "Truth",
    "Union",
    "Unknown",
    "Value",
    "WorkOutside",
    "certainty",
    "device_tensor",
    "fresh_tensor",
    "host_tensor",
    "is_doubtful",
    "is_number",
    "members",
    "place_of_device",
    "tensors_in",
    "truth",
]


@dataclass(frozen=True, slots=True)
class Hit:
    """What a detector says of an event; without a message or help of its own, that of the page stands.

    `{operation}` in a message stands for the source text of the event.
    """

    confidence: Confidence
    message: str | None = None
    help: str | None = None


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
    `if x > 0:`.
    """

    value: Value
    asker: str
    is_bare_name: bool = False


@dataclass(frozen=True, slots=True)
class HostRead(Event):
    """Python needs what a value that can be a tensor holds.

    `purpose` is `number` (`int`, `float`), `index` (of a list, or how often it is repeated), `bound` (of a slice),
    `count` (of the rounds of a loop: `range`), or `text`.
    """

    value: Value
    purpose: str


@dataclass(frozen=True, slots=True)
class HostCount(Event):
    """A call adds to a number that something keeps on the host, once, at capture: `counted` is how it is written.

    `is_optimizer` says whether the call is the step of an optimizer.
    """

    counted: str
    is_optimizer: bool


@dataclass(frozen=True, slots=True)
class HostStateRead(Event):
    """The region reads a plain value of the host, and something writes it between a capture and its replays.

    `use` is what the value decides: the `bound` of a slice, an `index`, the `count` of the rounds of a loop, the
    condition of a `loop` or a `branch`, an `operand` of an elementwise operation, or another `argument`. `written` are
    the places, as `decode.py:31`. `is_surely_late` tells a write that the program makes after a capture from one that
    whoever uses it may make; `by_region` is one that the region makes itself, each time that it runs. `kind` is
    `number`, `flag` where it is only ever a choice, or `other`; `counts` says that it is made out of what it was.
    It `is_handed` where it is state of an object that the function was handed, or that its own holds: that may be
    another one in each run, or one that is shared and set up somewhere else.
    """

    use: str
    written: tuple[str, ...]
    is_surely_late: bool
    by_region: bool
    kind: str
    counts: bool
    is_handed: bool


@dataclass(frozen=True, slots=True)
class HostDraw(Event):
    """The region asks the host for what nobody knows before: `kind` is `draws`, `clocks`, or `next` of an iterator.

    `use` is what it decides, in the words of `HostStateRead`.
    """

    kind: str
    use: str


@dataclass(frozen=True, slots=True)
class HostStateWrite(Event):
    """The region makes new host state out of what was there: it counts, or fills a container.

    `read` are the places that look at it, without those that only write it; `in_hook` says that a hook does it, and
    `is_schedule` that the state is that of a scheduler. It `is_handed` as in `HostStateRead`.
    """

    read: tuple[str, ...]
    in_hook: bool
    is_schedule: bool = False
    is_handed: bool = False


@dataclass(frozen=True, slots=True)
class IncompleteKey(Event):
    """A graph is kept under a key, and a parameter that is not in it decides what the region does.

    `parameter` is its name, `use` what it decides, and `used` the place.
    """

    parameter: str
    use: str
    used: str


@dataclass(frozen=True, slots=True)
class StaleMemo(Event):
    """The region computes a tensor where none is kept yet, and something drops the one that is kept, at `written`."""

    written: tuple[str, ...]
    is_surely_late: bool


@dataclass(frozen=True, slots=True)
class OptimizerStep(Event):
    """An optimizer of torch steps in the region, and values of its groups change outside.

    `changed` are the names of those that are numbers, `written` the places that change them, or make a scheduler that
    does. `is_surely_late` is that of `HostStateRead`.
    """

    changed: tuple[str, ...]
    written: tuple[str, ...]
    is_surely_late: bool


@dataclass(frozen=True, slots=True)
class CaptureBranch(Event):
    """A branch asks whether a capture is under way, and its way leaves out what the other one computes.

    `left_out` are the names of operations and functions, as they are called. `is_flag` says that it asks the program's
    own flag.
    """

    left_out: tuple[str, ...]
    is_flag: bool


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
        return tensor.is_mask or (tensor.dtype is None and (self.name or "").endswith("mask"))


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
    """

    value: Value
    enlarges: bool


@dataclass(frozen=True, slots=True)
class Growth(Event):
    """A value is added to a container that was there before the region, and that is not made anew in it."""

    value: Value


@dataclass(frozen=True, slots=True)
class CachedCall(Event):
    """A function behind `functools.lru_cache` is called; `maxsize` is `NONE` without a bound, and may be `UNKNOWN`."""

    result: Value
    maxsize: Value


@dataclass(frozen=True, slots=True)
class ModuleMove(Event):
    """`module.cuda()`, `.cpu()` or `.to(...)` of a module of torch that has parameters.

    `held` is the place where its parameters lie, None if the program never said; `target` the one that is named.
    `is_new` says whether it is made there, or moved nowhere else.
    """

    held: Place | None
    target: Place | None
    is_new: bool


# Around a region. These events come from a rehearsal of the code that captures and replays: `check` alone has them.


@dataclass(frozen=True, slots=True)
class StaleReplay(Event):
    """A graph is replayed again, and data of the caller by these names was never written to what it reads.

    `is_unused` says that the function does nothing with them at all; `is_known`, that they are known to be tensors.
    """

    names: tuple[str, ...]
    is_unused: bool = True
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class PartialFill(Event):
    """An input is filled up to a `bound` that may be another one each time, and the rest is of an earlier request.

    `others_reset` says whether another input is reset before; `is_output_cut`, whether outputs are only read in part;
    `is_told`, whether the bound itself is written to another input, so that the graph knows how much counts;
    `is_unfilled`, whether the rest was never filled at all.
    """

    bound: str
    others_reset: bool
    is_output_cut: bool
    is_told: bool = False
    is_unfilled: bool = False


@dataclass(frozen=True, slots=True)
class InputReplaced(Event):
    """A tensor that the graph reads is no longer the one of that `name`; `name` is empty if its memory was exchanged.

    `region_line` is where it was captured; `is_known` says whether both are known to be tensors.
    """

    name: str
    region_line: int
    is_known: bool


@dataclass(frozen=True, slots=True)
class InputFreed(Event):
    """A tensor that the graph reads was made, in `line`, by a function that is over, and nobody holds it any more."""

    line: int


@dataclass(frozen=True, slots=True)
class OutputRead(Event):
    """An output of a graph is read, or given to the caller, and the graph has not been replayed yet.

    `is_known` says whether it is known to be a tensor.
    """

    is_known: bool
    is_returned: bool = False


@dataclass(frozen=True, slots=True)
class OutputKept(Event):
    """An output is kept without a copy: it was `returned`, or `collected` in a list.

    `is_overwritten` says whether a replay that writes over it was seen.
    """

    how: str
    is_overwritten: bool


@dataclass(frozen=True, slots=True)
class GradientFound(Event):
    """A captured backward finds a gradient that was there before the region, and adds to it."""


@dataclass(frozen=True, slots=True)
class GradientDropped(Event):
    """Gradients that a captured backward writes are set to None, and the graph is replayed afterwards."""


@dataclass(frozen=True, slots=True)
class RepeatedState(Event):
    """A graph changes a tensor by what it held, and is replayed with it as the last replay left it.

    `is_warm_up` says that nobody reads what these replays compute; else what it holds is read after each, and it was
    reset before the capture.
    """

    is_warm_up: bool


@dataclass(frozen=True, slots=True)
class GraphCollected(Event):
    """A graph is kept in a container that nothing bounds: under a `key` of what the caller gave, or beside its like."""

    by_key: bool
    is_sure: bool


@dataclass(frozen=True, slots=True)
class Recapture(Event):
    """A function that replays a graph captures it anew each time that it is called."""


@dataclass(frozen=True, slots=True)
class GraphDropped(Event):
    """A graph is reset or deleted, and an output of it is read afterwards: its memory is gone with it."""


@dataclass(frozen=True, slots=True)
class LooseEnd(Event):
    """A capture ends and nobody waits for this work of it, on a side `stream` or of a `collective`."""

    of: str


@dataclass(frozen=True, slots=True)
class OutsideDependency(Event):
    """What is captured, or replayed, and what is not are ordered in a way that does not hold.

    `how` is `event` or `stream` (the region waits for what is outside of it), `default` (the default stream is told to
    wait for the region), `output` (read on another stream than that of the replay), `input` (written on another one),
    `legacy` (the default stream, used while a foreign one captures), `forward` (of a backward pass that is captured
    without it), `backward` (of a loss that the capture finds alive), or `parallel` (a wrapper of the default stream
    reduces gradients in the region).
    """

    how: str


@dataclass(frozen=True, slots=True)
class WorkOutside(Event):
    """Work in a region that the graph does not get: `where` is `default` or `side` for the stream, or `device`."""

    where: str


@dataclass(frozen=True, slots=True)
class CaptureMisused(Event):
    """A capture is begun, ended or replayed where that is not possible.

    `how` is `default` (begun on the default stream), `nested`, `again` (into a graph that holds one), `replay` (inside
    of another capture), `stream` (ended on another one), `raise` (an exception passes the end of the capture by), or
    `destroyed` (its process group is, while the graph lives).
    """

    how: str


@dataclass(frozen=True, slots=True)
class GeneratorUsed(Event):
    """A region draws from a generator that its graph was not told of; `is_known` says whether it is of the device."""

    is_known: bool


@dataclass(frozen=True, slots=True)
class GraphedMisuse(Event):
    """A callable is graphed, or used when graphed, against the contract of `make_graphed_callables`.

    `how` is `autocast` (with its cache), `hooks`, `buffer` (that requires a gradient), `parallel` (wrapped already),
    `samples` (that are no tensors), `unused input`, `unused parameter`, `again` (graphed before), `copied`,
    `sample gradient` (that real inputs have), `parameters` (frozen afterwards), `summed` (gradients, from None) or
    `differentiated` (twice).
    """

    how: str


@dataclass(frozen=True, slots=True)
class ModeSwitched(Event):
    """A graphed module is put into another mode than it was graphed in, and called."""


@dataclass(frozen=True, slots=True)
class ActivationsOverwritten(Event):
    """A backward pass reads what a later call of a graphed callable saved; `of` is `call`, or `order` of calls."""

    of: str


@dataclass(frozen=True, slots=True)
class FirstCall(Event):
    """A region is the first to call something that sets itself up, or the first to call it with another shape.

    `what` is `compiled` (a function), `kernel`, `benchmark` (of convolutions), `library`, `group` (of processes), or
    `backend`, for a collective that runs on the host and cannot be captured at all.
    """

    what: str
    is_other_shape: bool


@dataclass(frozen=True, slots=True)
class NeverReplayed(Event):
    """A loop calls what is compiled to replay graphs with gradients on, no backward pass, and no mark of a new step."""


@dataclass(frozen=True, slots=True)
class SettingLeft(Event):
    """A setting of the process stays changed: behind the `region` or `function`, on an `exception`, or `skipped`."""

    how: str


@dataclass(frozen=True, slots=True)
class ModeIgnored(Event):
    """A mode that replay does not see: `autocast` around it, or `training` that was switched since the capture."""

    of: str


@dataclass(frozen=True, slots=True)
class InferenceTensor(Event):
    """A region changes, outside of inference mode, a tensor that was made in it."""


@dataclass(frozen=True, slots=True)
class EagerBeside(Event):
    """What was captured is called eagerly again and again, and its graph is never replayed."""


@dataclass(frozen=True, slots=True)
class PinnedTouched(Event):
    """The host has `read` or `written` pinned memory that a replay uses which it has not waited for."""

    how: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class ConcurrentReplay(Event):
    """Several threads run a function that fills and replays one graph, and nothing keeps them apart."""


@dataclass(frozen=True, slots=True)
class RandomState(Event):
    """A region seeds a generator of the device, or sets or reads its state, with a value that `is_known` or not."""

    is_known: bool
