"""In which order captures are begun, ended and replayed, and whether an exception leaves one open."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphlint.rule import CaptureMisused
from graphlint.static.life.forms import calls_method
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Made, Place, Thing, things_in
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in, names_in, stands_before, walk


@dataclass
class Protocol(Listener):
    """Follows one run; `ends` are methods that end a capture, `makers` graph callables.

    `collective` are the namespaces of what processes do together.
    """

    tell: Tell
    ends: frozenset[str]
    makers: frozenset[str]
    collective: frozenset[str]
    reset: set[Thing] = field(default_factory=set)  # graphs that hold nothing any more
    nested: set[Capture] = field(default_factory=set)  # with another one inside
    communicating: set[Capture] = field(default_factory=set)  # with a collective inside
    interrupted: dict[Capture, Place] = field(default_factory=dict)  # statements that an exception left
    refused: set[Capture] = field(default_factory=set)  # whose begin has failed, as what looks at its result says

    def began(self, capture: Capture) -> None:
        if len(self.ledger.open) > 1:
            self.nested.add(self.ledger.open[0])
            self.tell(CaptureMisused("nested"), capture.place, capture)
        elif self._holds_capture(capture.graph) and capture.graph is not capture.manager:
            self.tell(CaptureMisused("again", self._is_run_again(capture)), capture.place, capture)
        self.reset.discard(capture.graph)
        is_begun_by_hand = capture.manager is None and capture.owner is not None
        leaving = list(self._handlers_that_leave(capture)) if is_begun_by_hand else []
        if is_begun_by_hand and not leaving and self._is_let_go(capture):
            leaving = [capture.place]
        for place in leaving:
            self.tell(CaptureMisused("raise"), place, capture)

    def _handlers_that_leave(self, capture: Capture) -> Iterator[Place]:
        """Where handlers behind the beginning of a capture return and leave it open."""
        code, begun = capture.place.function.code, capture.place.node
        ends = [one for one in calls_in(code) if isinstance(one.func, ir.Attribute) and one.func.attr in self.ends]
        for block in walk(code.body):
            if not isinstance(block, ir.Try) or any(one is begun for one in walk((block.handlers, block.final))):
                continue
            is_before = stands_before(begun, block) and not any(_is_between(begun, one, block) for one in ends)
            if is_before or any(one is begun for one in walk(block.body)):
                inside = {id(one) for one in walk(block.body)}
                is_last = all(id(one) in inside for one in ends) and bool(ends)
                for handler in block.handlers:
                    leaving: ir.Node | None = next((o for o in walk(handler.body) if isinstance(o, ir.Return)), None)
                    if leaving is None and is_last and not _leaves(handler):
                        leaving = begun  # and the statements behind it run in the capture
                    if leaving is not None and not any(map(self._may_end, walk((handler.body, block.final)))):
                        yield capture.place._replace(node=leaving)

    def _is_let_go(self, capture: Capture) -> bool:
        """Whether who calls what captures handles its exceptions and goes on, and nothing ends the capture then.

        That is known where the function ends it on the way without an exception.
        """
        code, owner = capture.place.function.code, capture.owner
        calls = calls_in(code)
        is_ended = any(isinstance(one.func, ir.Attribute) and one.func.attr in self.ends for one in calls)
        tries = [one for one in walk(code.body) if isinstance(one, ir.Try)]
        if not is_ended or any(self._may_end(one) for block in tries for one in walk((block.handlers, block.final))):
            return False
        caller = owner.caller if isinstance(owner, Frame) else None
        statement = caller.statement if caller is not None else None
        if caller is None or statement is None:
            return False
        around = (one for one in walk(caller.function.code.body) if isinstance(one, ir.Try) and one.handlers)
        return any(
            any(part is statement.node for part in walk(block.body)) and not any(map(_leaves, block.handlers))
            for block in around
        )

    def _may_end(self, node: object) -> bool:
        """Whether a node ends a capture, or calls what belongs to the program and may do so."""
        match node:
            case ir.Call(func=ir.Attribute(value=owner, attr=name)):
                return name in self.ends or (isinstance(owner, ir.Name) and owner.id == "self")
            case ir.Call(func=ir.Name(id=name)):
                return name not in vars(builtins)
        return False

    def _is_run_again(self, capture: Capture) -> bool:
        """Whether the program captures a second time, and not somebody who may call what captures once alone."""
        before, owner = self.ledger.latest[capture.graph].owner, capture.owner
        if self.ledger.is_whole or not isinstance(before, Frame) or not isinstance(owner, Frame):
            return True
        first, second = (next(one for one in frame.stack() if one.is_entry) for frame in (before, owner))
        return first is second or first.function.code is not second.function.code

    def _holds_capture(self, graph: Thing) -> bool:
        is_known = isinstance(graph, Made) and graph not in self.ledger.guessed
        return is_known and graph in self.ledger.latest and graph not in self.reset

    def replayed_inside(self, graph: Thing, place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None and isinstance(graph, Made) and capture not in self.nested:
            self.tell(CaptureMisused("replay"), place, capture)

    def ended(self, capture: Capture) -> None:
        self.interrupted.pop(capture, None)

    # Captures that are begun by hand

    def raised(self, frame: Frame) -> None:
        if not self.ledger.open:
            return
        given = {one.made for value in frame.given for one in things_in(value)}
        self.refused |= {one for one in self.ledger.open if one.place in given or _is_looked_at(one, frame)}
        for capture in self._left_open(frame):
            if frame.statement is not None:
                self.interrupted.setdefault(capture, frame.statement)

    def left(self, frame: Frame) -> None:
        for capture in self._left_open(frame):
            place = self.interrupted.pop(capture, None)
            if place is None and calls_method(frame.function.code, self.ends):
                place = frame.statement
            if place is not None:
                self.ledger.open.remove(capture)
                self.tell(CaptureMisused("raise"), place, capture)

    def _left_open(self, frame: Frame) -> list[Capture]:
        begun = (one for one in self.ledger.open if one.manager is None and one not in self.refused)
        return [one for one in begun if one.owner is frame]

    # Process groups

    def answered(self, call: Call) -> None:
        capture = self.ledger.capture
        if call.name in self.makers and capture is not None:
            self.tell(CaptureMisused("nested"), call.place, capture)
        if call.last == "reset" and isinstance(call.owner, Thing):
            self.reset.add(call.owner)
        if call.name.rpartition(".")[0] not in self.collective:
            return
        if capture is not None and isinstance(call.result, Made):
            self.communicating.add(capture)
        if call.last == "destroy_process_group" and capture is None:
            for one in self.ledger.latest.values():
                if one in self.communicating and one.graph not in self.reset and self._is_alive(one.graph):
                    self.tell(CaptureMisused("destroyed"), call.place, one)

    def _is_alive(self, graph: Thing) -> bool:
        """Whether a name of some function that runs leads to a graph."""
        if graph in self.ledger.escaped:
            return False
        held = (value for frame in self.ledger.frames for value in (*frame.bound(), frame.receiver))
        return any(graph in things_in(value) for value in held)


def _leaves(handler: ir.Handler) -> bool:
    """Whether a handler passes the exception on."""
    return any(isinstance(one, ir.Raise) for one in walk(handler.body))


def _is_between(first: ir.Node, one: ir.Node, last: ir.Node) -> bool:
    return stands_before(first, one) and stands_before(one, last)


def _is_looked_at(capture: Capture, frame: Frame) -> bool:
    """Whether what is raised stands behind a test of what beginning a capture has given: it has failed, then."""
    code, raising = frame.function.code, frame.statement
    if raising is None or capture.owner is not frame:
        return False
    begun = (one for one in assignments_in(code) if one.value is capture.place.node)
    names = {name for one in begun for name in names_in(one.targets)}
    tests = (part for part in walk(code.body) if isinstance(part, ir.If) and names & names_in(part.test))
    return any(raising.node is inner for test in tests for inner in walk((*test.body, *test.orelse)))
