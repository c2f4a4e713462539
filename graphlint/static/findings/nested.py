"""The calls on a way from a region in, whether they go through what captures that very region, or replays others, out.

`run` prepares its inputs and calls `_capture`, which opens the region: what the region runs is no `run` of that object
again, whatever else has a method of that name. `forward` of an engine that asks `if can_run_graph:` is around all
regions, with what it records and measures for each request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.traversal import blocks_in, calls_in, holds, walk, words_in

_CALLED = ("__call__", "forward")  # wrappers of modules, which stand in each other and pass on what they are given


def captures_again(sites: tuple[Site, ...]) -> bool:
    """Whether a method on a way goes on to open the region that the way comes from."""
    opener = sites[0].function if sites else None
    if opener is None or opener.owner is None or opener.code.name in _CALLED:
        return False
    leading = _leading_to(opener.owner, opener.code.name)
    return any(
        site.function.owner is opener.owner and site.node is not None and _goes_on(site.function, site.node, leading)
        for site in sites[1:]
    )


def chooses_graphs(sites: tuple[Site, ...], lexicon: Lexicon) -> bool:
    """Whether a function on a way asks whether there is a graph to replay, or a method of its object that it calls; or
    launches one by itself.
    """
    asking, launching = lexicon.phases["replays"], lexicon.phases["launches"]
    return any(_asks(site.function, asking) or _launches(site.function, launching) for site in sites[1:])


@remembered_in_run
def _launches(function: Function, named: re.Pattern[str]) -> bool:
    methods = (one.func.attr for one in calls_in(function.code) if isinstance(one.func, ir.Attribute))
    return any(map(named.match, methods))


@remembered_in_run
def _asks(function: Function, named: re.Pattern[str]) -> bool:
    """Whether a test of a function, or of a method of its object that it calls, has a word that is so named."""
    codes = (function.code, *_called(function))
    parts = (part for code in codes for part in walk(code.body) if isinstance(part, (ir.If, ir.Conditional)))
    return any(named.match(word) for part in parts for word in words_in(part.test))


def _called(function: Function) -> Iterator[ir.Code]:
    """The methods of its own object that a function calls."""
    methods = function.owner.methods if function.owner is not None else {}
    for name in {_own(call) for call in calls_in(function.code)} & methods.keys():
        yield from (one.code for one in methods[name or ""] if one.code is not None)


@remembered_in_run
def _leading_to(owner: ClassDefinition, name: str) -> frozenset[str]:
    """The methods of a class that call one of it, one after the other."""
    codes = [one.code for found in owner.methods.values() for one in found if one.code is not None]
    leading, more = frozenset[str](), frozenset({name})
    while more - leading:
        leading |= more
        more = frozenset(code.name for code in codes if code.name not in _CALLED and _calls(code, leading))
    return leading


def _calls(part: object, names: frozenset[str]) -> bool:
    calls = calls_in(part) if isinstance(part, ir.Code) else (one for one in walk(part) if isinstance(one, ir.Call))
    return any(_own(call) in names for call in calls)


def _own(call: ir.Call) -> str | None:
    """The method of its own object that a call leads to."""
    match call.func:
        case ir.Attribute(value=ir.Name(id="self"), attr=name):
            return name
    return None


def _goes_on(function: Function, node: ir.Node, leading: frozenset[str]) -> bool:
    """Whether a function that is left by a call calls one of these methods once it is back."""
    return any(_calls(statement, leading) for statement in _behind(function.code, node))


@remembered
def _behind(code: ir.Code, node: ir.Node) -> tuple[ir.Stmt, ...]:
    """The statements that follow the one that a node stands in, up to what returns."""
    return tuple(_following(code.body, node))


def _following(block: ir.Block, node: ir.Node) -> Iterator[ir.Stmt]:
    for at, statement in enumerate(block):
        if holds(statement, node):
            inner = [one for one in blocks_in(statement) if holds(one, node)]
            for one in inner:
                yield from _following(one, node)
            if not any(isinstance(last, (ir.Return, ir.Raise)) for last in (statement, *(one[-1] for one in inner))):
                yield from block[at + 1 :]
            return
