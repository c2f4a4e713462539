"""Edits of names: those of the program, and those that its imports bind."""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from metamorphic import known
from metamorphic.sources import FUNCTIONS, Change, Source, Sources

_BY_CONVENTION = frozenset({"self", "cls", "ctx", "_"})


def rename(sources: Sources) -> Iterator[Change]:
    """Every local, function, class and attribute that nobody outside of the program asks for by its name."""
    names = _own_names(sources)
    for source in sources:
        for token in source.tokens:
            if token.type == tokenize.NAME and token.string in names:
                start = source.token_at(token.start)
                yield source.change(start, start + len(token.string), _renamed(token.string))


def import_as(sources: Sources) -> Iterator[Change]:
    """`import torch` -> `import torch as torch_too`, and the same for members."""
    for source in sources:
        aliases: set[str] = set()
        for _, alias in imports(source):
            bound = alias.asname or alias.name
            if "." not in bound and is_only_read(source, bound):
                aliases.add(bound)
                yield source.change(*source.span(alias), f"{alias.name} as {bound}_too")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and node.id in aliases:
                yield source.change(*source.span(node), f"{node.id}_too")


def import_member(sources: Sources) -> Iterator[Change]:
    """`torch.cuda.synchronize()` -> `from torch.cuda import synchronize as torch_cuda_synchronize` and a call of that.

    Every other one is taken from the package instead: `from torch import cuda as torch_cuda`.
    """
    for source in sources:
        modules = {a.name: a.asname or a.name for node, a in imports(source) if isinstance(node, ast.Import)}
        bound = {name: module for module, name in modules.items() if is_only_read(source, name)}
        attributes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)]
        stored = {ast.unparse(node) for node in attributes if not isinstance(node.ctx, ast.Load)}
        needed: dict[str, None] = {}
        lengths = itertools.cycle([known.module_length, lambda names: 1])
        for node in attributes:
            if isinstance(source.parents[node], ast.Attribute) or not (parts := chain(node)):
                continue
            root, *members = parts
            if root.id not in bound or any(ast.unparse(member) in stored for member in members):
                continue
            package = bound[root.id].split(".")
            names = [*package, *(member.attr for member in members)]
            taken = max(next(lengths)(names), len(package))
            alias = "_".join(names[: taken + 1])
            needed[f"from {'.'.join(names[:taken])} import {names[taken]} as {alias}\n"] = None
            yield source.change(*source.span(members[taken - len(package)]), alias)
        if needed:
            last = [node for node in source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom))][-1]
            start = source.line_start((last.end_lineno or 0) + 1)
            yield source.change(start, start, "".join(needed))


def imports(source: Source) -> Iterator[tuple[ast.Import | ast.ImportFrom, ast.alias]]:
    """The names that are imported at the top level, but for those from `__future__`."""
    for node in source.tree.body:
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
            yield from ((node, alias) for alias in node.names if alias.name != "*")


def is_only_read(source: Source, name: str) -> bool:
    """Whether one import binds a name, and nothing else does; nor does a string speak of it."""
    nodes = list(ast.walk(source.tree))
    at_top = [alias for _, alias in imports(source) if _binds(alias, name)]
    anywhere = [node for node in nodes if isinstance(node, ast.alias) and _binds(node, name)]
    taken = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    taken |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    if len(at_top) != 1 or len(anywhere) != 1 or name in taken or source.path.endswith("__init__.py"):
        return False
    return re.search(rf"\b{re.escape(name)}\b", source.strings) is None


def _binds(alias: ast.alias, name: str) -> bool:
    return (alias.asname or alias.name).partition(".")[0] == name


def chain(node: ast.expr) -> list[ast.expr]:
    """`a.b.c` -> the nodes of `a`, `a.b` and `a.b.c`; nothing for what does not begin with a name."""
    found = [node]
    while isinstance(found[0], ast.Attribute):
        found.insert(0, found[0].value)
    return found if isinstance(found[0], ast.Name) else []


def _own_names(sources: Sources) -> set[str]:
    nodes = [node for source in sources for node in ast.walk(source.tree)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    variables = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    variables |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    variables |= {n.name for n in nodes if isinstance(n, (*FUNCTIONS, ast.ClassDef)) and not _is_member(n, sources)}
    stored = {n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.name for n in nodes if isinstance(n, FUNCTIONS) and _is_member(n, sources)}
    # Who reads an attribute is not known, so that one which others have, too, keeps its name.
    return (variables - attributes | stored & attributes - known.members()) - _taken(sources, nodes)


def _taken(sources: Sources, nodes: list[ast.AST]) -> set[str]:
    """Names that mean something to others: by convention, as keywords, in strings, or because they are imported."""
    own = {n.name for n in nodes if isinstance(n, (*FUNCTIONS, ast.ClassDef))}
    files = {Path(source.path).stem for source in sources} | {part for s in sources for part in Path(s.path).parts}
    taken = set(_BY_CONVENTION) | files | set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in own):
            taken |= {keyword.arg for keyword in node.keywords if keyword.arg}
        elif isinstance(node, ast.Import):
            taken |= {part for alias in node.names for part in (alias.asname or alias.name).split(".")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] not in files and not node.level:
            taken |= {name for alias in node.names for name in (alias.name, alias.asname or alias.name)}
            taken |= set((node.module or "").split("."))
        elif isinstance(node, ast.ClassDef):
            members = {n.name for n in node.body if isinstance(n, FUNCTIONS)}
            taken |= {name for name in members if name.startswith("__")}
            taken |= {s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}
            targets = (target for s in node.body if isinstance(s, ast.Assign) for target in s.targets)
            taken |= {target.id for target in targets if isinstance(target, ast.Name)}
    strings = "\n".join(source.strings for source in sources)
    return taken | set(re.findall(r"[A-Za-z_]\w*", strings)) | {n for n in own if n.startswith("__")}


def _is_member(node: ast.AST, sources: Sources) -> bool:
    return any(isinstance(source.parents.get(node), ast.ClassDef) for source in sources)


def _renamed(name: str) -> str:
    bare = name.lstrip("_")
    return f"{name[: len(name) - len(bare)]}other_{bare}"
