"""What a region does with state of the host, which no replay sees."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.events.region import Event


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
    condition of a `loop` or a `branch`, an `operand` of an elementwise operation, or another `argument`; or it is
    `handed` to a call that nobody knows. `written` are the places, as `decode.py:31`. `is_surely_late` tells a write
    that the program makes after a capture from one that whoever uses it may make; without `is_called`, nothing that is
    known runs it. `by_region` is one that the region makes itself, each time that it runs. `kind` is `number`, `flag`
    where it is only ever a choice, or `other`; `counts` says that it is made out of what it was.
    It `is_handed` where it is state of an object that the function was handed, or that its own holds: that may be
    another one in each run, or one that is shared and set up somewhere else. It `is_given` where all writes only keep
    what a method is given, or a constant. `settles` tells a branch that asks whether a count has come to some number,
    `begins` one that asks whether it has begun at all. `is_conditional` says of those that the region makes itself
    that each stands behind a test.
    """

    use: str
    written: tuple[str, ...]
    is_surely_late: bool
    by_region: bool
    kind: str
    counts: bool
    is_handed: bool
    is_given: bool = False
    settles: bool = False
    begins: bool = False
    is_called: bool = True
    is_conditional: bool = False


@dataclass(frozen=True, slots=True)
class HostDraw(Event):
    """The region asks the host for what nobody knows before: `kind` is `draws`, `clocks`, or `next` of an iterator.

    `use` is what it decides, in the words of `HostStateRead`; `is_awaited` says that it only ends a wait.
    """

    kind: str
    use: str
    is_awaited: bool = False


@dataclass(frozen=True, slots=True)
class HandedSeed(Event):
    """A seed that whoever calls gives as a number, by a `name`; a kernel takes it at `used`, as `dropout.py:31`."""

    name: str
    used: str


@dataclass(frozen=True, slots=True)
class HostStateWrite(Event):
    """The region makes new host state out of what was there: it counts, or fills a container.

    `read` are the places that look at it, without those that only write it; `in_hook` says that a hook does it, and
    `is_schedule` that the state is that of a scheduler, and `fills` that a list or table gets more. It `is_handed` as
    in `HostStateRead`, and `is_shown` if all that reads it neither runs in a region nor replays, as what reports does.
    """

    read: tuple[str, ...]
    in_hook: bool
    is_schedule: bool = False
    is_handed: bool = False
    fills: bool = False
    is_shown: bool = False


@dataclass(frozen=True, slots=True)
class HookLate(Event):
    """A module that a graph was captured with is given a hook, and the graph is replayed."""


@dataclass(frozen=True, slots=True)
class IncompleteKey(Event):
    """A graph is kept under a key, and a parameter that is not in it decides what the region does.

    `parameter` is its name, `use` what it decides, and `used` the place. It is not sure where one size may be another.
    """

    parameter: str
    use: str
    used: str
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class EagerArgument(Event):
    """The region asks for what no call in a region gives, and a function does at `given` that replays at `replay`."""

    parameter: str
    given: str
    replay: str


@dataclass(frozen=True, slots=True)
class RequestNumber(Event):
    """A number by a `name` is given to an object of each request, and the region has `read` that of the capture.

    Or it is told where the region reads it, out of a dictionary that it was handed, and is `written` later.
    """

    name: str
    read: str
    written: str = ""


@dataclass(frozen=True, slots=True)
class ExampleValue(Event):
    """What prepares for a capture reads a number out of the data of the example, and inputs of the graph end there.

    `is_size` says that the number is the size of that data, and that later data has another one; `is_given`, that the
    region is given the number, and that what it was read out of is filled later.
    """

    is_size: bool = False
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class StaleMemo(Event):
    """The region computes a tensor where none is kept yet, and something drops the one that is kept, at `written`."""

    written: tuple[str, ...]
    is_surely_late: bool


@dataclass(frozen=True, slots=True)
class OptimizerStep(Event):
    """An optimizer of torch steps in the region, and values of its groups change outside.

    `changed` are the names of those that are numbers, `written` the places that change them, or make a scheduler that
    does. `is_surely_late` is that of `HostStateRead`; `made` is where the optimizer is constructed, if that is known.
    Where it is told of that place, `step` is that of the step.
    """

    changed: tuple[str, ...]
    written: tuple[str, ...]
    is_surely_late: bool
    made: tuple[str, int] | None = None
    step: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class HyperparameterRead(Event):
    """The step of an optimizer of the project takes a number by its name out of a group, where schedules write it."""

    name: str


@dataclass(frozen=True, slots=True)
class CaptureBranch(Event):
    """A branch asks whether a capture is under way, and its way leaves out what the other one computes.

    `left_out` are the names of operations and functions, as they are called. `is_flag` says that it asks the program's
    own flag.
    """

    left_out: tuple[str, ...]
    is_flag: bool
    is_known: bool = True
    """Whether one of them is an operation of tensors, and not only a function of the program."""
