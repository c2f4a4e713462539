"""The state of a process before and after in; what a capture has left behind, and the line that did it, out."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphlint.runtime.cuda.audit import Trouble
from graphlint.runtime.places import Stack, is_user_code, user_stack

# Each: the owner and name of a function that sets a state of the process, and how that state is read.
_SETTERS: tuple[tuple[Any, str, Callable[[], object]], ...] = (
    (gc, "disable", gc.isenabled),
    (torch, "set_default_dtype", torch.get_default_dtype),
    (torch, "set_grad_enabled", torch.is_grad_enabled),
    (torch.cuda, "set_stream", lambda: torch.cuda.current_stream().cuda_stream),
    (torch.cuda, "set_sync_debug_mode", lambda: None),  # read by what it was set to, since captures set it as well
)
_OUTERMOST = 2  # what the main function of a program sets is meant for the whole process


class Process:
    """Listens to who sets a state of the process, in a region or in a helper of the program."""

    def __init__(self) -> None:
        self._before = {name: read() for _, name, read in _SETTERS}
        self._set: dict[str, Stack] = {}
        self._mode: object = 0
        self.is_capturing: Callable[[], bool] = lambda: False

    def setters(self) -> list[tuple[Any, str, Any]]:
        """What to put in place of the setters."""
        return [(owner, name, self._listening(getattr(owner, name), name)) for owner, name, _ in _SETTERS]

    def left(self) -> Iterator[Trouble]:
        """What is another state now than at the beginning, and was set by code of a region."""
        for _, name, read in _SETTERS:
            stack = self._set.get(name)
            changed = (
                self._mode not in (0, "default") if name == "set_sync_debug_mode" else read() != self._before[name]
            )
            if stack and changed:
                yield Trouble("process-state", stack, "it is not set back")

    def _listening(self, setter: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(setter)
        def listened(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if is_user_code(frame.f_code.co_filename):
                if self.is_capturing() or len(user_stack(frame)) > _OUTERMOST:
                    self._set[name] = user_stack(frame)
                if name == "set_sync_debug_mode":
                    self._mode = (*args, *kwargs.values())[0]
            return setter(*args, **kwargs)

        return listened
