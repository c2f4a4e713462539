"""The state of a process before and after in; what a capture has left behind, and the line that did it, out."""

from __future__ import annotations

import dis
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch

from graphlint.runtime.trace.capture import Trouble
from graphlint.runtime.trace.places import Stack, is_user_code, user_stack

# Each: the owner and name of a function that sets a state of the process, and how that state is read.
_SETTERS: tuple[tuple[Any, str, Callable[[], object]], ...] = (
    (gc, "disable", gc.isenabled),
    (torch, "set_default_dtype", torch.get_default_dtype),
    (torch.set_grad_enabled, "__init__", torch.is_grad_enabled),  # the compiler knows the class
    (torch.cuda, "set_stream", lambda: torch.cuda.current_stream().cuda_stream),
    (torch.cuda, "set_sync_debug_mode", torch.cuda.get_sync_debug_mode),
)
_MODES = {"default": 0, "warn": 1, "error": 2}
_CLEAR = "_cuda_clearCublasWorkspaces"
_OUTERMOST = 2  # what the main function of a program sets is meant for the whole process


class Process:
    """Listens to who sets a state of the process, in a region or in a helper of the program.

    `sync_mode` is the debugging of synchronisations as the program wants it; during a capture, it is another. `parting`
    is told before a group of ranks is destroyed, `clearing` before the workspaces of cuBLAS are given back.
    """

    def __init__(self, is_capturing: Callable[[], bool]) -> None:
        self.sync_mode = 0
        self.parting: list[Callable[[Stack], None]] = []
        self.clearing: list[Callable[[Stack], None]] = []
        self._is_capturing = is_capturing
        self._before = {_known_as(owner, name): read() for owner, name, read in _SETTERS}
        self._set: dict[str, Stack] = {}

    def patches(self) -> list[tuple[Any, str, Any]]:
        """What to put in place of the setters."""
        setters = [
            (owner, name, self._listening(getattr(owner, name), _known_as(owner, name))) for owner, name, _ in _SETTERS
        ]
        patches = [
            *setters,
            (torch.cuda, "get_sync_debug_mode", lambda: self.sync_mode),
            (torch._C, _CLEAR, _telling(getattr(torch._C, _CLEAR), self.clearing)),
        ]
        if torch.distributed.is_available():
            destroy = torch.distributed.destroy_process_group
            patches.append((torch.distributed, destroy.__name__, _telling(destroy, self.parting)))
        return patches

    def left(self) -> Iterator[Trouble]:
        """What is another state now than at the beginning, and was set by code of a region."""
        for owner, name, read in _SETTERS:
            known = _known_as(owner, name)
            stack = self._set.get(known)
            if stack and read() != self._before[known]:
                yield Trouble("process-state", stack, "it is not set back")

    def _listening(self, setter: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(setter)
        def listened(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            is_capturing = self._is_capturing()
            is_deep = len(user_stack(frame)) > _OUTERMOST or _sets_back(frame.f_code, name)
            if is_user_code(frame.f_code.co_filename) and (is_capturing or is_deep):
                self._set[name] = user_stack(frame)
            if name == "set_sync_debug_mode":
                (mode,) = (*args, *kwargs.values())
                self.sync_mode = _MODES.get(mode, mode)
                if is_capturing:  # it counts from the end of the capture on
                    return None
            return setter(*args, **kwargs)

        return listened


def _telling(function: Callable[..., Any], listeners: list[Callable[[Stack], None]]) -> Callable[..., Any]:
    @functools.wraps(function)
    def told(*args: Any, **kwargs: Any) -> Any:
        for listener in listeners:
            listener(user_stack(sys._getframe(1)))
        return function(*args, **kwargs)

    return told


def _known_as(owner: Any, name: str) -> str:
    """What a program calls a setter."""
    return str(owner.__name__) if name == "__init__" else name


@functools.cache
def _sets_back(code: CodeType, setter: str) -> bool:
    """Whether a function calls a setter more than once, as who sets a state for a while does."""
    if code.co_name == "<module>":
        return False
    loaded = [one.argval for one in dis.get_instructions(code) if one.opname.startswith("LOAD_")]
    return loaded.count(setter) > 1
