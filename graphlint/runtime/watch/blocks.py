"""The frames that begin a capture in, the code between its begin and its end as a function of its own out."""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType

from graphlint.runtime.trace.frames import MISSING, local
from graphlint.runtime.trace.places import is_user_code, source_tree

_TOLD = "__told__"  # the parameter that is told the variables of the block when it ends
_CLASS, _ROUND = "__class__", "__round__"  # what `super()` looks for, and the variable of a loop around the block
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await)
_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Block:
    """The body of a `with`, or what stands between `capture_begin` and `capture_end`, in one frame.

    `names` are the variables that the frame had when it came there, `frame` is the identity of the frame, and `around`
    the code that it runs.
    """

    code: CodeType
    around: CodeType
    names: tuple[str, ...]
    frame: int

    def given(self, frame: FrameType) -> dict[str, object]:
        """What the block is given of the variables of its frame, as they are now."""
        return _bound(frame, self.names)

    def made(self, frame: FrameType) -> dict[str, object]:
        """Those to which the block may give values."""
        return _bound(frame, (*self.code.co_varnames, *self.code.co_cellvars))

    def function(self, namespace: dict[str, object], owner: object) -> FunctionType:
        """The block as a function of its names and of what is told its variables; `owner` is the class around it."""
        closure = tuple(CellType(owner) for _ in self.code.co_freevars)
        return FunctionType(self.code, namespace, self.code.co_name, None, closure)

    def run(self, function: FunctionType, given: Mapping[str, object]) -> dict[str, object]:
        """Run it; its variables at the end."""
        told: list[dict[str, object]] = []
        function(**given, **{_TOLD: told.append})
        # They name what tells them: without `pop`, a cycle keeps all of them until a collection.
        return {name: value for name, value in told.pop().items() if name not in (_TOLD, _CLASS, _ROUND)}


def block_of(frames: Iterable[FrameType]) -> tuple[Block, FrameType] | None:
    """The block that a capture which begins now belongs to, and its frame; None where the source does not show it.

    A context manager of the program begins a capture in a function of its own, and leaves the block to its caller.
    """
    for frame in frames:
        if not is_user_code(frame.f_code.co_filename):
            continue
        body = _body(frame)
        if body and not any(map(_suspends, body)):
            return _compiled(frame, body)
        if frame.f_code.co_name != "__enter__" and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            return None
    return None


def _body(frame: FrameType) -> list[ast.stmt]:
    """The statements that a capture consists of which begins on the line of a frame; none where that does not show."""
    line, found = frame.f_lineno, []
    for node in ast.walk(_scope(frame.f_code)):
        if isinstance(node, ast.With) and any(_spans(item.context_expr, line) for item in node.items):
            found = node.body
        for statements in (getattr(node, name, None) for name in _BODIES):
            if isinstance(statements, list):
                found = _between(statements, line) or found
    return found


def _between(statements: list[ast.stmt], line: int) -> list[ast.stmt]:
    """Those behind the call on a line and before that of `capture_end`."""
    begin = next((at for at, one in enumerate(statements) if isinstance(one, ast.Expr) and _spans(one, line)), None)
    ends = (at for at, one in enumerate(statements) if isinstance(one, ast.Expr) and _ends_capture(one.value))
    end = next((at for at in ends if begin is not None and at > begin), None)
    return [] if begin is None or end is None else statements[begin + 1 : end]


def _ends_capture(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "capture_end"


def _spans(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _suspends(statement: ast.stmt) -> bool:
    return any(isinstance(one, _SUSPENDS) for one in ast.walk(statement))


def _scope(code: CodeType) -> ast.AST:
    """The function that was compiled to some code; the whole file for that of a module."""
    tree = source_tree(code.co_filename)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if (node.name, first) == (code.co_name, code.co_firstlineno):
                return node
    return tree


def _compiled(frame: FrameType, body: list[ast.stmt]) -> tuple[Block, FrameType] | None:
    code = frame.f_code
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    own |= set() if code.co_flags & inspect.CO_OPTIMIZED else set(frame.f_globals)
    first = code.co_varnames[:1] if code.co_argcount else ()  # `super()` wants it in its place
    mentioned = {one.id for one in _names(body)}
    named = mentioned & own - {_CLASS, *first}
    if any(one.argval in mentioned and one.opname == "STORE_GLOBAL" for one in dis.get_instructions(code)):
        return None  # a function of its own would not write it
    names = tuple(_bound(frame, (*first, *sorted(named))))
    return Block(_function(code, body, names), code, names, id(frame)), frame


def _names(body: list[ast.stmt]) -> Iterator[ast.Name]:
    return (one for statement in body for one in ast.walk(statement) if isinstance(one, ast.Name))


def _function(code: CodeType, body: list[ast.stmt], names: tuple[str, ...]) -> CodeType:
    """The code of a function with these parameters, and in the class that the code belongs to."""
    text = f"def {code.co_name.strip('<>')}({', '.join([*names, _TOLD])}):\n try: pass\n finally: {_TOLD}(locals())"
    tree = ast.parse(text)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.Try)
    # A loop that ends after its first round, so that the block may leave one.
    once = ast.parse(f"for {_ROUND} in (None,): pass").body[0]
    assert isinstance(once, ast.For)
    once.body, function.body[0].body = body, [once]
    owner = _class_around(code)
    if owner:
        around = ast.parse(f"class {owner}: pass").body[0]
        assert isinstance(around, ast.ClassDef)
        around.body, tree.body = [function], [around]
    found = compile(tree, code.co_filename, "exec")
    while found.co_name != function.name:
        found = next(one for one in found.co_consts if isinstance(one, CodeType))
    return found


def _class_around(code: CodeType) -> str:
    """The class by which private names are known in some code; empty where there is none."""
    parts = code.co_qualname.split(".")
    around = [one for one, inner in itertools.pairwise(parts) if "<locals>" not in (one, inner)]
    return around[-1] if around else ""


def _bound(frame: FrameType, names: Iterable[str]) -> dict[str, object]:
    found = {name: local(frame, name) for name in names}
    return {name: value for name, value in found.items() if value is not MISSING}
