"""What a region calls for the first time: compiled functions, kernels, libraries and groups that set themselves up.

All of it is harmless the second time, so what counts is whether the program has called it before, with which shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import FirstCall
from graphlint.static.domain.program import Function
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Frame, Made, Object, Outside, Place, Tensor, Thing
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir

Shapes = tuple[object, ...]


@dataclass
class Knowledge:
    """What the tables say: `compiling` and `libraries` by the names of operations, `decorators` of a function."""

    compiling: frozenset[str]
    libraries: dict[str, str]  # the family of an operation
    decorators: Callable[[Function], set[str]]
    benchmark: frozenset[str]  # settings that let convolutions be timed
    collective: frozenset[str]  # namespaces


@dataclass
class FirstCalls(Listener):
    """Follows one run."""

    tell: Tell
    known: Knowledge
    shapes: dict[object, list[Shapes]] = field(default_factory=dict)  # that something was called with
    warm: set[str] = field(default_factory=set)  # families of libraries
    groups: dict[object, Call] = field(default_factory=dict)  # process groups by what they are known by
    used: set[object] = field(default_factory=set)
    benchmark: bool = False

    def configured(self, name: str, value: Object, place: Place) -> None:
        if name in self.known.benchmark:
            self.benchmark = value is True

    # Compiled functions and kernels

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if not isinstance(module, Made):
            return
        if "kernel" in module.state:
            function = module.state["kernel"].function
            if self.known.decorators(function) & self.known.compiling:
                self._counted(function.code, given, "kernel", is_specialised=False)
        elif module.cls in self.known.compiling:
            dynamic = module.state["given"].keywords.get("dynamic")
            self._counted(module, given, "compiled", is_specialised=dynamic is not True, settles=dynamic is None)
        elif self.benchmark and self._family(module.cls) == "convolution":
            self._counted(module, given, "benchmark", is_specialised=True)
        else:
            self._family_used(module.cls, place)

    def entered(self, frame: Frame) -> None:
        function = frame.function
        if function.code.decorators and self.known.decorators(function) & self.known.compiling:
            self._counted(function.code, tuple(frame.given), "compiled", is_specialised=True, settles=True)

    def _counted(
        self, key: object, given: tuple[Object, ...], what: str, is_specialised: bool, settles: bool = False
    ) -> None:
        """Note a call; tell of it in a region if there was none before, or none with these shapes."""
        before = self.shapes.setdefault(key, [])
        shapes = _shapes(given)
        capture = self.ledger.capture
        if capture is not None:
            place = self._statement(capture)
            is_other = is_specialised and shapes is not None and shapes not in before and None not in before
            if settles and len(set(before)) > 1:
                is_other = False
            if place is not None and not before and self.ledger.is_whole:
                self.tell(FirstCall(what, False), place, capture)
            elif place is not None and before and is_other:
                self.tell(FirstCall(what, True), place, capture)
        before.append(shapes)  # type: ignore[arg-type]

    def _statement(self, capture: Capture) -> Place | None:
        """The statement of the region, in the function that opened it, that runs."""
        return capture.owner.statement if isinstance(capture.owner, Frame) else None

    # Libraries

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if isinstance(place.node, ir.Binary) and place.node.operator == "@":
            self._family_used("@", place)

    def _family(self, name: str) -> str | None:
        return self.known.libraries.get(name) or self.known.libraries.get(name.rpartition(".")[2])

    def _family_used(self, name: str, place: Place) -> None:
        family = self._family(name)
        if family is None or family in self.warm:
            return
        self.warm.add(family)
        capture = self.ledger.capture
        if capture is not None and self.ledger.is_whole and not self.ledger.escaped:
            statement = self._statement(capture)
            if statement is not None:
                self.tell(FirstCall("library", False), statement, capture)

    # Process groups

    def answered(self, call: Call) -> None:
        if not isinstance(call.result, Made) or call.result.cls != call.name:  # to make a module uses no library
            self._family_used(call.name, call.place)
        if call.name.rpartition(".")[0] not in self.known.collective:
            return
        match call.last:
            case "init_process_group":
                self.groups["default"] = call
            case "new_group" if isinstance(call.result, Thing):
                self.groups[call.result] = call
            case _ if isinstance(call.result, Made) and call.result.cls.endswith("Work"):
                self._collective(call)

    def _collective(self, call: Call) -> None:
        group = next((one for one in call.given.all() if isinstance(one, Made) and one in self.groups), None)
        asked = call.given.keywords.get("group")
        if group is None and asked is not None and not (isinstance(asked, Outside) and asked.name.endswith("WORLD")):
            return
        key = group if group is not None else "default"
        made, capture = self.groups.get(key), self.ledger.capture
        if made is None:
            return
        if capture is not None and _backend(made, self.groups.get("default")) in HOST_BACKENDS:
            self.tell(FirstCall("backend", False), call.place, capture)
        elif capture is not None and key not in self.used and not self._is_eager(made):
            self.tell(FirstCall("group", False), call.place, capture)
        self.used.add(key)

    def _is_eager(self, made: Call) -> bool:
        """Whether a group is set up when it is made, as it is if its device is known."""
        default = self.groups.get("default")
        return any(one is not None and one.given.keywords.get("device_id") is not None for one in (made, default))


HOST_BACKENDS = frozenset({"gloo", "mpi", "ucc"})


def _backend(made: Call, default: Call | None) -> Object:
    """The backend that a group was made with; those of a new group are those of the first."""
    position = 0 if made.last == "init_process_group" else 2
    own = made.given.get(position, "backend")
    return own if own is not None or default is None or default is made else _backend(default, None)


def _shapes(given: tuple[Object, ...]) -> Shapes | None:
    """The sizes of the tensors that a call is given; None if they are not known."""
    found: list[object] = []
    for value in given:
        if isinstance(value, (Thing, Container)):
            leaves = list(_leaves(value))
            if not leaves or any(sizes is None for sizes in leaves):
                return None
            found += leaves
    return tuple(found)


def _leaves(value: Object) -> Iterator[tuple[int, ...] | None]:
    """The sizes of the tensors that a value was computed from, each once: layers share what they are computed from."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Container):
            pending += reversed(one.values())
        elif isinstance(one, Tensor) and one.sizes and all(isinstance(size, int) for size in one.sizes):
            yield one.sizes
        elif isinstance(one, Tensor) and one.source and not one.is_part:
            pending += [source for source in reversed(one.source) if not isinstance(source, Made)]
        elif isinstance(one, Thing):
            yield None
