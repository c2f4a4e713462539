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

_DEPTH = 3  # the first is the call of what is declared
_EVENT = re.compile("(?:^|_)events?$|^Event$")


def declared(interpreter: Interpreter) -> Iterator[Program]:
    """The programs that capture what is declared and has to do with streams."""
    on_streams = _on_streams(interpreter)
    for opened in list(interpreter.regions.values()):
        name, colon, qualname = (opened.region.entry or "").partition(":")
        module = interpreter.project.module(name) if colon else None
        if module is not None and any(one.function in on_streams for one in _reached(opened.context)):
            yield Program(opened, partial(captured, module=module, qualname=qualname, region=opened.region))


def _reached(start: Context) -> set[Context]:
    """A context and those of what it calls, a few calls deep, since whole models take long."""
    found = new = {start}
    for _ in range(_DEPTH):
        new = {callee for context in new for callee in context.calls} - found
        found = found | new
    return found


def _on_streams(interpreter: Interpreter) -> set[str]:
    """The functions which run that choose a stream, or let one wait for another, by the names of what they call."""
    life = interpreter.lexicon.life
    named = {name.rpartition(".")[2] for kind in ("lasting", "ordering", "selecting", "streams") for name in life[kind]}
    known = {function for function, _ in interpreter.latest}
    return {
        f"{function.module.name}:{function.qualname}"
        for function in known
        for words in (_called(function.code),)
        if not words.isdisjoint(named) or any(map(_EVENT.search, words))
    }


@remembered
def _called(code: ir.Code) -> frozenset[str]:
    """The names in what a function calls."""
    return frozenset(word for call in calls_in(code) for word in words_in(call.func))


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
