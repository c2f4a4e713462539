"""NCCL for one emulated device a process: gloo carries what ranks send each other, and a capture sends nothing.

What a GPU was measured to do is kept: a group that is not set up yet refuses its first collective in a capture, as a
barrier does, and any group of another backend, and DDP in its first steps.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from graphlint.runtime.device.emulator.kernels import compute
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.streams import Streams
from graphlint.runtime.trace.operators import Call, tensors

_NCCL, _GLOO = "nccl", "gloo"
_BARRIERS = ("c10d::barrier", "c10d::monitored_barrier_")
_TIMED_STEPS = 11  # of DDP, of which the first has none before it to time
_UNSUPPORTED = "900 (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)"


class Collectives:
    """The groups of a process that pass for those of NCCL, by name, and those of them that are set up."""

    def __init__(self, streams: Streams, *, has_numbers: bool) -> None:
        self.streams = streams
        self.has_numbers = has_numbers
        self._groups: set[str] = set()
        self._ready: set[str] = set()
        self._alone: Any = None  # a group of this rank, in which all is over at once
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # of DDP, by its logger

    def patches(self) -> Iterator[tuple[Any, str, Any]]:
        """What stands in place of what: the owner, the name, the stand-in."""
        for owner in (dist, distributed_c10d):
            yield owner, "init_process_group", self._around_init(owner.init_process_group)
            yield owner, "new_group", self._around_new(owner.new_group)
            yield owner, "get_backend", self._around_backend(owner.get_backend)
            yield owner, "is_nccl_available", lambda: True
        yield dist.Logger, "set_runtime_stats_and_log", self._around_timing(dist.Logger.set_runtime_stats_and_log)

    def carry(self, call: Call) -> bool:
        """Whether an operator is a collective on the device."""
        return call.is_collective and (_group(call) in self._groups or any(tensor.is_cuda for tensor in call.tensors))

    def run(self, call: Call) -> object:
        """Run a collective, after which its group is set up; without numbers, nobody has anything to send."""
        self._ready.add(_group(call))
        return compute(call.func, call.args, dict(call.kwargs)) if self.has_numbers else self._given(call)

    def captured(self, call: Call, recording: Recording) -> object:
        """What a collective gives in a capture, where it only becomes part of the graph."""
        name = _group(call)
        if call.schema in _BARRIERS or name not in self._groups:
            self.streams.refuse(recording, _UNSUPPORTED, "cudaStreamSynchronize")
        if name not in self._ready:
            self._refuse(recording, "a group sets itself up in a capture")
        return self._given(call)

    def _given(self, call: Call) -> object:
        """What a collective returns that has ended, whose result is what it was given to write."""
        over = self._alone.allreduce(tensors(call.args[0])).boxed()
        return (call.args[0], over) if len(call.func._schema.returns) > 1 else over

    def _refuse(self, recording: Recording, why: str) -> NoReturn:
        recording.is_valid = False
        self.streams.refused("API call conflicts with a stream capture sequence initiated from the calling thread")
        raise dist.DistBackendError(f"NCCL error: unhandled cuda error: {why}")

    def _around_init(self, init: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(init)
        def init_process_group(backend: str | None = None, *args: Any, device_id: Any = None, **kwargs: Any) -> Any:
            self._require_no_capture()
            init(_carrier(backend), *args, **kwargs)
            self._made(dist.group.WORLD, backend, is_eager=device_id is not None)

        return init_process_group

    def _around_new(self, new: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(new)
        def new_group(
            ranks: Any = None, timeout: Any = None, backend: str | None = None, *args: Any, **kwargs: Any
        ) -> Any:
            self._require_no_capture()
            device = kwargs.pop("device_id", None)
            of_world = _NCCL if dist.group.WORLD.group_name in self._groups else _GLOO
            group = new(ranks, timeout, _carrier(backend or of_world), *args, **kwargs)
            self._made(group, backend or of_world, is_eager=device is not None)
            return group

        return new_group

    def _around_backend(self, get: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(get)
        def get_backend(group: Any = None) -> str:
            name = getattr(group or dist.group.WORLD, "group_name", "")
            return _NCCL if name in self._groups else get(group)

        return get_backend

    def _around_timing(self, log: Callable[[Any], None]) -> Callable[[Any], None]:
        """DDP times its first steps by events, which it waits for in the next step."""

        @functools.wraps(log)
        def set_runtime_stats_and_log(logger: Any) -> None:
            steps = self._steps[logger] = self._steps.get(logger, 0) + 1
            recording = self.streams.current.recording
            if recording is not None and 1 < steps <= _TIMED_STEPS:
                self.streams.refuse(recording, _UNSUPPORTED, "cudaEventSynchronize")
            log(logger)

        return set_runtime_stats_and_log

    def _made(self, group: Any, backend: str | None, *, is_eager: bool) -> None:
        """A group was made; one that is told its device is set up at once."""
        if not isinstance(group, dist.ProcessGroup) or _GLOO in (backend or ""):
            return
        dist.all_reduce(torch.zeros(1, device="cpu"), group=group)
        self._alone = self._alone or dist.ProcessGroupGloo(dist.HashStore(), 0, 1, timedelta(minutes=1))
        self._groups.add(group.group_name)
        self._ready |= {group.group_name} if is_eager else set()

    def _require_no_capture(self) -> None:
        recording = self.streams.current.recording
        if recording is not None:
            self._refuse(recording, "a group is made in a capture")


def _carrier(backend: str | None) -> str | None:
    """The backend in place of one that needs a GPU."""
    return _GLOO if backend is None or _NCCL in backend else backend


def _group(call: Call) -> str:
    """The name of the group that a collective is of."""
    boxed = next(one for one in call.args if isinstance(one, torch.ScriptObject))
    return str(dist.ProcessGroup.unbox(boxed).group_name)
