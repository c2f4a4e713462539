"""The scheduler of Inductor in, the kernels that it leaves out of CUDA graphs, and why, out.

What an earlier run has compiled, torch reads back from the disk by default, without asking the scheduler again: a
second run would hear nothing. So everything is compiled anew here.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

from graphlint.runtime.device.backend import TellLeftOut

_CACHES = {  # of compiled graphs; those of kernels stay
    "torch._inductor.config": ("fx_graph_cache", "fx_graph_remote_cache"),
    "torch._functorch.config": ("enable_autograd_cache", "enable_remote_autograd_cache"),
}


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

    with contextlib.ExitStack() as patches:
        for module, names in _CACHES.items():
            settings: Any = importlib.import_module(module)
            patches.enter_context(settings.patch({name: False for name in names if hasattr(settings, name)}))
        scheduler.should_partition = asked
        try:
            yield
        finally:
            scheduler.should_partition = asking


def _trace(node: Any) -> str:
    """Where the program asks for a kernel: for the operator it is named after, else for the first that went into it."""
    origins = filter(None, (getattr(node, "origin_node", None), *sorted(getattr(node, "origins", ()))))
    return next(filter(None, (one.meta.get("stack_trace") for one in origins)), "")
