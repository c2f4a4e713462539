"""A read of state in, whether what it has there picks the graph out: each value has a graph of its own.

`set_context(rows=n)` in front of a capture that is kept as `graphs[n]` gives what the region reads as `context.rows`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from graphlint.static.domain.sources import Read
from graphlint.static.index.module import Definition
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.keys import definitions_of, keys_of
from graphlint.static.writes.reaching import Reaching
from graphlint.static.writes.traces import Traces


def picks_the_graph(read: Read, reaching: Reaching, traces: Traces) -> bool:
    """Whether whoever captures what reads state hands it on by a name that is part of the key of the graph."""
    regions = reaching.evaluator.regions
    contexts = {regions[key].context for key in reaching.regions_of(read.place.sink)}
    openers = [one for one in traces.openers.values() if one.sink in contexts]
    opening = [list(definitions_of(one)) for one in openers]
    handed = [(definitions, names) for definitions in opening if (names := _names(definitions, read))]
    return bool(handed) and all(
        any(not names.isdisjoint(key.names) for definition in definitions for key in keys_of(definition))
        for definitions, names in handed
    )


def _names(definitions: Iterable[Definition], read: Read) -> frozenset[str]:
    """The local names that are handed on there as what is read."""
    return frozenset().union(*(_handed_on(one).get(read.state.name, ()) for one in definitions))


@remembered_in_run
def _handed_on(definition: Definition) -> Mapping[str, set[str]]:
    """The local names that a function gives keywords and attributes, by the names of these."""
    found: dict[str, set[str]] = {}
    tree = tree_of(definition.module.source_of(definition.segment))
    for part in nodes_in(tree) if tree is not None else ():
        match part:
            case ast.keyword(arg=str(given), value=ast.Name(id=local)):
                found.setdefault(given, set()).add(local)
            case ast.Assign(targets=[ast.Attribute(attr=given)], value=ast.Name(id=local)):
                found.setdefault(given, set()).add(local)
    return found
