"""The programs of declared regions: each is captured alone, a method on an object that a stranger has made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from graphlint.finding import Region
from graphlint.static.domain.contexts import Context
from graphlint.static.domain.program import function_of
from graphlint.static.index.module import Module, nested_class
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.machine import Machine
from graphlint.static.life.objects import Capture, Closure, Frame, Object, Place, Thing, things_in
from graphlint.static.life.programs import NODE, Program, constructed
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import calls_in, words_in

_DEPTH = 3  # the first is the call of what is declared
_EVENT = re.compile("(?:^|_)events?$|^Event$")


def declared(interpreter: Interpreter) -> Iterator[Program]:
    """The programs that capture what is declared and has to do with streams."""
    on_streams = _calling(interpreter, ("lasting", "ordering", "selecting", "streams"), _EVENT)
    for opened in list(interpreter.regions.values()):
        entry = opened.region.entry or ""
        if ":" in entry and any(one.function in on_streams for one in _reached(opened.context, _DEPTH)):
            yield from _alone(interpreter, entry, opened.region)


def on_default(interpreter: Interpreter) -> Iterator[Program]:
    """The programs that capture what asks for the default stream, which cannot, however deep a region leads there."""
    asking = _calling(interpreter, ("default",))
    for opened in list(interpreter.regions.values()) if asking else ():
        inside = _reached(opened.context) - {opened.context}  # around what opens it, the stream may be asked for
        found = {one.function for one in inside} & asking
        asking -= found
        for name in sorted(found):
            yield from _alone(interpreter, name, opened.region)


def _alone(interpreter: Interpreter, name: str, region: Region) -> Iterator[Program]:
    home, _, qualname = name.partition(":")
    module = interpreter.project.module(home)
    if module is not None:
        yield Program((region, name), partial(captured, module=module, qualname=qualname, region=region))


def _reached(start: Context, depth: int | None = None) -> set[Context]:
    """A context and those of what it calls; to look through whole models takes long."""
    found = new = {start}
    while new and depth != 0:
        new = {callee for context in new for callee in context.calls} - found
        found = found | new
        depth = None if depth is None else depth - 1
    return found


def _calling(interpreter: Interpreter, kinds: tuple[str, ...], other: re.Pattern[str] | None = None) -> set[str]:
    """The functions which run that call what the lexicon has under these kinds, or what is called like others."""
    life = interpreter.lexicon.life
    named = {name.rpartition(".")[2] for kind in kinds for name in life[kind]}
    known = {function for function, _ in interpreter.latest}
    return {
        f"{function.module.name}:{function.qualname}"
        for function in known
        for words in (_called(function.code),)
        if not words.isdisjoint(named) or (other is not None and any(map(other.search, words)))
    }


@remembered
def _called(code: ir.Code) -> frozenset[str]:
    """The names in what a function calls."""
    return frozenset(word for call in calls_in(code) for word in words_in(call.func))


def captured(machine: Machine, module: Module, qualname: str, region: Region) -> None:
    """Capture a call with arguments of which nothing is known."""
    frame = machine.outer_frame(module, region.line)
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
        function = function_of(module.index.functions[qualname][-1])
        return Closure(function) if function is not None else None
    *path, method = qualname.split(".")
    owner = nested_class(module.index.classes, path)
    made = constructed(machine, owner, frame) if owner is not None else None
    return machine.of_class(made.cls, method, made, frame) if made is not None else None
