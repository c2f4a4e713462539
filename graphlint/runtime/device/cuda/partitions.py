"""The scheduler of Inductor in, the kernels that it leaves out of CUDA graphs, and why, out."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

from graphlint.runtime.device.backend import TellLeftOut


@contextlib.contextmanager
def telling(left_out: TellLeftOut) -> Iterator[None]:
    """Inside, pass on why kernels are left out, and the trace of what they were made of; more than once for some."""
    scheduler: Any = importlib.import_module("torch._inductor.scheduler").Scheduler
    config: Any = importlib.import_module("torch._inductor.config")
    assertion: Any = importlib.import_module("torch._inductor.ir").AssertScalar  # of the host, and no work of a graph
    asking = getattr(scheduler, "should_partition", None)
    if asking is None:  # releases that graph all kernels of a function, or none
        yield
        return

    @functools.wraps(asking)
    def asked(self: Any, node: Any, *args: Any, **kwargs: Any) -> Any:
        why = asking(self, node, *args, **kwargs)
        if why and config.triton.cudagraphs and node.node is not None and not isinstance(node.node, assertion):
            left_out(why if isinstance(why, str) else "ops that cannot be graphed", _trace(node.node))
        return why

    scheduler.should_partition = asked
    try:
        yield
    finally:
        scheduler.should_partition = asking


def _trace(node: Any) -> str:
    """Where the program asks for a kernel: for the operator it is named after, else for the first that went into it."""
    origins = filter(None, (getattr(node, "origin_node", None), *sorted(getattr(node, "origins", ()))))
    return next(filter(None, (one.meta.get("stack_trace") for one in origins)), "")
