"""The programs of declared regions: each is captured alone, a method on an object that a stranger has made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from graphlint.finding import Region
from graphlint.static.domain.contexts import Context
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module, nested_class
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.machine import Machine
from graphlint.static.life.objects import Capture, Closure, Frame, Object, Place, Thing, things_in
from graphlint.static.life.programs import NODE, Program, constructed, outer_frame
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import calls_in, words_in

_STREAMS = re.compile("stream|event", re.IGNORECASE)


def declared(interpreter: Interpreter) -> Iterator[Program]:
    """The programs that capture what is declared and has to do with streams."""
    known = {function for function, _ in interpreter.latest if _names_streams(function.code)}
    on_streams = {f"{function.module.name}:{function.qualname}" for function in known}
    for opened in list(interpreter.regions.values()):
        name, colon, qualname = (opened.region.entry or "").partition(":")
        module = interpreter.project.module(name) if colon else None
        if module is not None and any(one.function in on_streams for one in _reached(opened.context)):
            yield partial(captured, module=module, qualname=qualname, region=opened.region)


def _reached(start: Context) -> Iterator[Context]:
    """A context and those of all that it calls."""
    seen, waiting = {start}, [start]
    while waiting:
        context = waiting.pop()
        yield context
        new = context.calls.keys() - seen
        seen |= new
        waiting += new


@remembered
def _names_streams(code: ir.Code) -> bool:
    """Whether a call in a function has a name of what streams and events are called."""
    return any(_STREAMS.search(word) for call in calls_in(code) for word in words_in(call.func))


def captured(machine: Machine, module: Module, qualname: str, region: Region) -> None:
    """Capture a call with arguments of which nothing is known."""
    frame = outer_frame(machine, module, region.line)
    called = _named(machine, module, qualname, frame)
    if not isinstance(called, Closure):
        return
    given = machine.unknown_arguments(called.function, skip=1 if called.is_bound else 0)
    place = Place(called.function, called.function.code)
    machine.ledger.begin(Capture(Thing(), region, place, machine.ledger.now))
    result = machine.run(called, given, NODE, frame)  # an exception ends the run before the capture does
    machine.ledger.escaped.update(things_in(result))  # whoever gets an event or a handle may wait for it
    machine.ledger.end()


def _named(machine: Machine, module: Module, qualname: str, frame: Frame) -> Object:
    """The function of that name, or the method of an object that is made first."""
    if qualname in module.index.functions:
        definition = module.index.functions[qualname][-1]
        code = definition.code
        return Closure(Function(code, module, qualname, definition.segment.first)) if code is not None else None
    *path, method = qualname.split(".")
    owner = nested_class(module.index.classes, path)
    made = constructed(machine, owner, frame) if owner is not None else None
    return machine.of_class(made.cls, method, made, frame) if made is not None else None
