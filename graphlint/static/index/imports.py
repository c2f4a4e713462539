"""A project in, which modules are loaded with which out, and which run with what others set for the whole process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from itertools import accumulate

from graphlint.static.index.module import Module
from graphlint.static.index.parts import called, segments_with
from graphlint.static.index.project import Project
from graphlint.static.index.roots import is_test
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.trees import endings, nodes_in, tree_of

# Imports that stand in functions are no part of an index: `from .models import Net`, as far as the module goes.
_INNER = re.compile(r"^[ \t]+(?:from[ \t]+(\.*)([\w.]*)[ \t]+import\b|import[ \t]+([\w.]+))", re.MULTILINE)
_MEMBERS = re.compile(r"^[ \t]+from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^(\n]+)", re.MULTILINE)
_MEMBER = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?[ \t]*(?:,|\)|#|$)", re.MULTILINE)


class Settings:
    """Knows which modules run while something is set for the process: what calls one of these functions, what is
    imported from there, in the end, and what imports that itself.
    """

    def __init__(self, project: Project, setters: Set[str]) -> None:
        self.project = project
        self.setters = frozenset(name.rpartition(".")[2] for name in setters)
        self._below: Set[Module] | None = None
        self._calling: dict[Module, bool] = {}
        self._held: dict[Module, bool] = {}  # asked for each tensor that is made

    def may_hold_in(self, module: Module) -> bool:
        """Whether something of a module may run behind such a call; a test sets it for itself alone."""
        if module not in self._held:
            imported = (other for other in self._imported(module) if not is_test(other.name))
            self._held[module] = self._sets(module) or module in self._reached() or any(map(self._sets, imported))
        return self._held[module]

    def _sets(self, module: Module) -> bool:
        """Whether a module calls one of them, and does not only speak of it."""
        if module not in self._calling:
            self._calling[module] = any(_calls(module, name) for name in self.setters)
        return self._calling[module]

    def _reached(self) -> Set[Module]:
        """What is imported where it is set, of the same package."""
        if self._below is None:
            callers = [module for name in sorted(self.setters) for module in self.project.calling(name)]
            left = [module for module in dict.fromkeys(callers) if not is_test(module.name) and self._sets(module)]
            below = set(left)
            while left:
                for other in self._imported(left.pop()):
                    if other not in below:
                        below.add(other)
                        left.append(other)
            self._below = below
        return self._below

    def _imported(self, module: Module) -> Iterator[Module]:
        """The modules of the same package that a module imports."""
        top = module.name.partition(".")[0]
        return _modules((name for name in _imported(module) if name.partition(".")[0] == top), self.project)


def _modules(names: Iterable[str], project: Project) -> Iterator[Module]:
    return (found for name in names if (found := project.module(name)) is not None)


def _imported(module: Module) -> tuple[str, ...]:
    """The names of what a module imports, or takes names from, in whatever function."""
    names = dict.fromkeys(module.index.stars)
    for imported in (one for several in module.index.imports.values() for one in several):
        names[imported.module] = None
        if imported.member is not None:
            names[f"{imported.module}.{imported.member}"] = None
    for dots, source, plain in module.ask(_inner):
        names[plain or module.absolute(source, len(dots))] = None
    return tuple(names)


def _inner(text: str) -> tuple[tuple[str, str, str], ...]:
    """The imports in functions: the dots and the module of `from`, or the module of a plain import."""
    return tuple(_INNER.findall(text))


def members_asked(module: Module) -> Iterator[tuple[str, str]]:
    """What a module takes from others by name, at its top or in a function: the module of each, and the name there."""
    for imported in (one for several in module.index.imports.values() for one in several):
        if imported.member is not None:
            yield imported.module, imported.member
    for dots, source, named in module.ask(_inner_members):
        for member in _MEMBER.findall(named):
            yield module.absolute(source, len(dots)), member


def _inner_members(text: str) -> tuple[tuple[str, str, str], ...]:
    """The imports of names in functions: the dots and the module, and the names as they are written."""
    return tuple(_MEMBERS.findall(text))


@remembered_in_run
def loaded_with(module: Module, project: Project) -> Set[Module]:
    """What is loaded once a module is: all that it imports, in the end, with the packages that it and these are in."""
    found = {module}
    queue = [module]
    for one in queue:  # which grows
        packages = accumulate(one.name.split("."), "{}.{}".format)
        new = {*_modules((*packages, *_imported(one)), project)} - found
        found |= new
        queue += new
    return found


def _calls(module: Module, name: str) -> bool:
    trees = (tree_of(module.source_of(segment)) for _, segment in segments_with(module, name, called))
    nodes = (node for tree in trees if tree is not None for node in nodes_in(tree))
    return any(isinstance(node, ast.Call) and name in endings(node.func) for node in nodes)
