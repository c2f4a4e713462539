"""Operators on tensors of the CPU in, what a GPU would do with them out: it refuses, waits, captures or runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from graphlint.runtime.device.emulator.generators import Generators
from graphlint.runtime.device.emulator.kernels import Kernels, is_meta
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.refusals import UNPINNED, Refusals
from graphlint.runtime.device.emulator.residence import CPU, Kind, Residence
from graphlint.runtime.device.emulator.streams import DEFAULT, Streams
from graphlint.runtime.device.emulator.trees import Trees
from graphlint.runtime.trace.modes import DispatchMode, is_composite
from graphlint.runtime.trace.operators import Call, tensors

if TYPE_CHECKING:
    from graphlint.runtime.device.emulator.collectives import Collectives

_FAKE = torch._C._TorchDispatchModeKey.FAKE
_PLAIN: Any = torch.Tensor.__torch_dispatch__
_MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


class Device(DispatchMode):
    """Where every operator of a thread arrives, below autograd and below what follows the program."""

    def __init__(
        self, residence: Residence, streams: Streams, generators: Generators, kernels: Kernels, refusals: Refusals
    ) -> None:
        super().__init__()
        self.trees = Trees(residence)
        self.kernels = kernels
        self.refusals = refusals
        self.residence = residence
        self.streams = streams
        self.generators = generators
        self.collectives: Collectives | None = None  # where torch has any

    def __torch_dispatch__(
        self, func: Any, types: Sequence[Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        if torch._C._get_dispatch_mode(_FAKE) is not None:  # a mode of torch that runs nothing, and lies below this one
            return func(*args, **(kwargs or {}))
        if any(one.__torch_dispatch__ is not _PLAIN for one in types):  # which know what they make of an operator
            return NotImplemented
        call = Call(func, args, kwargs or {})
        body = func.decompose if is_composite(func) else self.kernels.body_of(func)
        if body is not None:  # what it runs is followed one by one
            with self:
                return body(*args, **call.kwargs)
        self.trees.require_owned(call)
        kinds = [self.residence.kind(one) for one in call.tensors]
        if call.schema == "aten::equal" and kinds[0] is Kind.HELPER:
            self.wait()
        if self.collectives is not None and self.collectives.carry(call):
            return self._run_collective(self.collectives, call)
        is_device = self._is_device(call, kinds)
        if is_device:
            if Kind.HELPER in kinds:
                self._adopt(call)
        elif Kind.DEVICE not in kinds:
            return self._run_on_host(call, kinds)
        recording = self.streams.current.recording
        node = torch._C._current_autograd_node()
        if node is not None:
            self._check_backward(node, recording)
        self._check(call, is_device, has_hosts=kinds.count(Kind.DEVICE) < len(kinds))
        if recording is None:
            return self._run(call, is_device)
        self._require_valid(recording)
        recording.keep(call)
        result = self._run(call, is_device)
        self.streams.current.launch()
        recording.add(Call(func, args, self._on_cpu(call.kwargs)), result, self._around(call))
        return result

    def _run_collective(self, collectives: Collectives, call: Call) -> object:
        recording = self.streams.current.recording
        if recording is None:
            return collectives.run(call)
        self._require_valid(recording)
        recording.keep(call)
        result = collectives.captured(call, recording)
        self.streams.current.launch()
        recording.add(call, result, contextlib.nullcontext)
        return result

    def _is_device(self, call: Call, kinds: list[Kind | None]) -> bool:
        """Whether the result lies on the device."""
        target = call.kwargs.get("device")
        # Only C++ names a layout beside a device: there, the device is where the tensors of this process lie.
        if target is not None and ("layout" not in call.kwargs or torch.device(target).type == "cuda"):
            return bool(torch.device(target).type == "cuda")
        if call.operator.is_in_place:
            return kinds[0] is Kind.DEVICE or (kinds[0] is Kind.HELPER and Kind.DEVICE in kinds)
        return Kind.DEVICE in kinds

    def _adopt(self, call: Call) -> None:
        """A tensor that C++ has made on the way lies where those are that it is used with."""
        for tensor in call.tensors:
            if self.residence.kind(tensor) is Kind.HELPER and not self.refusals.is_number_written(call, tensor):
                self.residence.place(tensor, Kind.DEVICE)
                if self.streams.current.recording is not None:
                    self.streams.current.recording.adopt(tensor)

    def _run_on_host(self, call: Call, kinds: list[Kind | None]) -> object:
        result = self.kernels.run(call.func, call.args, _on_cpu(call.kwargs), on_device=False)
        is_pinned = bool(call.kwargs.get("pin_memory")) or call.schema == "aten::_pin_memory"
        # A constructor that Python has called gets `pin_memory`, one that C++ has called does not.
        is_helper = kinds.count(Kind.HELPER) == len(kinds) and "pin_memory" not in call.kwargs
        if (is_pinned or is_helper) and not call.operator.is_view:  # a view lies where its memory does
            for tensor in tensors(result):
                if self.residence.kind(tensor) is None:
                    self.residence.place(tensor, Kind.PINNED if is_pinned else Kind.HELPER)
        return result

    def _check(self, call: Call, is_device: bool, *, has_hosts: bool) -> None:
        """Raises RuntimeError for what a GPU does not do, or does not do now."""
        if call.is_copy:
            self._check_copy(call, is_device)
            return
        if has_hosts and self.refusals.mixes(call):
            raise RuntimeError(_MIXED)
        if self.refusals.copies(call):
            self._upload(is_pinned=False, is_blocking=True)
        if self.refusals.waits(call):
            self.wait()
        self.refusals.tune(call, self.wait)
        if call.operator.draws and self.streams.current.recording is not None:
            self.generators.require_registered(call.kwargs.get("generator"), self.streams.current.recording)

    def _check_backward(self, node: Any, recording: Recording | None) -> None:
        """Autograd goes backward where it went forward, and the default stream cannot be captured; some nodes wait.

        A node that captures by itself, as a compiled function does, is there before its capture.
        """
        number = node._sequence_nr()
        if recording is not None and number != recording.node and self.streams.of_node(number) == DEFAULT:
            self.streams.refuse(recording, "906 (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)", "cuStreamWaitEvent")
        if self.refusals.waits_backward(node.name()):
            self.wait()

    def _check_copy(self, call: Call, is_device: bool) -> None:
        into = call.args[0] if call.schema == "aten::copy_" else None
        source = call.args[0] if into is None else call.source
        if source is None:
            self._upload(is_pinned=False, is_blocking=True)
            return
        if source.is_cuda == is_device or not source.numel() or is_meta(call.kwargs):
            return
        blocking = not call.is_asynchronous
        if into is None and not is_device:
            is_pinned = not blocking  # the allocator pins the target of such a copy
        else:
            host = source if is_device else call.args[0]
            is_pinned = self.residence.is_pinned(host) and (into is None or not _needs_buffer(host, into, source))
        self._upload(is_pinned=is_pinned, is_blocking=blocking)

    def _upload(self, *, is_pinned: bool, is_blocking: bool) -> None:
        """A copy between host and device."""
        if self.streams.current.recording is not None and not is_pinned:
            raise RuntimeError(UNPINNED)
        if is_blocking:
            self.wait()

    def called(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A function that reads memory of the device without an operator is about to run."""
        waits, copies = self.refusals.of_function(name, args, kwargs)
        if waits or copies:
            self._upload(is_pinned=not copies, is_blocking=True)

    def wait(self) -> None:
        """The host waits until the current stream is done."""
        self.streams.wait_host("cuStreamSynchronize", self.streams.current)

    def _require_valid(self, recording: Recording) -> None:
        if not recording.is_valid:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    def _run(self, call: Call, is_device: bool) -> object:
        kwargs = self._on_cpu(call.kwargs)
        if call.operator.draws:
            with self._around(call)():
                result = self.kernels.run(call.func, call.args, kwargs, on_device=is_device)
        else:
            result = self.kernels.run(call.func, call.args, kwargs, on_device=is_device)
        made = tensors(result)
        if call.operator.writes:
            made = [one for one in made if not any(one is given for given in call.tensors)]
        if is_device:
            for number, tensor in enumerate(made):
                if not self.refusals.is_host_result(call, number):
                    self.residence.place(tensor, Kind.DEVICE)
                    self.trees.allocated(tensor)
        elif call.schema == "aten::_to_copy" and call.kwargs.get("non_blocking"):
            for tensor in made:
                self.residence.place(tensor, Kind.PINNED)
        return result

    def _on_cpu(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of an operator of the device, and what its generator draws from."""
        here = _on_cpu(kwargs)
        if here.get("generator") is not None:
            here["generator"] = self.generators.source(here["generator"])
        return here

    def _around(self, call: Call) -> Callable[[], contextlib.AbstractContextManager[None]]:
        """What to run an operator in, so that it draws from the generator of the device; it must not hold the call."""
        if not call.operator.draws or call.kwargs.get("generator") is not None:
            return contextlib.nullcontext
        return functools.partial(self.generators.drawing, self.generators.default.source)


def _needs_buffer(host: torch.Tensor, into: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a copy goes through memory on the host that is in another order, and not pinned."""
    if into.dtype == source.dtype and into.shape == source.shape and into.stride() == source.stride():
        reach = 1 + sum((size - 1) * stride for size, stride in zip(into.shape, into.stride(), strict=True))
        if reach == into.numel():
            return False
    if host is into:
        return not into.is_contiguous()
    return not source.expand_as(into).is_contiguous()


def _on_cpu(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an operator as they are for memory of this process."""
    here = dict(kwargs)
    if not here:
        return here
    if here.get("device") is not None and torch.device(here["device"]).type == "cuda":
        here["device"] = CPU
    if here.get("pin_memory"):
        here["pin_memory"] = False
    if "driver" in here:  # a library of the GPU
        here["driver"] = None
    return here
