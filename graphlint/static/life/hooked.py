"""Hooks that a module gets behind its capture: replays call none of its code, so that nobody calls them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import HookLate
from graphlint.static.life.callables import HOOKS
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.tensors import modules_in


@dataclass
class Hooked(Listener):
    """Follows one run."""

    tell: Tell
    late: dict[Thing, tuple[Thing, Place, int]] = field(default_factory=dict)
    """What takes a hook away again, the module that has the hook, and where and when it got that."""

    def answered(self, call: Call) -> None:
        if self.ledger.capture is None and self.ledger.latest and call.last in HOOKS and isinstance(call.owner, Thing):
            handle = call.result if isinstance(call.result, Thing) else Thing()
            self.late[handle] = call.owner, call.place, self.ledger.now

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Forget a hook whose handle is asked to remove it, or given to somebody."""
        for handle in (*(callee.source if isinstance(callee, Thing) else ()), *given):
            if isinstance(handle, Thing):
                self.late.pop(handle, None)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        """Forget the hooks of what runs eagerly, which they may be for."""
        if self.ledger.capture is None and self.late:
            ran = modules_in(module)
            self.late = {handle: known for handle, known in self.late.items() if known[0] not in ran}

    def replayed(self, capture: Capture, place: Place) -> None:
        for handle, (module, where, moment) in list(self.late.items()):
            is_behind = capture.ended is not None and capture.ended <= moment
            if is_behind and any(module in modules_in(one) for one in capture.modules):
                del self.late[handle]
                self.tell(HookLate(), where, capture)
