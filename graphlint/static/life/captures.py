"""Captures that begin and end in a rehearsed run, and the context managers around them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from graphlint.finding import Region
from graphlint.static.life.frames import MAX_STEPS
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    Object,
    Place,
    Thing,
    wrapper,
)
from graphlint.static.life.operations import Operations
from graphlint.static.syntax import ir

_STACKS = frozenset({"contextlib.AsyncExitStack", "contextlib.ExitStack"})


class Captures(Operations):
    """Evaluates what opens and closes regions, and every other `with`."""

    def call_outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call by qualified name; one that launches a graph replays it."""
        if name in self.interpreter.lexicon.life["launches"]:
            for graph in self.ledger.graphs_behind(given.get(0)):
                self.ledger.replay(graph, frame.place(node))
        return super().call_outside(name, given, node, frame)

    def call_module(self, owner: Instance | Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method that every module of torch has; one of them compiles a module where it is."""
        method = f"{self.interpreter.lexicon.base_module}.{name}"
        if isinstance(owner, Made) or self.interpreter.entries.find(method) is None:
            return super().call_module(owner, name, given, node, frame)
        forward = owner.attributes.get("forward") or self.of_class(owner.cls, "forward", owner, frame)
        owner.attributes["forward"] = wrapper(method, forward, given, frame.place(node))
        return None

    def call_entry(
        self, name: str, entry: Any, given: Arguments, node: ir.Node, frame: Frame, owner: Thing | None = None
    ) -> Object:
        """A call of what opens or closes a region."""
        place = frame.place(node)
        match entry.form:
            case "context":
                return self.made(name, given, place)
            case "begin":
                self.begin(owner if owner is not None else Thing(place), entry.kind, place, frame)
                return Thing(place) if owner is None else None  # whether it began
            case "end":
                capture = self.ledger.capture
                if capture is None or capture.manager is None:  # else it ends one inside, of the body of a loop
                    self.ledger.end()
                begun = self.interpreter.entries.find(capture.region.kind) if capture is not None else None
                is_itself = owner is not None and not (begun is not None and begun.foreign)
                return None if is_itself or capture is None else Thing(place, source=(capture.graph,))
            case "decorator":
                return given.get(0)
            case "compile":
                target = owner if owner is not None else given.get(0, *entry.takes)
                if isinstance(target, Made) and target.cls == name:
                    target = target.state.get("wrapped", target)  # compiled again, as one
                return wrapper(name, target, given, place)
            case "callable":
                return self._graphed(name, given.get(0, *entry.takes), given, place)
            case _:
                return self.operated(given.all(), place)
        return None

    def _graphed(self, name: str, target: Object, given: Arguments, place: Place) -> Object:
        """What graphs callables gives: the same modules, and new callables for functions."""
        if isinstance(target, Container):
            made = [self._graphed(name, one, given, place) for one in target.elements]
            return Container(place, kind="tuple", elements=made, is_open=target.is_open)
        if isinstance(target, Instance) or (isinstance(target, Made) and "wrapped" not in target.state):
            return target
        return wrapper(name, target, given, place)

    def begin(self, graph: Thing, kind: str, place: Place, frame: Frame, manager: Object = None) -> None:
        """A capture begins."""
        region = Region(kind, place.path, place.line)
        self.ledger.now += 1
        self.limit = MAX_STEPS  # this is what it is about
        frame.before = dict(frame.env)
        self.ledger.begin(Capture(graph, region, place, self.ledger.now, frame, manager=manager))

    def within(self, manager: Object, node: ir.Expr, frame: Frame, inside: Callable[[Object], None]) -> None:
        """Run the body of a `with`."""
        place = frame.place(node)
        match manager:
            case Made() if self.interpreter.entries.opens_context(manager.cls):
                entry = self.interpreter.entries.find(manager.cls)
                graph = manager.given.get(0, manager.given.get("cuda_graph"))
                assert entry is not None
                graph = graph if isinstance(graph, Thing) and not entry.foreign else manager
                self.begin(graph, entry.kind, place, frame, manager)
                depth = len(self.ledger.open)
                try:
                    inside(manager)
                finally:
                    if len(self.ledger.open) >= depth:
                        self.ledger.end()
            case Made(cls=cls) if cls in _STACKS:
                with ExitStack() as stack:
                    manager.state["entered"] = stack
                    inside(manager)
            case Made(cls="<generator>") if "frame" in manager.state:
                inner = manager.state.pop("frame")
                inner.on_yield = inside
                self._finish(inner)
            case Instance():
                self._within_instance(manager, node, frame, inside)
            case _:
                inside(manager)

    def call_made_method(self, owner: Made, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of an object of a class outside of the project; a stack of managers enters one, or the program."""
        if name in ("__enter__", "__exit__") and self.interpreter.entries.opens_context(owner.cls):
            return self._by_hand(owner, name, frame.place(node), frame)
        manager, stack = given.get(0), owner.state.get("entered")
        if name != "enter_context" or not isinstance(stack, ExitStack) or not isinstance(manager, Made):
            return super().call_made_method(owner, name, given, node, frame)
        place, entry = frame.place(node), self.interpreter.entries.find(manager.cls)
        stack.enter_context(self.ledger.surrounded(manager, place))
        if entry is not None and self.interpreter.entries.opens_context(manager.cls):
            graph = manager.given.get(0, manager.given.get("cuda_graph"))
            self.begin(graph if isinstance(graph, Thing) else manager, entry.kind, place, frame, manager)
            stack.callback(self.ledger.end)
        return manager

    def _by_hand(self, manager: Made, name: str, place: Place, frame: Frame) -> Object:
        """A context manager that captures is entered or left by a call."""
        if name == "__exit__":
            if self.ledger.capture is not None and self.ledger.capture.manager is manager:
                self.ledger.end()
            return None
        entry = self.interpreter.entries.find(manager.cls)
        assert entry is not None
        graph = manager.given.get(0, manager.given.get("cuda_graph"))
        self.begin(graph if isinstance(graph, Thing) else manager, entry.kind, place, frame, manager)
        return manager

    def _within_instance(
        self, manager: Instance, node: ir.Expr, frame: Frame, inside: Callable[[Object], None]
    ) -> None:
        enter = self.of_class(manager.cls, "__enter__", manager, frame)
        leave = self.of_class(manager.cls, "__exit__", manager, frame)
        depth = len(self.ledger.open)
        value = self.call(enter, Arguments(), node, frame) if isinstance(enter, Closure) else manager
        for capture in self.ledger.open[depth:]:  # of which this is the body
            capture.owner, capture.place = frame, frame.place(node)
            capture.region = replace(capture.region, path=capture.place.path, line=capture.place.line)
            frame.before = dict(frame.env)
        try:
            inside(value)
        finally:
            if isinstance(leave, Closure):
                self.call(leave, Arguments([None, None, None]), node, frame)
