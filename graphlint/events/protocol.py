"""What a program does with streams, captures, callables and the process: `check` alone has these events."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.events.region import Event


@dataclass(frozen=True, slots=True)
class LooseEnd(Event):
    """A capture ends and nobody waits for this work of it, on a side `stream` or of a `collective`."""

    of: str


@dataclass(frozen=True, slots=True)
class OutsideDependency(Event):
    """What is captured, or replayed, and what is not are ordered in a way that does not hold.

    `how` is `event` or `stream` (the region waits for what is outside of it), `default` (the default stream is told to
    wait for the region), `output` (read on another stream than that of the replay), `overwritten` (read before a
    replay on another stream that does not wait for that), `input` (written on another one),
    `legacy` (the default stream, used while a foreign one captures), `forward` (of a backward pass that is captured
    without it), `backward` (of a loss that the capture finds alive), `parallel` (a wrapper of the default stream
    reduces gradients in the region), `warm-up` (of what is captured, on the stream of whoever calls), `request` (such a
    one, whose result the caller gets), `fork` (a side stream reads what the caller has written), `join` (the caller
    uses what a side stream writes), or `host` (which waits for the stream of the capture, not for that of the replay).
    """

    how: str


@dataclass(frozen=True, slots=True)
class WorkOutside(Event):
    """Work in a region that the graph does not get.

    `where` is `default` or `side` for the stream, `library` for that of another library, or `device`.
    """

    where: str


@dataclass(frozen=True, slots=True)
class CaptureMisused(Event):
    """A capture is begun, ended or replayed where that is not possible.

    `how` is `default` (begun on the default stream), `nested`, `again` (into a graph that holds one), `replay` (inside
    of another capture), `stream` (ended on another one), `raise` (an exception passes the end of the capture by), or
    `destroyed` (its process group is, while the graph lives). It `is_sure` where nothing unknown has decided it.
    """

    how: str
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class GeneratorUsed(Event):
    """A region draws from a generator that its graph was not told of; `is_known` says whether it is of the device."""

    is_known: bool


@dataclass(frozen=True, slots=True)
class GraphedMisuse(Event):
    """A callable is graphed, or used when graphed, against the contract of `make_graphed_callables`.

    `how` is `autocast` (with its cache), `hooks`, `buffer` (that requires a gradient), `parallel` (wrapped already),
    `samples` (that are no tensors), `unused input`, `unused parameter`, `again` (graphed before), `copied`,
    `inner hook` (of a part, afterwards), `sample gradient` (that real inputs have), `parameters` (frozen afterwards),
    `reentrant` (checkpoints), `summed` (gradients, from None) or `differentiated` (twice).
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
class ContractBroken(Event):
    """What a library asks of a capture is not so; `demand` is a key of a `[[contract]]`, `name` what it names.

    An object was not made in a `mode`, or nothing that may `prepare` it was called since the last replay; one of the
    `tensors` is a number, or lies on the host; the region is the first to call what needs a `warm_up`.
    """

    demand: str
    name: str


@dataclass(frozen=True, slots=True)
class FirstCall(Event):
    """A region is the first to call something that sets itself up, or the first to call it with another shape.

    `what` is `compiled` (a function), `kernel`, `benchmark` (of convolutions), `library`, `group` (of processes),
    `callable` (of which nobody knows more), `request` (such a one, of a graph that is made when it is needed), or
    `backend`, for a collective that runs on the host and cannot be captured at all.
    """

    what: str
    is_other_shape: bool


@dataclass(frozen=True, slots=True)
class SharedPool(Event):
    """Captures share a pool of memory, and each of them is made on a stream of its own."""


@dataclass(frozen=True, slots=True)
class SeparatePools(Event):
    """Graphs for several sizes are kept, and each has a pool of its own."""


@dataclass(frozen=True, slots=True)
class NeverReplayed(Event):
    """A loop calls what is compiled to replay graphs with gradients on, no backward pass, and no mark of a new step."""


@dataclass(frozen=True, slots=True)
class ConcurrentCall(Event):
    """Another thread may call, during a capture in the global mode, what breaks it: it is `refused` there.

    Or several threads call what is `compiled` to replay graphs, each of which belongs to one thread.
    """

    how: str = "refused"


@dataclass(frozen=True, slots=True)
class EmptyGraph(Event):
    """A region launches nothing, so that its graph does nothing."""


@dataclass(frozen=True, slots=True)
class Uncaptured(Event):
    """What is compiled to replay graphs runs without: an argument lies on the `host`, or is `written`."""

    why: str


@dataclass(frozen=True, slots=True)
class SettingLeft(Event):
    """A setting of the process stays changed: behind the `region` or `function`, on an `exception`, or `skipped`.

    Or an exception of the capture, which is `caught` at a place that goes on, leaves a `flag`, what a `call` has
    changed, or what was `taken` and is given back behind the region.
    """

    how: str
    caught: str = ""


@dataclass(frozen=True, slots=True)
class ModeIgnored(Event):
    """A mode that replay does not see: `autocast` around it, or `training` that was switched since the capture.

    `casts` are those of weights that autocast made before the region and keeps to its end, while replays come later.
    """

    of: str


@dataclass(frozen=True, slots=True)
class InferenceTensor(Event):
    """A region changes, outside of inference mode, a tensor that was made in it."""


@dataclass(frozen=True, slots=True)
class EagerBeside(Event):
    """What was captured is called eagerly again and again, and its graph is never replayed.

    If it `is_unfound`, the calls are of functions that replay what they find, and none finds it.
    """

    is_unfound: bool = False


@dataclass(frozen=True, slots=True)
class PinnedTouched(Event):
    """The host has `read` or `written` pinned memory that a replay uses which it has not waited for.

    Or it has read what it `fetched` of an output, by a copy that it has not waited for either.
    """

    how: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class RandomState(Event):
    """A region seeds a generator of the device, or sets or reads its state, with a value that `is_known` or not.

    A seed that `is_in_force` is let through, and the region draws numbers behind it.
    """

    is_known: bool
    is_in_force: bool = False
