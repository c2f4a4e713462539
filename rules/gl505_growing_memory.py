"""State that outlives the region grows: a buffer is made anew once it is too small, a list or a table gets one more."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import (
    Confidence,
    GraphCollected,
    Growth,
    Hit,
    SeparatePools,
    SharedPool,
    StateWrite,
    fresh_tensor,
)

_BOUND = "keep a fixed set of sizes, share one pool, and drop graphs with `reset()`"
_TENSOR = "keep the number in a tensor of the device, and change it there"
_PAD = 'pad to a few sizes, or compile it without graphs, as by `mode="max-autotune-no-cudagraphs"`'


def detect(event: StateWrite | Growth | GraphCollected | SharedPool | SeparatePools) -> Iterator[Hit]:
    if isinstance(event, SharedPool):
        said = "`{operation}` is another stream for each capture, and memory of the pool that they share stays with one"
        yield Hit(Confidence.MEDIUM, said, "make one stream for all captures that share a pool")
        return
    if isinstance(event, SeparatePools):
        said = "`{operation}` gives the graph of each size a pool of its own, and all of them keep their memory"
        instead = "give all of them one `pool=`, and capture the largest size first"
        yield Hit(Confidence.MEDIUM, said, instead, is_note=True)
        return
    if isinstance(event, GraphCollected):
        by_key = "`{operation}` keeps one more graph, with its memory, for each new key, and nothing bounds how many"
        anew = "`{operation}` keeps each graph that is captured anew, with its memory, and resets none"
        by_size = "`{operation}` is asked for graphs, and for sizes that vary: torch records and keeps a graph for each"
        by_number = "`{operation}` gives a number that counts up: torch records and keeps a graph for each"
        said = by_number if event.by_number else by_size if event.by_size else by_key if event.by_key else anew
        instead = _TENSOR if event.by_number else _PAD if event.by_size else _BOUND
        yield Hit(Confidence.MEDIUM if event.is_sure else Confidence.LOW, said, instead)
        return
    fresh = fresh_tensor(event.value)
    if fresh is not None and (isinstance(event, Growth) or event.enlarges):
        yield Hit(fresh.sure)
