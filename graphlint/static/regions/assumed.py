"""What a configuration says of attributes and names in, the values that the interpreter finds there out.

`serve.config:Options.backend == "fa3"`, `serve.config:Options.kind in ("a", "b")`, `serve.flags:DEBUG is None`,
`serve.flags:FAST` and `not serve.flags:FAST`.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphlint.errors import UsageError, nearest
from graphlint.static.index.module import ClassDefinition, Module, nested_class
from graphlint.static.index.parts import stores
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.values import Const, Sequence, Value, union

_FORM = "write it as in `serve.config:Options.backend == 'fa3'`, with `==`, `in`, `is`, `not` or nothing of these"


def assume(interpreter: Interpreter, texts: Iterable[str]) -> None:
    """Let attributes of classes, and names of modules, have the values that are said. Raises UsageError."""
    for text in texts:
        negated = text.startswith("not ")
        module_name, _, rest = text.removeprefix("not ").strip().partition(":")
        module = interpreter.project.module(module_name)
        if module is None:
            known = [interpreter.project.module_at(path).name for path in interpreter.project.files]
            raise UsageError(
                f"assume `{text}`: no module `{module_name}` in the checked paths{nearest(module_name, known)}"
            )
        test = subject = lower_expression(rest)
        if isinstance(test, ir.Compare) and len(test.comparisons) == 1 and not negated:
            sign, right = test.comparisons[0]
            subject = test.left
            value: Value | None = _value(sign, interpreter.eval(right, interpreter.names.module_frame(module, 1)))
        else:
            value = Const(not negated)
        path = _path(subject)
        if value is None or not path:
            raise UsageError(f"assume `{text}`: {_FORM}")
        _settle(interpreter, module, path, value, text)


def _value(sign: str, right: Value) -> Value | None:
    if sign in ("==", "is"):
        return right
    return union(right.elements) if sign == "in" and isinstance(right, Sequence) and right.elements else None


def _path(node: ir.Expr | None) -> list[str]:
    """The names of a dotted one; none of anything else."""
    names: list[str] = []
    while isinstance(node, ir.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ir.Name) else []


def _settle(interpreter: Interpreter, module: Module, path: list[str], value: Value, text: str) -> None:
    *outer, name = path
    if outer:
        cls = nested_class(module.index.classes, outer)
        if cls is None:
            known = [found.qualname for found in module.index.classes.values()]
            wanted = ".".join(outer)
            raise UsageError(f"assume `{text}`: no class `{wanted}` in `{module.name}`{nearest(wanted, known)}")
        if not _has(interpreter, cls, name):
            raise UsageError(
                f"assume `{text}`: nothing of `{cls.qualname}` is called `{name}`{nearest(name, _names(cls))}"
            )
        interpreter.heap.assumed[cls, name] = value
    elif name in module.index.assignments or name in module.index.imports or name in module.index.annotations:
        interpreter.names.globals[module, name] = value
    else:
        known = list(module.index.assignments)
        raise UsageError(f"assume `{text}`: `{module.name}` binds no `{name}`{nearest(name, known)}")


def _has(interpreter: Interpreter, cls: ClassDefinition, name: str) -> bool:
    """Whether objects of a class have an attribute: it stands in the body of a class, or is stored somewhere."""
    owners = [base for base in interpreter.classes.order(cls) if isinstance(base, ClassDefinition)]
    return any(
        name in owner.assignments or name in owner.annotations or any(True for _ in stores(owner.module, name))
        for owner in owners
    )


def _names(cls: ClassDefinition) -> list[str]:
    return [*cls.assignments, *cls.annotations]
