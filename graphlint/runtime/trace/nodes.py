"""What a device tells of a node of a captured graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    """Memory that a copy or a memset touches: `size` bytes from `address` on.

    `kind` is `host`, `device`, `managed` or `array` (of which the address means nothing); None for pageable memory.
    """

    address: int
    size: int
    kind: str | None


@dataclass(frozen=True, slots=True)
class Node:
    """One node; `index` counts the nodes of its graph in the order of their creation.

    `words` are the 8-byte words of all parameters, those inside structs as well; some are addresses, others data.
    `source` and `target` belong to a copy, `target` to a memset as well, `children` to a child graph. Where the driver
    does not tell what a node touches, `is_legible` is False.
    """

    index: int
    handle: int
    kind: str
    name: str = ""
    words: tuple[int, ...] = ()
    source: Stretch | None = None
    target: Stretch | None = None
    children: tuple[Node, ...] = ()
    is_legible: bool = True

    @property
    def host_source(self) -> Stretch | None:
        """The host memory that a copy reads again at each replay."""
        return self.source if self.source is not None and self.source.kind in ("host", None) else None

    @property
    def host_target(self) -> Stretch | None:
        """The host memory that a copy writes again at each replay."""
        return self.target if self.target is not None and self.target.kind in ("host", None) else None


def flatten(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """The nodes, and those of child graphs behind the node that holds them."""
    for node in nodes:
        yield node
        yield from flatten(node.children)
