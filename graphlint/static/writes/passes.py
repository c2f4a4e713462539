"""A class in, whether its objects live for one pass out: each is made by the function that hands it on, and dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.project import Project
from graphlint.static.syntax.trees import nodes_in, tree_of
from graphlint.static.writes.stores import MUTATORS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def lives_for_a_pass(cls: ClassDefinition, project: Project, replays: Set[str]) -> bool:
    """Whether all objects of a class that the project makes are local to functions that neither keep nor replay."""
    makers = [one for path in project.answering(HoldsAny([f"{cls.name}("])) for one in _makers(project, path, cls.name)]
    return bool(makers) and all(_drops(function, cls.name, replays) for function in makers)


def _makers(project: Project, path: Path, name: str) -> Iterator[ast.AST]:
    """The functions, or statements, of a file that call a name, but for those that define it."""
    module = project.module_at(path)
    segments = [one.segment for one in module.index.all_functions() if module.holds(one.segment, name)]
    segments += [one for one in module.index.statements if module.holds(one, name)]
    for segment in segments:
        tree = tree_of(module.source_of(segment))
        if tree is not None and any(_makes(node, name) for node in nodes_in(tree)):
            yield tree


def _makes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            return called == name
    return False


def _drops(tree: ast.AST, cls: str, replays: Set[str]) -> bool:
    """Whether a function gives each object that it makes a name, and that to calls alone."""
    if not isinstance(tree, _FUNCTIONS):
        return False
    made = {id(node) for node in nodes_in(tree) if _makes(node, cls)}
    names: set[str] = set()
    for node in nodes_in(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if id(value) in made:
                names.add(name)
                made.discard(id(value))
            case ast.Attribute(attr=name) if name in replays:
                return False
    return not made and all(_is_handed_on(tree, name) for name in names)


def _is_handed_on(tree: ast.AST, name: str) -> bool:
    """Whether a name is an argument wherever it is used; in a loop, of what the loop goes through."""
    used = {id(node) for node in nodes_in(tree) if isinstance(node, ast.Name) and node.id == name}
    for node in nodes_in(tree):
        if isinstance(node, ast.Assign):
            used -= {id(target) for target in node.targets}
        if isinstance(node, ast.Call) and not _keeps(node.func):
            used -= {id(one) for one in (*node.args, *(keyword.value for keyword in node.keywords))}
        if isinstance(node, _LOOPS) and not _goes_through(node, name):
            return False
    return not used


def _keeps(func: ast.expr) -> bool:
    """Whether what is called keeps what it is given: a method that adds to something, or a class, by its name."""
    match func:
        case ast.Attribute(attr=name):
            return name in MUTATORS or name.lstrip("_")[:1].isupper()
        case ast.Name(id=name):
            return name in ("setattr", "partial") or name.lstrip("_")[:1].isupper()
    return False


def _goes_through(loop: ast.For | ast.AsyncFor | ast.While, name: str) -> bool:
    """Whether each call in a loop that is given a name is one of what the loop has as its target."""
    targets = () if isinstance(loop, ast.While) else nodes_in(loop.target)
    own = {node.id for node in targets if isinstance(node, ast.Name)}
    for node in nodes_in(loop):
        if isinstance(node, ast.Call):
            given = (*node.args, *(keyword.value for keyword in node.keywords))
            callee = {part.id for part in nodes_in(node.func) if isinstance(part, ast.Name)}
            if any(isinstance(one, ast.Name) and one.id == name for one in given) and not callee & own:
                return False
    return True
