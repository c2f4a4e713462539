"""A module in, the defaults out that it gives to names, in look-ups and in the bodies of classes.

Those of parameters are left out: that a function has one says that its callers choose.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from graphlint.static.index.module import Module
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.trees import UNPARSABLE, nodes_in, parse

_LOOK_UPS = {"get": 0, "setdefault": 0, "pop": 0, "getattr": 1}  # where the name stands; the default follows it


def default_of(module: Module, name: str) -> object:
    """The flag or choice that is the one default of a name in a module; None if there is none."""
    return module.ask(_default_in, name)


def offered(modules: Iterable[Module], name: str) -> str | None:
    """The choice that is the default of a name in the first of these modules that gives one, or for a command line."""
    found = (one.ask(_default_in, name) or one.ask(_option_in, name) for one in modules)
    return next((default for default in found if isinstance(default, str)), None)


def _default_in(text: str, name: str) -> object:
    is_given = re.search(rf"\b{name}(?:['\"]\s*,|\s*[:=])", text)  # saves parsing all of it
    return _defaults_in(text).get(name) if is_given else None


def _option_in(text: str, name: str) -> object:
    is_option = "add_argument" in text and name.replace("_", "-") in text.replace("_", "-")
    return _options_in(text).get(name) if is_option else None


@remembered_in_run
def _options_in(text: str) -> Mapping[str, object]:
    """The defaults of the options of a command line: `parser.add_argument("--compile-mode", default="default")`."""
    try:
        calls = [node for node in nodes_in(parse(text)) if isinstance(node, ast.Call)]
    except UNPARSABLE:
        return {}
    adding = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "add_argument"]
    return {
        name.lstrip("-").replace("-", "_"): _value(keyword.value)
        for one in adding
        for name in map(_value, one.args)
        if isinstance(name, str)
        for keyword in one.keywords
        if keyword.arg == "default"
    }


@remembered_in_run
def _defaults_in(text: str) -> Mapping[str, object]:
    """The flags and choices that have one default in a text, by the name of the attribute or key.

    What is given another value somewhere in it has none.
    """
    try:
        tree = parse(text)
    except UNPARSABLE:
        return {}
    defaults: dict[str, object] = {}
    values: dict[str, set[object]] = {}
    for node in nodes_in(tree):
        for name, default in _defaults(node):
            if isinstance(default, (bool, str)):
                defaults[name] = default
                values.setdefault(name, set()).add(default)
        for name, value in _given(node):
            values.setdefault(name, set()).add(value)
    return {name: default for name, default in defaults.items() if len(values[name] - {None}) == 1}


def _defaults(node: ast.AST) -> Iterator[tuple[str, object]]:
    match node:
        case ast.Call():
            yield from _looked_up(node)
        case ast.ClassDef(body=body):
            for statement in body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield statement.target.id, _value(statement.value)


def _given(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The constants that are passed, stored or listed under a name."""
    match node:
        case ast.keyword(arg=str(name), value=ast.Constant(value=value)):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            for key, held in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, _value(held)
        case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=ast.Constant(value=value)):
            yield name, value
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(name)))], value=ast.Constant(value=value)):
            yield name, value


def _looked_up(call: ast.Call) -> Iterator[tuple[str, object]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    at = _LOOK_UPS.get(name)
    if at is not None and len(call.args) == at + 2 and isinstance(key := _value(call.args[at]), str):
        yield key, _value(call.args[at + 1])


def _value(node: ast.expr | None) -> object:
    """The value of a constant, or what a look-up inside of a look-up falls back to."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        return next((default for _, default in _looked_up(node)), None)
    return None
