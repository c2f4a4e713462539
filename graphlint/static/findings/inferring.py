"""A condition of a way in, whether a module would train there though gradients are off out.

A decorator of the function that captures says that they are, or of what it calls, or a block around the call. Who
trains needs them. Further on, it may be a part of a training step that computes none: averages, what is logged.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.findings.origins import handed_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import walk
from graphlint.values import External

_FIRST = 2  # calls on a way: the one in the region, and one in what that leads to


def trains_without_gradients(assumption: Assumption, sites: tuple[Site, ...], evaluator: Evaluator) -> bool:
    """Whether a test asks a module if it trains, or what its caller says of that, and finds that it does."""
    function = assumption.function
    asked = assumption.asked if assumption.is_plain else ()
    if not any(holds and _is_mode(handed_in(test, function, sites)) for test, holds in asked):
        return False
    return any(_is_inferring(site.function, site.node, evaluator) for site in sites[:_FIRST])


def _is_mode(node: ir.Expr) -> bool:
    return isinstance(node, ir.Attribute) and node.attr == "training"


def _is_inferring(function: Function, node: ir.Node | None, evaluator: Evaluator) -> bool:
    for manager in (*function.code.decorators, *_around(function.code, node)):
        callee = manager.func if isinstance(manager, ir.Call) else manager
        found = evaluator.static_value(callee, function.module)
        if isinstance(found, External) and found.name in evaluator.lexicon.life["inferring"]:
            return True
    return False


def _around(code: ir.Code, node: ir.Node | None) -> Iterator[ir.Expr]:
    """The context managers of the blocks around a node."""
    for block in _blocks(code) if node is not None else ():
        if any(part is node for part in walk((block.items, block.body))):
            yield from (manager for manager, _ in block.items)


@remembered
def _blocks(code: ir.Code) -> tuple[ir.With, ...]:
    return tuple(part for part in walk(code.body) if isinstance(part, ir.With))
