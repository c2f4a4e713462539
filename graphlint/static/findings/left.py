"""A test of a parameter and the calls on its way in, whether nothing there speaks for how it comes out out.

`run(*inputs)` may hand in what has a default, but nothing in the source says that it does. Nor does anything say that
`scale: Tensor` is no `Tensor`, though the function asks.
"""

from __future__ import annotations

from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, given_for, last_name, names_in, stands_before, walk


def leaves_out(test: ir.Expr, outcome: bool, function: Function, sites: tuple[Site, ...]) -> bool:
    """Whether a test comes out otherwise where a parameter is left out that no call on the way gives a value.

    It may ask for what a local name was given: `has_masks = masks is not None`.
    """
    match test:
        case ir.Unary(operator="not", operand=asked):
            return leaves_out(asked, not outcome, function, sites)
        case ir.Compare(left=asked, comparisons=(("is", ir.Literal(value=bool(answer))),)):
            return leaves_out(asked, outcome is answer, function, sites)
        case ir.Boolean(operator=operator, left=left, right=right) if (operator == "and") is outcome:
            return any(leaves_out(one, outcome, function, sites) for one in (left, right))
        case ir.Name(id=name) if (made := made_of(function.code, name, test)) is not None:
            return leaves_out(made, outcome, function, sites)
        case ir.Name(id=name):
            asks_for_none = None
        case ir.Compare(left=ir.Name(id=name), comparisons=(("is" | "is not" as sign, ir.Literal(value=None)),)):
            asks_for_none = sign == "is"
        case _:
            return False
    default = literal_default(function.code, name)
    if default is None or is_replaced(function.code, name, test):
        return False
    by_default = bool(default.value) if asks_for_none is None else (default.value is None) is asks_for_none
    return by_default is not outcome and _is_unnamed(name, function, sites)


def is_denied(test: ir.Expr, outcome: bool, function: Function) -> bool:
    """Whether a parameter would not be of the very class that its annotation says."""
    match test:
        case ir.Call(
            func=ir.Name(id="isinstance"), arguments=[ir.Argument(value=ir.Name(id=name)), ir.Argument(value=classes)]
        ) if not outcome:
            given = next((one for one in function.code.parameters if one.name == name), None)
            if given is None or given.default is not None or is_replaced(function.code, name, test):
                return False
            one_of = classes.elements if isinstance(classes, ir.Display) else (classes,)
            return _class_named(given.annotation) in {_class_named(one) for one in one_of} - {None}
    return False


def _class_named(node: ir.Expr | None) -> str | None:
    """The last name of a class, also where it is quoted."""
    if isinstance(node, ir.Literal):
        return node.value.rpartition(".")[2] if isinstance(node.value, str) else None
    return last_name(node)


def literal_default(code: ir.Code, name: str) -> ir.Literal | None:
    """The default of a parameter that is written down; None where there is none."""
    default = next((one.default for one in code.parameters if one.name == name), None)
    return default if isinstance(default, ir.Literal) else None


def made_of(code: ir.Code, name: str, node: ir.Node) -> ir.Expr | None:
    """What a local name was given by then, if it is given one thing."""
    given = _assigned(code, name)
    is_local = all(one.name != name for one in code.parameters)
    return given[0].value if is_local and len(given) == 1 and stands_before(given[0], node) else None


def is_replaced(code: ir.Code, name: str, node: ir.Node) -> bool:
    """Whether something may have assigned to a parameter by then."""
    return any(stands_before(one, node) for one in _assigned(code, name))


def _assigned(code: ir.Code, name: str) -> list[ir.Assign]:
    """The assignments to a name, or to a part of what it stands for."""
    return [one for one in assignments_in(code) if any(name in names_in(target) for target in one.targets)]


def _is_unnamed(name: str, function: Function, sites: tuple[Site, ...]) -> bool:
    """Whether each call on the way hands on what it was given itself, and the first what has no names."""
    callers = [site.function for site in sites]
    at = (callers.index(function) if function in callers else len(callers)) - 1
    names = [one.name for one in function.code.parameters]
    position = names.index(name) - (names[0] in ("self", "cls"))
    while at >= 0:
        caller, call = sites[at].function, sites[at].node
        if not isinstance(call, ir.Call):
            return False
        match given_for(call, name, position):
            case ir.Name(id=handed) if literal_default(caller.code, handed) and not is_replaced(
                caller.code, handed, call
            ):
                return _is_unnamed(handed, caller, sites[:at])
            case None:
                pass
            case _:
                return False
        spread = [argument.value for argument in call.arguments if argument.star]
        own = {one.name for one in caller.code.parameters if one.kind.startswith("*")}
        if not spread or any(_mentions(value, caller.code, name) for value in spread):
            return False
        if not all(isinstance(value, ir.Name) and value.id in own for value in spread):
            return True
        at -= 1
    return bool(sites)


def _mentions(spread: ir.Expr, code: ir.Code, name: str) -> bool:
    """Whether a function that hands on a table writes down such a key of it."""
    return any(isinstance(part, ir.Literal) and part.value == name for part in walk(code.body)) or any(
        isinstance(part, ir.Argument) and part.keyword == name for part in walk(spread)
    )
