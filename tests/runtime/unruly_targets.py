"""Targets that are judged, and targets that end, or try to end, the process that looks at them."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import torch

Target = tuple[Callable[..., object], tuple[torch.Tensor, ...]]
_MEMORY = 1 << 34  # bytes


def _of(step: Callable[..., object]) -> Target:
    return step, (torch.rand(2, 4, device="cuda"),)


def safe() -> Target:
    return _of(torch.nn.Linear(4, 4).cuda())


def refused() -> Target:
    return _of(lambda x: x * x.sum().item())


def differs() -> Target:
    return _of(lambda x: x * 2 if torch.cuda.is_current_stream_capturing() else x * 3)


def forks() -> Target:
    if not os.fork():
        time.sleep(3600)
    return safe()


def closes_output() -> Target:
    sys.stdout.close()
    sys.stderr.close()
    return safe()


def closes_all() -> Target:
    os.closerange(0, 256)
    return safe()


def exits() -> NoReturn:
    os._exit(0)


def exits_in_step() -> Target:
    return _of(lambda x: os._exit(3))


def aborts() -> Target:
    return _of(lambda x: os.abort())


def reads_nowhere() -> Target:
    return _of(lambda x: ctypes.string_at(0))


def loops() -> NoReturn:
    while True:
        time.sleep(1)


def raises_exit() -> NoReturn:
    raise SystemExit(0)


def is_interrupted() -> NoReturn:
    raise KeyboardInterrupt


def exhausts_memory() -> Target:
    def step(_: Any) -> object:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        return bytearray(_MEMORY)

    return _of(step)


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


VERDICTS = {safe: "safe", forks: "safe", closes_output: "safe", refused: "refused", differs: "differs"}
FAILING = (
    exits, exits_in_step, aborts, reads_nowhere, loops, raises_exit, is_interrupted, exhausts_memory, is_killed,
    closes_all,
)  # fmt: skip
