"""A region is the first to call what compiles, tunes or sets itself up when it is called."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, ContractBroken, FirstCall, Hit, InferenceTensor

_SAID = {
    "compiled": "`{operation}` calls a compiled function for the first time{shape}, which compiles it during capture",
    "kernel": "`{operation}` launches a kernel for the first time{shape}, which compiles it during capture",
    "benchmark": "`{operation}` runs a convolution for the first time{shape}, which times algorithms during capture",
    "library": "`{operation}` is the first to need a library of the device, which sets itself up during capture",
    "callable": "`{operation}` captures a call that nothing here has made before, so it sets itself up during capture",
    "request": "`{operation}` captures, for the request that it serves, a call that nothing here has made before: "
    "libraries and kernels set themselves up during capture",
    "group": "`{operation}` is the first collective of its group, which sets up its communicator during capture",
    "backend": "`{operation}` runs on a backend that works on the host, and cannot be captured",
}
_HELP = {
    "group": "call a collective of this group before the region, or make the group with `device_id=`",
    "backend": 'make the group with the backend "nccl"',
}
_UNSURE = ("library", "request")


def detect(event: FirstCall | InferenceTensor | ContractBroken) -> Iterator[Hit]:
    if isinstance(event, ContractBroken):
        if event.demand == "warm_up":
            said = f"`{{operation}}` is the first call of `{event.name}`, which sets itself up during capture"
            yield Hit(Confidence.HIGH, said, "call it once with the same shapes before the capture")
        return
    if isinstance(event, InferenceTensor):
        said = "`{operation}` makes a tensor that only inference mode may change, and the region changes it without"
        yield Hit(Confidence.HIGH, said, "warm up under `torch.no_grad()`, or capture in inference mode as well")
        return
    said = _SAID[event.what].replace("{shape}", " with this shape" if event.is_other_shape else "")
    if event.what == "callable":  # whoever captures may have run it somewhere else
        yield Hit(Confidence.LOW, said)
        return
    yield Hit(Confidence.MEDIUM if event.what in _UNSURE else Confidence.HIGH, said, _HELP.get(event.what))
