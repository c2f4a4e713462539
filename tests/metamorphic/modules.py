"""The edit that moves functions and classes to a second file, which is imported."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from metamorphic.sources import DEFINITIONS, Change, Piece, Source, Sources

NEW = "elsewhere"
# What opens a region stays where it is.
_CAPTURES = frozenset({"graph", "CUDAGraph", "make_graphed_callables", "capture_begin", "compile", "CUDAGraphs"})


def move(sources: Sources) -> Iterator[Change]:
    """What a region calls goes to another file, with the constants that only it needs, or these alone."""
    for source in sources:
        if source.path.endswith("__init__.py"):
            continue
        moved = _movable(source)
        if not any(isinstance(statement, DEFINITIONS) for statement in moved):
            moved = [statement for statement in moved if _is_constant(statement)]
        if not moved:
            continue
        name = NEW if len(sources) == 1 else f"{NEW}_{source.path.removesuffix('.py').replace('/', '_')}"
        path = f"{source.path.rpartition('/')[0]}/{name}.py".lstrip("/")
        imports = [s for s in source.tree.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        pieces: list[Piece | str] = []
        for statement in (*imports, *moved):
            first, last = _lines(statement)
            text = "\n".join(source.lines[first - 1 : last]) + "\n"
            pieces.append(Piece(text, (source.path, first), moved=True))
            if statement in moved:
                yield source.change(source.line_start(first), source.line_start(last + 1), "")
        yield Change(path, 0, 0, tuple(pieces))
        anchor = source.line_start(_lines(moved[0])[0])
        module = ".".join(path.removesuffix(".py").split("/"))
        names = ", ".join(name for statement in moved for name in _bound(statement))
        yield source.change(anchor, anchor, f"from {module} import {names}\n")


def _movable(source: Source) -> list[ast.stmt]:
    """The definitions and constants of the top level that need nothing that has to stay."""
    body = source.tree.body
    aliases = (alias for s in body if isinstance(s, (ast.Import, ast.ImportFrom)) for alias in s.names)
    imported = {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
    count = Counter(name for statement in body for name in _bound(statement))
    shared = {name for node in ast.walk(source.tree) if isinstance(node, ast.Global) for name in node.names}
    stands = [s for s in body if s in source.statements]
    chosen = [s for s in stands if isinstance(s, DEFINITIONS) and not _reads(s) & _CAPTURES]
    chosen += [s for s in stands if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)]
    chosen = [s for s in chosen if all(count[name] == 1 and name not in shared for name in _bound(s))]
    chosen = [s for s in chosen if not source.suppresses(s)]
    while True:
        there = {name for statement in chosen for name in _bound(statement)} | imported
        top = set(count) - there
        fit = [s for s in chosen if not _reads(s) & top]
        if fit == chosen:
            break
        chosen = fit
    return sorted(chosen, key=lambda statement: statement.lineno)


def _is_constant(statement: ast.stmt) -> bool:
    try:
        ast.literal_eval(getattr(statement, "value", statement))
    except ValueError:
        return False
    return True


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]


def _reads(statement: ast.stmt) -> set[str]:
    nodes = list(ast.walk(statement))
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _lines(statement: ast.stmt) -> tuple[int, int]:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return first, statement.end_lineno or first
