"""Work that wants a GPU in; it is done in a fork of this process, where torch finds an emulated one."""

from __future__ import annotations

import functools
import gc
import multiprocessing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphlint.errors import UsageError
from graphlint.runtime.session.guard import Ending
from graphlint.runtime.session.isolation import Work, require_fork, run_isolated
from graphlint.runtime.session.session import Send, emulate

if TYPE_CHECKING:
    from graphlint.runtime.device.emulator.names import Taken


def run_forked(work: Work, deadline: float, heard: Callable[[Any], None]) -> Ending:
    """As `run_isolated`, for work that needs the objects of this process, which stays as it is.

    Raises UsageError where there is no fork, and where this process uses a GPU, which a fork of it cannot do.
    """
    import torch

    require_fork()
    if torch.cuda.is_initialized():
        raise UsageError(
            "this process uses a GPU already, so that no fork of it can be emulated; "
            "take a process that does not, or `graphlint verify --on emulator`"
        )
    import graphlint.runtime.session.preloaded  # noqa: F401 - here, once, and not in each fork
    from graphlint.runtime.device.emulator.names import taken

    emulated = functools.partial(_emulated, work, taken())
    return run_isolated(multiprocessing.get_context("fork"), emulated, deadline, heard)


def _emulated(work: Work, taken: Taken, send: Send) -> None:
    import torch

    gc.freeze()  # collections would copy the memory that this process shares with the one that forked
    torch.set_num_threads(1)
    torch.set_num_threads = _stay_alone  # the threads that computed are those of the process that forked
    emulate()
    taken.renew()
    work(send)


def _stay_alone(_number: int) -> None:
    """More threads would wait for ever."""
