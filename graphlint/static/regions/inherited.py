"""A class in, the passes out that it has from others of the project and that run methods of its own.

`forward` of a base that calls `self.attend(x)` does something else in each class that has its own `attend`: nothing
but the class tells of it, though it defines no `forward`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import calls_in


def inherited_passes(
    interpreter: Interpreter, cls: ClassDefinition, is_pass: Callable[[str], bool]
) -> Iterator[tuple[str, ClassDefinition]]:
    """The passes that a class has from another one and that call a method of its own, each with where it stands."""
    classes, own = interpreter.classes, {name for name in cls.methods if not name.startswith("__")}
    bases = [base for base in classes.order(cls)[1:] if isinstance(base, ClassDefinition)] if own else []
    for name in dict.fromkeys(name for base in bases for name in base.methods if is_pass(name)):
        found = classes.find(cls, name)
        owner = found[0] if found is not None else None
        if isinstance(owner, ClassDefinition) and owner is not cls and own & _runs(interpreter, cls, name):
            yield name, owner


def _runs(interpreter: Interpreter, cls: ClassDefinition, name: str) -> set[str]:
    """The methods of its object that a method calls, and those that they call."""
    found, pending = set[str](), [name]
    while pending:
        method = pending.pop()
        owner = (interpreter.classes.find(cls, method) or (None,))[0]
        for definition in owner.methods.get(method, ()) if isinstance(owner, ClassDefinition) else ():
            new = _called(definition.code) - found if definition.code is not None else frozenset[str]()
            found |= new
            pending += new
    return found


@remembered
def _called(code: ir.Code) -> frozenset[str]:
    """The methods of its first parameter that a function calls."""
    first = code.parameters[0].name if code.parameters else ""
    return frozenset(
        call.func.attr
        for call in calls_in(code)
        if isinstance(call.func, ir.Attribute) and isinstance(call.func.value, ir.Name) and call.func.value.id == first
    )
