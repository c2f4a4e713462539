"""A region in, whether it opens only where a constant of its file is on that is off, and that nothing sets, out.

`USE_GRAPH = False`, and `if USE_GRAPH and m <= 4:` around all calls of what captures: whoever turns that on edits it.
"""

from __future__ import annotations

import ast
from pathlib import Path

from graphlint.finding import Region
from graphlint.reading.questions import HoldsAny
from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.index.parts import called, segments_with
from graphlint.static.index.project import Project
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.called import calls_in
from graphlint.static.writes.stores import stores_to


@remembered_in_run
def is_off(region: Region, project: Project) -> bool:
    """Whether nothing in the program comes to where a region opens, as far as constants tell."""
    if region.entry is not None or not region.path.endswith(".py"):
        return False
    module = project.module_at(Path(region.path))
    around = [one for one in module.index.all_functions() if _lies_in(region.line, one.segment)]
    if not around:
        segments = [one for one in module.index.statements if _lies_in(region.line, one)]
        return any(_is_behind(project, module, one, region.line) for one in segments)
    function = min(around, key=lambda one: one.segment.last - one.segment.first)
    return _is_behind(project, module, function.segment, region.line) or _is_called_off(project, function)


def _is_called_off(project: Project, function: Definition) -> bool:
    """Whether a function is called, and only where a constant would have to be on."""
    found: list[bool] = []
    for module in project.calling(function.name):
        for _, segment in segments_with(module, function.name, called):
            for call in calls_in(module.source_of(segment), segment.first - 1):
                if call.name == function.name:
                    found.append(_is_behind(project, module, segment, call.line))
    return bool(found) and all(found)


def _is_behind(project: Project, module: Module, segment: Segment, line: int) -> bool:
    """Whether a line of a segment stands in the branch of a condition that constants rule out."""
    tree = tree_of(module.source_of(segment))
    at = line - segment.first + 1
    for node in nodes_in(tree) if tree is not None else ():
        if isinstance(node, ast.If):
            for way, block in ((True, node.body), (False, node.orelse)):
                if block and block[0].lineno <= at <= (block[-1].end_lineno or 0):
                    outcome = _outcome(node.test, project, module, tree)
                    if outcome is not None and outcome is not way:
                        return True
    return False


def _outcome(test: ast.expr, project: Project, module: Module, tree: ast.AST | None) -> bool | None:
    """How a test comes out as far as constants tell."""
    match test:
        case ast.Name(id=name) if not _is_own(name, tree):
            return _constant(name, module, project)
        case ast.UnaryOp(op=ast.Not(), operand=asked):
            outcome = _outcome(asked, project, module, tree)
            return None if outcome is None else not outcome
        case ast.BoolOp(op=op, values=values):
            ends = isinstance(op, ast.Or)  # one that comes out so decides
            outcomes = [_outcome(one, project, module, tree) for one in values]
            return ends if ends in outcomes else None if None in outcomes else not ends
    return None


def _is_own(name: str, tree: ast.AST | None) -> bool:
    """Whether a function takes or binds a variable of this name."""
    parts = nodes_in(tree) if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    bound = (one for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return any(one.id == name for one in bound) or any(isinstance(one, ast.arg) and one.arg == name for one in parts)


@remembered_in_run
def _constant(name: str, module: Module, project: Project) -> bool | None:
    """The value of a flag that a module sets once, and nothing else."""
    stores = stores_to(module, name, False)
    own = [one.store for one in stores if one.definition is None]
    if len(own) != 1 or own[0].tests or any(name in one.store.shared for one in stores):
        return None
    value = own[0].value
    if own[0].form != "assign" or not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
        return None
    is_set = HoldsAny([name], rf"\.{name}\s*=[^=]|\bset\w*\([^)\n]*['\"]{name}['\"]|\.{name}['\"]")
    return None if project.answering(is_set) else value.value


def _lies_in(line: int, segment: Segment) -> bool:
    return segment.first <= line <= segment.last
