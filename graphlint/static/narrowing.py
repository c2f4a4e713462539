"""A condition and its outcome in, the environment that holds there out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.static import ir
from graphlint.static.frames import Env, Frame, Key
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Class,
    External,
    Instance,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    truth,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter


def narrow(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame) -> Env:
    """A copy of the environment in which what the condition rules out is gone."""
    env = dict(frame.env)
    _apply(interpreter, test, outcome, frame, env)
    return env


def _apply(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame, env: Env) -> None:
    if isinstance(test, ir.Unary) and test.operator == "not":
        _apply(interpreter, test.operand, not outcome, frame, env)
    elif isinstance(test, ir.Boolean):
        if (test.operator == "and") is outcome:
            _apply(interpreter, test.left, outcome, frame, env)
            _apply(interpreter, test.right, outcome, frame, env)
    elif isinstance(test, ir.Compare) and len(test.comparisons) == 1:
        sign, right = test.comparisons[0]
        if sign in ("is", "is not", "==", "!=") and isinstance(right, ir.Literal) and right.value is None:
            _restrict(interpreter, test.left, frame, env, none=(sign in ("is", "==")) is outcome)
    elif isinstance(test, ir.Call):
        _narrow_call(interpreter, test, outcome, frame, env)
    elif isinstance(test, ir.Walrus):
        _apply(interpreter, test.target, outcome, frame, env)
    elif isinstance(test, (ir.Name, ir.Attribute)):
        key, value = _held(interpreter, test, frame, env)
        if key is not None and value is not None:
            kept = [m for m in members(value) if truth(m) is not (not outcome)]
            if kept and len(kept) < len(list(members(value))):
                env[key] = union(kept)


def _narrow_call(interpreter: Interpreter, test: ir.Call, outcome: bool, frame: Frame, env: Env) -> None:
    """`isinstance(x, C)` and `torch.is_tensor(x)`."""
    name = (
        test.func.id
        if isinstance(test.func, ir.Name)
        else test.func.attr
        if isinstance(test.func, ir.Attribute)
        else ""
    )
    if name not in ("isinstance", "is_tensor") or not test.arguments:
        return
    key, value = _held(interpreter, test.arguments[0].value, frame, env)
    if key is None or value is None:
        return
    classes: tuple[Value, ...] = (External("torch.Tensor"),)
    if name == "isinstance":
        if len(test.arguments) < 2:
            return
        wanted = interpreter.eval(test.arguments[1].value, frame)
        classes = wanted.elements if isinstance(wanted, Sequence) and wanted.elements is not None else (wanted,)
    kept: list[Value] = []
    for member in members(value):
        answers = {interpreter.calls.builtins.is_instance(member, cls) for cls in classes}
        answer = True if True in answers else None if None in answers else False
        if isinstance(member, Unknown) and outcome:
            kept.extend(_instance_of(interpreter, cls) for cls in classes)
        elif answer is None or answer is outcome:
            kept.append(member)
    if kept:
        env[key] = union(kept)


def _instance_of(interpreter: Interpreter, cls: Value) -> Value:
    if cls == External("torch.Tensor"):
        return Tensor()
    if isinstance(cls, Class):
        return interpreter.objects.promised(cls.definition)
    return UNKNOWN


def _restrict(interpreter: Interpreter, node: ir.Expr, frame: Frame, env: Env, none: bool) -> None:
    """Keep only None, or everything else."""
    key, value = _held(interpreter, node, frame, env)
    if key is None or value is None:
        return
    if none:
        if NONE in members(value) or UNKNOWN in members(value):
            env[key] = NONE
    else:
        kept = [member for member in members(value) if member != NONE]
        if kept and len(kept) < len(list(members(value))):
            env[key] = union(kept)


def _held(interpreter: Interpreter, node: ir.Expr, frame: Frame, env: Env) -> tuple[Key | None, Value | None]:
    """The key under which a name or an object's attribute stands in the environment, and its value."""
    if isinstance(node, ir.Walrus):
        node = node.target
    if isinstance(node, ir.Name):
        return node.id, env.get(node.id)
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name):
        receiver = env.get(node.value.id)
        if isinstance(receiver, Instance):
            held = env.get((receiver, node.attr))
            if held is None:
                held = interpreter.objects.heap.get(receiver, {}).get(node.attr)
            return (receiver, node.attr), held
    return None, None
