"""Calls that a capture does not allow in, stand-ins that take note of them and let the capture go on out."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphlint.runtime.device.backend import ACTIVE
from graphlint.runtime.trace.frames import MISSING
from graphlint.runtime.trace.optimizers import Stepped, hyperparameters, numbers_of_state
from graphlint.runtime.trace.places import is_user_code, user_stack
from graphlint.runtime.watch.openings import GRAPH, Openings
from graphlint.runtime.watch.recorder import SYNCHRONIZES, Recorder, first_line

_CONSTRUCTORS: tuple[tuple[object, str], ...] = (
    (torch, "tensor"),
    (torch, "as_tensor"),
    (torch, "asarray"),
    (torch.Tensor, "new_tensor"),
)
_STEP = "Optimizer.step#"  # how the name of each step of an optimizer begins


def _waits() -> list[tuple[object, str, object]]:
    """Waiting for the device, or asking how far it is: what a call gives back where a capture goes on without it.

    The classes are those that torch has by now: the emulator brings its own.
    """
    return [
        (torch.cuda, "synchronize", None),
        (torch.accelerator, "synchronize", None),
        (torch.cuda.Stream, "synchronize", None),
        (torch.cuda.Stream, "query", True),
        (torch.cuda.Event, "synchronize", None),
        (torch.cuda.Event, "query", True),
        (torch.cuda.Event, "elapsed_time", 0.0),
    ]


class Standins:
    """What takes the place of some functions of torch while a capture is under way."""

    def __init__(self, recorder: Recorder, openings: Openings) -> None:
        self.recorder = recorder
        self.openings = openings

    def patches(self, *, is_compiling: bool) -> list[tuple[object, str, object]]:
        """What stands in place of what: the owner, the name, the stand-in.

        Where the program compiles, constructors stay: compiled code has guards on them, and would be made anew.
        """
        waits = [(owner, name, self._refusing(getattr(owner, name), name, given)) for owner, name, given in _waits()]
        constructors = () if is_compiling else _CONSTRUCTORS
        builds = [(owner, name, self._building(getattr(owner, name), name)) for owner, name in constructors]
        releases = [
            (owner, "empty_cache", self._releasing(owner.empty_cache))
            for owner in (torch.cuda, torch.accelerator)
            if hasattr(owner, "empty_cache")
        ]
        # Below the function that a program may have imported by name.
        answer = self._answering(torch.cuda.graphs._cuda_isCurrentStreamCapturing)
        asks = (torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", answer)
        printing = (torch._tensor_str, "_str", self._printing(torch._tensor_str._str))
        named = torch.autograd.profiler.record_function
        return [*waits, *builds, *releases, asks, printing, (named, "__enter__", self._stepping(named.__enter__))]

    def _refusing(self, call: Callable[..., object], name: str, given: object) -> Callable[..., object]:
        """The call is known to be refused, and is left out so that the capture goes on."""

        @functools.wraps(call)
        def refused(*args: Any, **kwargs: Any) -> object:
            capture = self.recorder.capture
            if capture is None:
                return call(*args, **kwargs)
            if capture.mode == "relaxed":  # a stream beside the capture may be waited for
                return self.recorder.beside(lambda: call(*args, **kwargs))
            frame, effect = sys._getframe(1), ""
            if threading.get_ident() != capture.thread:
                effect = "concurrent-call"
            elif is_user_code(frame.f_code.co_filename):
                effect = "explicit-sync"
            elif GRAPH in self.openings.running:
                effect = "capture-protocol"
            said = "the device cannot be waited for, or asked, while a stream captures"
            self.recorder.refuse(said, frame, operator=f"torch.cuda.{name}", effect=effect)
            return given

        return refused

    def _building(self, build: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A tensor that cannot be built under capture is built beside it, so that the capture goes on."""

        @functools.wraps(build)
        def built(*args: Any, **kwargs: Any) -> Any:
            before = len(self.recorder.capture.refusals) if self.recorder.capture is not None else 0
            try:
                return build(*args, **kwargs)
            except RuntimeError as error:
                capture, device = self.recorder.capture, kwargs.get("device")
                if capture is None:
                    raise
                is_tensor = bool(args) and isinstance(args[0], torch.Tensor)
                if len(capture.refusals) == before:
                    direction = "upload" if is_tensor else "literal"
                    self.recorder.refuse(
                        first_line(error), sys._getframe(1), operator=f"torch.{name}", direction=direction
                    )
                if self.recorder.driver.capture(capture.stream)[0] != ACTIVE:
                    raise
                kwargs["device"] = "cpu"
                on_host = build(*args, **kwargs)
                return self.recorder.beside(lambda: on_host.to(device or "cuda"))

        return built

    def _printing(self, printed: Callable[..., str]) -> Callable[..., str]:
        """What prints a tensor leaves all modes, so that what it reads is refused without anyone who could go on."""

        @functools.wraps(printed)
        def text(tensor: torch.Tensor, **kwargs: Any) -> str:
            if self.recorder.capture is None or not tensor.is_cuda:
                return printed(tensor, **kwargs)
            self.recorder.refuse(
                SYNCHRONIZES, sys._getframe(1), operator="torch.Tensor.__repr__", effect="tensor-printing"
            )
            return f"tensor(..., device='{tensor.device}', size={tuple(tensor.shape)})"

        return text

    def _answering(self, asking: Callable[[], bool]) -> Callable[[], bool]:
        @functools.wraps(asking)
        def answered() -> bool:
            frame = sys._getframe(1).f_back
            if self.recorder.capture is not None and frame and is_user_code(frame.f_code.co_filename):
                self.recorder.capture.asked.append(user_stack(frame))
            return asking()

        return answered

    def _releasing(self, release: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(release)
        def released() -> None:
            frame = sys._getframe(1)
            if self.recorder.capture is not None and is_user_code(frame.f_code.co_filename):
                self.recorder.capture.released.append(user_stack(frame))
            release()

        return released

    def _stepping(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        """An optimizer names each step for profilers; for a hook of optimizers, compiled code would be made anew."""

        @functools.wraps(enter)
        def entered(named: Any) -> Any:
            frame = sys._getframe(1)
            optimizer = frame.f_locals.get("self") if named.name.startswith(_STEP) else None
            if self.recorder.capture is not None and isinstance(optimizer, torch.optim.Optimizer):
                before = hyperparameters(optimizer), numbers_of_state(optimizer)
                self.recorder.capture.optimizers.append(Stepped(optimizer, user_stack(frame), *before))
            return enter(named)

        return entered


@contextlib.contextmanager
def patched(patches: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Attributes replaced while inside."""
    before = [(owner, name, vars(owner).get(name, MISSING)) for owner, name, _ in patches]
    for owner, name, value in patches:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(before):
            if value is MISSING:  # it is inherited
                delattr(owner, name)
            else:
                setattr(owner, name, value)
