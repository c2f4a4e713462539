"""A callable is graphed, or used once it is, in a way that two fixed graphs cannot serve."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GraphedMisuse, Hit

_SAID = {
    "autocast": "`{operation}` caches casts, and `make_graphed_callables` refuses to capture under it",
    "hooks": "`{operation}` graphs a module that has hooks, which is refused",
    "inner hook": "`{operation}` hooks a part of a graphed module: calls replay the graph, and none runs the part",
    "buffer": "`{operation}` makes a buffer that requires a gradient, and the module is graphed: that is refused",
    "parallel": "`{operation}` graphs what is wrapped in DistributedDataParallel: its hooks never reduce the gradients",
    "samples": "`{operation}` has a sample argument that is no tensor, which is refused",
    "cold": "`{operation}` graphs what nothing has called, without a warm-up: libraries are set up in the capture",
    "unused input": "`{operation}` does not depend on an input that requires a gradient: the captured backward fails",
    "unused parameter": "`{operation}` graphs a module with parameters that its output does not depend on",
    "again": "`{operation}` graphs a module a second time: what it captures is the replay of the first graph",
    "copied": "`{operation}` copies a graphed module: the copy replays the graph of the original, with its parameters",
    "sample gradient": "`{operation}` graphs with a sample that requires no gradient: a real input that does gets none",
    "parameters": "`{operation}` freezes parameters of a graphed module, and its graphs still compute their gradients",
    "exchanged": "`{operation}` gives a graphed module other parts: its graphs go on with those of before",
    "keyword": "`{operation}` gives a graphed callable a keyword argument, which is refused",
    "summed": "`{operation}` sums up gradients of a graphed callable from None: each replay overwrites what was kept",
    "reentrant": "`{operation}` runs a backward pass of its own, which is refused where a module is graphed",
    "differentiated": "`{operation}` differentiates a graphed callable twice: its gradient has no history",
}
_HELP = {
    "autocast": "use `torch.autocast(..., cache_enabled=False)`",
    "hooks": "register hooks after graphing: they run around the graph",
    "inner hook": "register it on the graphed module itself, or before graphing and for device work alone",
    "buffer": "make it a `Parameter`",
    "parallel": "graph the module first, and wrap it in DistributedDataParallel afterwards",
    "cold": "leave `num_warmup_iters` as it is, or call the module before",
    "unused input": "pass `allow_unused_input=True`, or leave the input out",
    "unused parameter": "pass `allow_unused_input=True`",
    "again": "keep `module.forward` of before, and put it back before graphing anew",
    "copied": "copy the module before it is graphed",
    "sample gradient": "give the sample the `requires_grad` of the real input",
    "parameters": "freeze parameters before graphing, or graph anew",
    "exchanged": "change the module before it is graphed, or graph it anew",
    "keyword": "pass it by its position",
    "reentrant": "pass `use_reentrant=False`",
    "summed": "allocate gradients before, `p.grad = torch.zeros_like(p)`, and zero them in place",
    "differentiated": "keep `module.forward` of before graphing, and differentiate that",
}
_UNSURE = ("cold", "reentrant", "unused parameter", "sample gradient", "parameters")


def detect(event: GraphedMisuse) -> Iterator[Hit]:
    yield Hit(Confidence.MEDIUM if event.how in _UNSURE else Confidence.HIGH, _SAID[event.how], _HELP.get(event.how))
