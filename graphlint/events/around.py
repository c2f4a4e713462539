"""What the code around a region does with inputs, outputs, gradients and graphs: `check` alone has these events."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.events.region import Event


@dataclass(frozen=True, slots=True)
class StaleReplay(Event):
    """A graph is replayed again, and data of the caller by these names was never written to what it reads.

    `is_unused` says that the function does nothing with them at all; `is_known`, that they are known to be tensors;
    `is_kept`, that the call which captured has put its own into an attribute for the graph alone.
    """

    names: tuple[str, ...]
    is_unused: bool = True
    is_known: bool = True
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class StaleResult(Event):
    """A tensor is computed before a capture, the graph reads it in `line`, and `filled` writes to what it came from.

    It is told of the place that computes it, or, where the region would do that if nothing was there, of the read: then
    `made` is the line before the capture.
    """

    line: int
    filled: str
    made: int | None = None


@dataclass(frozen=True, slots=True)
class PartialFill(Event):
    """An input is filled up to a `bound` that may be another one each time, and the rest is of an earlier request.

    `others_reset` says whether another input is reset before; `is_output_cut`, whether outputs are only read in part;
    `is_told`, whether the bound itself is written to another input, so that the graph knows how much counts;
    `is_unfilled`, whether the rest was never filled at all; `is_given`, whether later calls write their data there, so
    that it is surely an input; `is_rest_left`, whether the data has more, which ends at the bound of a request;
    `is_by_row`, whether only rows are left as they were, and what the region calls, which nobody knows, may compute
    each of them on its own.
    """

    bound: str
    others_reset: bool
    is_output_cut: bool
    is_told: bool = False
    is_unfilled: bool = False
    is_given: bool = False
    is_rest_left: bool = False
    is_by_row: bool = False


@dataclass(frozen=True, slots=True)
class SizeMissing(Event):
    """No graph is as large as what is `asked`, and nothing refuses that.

    The `largest` is picked then, or the `nearest`; a search is `unanswered`, which raises; or sizes are stepped through
    that leave a `gap` in front of it.
    """

    asked: str
    how: str


@dataclass(frozen=True, slots=True)
class RowsCounted(Event):
    """A region computes something of all rows, of which those behind a `bound` are empty."""

    bound: str


@dataclass(frozen=True, slots=True)
class CopySpread(Event):
    """Data with a single row is copied over several rows that the graph reads.

    It may be the last batch `of_loader`, which has the rows that are `left` over, or nobody knows how many.
    """

    of_loader: bool = False
    left: int | None = 1


@dataclass(frozen=True, slots=True)
class InputReplaced(Event):
    """A tensor that the graph reads is no longer the one of that `name`; `name` is empty if its memory was exchanged.

    `region_line` is where it was captured; `is_known` says whether both are known to be tensors. One that `is_late` was
    nothing at the capture. An `is_result` is one that the graph writes, and does not read. It may be part of an object
    that the region has `given` whole to a callee of this name.
    """

    name: str
    region_line: int
    is_known: bool
    is_late: bool = False
    is_result: bool = False
    given: str = ""


@dataclass(frozen=True, slots=True)
class IdleBuffer(Event):
    """A method hands over a fresh tensor by a `name`, and nothing uses the `buffer` that `line` makes for graphs."""

    buffer: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class InputFreed(Event):
    """A tensor that the graph reads was made, in `line`, by a function that is over, and nobody holds it any more.

    Where `by` is a name, the region called that with nothing, and nobody holds it: what it read may be gone with it.
    `given_at` is where a function that reads what its caller has made is given for it. If it `is_given_up`, the program
    has deleted the last name of it, or given that something else.
    """

    line: int
    by: str = ""
    given_at: str | None = None
    is_given_up: bool = False


@dataclass(frozen=True, slots=True)
class InputAdopted(Event):
    """A tensor of the call that captured is an input of the graph as it is, and later calls write theirs over it."""

    name: str


@dataclass(frozen=True, slots=True)
class OutputRead(Event):
    """An output of a graph is read, or given to the caller, and the graph has not been replayed yet.

    `is_known` says whether it is known to be a tensor. If it `is_input`, what reads it is the replay of another graph.
    """

    is_known: bool
    is_returned: bool = False
    is_input: bool = False


@dataclass(frozen=True, slots=True)
class OutputKept(Event):
    """An output is kept without a copy: it was `returned`, or `collected` in a list; or a `pool` may have reused it.

    Or one of what is compiled is `read` behind the next step, or `given` to the call that begins it.
    Or it is a gradient that autograd gets as it is, to be `summed` up where it lies.
    Or `threads` replay its graph, none of which waits until another one has read it.
    Or rows are read that no request has filled: the `last` ones, where that were the first.
    `is_overwritten` says whether a replay that writes over it was seen, `is_known` whether it surely is a tensor.
    """

    how: str
    is_overwritten: bool
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class GradientFound(Event):
    """A captured backward finds a gradient that was there before the region, and adds to it."""


@dataclass(frozen=True, slots=True)
class StateBorn(Event):
    """State gets its first value in a region: that of a library, or `is_own`, which other calls change in place.

    What is `in_cache` is the result of a function that keeps it from its first call on.
    """

    is_own: bool = False
    in_cache: bool = False


@dataclass(frozen=True, slots=True)
class GradientDropped(Event):
    """Gradients that a captured backward writes are set to None, and the graph is replayed afterwards.

    It is not `is_known` whether they are those of the optimizer that drops its own.
    """

    is_known: bool = True


@dataclass(frozen=True, slots=True)
class RepeatedState(Event):
    """A graph changes a tensor by what it held, and is replayed with it as the last replay left it.

    `is_warm_up` says that nobody reads what these replays compute; else what it holds is read after each, and it was
    reset before the capture.
    """

    is_warm_up: bool


@dataclass(frozen=True, slots=True)
class GraphCollected(Event):
    """A graph is kept in a container that nothing bounds: under a `key` of what the caller gave, or beside its like.

    Where it is torch that keeps it, for each `size` that the program says will vary, or each `number` that a loop
    counts up to, there is no container to be seen.
    """

    by_key: bool
    is_sure: bool
    by_size: bool = False
    by_number: bool = False


@dataclass(frozen=True, slots=True)
class BufferShared(Event):
    """A call that makes something for graphs is given one memory for two of its buffers, by the names of parameters."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class MemoKept(Event):
    """A warm-up lets an object, by its `name`, keep an `attribute` that is computed of it `made` there; the capture has
    the same object, and finds it there.
    """

    name: str
    attribute: str
    made: str


@dataclass(frozen=True, slots=True)
class KeyRead(Event):
    """A number that is read out of a tensor is in the key by which a graph is picked for each request.

    It `is_promised` if the program says that it is a tensor, and nothing that it is one of the host.
    """

    is_promised: bool = False


@dataclass(frozen=True, slots=True)
class Recapture(Event):
    """A function that replays a graph captures it anew each time that it is called."""


@dataclass(frozen=True, slots=True)
class GraphDropped(Event):
    """A graph is reset or deleted, and so is an output of it that another graph reads: its memory is gone with both."""


@dataclass(frozen=True, slots=True)
class SizesPassedOver(Event):
    """Of graphs of several sizes, the largest is picked for what is `asked`, whatever that is.

    It is the `last` that is large enough of ascending sizes, the `first` of descending ones, or asked for as the
    `largest`. Or a slice of one is the `only` one of these sizes to be captured, and requests look for theirs.
    """

    asked: str
    how: str
