"""A condition and its outcome in, the environment that holds there out.

A condition also says by itself how likely an outcome is in a region, where what it asks for lies on the device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.rulebook.lexicon import Lexicon
from graphlint.rulebook.operations import TENSOR
from graphlint.static.domain.contexts import Context, Env, Frame, Key
from graphlint.static.domain.program import Bound, Class, Function, Instance
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter import choices, grounds
from graphlint.static.interpreter.names import loosened
from graphlint.static.models.doubts import is_made_on_host
from graphlint.static.syntax import ir
from graphlint.values import NONE, UNKNOWN, External, Place, Sequence, Tensor, Union, Unknown, Value, members, union
from graphlint.values.queries import place_of_device, truth

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


MAX_STATEMENTS = 3  # of a function that is asked what it answers for each thing that an argument may be
_OTHER = {Place.DEVICE: Place.HOST, Place.HOST: Place.DEVICE}


def narrow(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame) -> Env:
    """A copy of the environment in which what the condition rules out is gone."""
    env = dict(frame.env)
    _apply(interpreter, test, outcome, frame, env)
    return env


def is_likely(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame) -> bool:
    """Whether something speaks for an outcome in a region.

    Nothing does for a tensor that lies on the host, unless the program has put one there; for a field that has a value
    in an object which the program makes without it, unless it is set on the way; for what nothing ever gives a value;
    and for a flag that context managers set, outside of their blocks.
    """
    match test:
        case _ if not frame.in_region:
            return True
        case ir.Unary(operator="not"):
            return is_likely(interpreter, test.operand, not outcome, frame)
        case ir.Boolean():
            undecided = [side for side in (test.left, test.right) if frame.known.get(side) is None]
            sides = [is_likely(interpreter, side, outcome, frame) for side in undecided]
            return all(sides) if (test.operator == "and") is outcome else any(sides)
        case ir.Attribute(value=ir.Name(id=name), attr=flag):
            if _is_off(interpreter, frame.env.get(name, UNKNOWN), flag, outcome, frame):
                return False
    asked = _place_asked(test, interpreter.lexicon)
    if asked is not None and (asked[1] is Place.HOST) is outcome:
        _, value = _held(interpreter, asked[0], frame, frame.env)
        return value is not None and any(isinstance(m, Tensor) and m.place is Place.HOST for m in members(value))
    return not _is_left_out(interpreter, test, outcome, frame)


def _is_off(interpreter: Interpreter, receiver: Value, flag: str, outcome: bool, frame: Frame) -> bool:
    """Whether a flag that context managers set has to be set, or must not be, where none does."""
    modes, objects = interpreter.heap.modes, [member for member in members(receiver) if member != NONE]
    return bool(objects) and all(
        isinstance(one, Instance) and modes.is_off(one.cls, flag, outcome, frame.around) for one in objects
    )


def _is_left_out(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame) -> bool:
    match test:
        case ir.Compare(left=asked, comparisons=[("is" | "is not" as sign, ir.Literal(value=None))]):
            is_given = (sign == "is not") is outcome
        case _:
            asked, is_given = test, outcome
    if is_given and isinstance(asked, ir.Attribute):
        modes, owner = interpreter.heap.modes, interpreter.static_value(asked.value, frame.module)
        is_apart = isinstance(owner, Class) and modes.is_given_apart(owner.definition, asked.attr)
        if is_apart or modes.is_never_given(asked.attr):
            return True
    key, value = _held(interpreter, asked, frame, frame.env)
    if not is_given or key is None or isinstance(key, str) or value != loosened(NONE):
        return False
    return interpreter.heap.is_left_out(*key)


def _apply(interpreter: Interpreter, test: ir.Expr, outcome: bool, frame: Frame, env: Env) -> None:
    choices.recall(test, outcome, env, frame)
    asked = _place_asked(test, interpreter.lexicon)
    if asked is not None:
        node, place = asked
        _place(interpreter, node, place if outcome else _OTHER[place], frame, env)
    match test:
        case ir.Compare(left=ir.Attribute(value=node, attr="device"), comparisons=[("==" | "!=" as sign, other)]):
            named = place_of_device(interpreter.eval(other, frame))
            if named is not None and named in _OTHER:
                there = named if (sign == "==") is outcome else _OTHER[named]
                _place(interpreter, node, there, frame, env, also_unknown=False)
            if (sign == "==") is not outcome and named is not Place.HOST:
                _doubt(interpreter, node, frame, env)
        case ir.Unary(operator="not"):
            _apply(interpreter, test.operand, not outcome, frame, env)
        case ir.Boolean() if (test.operator == "and") is outcome:
            _apply(interpreter, test.left, outcome, frame, env)
            _apply(interpreter, test.right, outcome, frame, env)
        case ir.Boolean():
            # Where one side is known to let the other one decide, that one has.
            for side, other in ((test.left, test.right), (test.right, test.left)):
                if frame.known.get(side) is (test.operator == "and"):
                    _apply(interpreter, other, outcome, frame, env)
        case ir.Compare(
            left=ir.Call(func=ir.Name(id="type"), arguments=[ir.Argument(value=node)]),
            comparisons=[("is" | "is not" | "==" | "!=" as sign, other)],
        ) if (sign in ("is", "==")) is outcome:
            _keep_objects(interpreter, node, interpreter.eval(other, frame), True, frame, env)
        case ir.Compare(comparisons=[("is" | "is not" | "==" | "!=" as sign, ir.Literal(value=None))]):
            _restrict(interpreter, test.left, frame, env, none=(sign in ("is", "==")) is outcome)
        case ir.Call():
            _narrow_call(interpreter, test, outcome, frame, env)
        case ir.Walrus():
            _apply(interpreter, test.target, outcome, frame, env)
        case ir.Name() | ir.Attribute():
            kept_test = grounds.meant(test.id, frame) if isinstance(test, ir.Name) else None
            if kept_test is not None:
                _apply(interpreter, kept_test, outcome, frame, env)
            key, value = _held(interpreter, test, frame, env)
            if key is not None and value is not None:
                kept = [m for m in members(value) if truth(m) is not (not outcome)]
                if kept and len(kept) < len(list(members(value))):
                    env[key] = union(kept)
            if key is not None and not isinstance(key, str):
                for name, given in interpreter.heap.chosen.get(key, {}).items():
                    env.setdefault((key[0], name), given[outcome])


def place_of_type(test: ir.Expr, lexicon: Lexicon) -> Place | None:
    """The place that `device.type == "cuda"` asks for, whatever the device is that of."""
    match test:
        case ir.Compare(left=ir.Attribute(attr="type"), comparisons=[("==" | "!=" as sign, ir.Literal(value=name))]):
            place = lexicon.place(name)
            return place if place is None or sign == "==" else _OTHER[place]
    asked = _place_asked(test, lexicon)
    return None if asked is None else asked[1]


def _place_asked(test: ir.Expr, lexicon: Lexicon) -> tuple[ir.Expr, Place] | None:
    """`x.is_cuda`, `x.device.type == "cpu"`: the tensor that is asked for, and the place where it lies if so.

    Of the text of a device only the host's is compared as a whole: that of others ends with a number.
    """
    match test:
        case ir.Attribute():
            place = lexicon.place_asked(test.attr)
            return None if place is None else (test.value, place)
        case ir.Compare(left=asked, comparisons=[("==" | "!=" as sign, ir.Literal(value=name))]):
            place, is_so = lexicon.place(name), sign == "=="
        case ir.Compare(left=ir.Literal(value=name), comparisons=[("in" | "not in" as sign, asked)]):
            place, is_so = lexicon.place(name), sign == "in"
        case _:
            return None
    match asked:
        case ir.Attribute(value=ir.Attribute(value=tensor, attr="device"), attr="type") if place is not None:
            return tensor, place if is_so else _OTHER[place]
        case ir.Call(
            func=ir.Name(id="str"), arguments=[ir.Argument(value=ir.Attribute(value=tensor, attr="device"))]
        ) if place is Place.HOST:
            return tensor, place if is_so else _OTHER[place]
    return None


def _place(
    interpreter: Interpreter, node: ir.Expr, place: Place, frame: Frame, env: Env, also_unknown: bool = True
) -> None:
    """Keep only what may lie there; of what is not known, only a tensor on the host is worth knowing.

    That one lies on the host is asked of tensors that nothing in the source puts there: where both ways meet again,
    the condition is gone, and what is left must not speak for itself.
    """
    key, value = _held(interpreter, node, frame, env)
    if key is None or value is None:
        return
    kept: list[Value] = []
    for member in members(value):
        if isinstance(member, Unknown) and place is Place.HOST and also_unknown:
            kept.append(Tensor(Place.HOST, sure=Confidence.LOW))
        elif not isinstance(member, Tensor):
            kept.append(member)
        elif member.place is Place.ANYWHERE:
            sure = Confidence.LOW if place is Place.HOST else member.sure
            kept.append(replace(member, place=place, sure=sure))
        elif member.place is place:
            kept.append(member)
    if kept:
        env[key] = union(kept)


def _doubt(interpreter: Interpreter, node: ir.Expr, frame: Frame, env: Env) -> None:
    """A tensor that lies on another device than what a region computes with is hardly one of the accelerator."""
    key, value = _held(interpreter, node, frame, env)
    if key is not None and value is not None:
        env[key] = union(
            replace(m, sure=Confidence.LOW) if isinstance(m, Tensor) and m.place is not Place.HOST else m
            for m in members(value)
        )


def _narrow_call(interpreter: Interpreter, test: ir.Call, outcome: bool, frame: Frame, env: Env) -> None:
    """`isinstance(x, C)`, `torch.is_tensor(x)`, and what a short function of the project says of its arguments."""
    match test.func:
        case ir.Name(id=name) | ir.Attribute(attr=name):
            pass
        case _:
            return
    if not test.arguments:
        return
    if name == "hasattr" and outcome:
        _having(interpreter, test, frame, env)
        return
    if name != "isinstance" and name not in interpreter.lexicon.tensor_tests:
        _ask(interpreter, test, outcome, frame, env)
        return
    if name != "isinstance":
        _keep_objects(interpreter, test.arguments[0].value, External(TENSOR), outcome, frame, env)
    elif len(test.arguments) > 1:
        wanted = interpreter.eval(test.arguments[1].value, frame)
        _keep_objects(interpreter, test.arguments[0].value, wanted, outcome, frame, env)


def _keep_objects(
    interpreter: Interpreter, node: ir.Expr, wanted: Value, outcome: bool, frame: Frame, env: Env
) -> None:
    """Keep only objects of a class, or of one of several; or everything else."""
    key, value = _held(interpreter, node, frame, env)
    classes = wanted.elements if isinstance(wanted, Sequence) and wanted.elements is not None else (wanted,)
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name) and isinstance(env.get(node.value.id), Union):
        _keep_holders(interpreter, node, node.value.id, classes, outcome, env)
    if key is None or value is None:
        return
    kept: list[Value] = []
    for member in members(value):
        answer = _is_one(interpreter, member, classes)
        if outcome and (isinstance(member, Unknown) or _is_other_model(interpreter, member, classes)):
            kept.extend(_instance_of(interpreter, cls, node, frame) for cls in classes)
        elif answer is None or answer is outcome:
            kept.append(member)
    if not kept and outcome and all(isinstance(member, Tensor) for member in members(value)):  # it was taken for one
        kept.extend(_instance_of(interpreter, cls, node, frame) for cls in classes)
    if kept:
        env[key] = union(kept)


def _is_other_model(interpreter: Interpreter, value: Value, classes: Iterable[Value]) -> bool:
    """Whether a value is promised to be a model, and none of these classes is a kind of it, but a model of its own.

    Nothing is two models at once, so that the promise is what does not hold.
    """
    if not isinstance(value, Instance) or value.arguments is not None or not _computes(interpreter, value.cls):
        return False
    asked = [cls.definition for cls in classes if isinstance(cls, Class)]
    order = interpreter.classes.order
    return bool(asked) and all(
        _computes(interpreter, one) and one not in order(value.cls) and value.cls not in order(one) for one in asked
    )


def _computes(interpreter: Interpreter, cls: ClassDefinition) -> bool:
    """Whether a class is a module with a pass of its own."""
    return "forward" in cls.methods and interpreter.classes.is_model(cls)


def _keep_holders(
    interpreter: Interpreter, node: ir.Attribute, name: str, classes: Iterable[Value], outcome: bool, env: Env
) -> None:
    """Of several objects, leave those whose attribute may be an object of these classes, or something else."""
    kept: list[Value] = []
    for owner in members(env[name]):
        held = interpreter.heap.attributes(owner).get(node.attr) if isinstance(owner, Instance) else None
        left = [m for m in members(held) if _is_one(interpreter, m, classes) in (None, outcome)] if held else []
        if left and isinstance(owner, Instance):
            env[owner, node.attr] = union(left)
        if left or held is None:
            kept.append(owner)
    if kept:
        env[name] = union(kept)


def _is_one(interpreter: Interpreter, value: Value, classes: Iterable[Value]) -> bool | None:
    """Whether a value is an object of one of several classes."""
    answers = {interpreter.builtins.reflection.is_instance(value, cls) for cls in classes}
    return True if True in answers else None if None in answers else False


def _having(interpreter: Interpreter, test: ir.Call, frame: Frame, env: Env) -> None:
    """Of several objects, leave those that have an attribute, if the source gives it to any of them."""
    key, value = _held(interpreter, test.arguments[0].value, frame, env)
    name = test.arguments[-1].value
    if key is None or value is None or not (isinstance(name, ir.Literal) and isinstance(name.value, str)):
        return
    lacking = [
        member
        for member in members(value)
        if isinstance(member, Instance)
        and name.value not in interpreter.heap.attributes(member)
        and interpreter.classes.find(member.cls, name.value) is None
    ]
    kept = [member for member in members(value) if member not in lacking]
    if any(isinstance(member, Instance) for member in kept):
        env[key] = union(kept)


def _ask(interpreter: Interpreter, test: ir.Call, outcome: bool, frame: Frame, env: Env) -> None:
    """Leave of each argument what a function answers like this for; what else it does was seen when it was called."""
    names = [argument.value for argument in test.arguments if isinstance(argument.value, ir.Name)]
    open_names = [name for name in names if isinstance(env.get(name.id), Union)]
    if not open_names or not _answers_shortly(interpreter.eval(test.func, frame)):
        return
    aside = replace(frame.kept(), context=Context(frame.context.function, frame.context.path))
    for name in open_names:
        kept = []
        for member in members(env[name.id]):
            aside.env = {**frame.env, name.id: member}
            if truth(interpreter.eval(test, aside)) is not (not outcome):
                kept.append(member)
        if kept:
            env[name.id] = union(kept)


def _answers_shortly(callee: Value) -> bool:
    """Whether a callee is a function that does no more than answer: it tests, and returns."""
    function = callee.function if isinstance(callee, Bound) else callee
    if not isinstance(function, Function) or not 0 < len(function.code.body) <= MAX_STATEMENTS:
        return False
    return all(
        isinstance(statement, ir.Return)
        or (isinstance(statement, ir.If) and _returns(statement.body + statement.orelse))
        for statement in function.code.body
    )


def _returns(block: ir.Block) -> bool:
    return all(isinstance(statement, ir.Return) for statement in block)


def _instance_of(interpreter: Interpreter, cls: Value, asked: ir.Expr, frame: Frame) -> Value:
    match cls:
        case External() if cls.name == TENSOR:
            function, name = frame.function, asked.id if isinstance(asked, ir.Name) else ""
            is_guess = is_made_on_host(interpreter, function.code, function.module, name)
            return Tensor(sure=Confidence.LOW if is_guess else Confidence.MEDIUM)
        case Class():
            return interpreter.heap.promised(cls.definition)
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
    match node:
        case ir.Walrus(target=ir.Name(id=name)) | ir.Name(id=name):
            return name, env.get(name)
        case ir.Attribute(value=ir.Name(id=name)):
            receiver = env.get(name)
            if isinstance(receiver, Instance):
                held = env.get((receiver, node.attr))
                if held is None:
                    held = interpreter.heap.held(receiver, node.attr, frame)
                return (receiver, node.attr), held
    return None, None
