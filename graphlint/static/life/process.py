"""Settings of the process that a region, or the function around it, changes and does not put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import SettingLeft
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Place
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

Resolve = Callable[[ir.Expr, Module], str]


@dataclass
class Process(Listener):
    """Follows one run; `settings` are functions that change one, `lasting` those that nobody wants to keep."""

    tell: Tell
    settings: frozenset[str]
    lasting: frozenset[str]
    resolve: Resolve
    changed: dict[str, tuple[Place, Frame]] = field(default_factory=dict)  # in the capture that is under way
    before: dict[str, tuple[Place, Frame]] = field(default_factory=dict)  # by functions that still run
    number: dict[str, int] = field(default_factory=dict)  # of the captures before that
    decided: int = 0  # conditions that nobody knew, when the capture began
    left_open: list[tuple[Frame, str, Place]] = field(default_factory=list)  # where an exception leaves a setting

    def answered(self, call: Call) -> None:
        if call.name not in self.settings or not self.ledger.frames:
            return
        if self.ledger.capture is not None and self.ledger.decided != self.decided:
            return  # on a way that the region may not take
        held = self.before if self.ledger.capture is None else self.changed
        family, frame = family_of(call.name), self.ledger.frames[-1]
        setting = self.before.get(family)
        if setting is not None and setting[1] is frame and family not in self.lasting:
            self._put_back(setting[0], call.place, frame, self.ledger.captures[self.number[family] :])
        if family in self.changed or (family in self.before and held is self.before):
            self.changed.pop(family, None)
            self.before.pop(family, None)
        else:
            held[family] = call.place, frame
            self.number[family] = len(self.ledger.captures)

    def _put_back(self, setter: Place, place: Place, frame: Frame, captures: list[Capture]) -> None:
        """Tell of a setting that is only put back if the captures in between succeed."""
        blocks = [part.final for part in walk(frame.function.code.body) if isinstance(part, ir.Try)]
        is_final = any(part is place.node for block in blocks for part in walk(block))
        if captures and not is_final and frame.function.qualname != "<module>":
            self.tell(SettingLeft("skipped"), setter, captures[0])

    def surrounded(self, manager: object, place: Place) -> None:
        """What was called for a `with` is put back by it."""
        call = self.ledger.origin(manager)
        if call is not None and call.name in self.settings:
            self.changed.pop(family_of(call.name), None)
            self.before.pop(family_of(call.name), None)

    def began(self, capture: Capture) -> None:
        self.decided = self.ledger.decided

    def ended(self, capture: Capture) -> None:
        for place, frame in self.changed.values():
            # A helper that is a context manager puts it back when its `with` ends, which is later.
            if frame not in self.ledger.frames or frame is capture.owner:
                self.tell(SettingLeft("region"), place, capture)
        self.changed.clear()

    def left(self, frame: Frame) -> None:
        for family, (place, setter) in [*self.before.items()]:
            if setter is frame:
                del self.before[family]
                capture = self._captured_by(frame)
                if capture is not None and family in self.lasting and frame.function.qualname != "<module>":
                    self.tell(SettingLeft("function"), place, capture)

    def _captured_by(self, frame: Frame) -> Capture | None:
        return next((one for one in self.ledger.captures if one.owner is frame), None)

    # Exceptions

    def entered(self, frame: Frame) -> None:
        if frame.function.qualname != "<module>":
            body = frame.function.code.body
            for place in self._skipped(frame.function, body) if any(isinstance(one, ir.Try) for one in body) else ():
                self.left_open.append((frame, "exception", Place(frame.function, place, frame.way)))

    def _skipped(self, function: Function, block: ir.Block) -> Iterator[ir.Node]:
        """Statements at which a function is left between setting something and putting it back."""
        open_: set[str] = set()
        last = {family: at for at, one in enumerate(block) for family in self._set_by(one, function)}
        for at, statement in enumerate(block):
            for family in self._set_by(statement, function):
                open_ = open_ ^ {family}
            pending = {family for family in open_ if last[family] > at}
            if pending and isinstance(statement, ir.Try):
                for handler in statement.handlers:
                    leaving = next((s for s in handler.body if isinstance(s, (ir.Return, ir.Raise))), None)
                    put_back = {f for s in (*handler.body, *statement.final) for f in self._set_by(s, function)}
                    if leaving is not None and pending - put_back:
                        yield leaving

    def _set_by(self, statement: ir.Stmt, function: Function) -> list[str]:
        """The settings that a statement changes, if that is all that it does."""
        call = statement.value if isinstance(statement, ir.Evaluate) else None
        if not isinstance(call, ir.Call):
            return []
        name = self.resolve(call.func, function.module)
        return [family_of(name)] if name in self.settings else []

    def finished(self) -> None:
        captures = self.ledger.captures
        for _, how, place in self.left_open if captures else ():
            self.tell(SettingLeft(how), place, captures[0])


def family_of(name: str) -> str:
    """What a function sets: those that switch it on and off set the same."""
    owner, _, last = name.rpartition(".")
    return owner if last in ("enable", "disable") else name
