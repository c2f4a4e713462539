"""Other threads that run while a capture is under way, and call what breaks it from wherever that is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import ConcurrentCall
from graphlint.static.index.module import Module
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Closure, Instance, Made, Object, Place, Thing
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, walk

THREADS = frozenset({"threading.Thread", "threading.Timer"})
MODES = ("thread_local", "relaxed")
ENDS = frozenset({"join", "result", "exception", "shutdown", "cancel"})
_SIZES = (0, "max_workers", "processes")  # how many workers a pool has, by the place or the name of its argument
BLOCKING = frozenset({"get", "wait", "acquire"})  # without a time-out: until the other thread gives something


def has_one_worker(pool: Made) -> bool:
    """Whether what a pool is given runs one after the other."""
    return 1 in [pool.given.get(key) for key in _SIZES]


@dataclass
class Running(Listener):
    """Knows which threads and work of executors are under way."""

    running: dict[Thing, tuple[Closure, Thing]] = field(default_factory=dict, init=False)  # with what started them

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        func = place.node.func if isinstance(place.node, ir.Call) else None
        if isinstance(func, ir.Attribute) and func.attr in ENDS and isinstance(callee, Thing):
            for owner in callee.source:
                self._ended(owner)

    def exited(self, manager: Object, place: Place) -> None:
        self._ended(manager)

    def _ended(self, owner: Object) -> None:
        """Forget a thread that is waited for, or all that an executor runs."""
        self.running = {one: known for one, known in self.running.items() if owner not in (one, known[1])}


@dataclass
class Threads(Running):
    """Follows one run; `waiting` are methods and functions that wait for the device, or ask how far it is, and methods
    that are `uploads` copy to it.
    """

    tell: Tell
    waiting: frozenset[str]
    uploads: frozenset[str]
    is_factory: Callable[[str], bool]
    resolve: Callable[[ir.Expr, Module], str]
    runs: Callable[[Instance], Closure | None]  # what an object runs in a thread, if it is one

    def answered(self, call: Call) -> None:
        owner, target = call.owner, call.given.get(0)
        if call.last == "start" and isinstance(owner, Made) and owner.cls in THREADS:
            self._starts(owner, owner.given.get("target", owner.given.get(1)))
        elif call.last == "submit" and isinstance(owner, Made) and isinstance(target, Closure):
            if isinstance(call.result, Thing):
                self._runs(call.result, target, owner)
        elif call.last in ENDS:
            self._ended(owner)

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """A thread of a class of the program is started: it has a method of its own for what it runs."""
        func = place.node.func if isinstance(place.node, ir.Call) else None
        name = func.attr if isinstance(func, ir.Attribute) else ""
        for owner in callee.source if isinstance(callee, Thing) else ():
            if isinstance(owner, Instance) and name == "start":
                self._starts(owner, self.runs(owner))
        super().called(callee, given, place)

    def _starts(self, thread: Thing, started: Object) -> None:
        """A thread starts; one that comes to an end by itself matters while a capture is under way alone."""
        if isinstance(started, Closure) and (self.ledger.capture is not None or _goes_on(started)):
            self._runs(thread, started, thread)

    def began(self, capture: Capture) -> None:
        for started, _ in self.running.values():
            self._examine(started, capture)

    def _runs(self, thread: Thing, started: Closure, owner: Thing) -> None:
        self.running[thread] = started, owner
        if self.ledger.capture is not None:
            self._examine(started, self.ledger.capture)

    def _examine(self, started: Closure, capture: Capture) -> None:
        """Tell of the first call in a thread that no capture stands, in the global mode."""
        place = next(self._unsafe(started), None) if _is_global(capture) else None
        if place is not None:
            self.tell(ConcurrentCall(), place, capture)

    def _unsafe(self, started: Closure) -> Iterator[Place]:
        function = started.function
        for call in calls_in(function.code):
            name = self.resolve(call.func, function.module)
            method = call.func.attr if isinstance(call.func, ir.Attribute) else ""
            on_device = any(one.keyword == "device" for one in call.arguments) and self.is_factory(name)
            if name in self.waiting or method in self.waiting or on_device or self._uploads(method, call):
                yield Place(function, call)

    def _uploads(self, method: str, call: ir.Call) -> bool:
        """Whether a method copies to the device, which allocates there: `x.cuda()`, `x.to("cuda:0")`."""
        given = [one.value.value for one in call.arguments if isinstance(one.value, ir.Literal)]
        is_there = any(isinstance(one, str) and not one.startswith("cpu") for one in given)
        return method in self.uploads and (is_there or not call.arguments)


def _is_global(capture: Capture) -> bool:
    """Whether a capture minds what other threads do."""
    given = capture.manager.given if isinstance(capture.manager, Made) else {}
    return given.get(3, given.get("capture_error_mode")) not in MODES


def _goes_on(started: Closure) -> bool:
    """Whether a function runs until it is told to stop, and waits for nobody to give it something.

    One that hands over what it loads, one by one, waits for whoever takes that.
    """
    parts = list(walk(started.function.code.body))
    calls = [one for one in parts if isinstance(one, ir.Call) and isinstance(one.func, ir.Attribute)]
    is_fed = any(
        isinstance(one.func, ir.Attribute) and one.func.attr in BLOCKING and not one.arguments for one in calls
    )
    loops = [one for one in parts if isinstance(one, ir.While) or (isinstance(one, ir.For) and _hands_over(one))]
    return bool(loops) and not is_fed


def _hands_over(loop: ir.For) -> bool:
    """Whether each round of a loop puts something into a queue."""
    calls = (one.func for one in walk(loop.body) if isinstance(one, ir.Call))
    return any(isinstance(func, ir.Attribute) and func.attr == "put" for func in calls)
