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

from graphlint.events.around import (
    GradientDropped,
    GradientFound,
    GraphCollected,
    GraphDropped,
    InputFreed,
    InputReplaced,
    KeyRead,
    OutputKept,
    OutputRead,
    PartialFill,
    Recapture,
    RepeatedState,
    StaleReplay,
    StateBorn,
)
from graphlint.events.host_state import (
    CaptureBranch,
    ExampleValue,
    HostCount,
    HostDraw,
    HostStateRead,
    HostStateWrite,
    IncompleteKey,
    OptimizerStep,
    StaleMemo,
)
from graphlint.events.protocol import (
    ActivationsOverwritten,
    CaptureMisused,
    ContractBroken,
    EagerBeside,
    FirstCall,
    GeneratorUsed,
    GraphedMisuse,
    InferenceTensor,
    LooseEnd,
    ModeIgnored,
    ModeSwitched,
    NeverReplayed,
    OutsideDependency,
    PinnedTouched,
    RandomState,
    SettingLeft,
    SharedPool,
    Uncaptured,
    WorkOutside,
)
from graphlint.events.region import (
    CachedCall,
    Event,
    Growth,
    Hit,
    HostRead,
    Item,
    ItemRead,
    ItemWrite,
    Made,
    ModuleMove,
    Operands,
    OperationCall,
    StateWrite,
    Truth,
)
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
    "Confidence",
    "Const",
    "ContractBroken",
    "DeviceName",
    "EagerBeside",
    "Event",
    "ExampleValue",
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
    "KeyRead",
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
    "SharedPool",
    "StaleMemo",
    "StaleReplay",
    "StateBorn",
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
    "Uncaptured",
]
