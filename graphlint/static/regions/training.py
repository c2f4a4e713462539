"""Files in, the functions out that train: steps of optimizers, passes of autograd functions, steps of a training loop.

A step of a loop goes backward and has an optimizer step, once, on what it is given: it is what is captured whole where
training is. What goes through batches itself is the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.program import owner_of
from graphlint.static.index.module import Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.drivers import is_driver
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, children, last_name
from graphlint.static.writes.schedules import GROUPS
from graphlint.values import External

PASSES = ("forward", "backward")
_HAS_GROUPS = HoldsAny([GROUPS])
_BACKWARD = "backward"
_GOES_BACKWARD = HoldsAny([f".{_BACKWARD}("])


def training(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """The steps of optimizers, and both passes of autograd functions.

    Others than those of torch are called optimizers as well, such as what relaxes atoms: these have no groups.
    """
    classes, lexicon = interpreter.classes, interpreter.lexicon
    optimizers = lexicon.modules["optimizers"]
    endings = tuple(name.rpartition(".")[2] for name in optimizers)
    applied = {name for name, does in lexicon.callables.items() if does == "applied"}
    marks = HoldsAny(sorted({name.rpartition(".")[2] for name in (*optimizers, *applied)}))
    for module in modules:
        if not interpreter.project.ask(module.path, marks):
            continue
        for cls in module.index.classes.values():
            bases = classes.external_bases(cls)
            names: Iterable[str] = ()
            is_called_so = cls.name.endswith(endings) and interpreter.project.ask(module.path, _HAS_GROUPS)
            if is_called_so or any(base in optimizers for base in bases):
                names = sorted(lexicon.modules["steps"])
            elif any(base in applied for base in bases):
                names = PASSES
            yield from (f"{module.name}:{cls.qualname}.{name}" for name in names if name in cls.methods)


def steps(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """The functions and methods that take a batch, go backward, and let an optimizer step, outside of loops."""
    for module in modules:
        if not interpreter.project.ask(module.path, _GOES_BACKWARD):
            continue
        for definition in module.index.all_functions():
            code = definition.code if module.holds(definition.segment, _BACKWARD) else None
            takes = len(code.parameters) - (owner_of(definition) is not None) if code is not None else 0
            if code is not None and takes and _is_step(interpreter, code):
                yield f"{module.name}:{definition.qualname}"


def _is_step(interpreter: Interpreter, code: ir.Code) -> bool:
    """Whether a function goes backward and steps once; what does so in a loop as well has several steps in it."""
    stepping, calls = interpreter.lexicon.modules["steps"], list(_once(code))
    passes = [call for call in calls if last_name(call.func) == _BACKWARD]
    all_passes = [call for call in calls_in(code) if last_name(call.func) == _BACKWARD]
    steps_once = (last_name(call.func) in stepping and _is_stepped(interpreter, call) for call in calls)
    return 0 < len(passes) == len(all_passes) and any(steps_once)


def losses(interpreter: Interpreter, modules: Iterable[Module]) -> Iterator[str]:
    """The functions that compute a loss by their name, of tensors: they are part of what is captured with a step.

    What makes one, works for the host, or goes through a model to see how good it is, is beside that.
    """
    lexicon = interpreter.lexicon
    for module in modules:
        for name, definitions in module.index.functions.items():
            is_named = lexicon.phases["losses"].match(name) and not name.startswith("_")
            code = definitions[-1].code if is_named and not lexicon.phases["setup"].match(name) else None
            if code is None or is_driver(interpreter, definitions[-1], None) or _evaluates(interpreter, code):
                continue
            if any(_is_computed(interpreter, call, module) for call in calls_in(code)):
                yield f"{module.name}:{name}"


def _evaluates(interpreter: Interpreter, code: ir.Code) -> bool:
    """Whether a function puts a model into the mode in which it is evaluated."""
    methods = interpreter.lexicon.methods
    return any(methods.get(last_name(call.func) or "") in ("evaluates", "trains") for call in calls_in(code))


def _is_computed(interpreter: Interpreter, call: ir.Call, module: Module) -> bool:
    """Whether a call is one of an operation of tensors by its whole name."""
    called = interpreter.static_value(call.func, module)
    return isinstance(called, External) and interpreter.catalogue.find(called.name) is not None


def _is_stepped(interpreter: Interpreter, call: ir.Call) -> bool:
    """Whether a call is one of an optimizer by its name, or of what scales gradients for it."""
    held = last_name(call.func.value) if isinstance(call.func, ir.Attribute) else None
    return held is not None and interpreter.lexicon.phases["optimizes"].match(held.lower()) is not None


def _once(code: ir.Code) -> Iterator[ir.Call]:
    """The calls that a function itself makes outside of loops and of functions inside of it."""
    pending: list[object] = [code.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ir.Call):
            yield part
        if not isinstance(part, (ir.Define, ir.DefineClass, ir.Lambda, ir.For, ir.While)):
            pending += children(part)
