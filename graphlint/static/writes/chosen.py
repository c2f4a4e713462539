"""A read of state in, whether what it has there picks the graph out: each value has a graph of its own.

`set_context(rows=n)` in front of a capture that is kept as `graphs[n]` gives what the region reads as `context.rows`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphlint.static.domain.sources import Place, Read
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.keys import definitions_of, keys_of
from graphlint.static.writes.reaching import Reaching
from graphlint.static.writes.traces import Traces


def picks_the_graph(read: Read, reaching: Reaching, traces: Traces) -> bool:
    """Whether whoever captures what reads state hands it on by a name that is part of the key of the graph."""
    regions = reaching.evaluator.regions
    contexts = {regions[key].context for key in reaching.regions_of(read.place.sink)}
    openers = [one for one in traces.openers.values() if one.sink in contexts]
    handed = [(one, names) for one in openers if (names := set(_handed_on(one, read.state.name)))]
    return bool(handed) and all(
        any(not names.isdisjoint(key.names) for definition in definitions_of(one) for key in keys_of(definition))
        for one, names in handed
    )


def _handed_on(opener: Place, name: str) -> Iterator[str]:
    """The local names that the function that captures gives a keyword, or an attribute, of a name."""
    for definition in definitions_of(opener):
        tree = tree_of(definition.module.source_of(definition.segment))
        for part in nodes_in(tree) if tree is not None else ():
            match part:
                case ast.keyword(arg=given, value=ast.Name(id=local)) if given == name:
                    yield local
                case ast.Assign(targets=[ast.Attribute(attr=given)], value=ast.Name(id=local)) if given == name:
                    yield local
