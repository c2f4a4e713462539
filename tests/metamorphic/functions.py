"""Edits of functions: extract a function or a method, nest, decorate."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from metamorphic.sources import FUNCTIONS, Change, Function, Source, Sources, is_string

_ONE_AT_A_TIME = (ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_PASSING = """def passing(function):
    @functools.wraps(function)
    def passed(*args, **kwargs):
        return function(*args, **kwargs)

    return passed


"""


def extract_function(sources: Sources) -> Iterator[Change]:
    """`y = f(x) + self.b` -> `y = extracted_1(self, x)`, for every statement of a function."""
    number = 0  # over all files, since a method takes the place of one that has its name in a base class
    for source in sources:
        for statement, function in _extractable(source):
            number += 1
            arguments = ", ".join(_locals_in(statement.value, source, function))
            outer = source.top_level(function)
            yield from _extracted(source, statement, outer, f"extracted_{number}", arguments, arguments)


def extract_method(sources: Sources) -> Iterator[Change]:
    """`y = f(x) + self.b` -> `y = self.extracted_1(x)`, for every statement of a method."""
    number = 0
    for source in sources:
        for statement, function in _extractable(source):
            if _takes_self(source, function):
                number += 1
                names = [name for name in _locals_in(statement.value, source, function) if name != "self"]
                parameters = ", ".join(["self", *names])
                name = f"extracted_{number}"
                yield from _extracted(source, statement, function, name, parameters, ", ".join(names), "self.")


def extract_body(sources: Sources) -> Iterator[Change]:
    """What a function does is done by another one, which it calls with its own arguments."""
    for source in sources:
        for function in source.definitions():
            if _takes_self(source, function) or source.class_of(function) is None:
                yield from _through_another(source, function, is_inside=False)


def nested_function(sources: Sources) -> Iterator[Change]:
    """What a function does is done by one that is defined inside of it."""
    for source in sources:
        for function in source.definitions():
            yield from _through_another(source, function, is_inside=True)


def decorate(sources: Sources) -> Iterator[Change]:
    """A decorator that passes all arguments on, on every function and method that has none."""
    for source in sources:
        first = next((s for s in source.tree.body if isinstance(s, (*FUNCTIONS, ast.ClassDef))), None)
        chosen = [f for f in source.definitions() if not f.decorator_list and not f.name.startswith("__")]
        chosen = [f for f in chosen if isinstance(f, ast.FunctionDef) and f in source.statements]
        if first is not None and chosen:
            yield source.before(first, "import functools\n\n\n", _PASSING)
            for function in chosen:
                yield source.before(function, source.piece(f"{source.indent(function)}@passing\n", function))


def _extractable(source: Source) -> Iterator[tuple[ast.stmt, Function]]:
    """The statements whose value can be worked out in another function."""
    for statement in source.simple:
        function = source.function_of(statement)
        value = getattr(statement, "value", None)
        if function is None or not isinstance(value, (ast.Call, ast.BinOp, ast.Subscript)) or value is None:
            continue
        nodes = list(ast.walk(statement))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if not any(isinstance(node, _ONE_AT_A_TIME) for node in nodes) and not names & {"super", "locals", "__class__"}:
            yield statement, function


def _extracted(
    source: Source, statement: ast.stmt, before: ast.stmt, name: str, parameters: str, arguments: str, owner: str = ""
) -> Iterator[Change]:
    indent = source.indent(before)
    value = statement.value
    head = source.piece(f"{indent}def {name}({parameters}):\n{indent}    return (", value)
    yield source.before(before, head, source.moved(value), ")\n\n")
    yield source.change(*source.span(value), source.piece(f"{owner}{name}({arguments})", statement))


def _locals_in(node: ast.expr, source: Source, function: Function) -> list[str]:
    """The names in an expression that the functions around it bind."""
    scopes = [function, *(parent for parent in source.inside(function) if isinstance(parent, FUNCTIONS))]
    bound = {name for scope in scopes for name in _bound_in(scope)}
    inner = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    read = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return [name for name in read if name in bound and name not in inner]


def _bound_in(function: Function) -> set[str]:
    arguments = [n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)]
    bound, shared = set(arguments), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif (isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node is not function) or (
            isinstance(node, ast.ExceptHandler) and node.name
        ):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Global):
            shared.update(node.names)
    return bound - shared


def _takes_self(source: Source, function: Function) -> bool:
    arguments = function.args.args
    plain = all(isinstance(d, ast.Call | ast.Attribute) for d in function.decorator_list)
    return source.class_of(function) is not None and bool(arguments) and arguments[0].arg == "self" and plain


def _through_another(source: Source, function: Function, is_inside: bool) -> Iterator[Change]:
    body = [statement for statement in function.body if not is_string(statement)]
    nodes = list(ast.walk(function))
    unfit = (ast.Nonlocal, ast.AsyncFunctionDef, ast.Await)
    alone = function in source.statements and all(statement in source.statements for statement in body)
    if not body or not alone or source.has_long_string(function) or any(isinstance(node, unfit) for node in nodes):
        return
    if any(isinstance(node, ast.Name) and node.id in ("super", "locals") for node in nodes):
        return
    indent = source.indent(function)
    owner = source.class_of(function)
    name = f"inner_{function.name.strip('_')}" + (f"_of_{owner.name.lower()}" if owner is not None else "")
    parameters, arguments = _passed_on(function.args)
    first, last = source.line_start(body[0].lineno), source.line_start((function.end_lineno or 0) + 1)
    for decorator in getattr(body[0], "decorator_list", ()):
        first = min(first, source.line_start(decorator.lineno))
    if is_inside:
        head = source.piece(f"{indent}    def {name}({parameters}):\n", function)
        yield source.change(first, first, head)
        for line in range(source.text.count("\n", 0, first) + 1, (function.end_lineno or 0) + 1):
            yield source.change(source.line_start(line), source.line_start(line), "    ")
        yield source.change(last, last, source.piece(f"{indent}    return {name}({arguments})\n", function))
        return
    if owner is not None:
        name, arguments = f"self.{name}", arguments.removeprefix("self").removeprefix(", ")
    yield source.change(first, first, source.piece(f"{indent}    return {name}({arguments})\n\n", function))
    name = name.removeprefix("self.")
    yield source.change(first, first, source.piece(f"{indent}def {name}({parameters}):\n", function))


def _passed_on(arguments: ast.arguments) -> tuple[str, str]:
    """Parameters without defaults, and what gives each of them its own value."""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    parameters, values = list(names), list(names)
    if arguments.vararg:
        parameters.append(f"*{arguments.vararg.arg}")
        values.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        parameters.append("*")
    for keyword in arguments.kwonlyargs:
        parameters.append(keyword.arg)
        values.append(f"{keyword.arg}={keyword.arg}")
    if arguments.kwarg:
        parameters.append(f"**{arguments.kwarg.arg}")
        values.append(f"**{arguments.kwarg.arg}")
    return ", ".join(parameters), ", ".join(values)
