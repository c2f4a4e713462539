"""What a program asks for that an emulated device answers without knowing in; what that was, in words, out."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from graphlint.runtime.trace.places import libraries_between

COMPILED = "what Inductor makes of compiled functions"
POOLED = "what a graph writes over in a pool that it shares"
_MEMORY = "how much memory is used"
_PROCESS = "what another process does"
_OF_MEMORY = ("_cuda_memoryStats", "_cuda_memorySnapshot")


class Guesses:
    """`made` are those so far: a check of the program that fails may fail because of them."""

    def __init__(self) -> None:
        self.made: dict[str, None] = {}

    def functions(self, known: dict[str, Any]) -> dict[str, Any]:
        """Those of the half of torch that is written in C++ that guess, and tell."""
        return {name: self.telling(_MEMORY, known[name]) for name in _OF_MEMORY}

    def patches(self) -> list[tuple[Any, str, Any]]:
        """What to put in place of what guesses elsewhere: another process has no emulator."""
        return [(subprocess.Popen, "__init__", self.telling(_PROCESS, subprocess.Popen.__init__, "subprocess:"))]

    def telling(self, what: str, answer: Callable[..., Any], through: str = "torch.cuda.") -> Callable[..., Any]:
        """The same function; it counts where the program asks, and not a library for its own ends."""

        @functools.wraps(answer)
        def told(*args: Any, **kwargs: Any) -> Any:
            if all(one.startswith(through) for one in libraries_between(sys._getframe(1))):
                self.made[what] = None
            return answer(*args, **kwargs)

        return told
