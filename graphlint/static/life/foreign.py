"""Kernels of other libraries in a region of torch: each library has a stream of its own, which captures nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphlint.rule import WorkOutside
from graphlint.static.domain.program import Function
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Made, MethodOf, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir


@dataclass
class Foreign(Listener):
    """Follows one run; `kernels` are classes, functions and decorators of what such libraries launch.

    A function that is named after a package, as `cupy.*`, launches where it is told to write to an array. `streams` are
    classes of objects that make another stream of a library current, `own` those of them that are no stream of torch,
    unless it is told their pointer or they wait for an event. A capture that is foreign is not one of torch.
    """

    tell: Tell
    kernels: frozenset[str]
    streams: frozenset[str]
    own: frozenset[str]
    is_foreign: Callable[[Capture], bool]
    decorators: Callable[[Function], set[str]]
    chosen: list[tuple[Object, str]] = field(default_factory=list)  # managers of streams, and whose
    told_streams: set[str] = field(default_factory=set)  # libraries that were given a stream for good
    joined: set[object] = field(default_factory=set)  # streams that have waited for an event, or were handed on

    def surrounded(self, manager: Object, place: Place) -> None:
        if isinstance(manager, Made) and manager.cls in self.streams:
            self.chosen.append((manager, _library(manager.cls)))

    def exited(self, manager: Object, place: Place) -> None:
        self.chosen = [one for one in self.chosen if one[0] is not manager]

    def answered(self, call: Call) -> None:
        if call.last == "wait_event":
            self.joined.add(call.owner)
        self.joined |= {
            one.receiver if isinstance(one, MethodOf) else one for one in call.given.all() if _is_object(one)
        }
        is_method = call.last == "use" and isinstance(call.owner, Made) and call.owner.cls in self.streams
        if is_method or call.last == "set_stream":
            self.told_streams.add(_library(call.name))
        name = f"{_library(call.name)}.*"
        is_written = call.given.keywords.get("out") is not None and name in self.kernels
        if call.owner is None and (is_written or call.name in self.kernels):
            self._launched(call.name, call.given.keywords.get("stream"), call.place)

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        """An operator is applied to arrays of a library, which launches where it likes."""
        is_operator = self.ledger.capture is not None and not isinstance(place.node, ir.Call)
        for one in things if is_operator else ():
            made = self.ledger.origin(one)
            if made is not None and made.owner is None and f"{_library(made.name)}.*" in self.kernels:
                self._launched(made.name, None, place)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if not isinstance(module, Made):
            return
        if "kernel" in module.state:
            launch = module.state["index"]
            stream = launch.elements[2] if isinstance(launch, Container) and len(launch.elements) > 2 else None
            for name in self.decorators(module.state["kernel"].function) & self.kernels:
                self._launched(name, stream, place)
        elif module.cls in self.kernels:
            self._launched(module.cls, None, place)

    def _launched(self, name: str, stream: Object, place: Place) -> None:
        capture, library = self.ledger.capture, _library(name)
        is_chosen = (
            stream not in (None, 0)
            or library in self.told_streams
            or any(one == library and not self._is_apart(manager) for manager, one in self.chosen)
        )
        if capture is not None and not is_chosen and not self.is_foreign(capture):
            self.tell(WorkOutside("library"), place, capture)

    def _is_apart(self, manager: Object) -> bool:
        """Whether a stream that is current is one of its library, which nothing joins with that of a capture."""
        return isinstance(manager, Made) and manager.cls in self.own and manager not in self.joined


def _is_object(value: Object) -> bool:
    return isinstance(value, Made) or (isinstance(value, MethodOf) and isinstance(value.receiver, Made))


def _library(name: str) -> str:
    return name.partition(".")[0]
