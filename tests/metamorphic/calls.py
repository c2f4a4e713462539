"""Edits of calls: keywords for positions, where it is known what is called."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from metamorphic import known
from metamorphic.names import chain, imports, is_only_read
from metamorphic.sources import DEFINITIONS, Change, Source, Sources


def keywords(sources: Sources) -> Iterator[Change]:
    """`f(x, 1)` -> `f(x=x, dim=1)`, of functions, methods and classes of the program, and of torch."""
    own = _own_signatures(sources)
    for source in sources:
        roots = _roots(source)
        for call in (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
            if any(isinstance(argument, ast.Starred | ast.GeneratorExp) for argument in call.args):
                continue
            parameters = _parameters(call.func, own, roots)
            given = {keyword.arg for keyword in call.keywords}
            if len(parameters) >= len(call.args) and not given & {None, *parameters[: len(call.args)]}:
                for name, argument in zip(parameters, call.args, strict=False):
                    start = _outside_parentheses(source, argument)
                    yield source.change(start, start, f"{name}=")


def _parameters(func: ast.expr, own: dict[str, tuple[str, ...]], roots: dict[str, str]) -> tuple[str, ...]:
    parts = chain(func)
    if parts and isinstance(parts[0], ast.Name) and parts[0].id in roots:
        name = ".".join([roots[parts[0].id], *(part.attr for part in parts[1:] if isinstance(part, ast.Attribute))])
        return known.signatures().get(name, ())
    if isinstance(func, ast.Name):
        return own.get(func.id, ())
    if isinstance(func, ast.Attribute):
        return own.get(f".{func.attr}", ()) or known.tensor_methods().get(func.attr, ())[1:]
    return ()


def _own_signatures(sources: Sources) -> dict[str, tuple[str, ...]]:
    """The parameters of functions and classes by name, and of methods by a dot and the name, where one has it."""
    found: dict[str, tuple[str, ...]] = {}
    nodes = [node for source in sources for node in ast.walk(source.tree)]
    count = Counter(node.name for node in nodes if isinstance(node, DEFINITIONS))
    rebound = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    rebound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    rebound |= {n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}
    for source in sources:
        for function in source.definitions():
            owner = source.class_of(function)
            if function.decorator_list or function.args.vararg or function.args.posonlyargs:
                continue
            names = tuple(argument.arg for argument in function.args.args)
            if owner is None and count[function.name] == 1:
                found[function.name] = names
            elif (
                owner is not None
                and function.name == "__init__"
                and count[owner.name] == 1
                and not owner.decorator_list
            ):
                found[owner.name] = names[1:]
            elif owner is not None and count[function.name] == 1 and function.name not in known.members():
                found[f".{function.name}"] = names[1:]
    return {name: names for name, names in found.items() if name.lstrip(".") not in rebound}


def _roots(source: Source) -> dict[str, str]:
    """What stands for a module or a member of one, by the name that it is bound to."""
    found = {}
    for node, alias in imports(source):
        bound = alias.asname or alias.name
        if is_only_read(source, bound.partition(".")[0]):
            path = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            found[bound.partition(".")[0]] = (
                path if alias.asname or isinstance(node, ast.ImportFrom) else path.partition(".")[0]
            )
    return {name: path for name, path in found.items() if path.partition(".")[0] == "torch"}


def _outside_parentheses(source: Source, node: ast.expr) -> int:
    """Where an argument begins, with the parentheses around it."""
    start, _ = source.span(node)
    while True:
        before = source.text[:start].rstrip()
        ahead = before[:-1].rstrip()
        if not before.endswith("(") or not ahead or ahead[-1].isalnum() or ahead[-1] in "_)]":
            return start
        start = len(before) - 1
