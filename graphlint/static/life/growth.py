"""Whether graphs become more and more: tables that nothing bounds, lists of graphs made anew, captures in each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import GraphCollected, KeyRead, Recapture
from graphlint.static.domain.callers import asks_before
from graphlint.static.index.module import Module
from graphlint.static.index.project import Project
from graphlint.static.life.forms import calls_method
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import PLAIN, Capture, Container, Frame, Object, Place, Tensor, Thing
from graphlint.static.life.questions import OF_HOST, parts_of, read_in
from graphlint.static.life.record import Loop
from graphlint.static.life.tensors import is_copied
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, calls_in, is_one_of, names_in, walk, words_in

_BOUNDING = frozenset({"clear", "pop", "popitem", "reset"})


@dataclass
class Growth(Listener):
    """Follows one run."""

    tell: Tell
    replays: frozenset[str]
    project: Project
    promises: Callable[[ir.Parameter, Module], bool]  # whether an annotation says that a parameter is a tensor
    entries: list[tuple[Frame, int]] = field(default_factory=list)
    captured: dict[tuple[ir.Code, ir.Node | None], Capture] = field(default_factory=dict)  # the last of a statement
    statements: dict[Capture, Place] = field(default_factory=dict)  # of the called function, that lead to captures
    rounds: dict[Loop, Capture] = field(default_factory=dict)  # the first capture of what a loop brings
    dropped_in_loop: dict[Capture, Capture] = field(
        default_factory=dict
    )  # that, and the next one, if nothing keeps them
    kept: set[Thing] = field(default_factory=set)  # graphs in containers
    keyed: list[tuple[Object, Object, Place]] = field(default_factory=list)
    """What is kept under a number out of a tensor, the key, and where it was read."""

    def entered(self, frame: Frame) -> None:
        if frame.is_entry:
            self.entries.append((frame, self.ledger.decided))

    def left(self, frame: Frame) -> None:
        if self.entries and self.entries[-1][0] is frame:
            self.entries.pop()

    def _captured_in_loop(self, capture: Capture, place: Place) -> None:
        """Note a loop that captures anew what each of its rounds brings, or the same in each, to replay it there."""
        inside = [one for one in self.ledger.loops if one.place.function.code is capture.place.function.code]
        if not inside or capture.replays:
            return
        data = inside[-1].value
        is_of_round = any(root is data or (data in root.source and is_copied(root)) for root in capture.reads)
        before = self.rounds.setdefault(inside[-1], capture)
        is_again = before is not capture and before.place.node is capture.place.node
        if is_again and ((is_of_round and data is not None) or _is_same_again(capture, before, inside[-1])):
            self.dropped_in_loop[before] = capture

    def finished(self) -> None:
        for before, capture in self.dropped_in_loop.items():
            if self.kept.isdisjoint((before.graph, capture.graph)):
                self.tell(Recapture(), capture.place, capture)

    def began(self, capture: Capture) -> None:
        """Note which statement of the called function leads to a capture that no condition guards."""
        if not self.entries:
            return
        frame, decided = self.entries[-1]
        if frame.way and frame.statement is not None and decided == self.ledger.decided:
            self.statements[capture] = frame.statement

    def replayed(self, capture: Capture, place: Place) -> None:
        self._captured_in_loop(capture, place)
        statement = self.statements.get(capture)
        if statement is None or not self.entries or capture.replays:
            return
        frame, _ = self.entries[-1]
        code = frame.function.code
        if place.function.code is not code or statement.function.code is not code or self.ledger.loops:
            return
        if not any(p.default is None and p.name not in ("self", "cls") for p in code.parameters):
            return  # it serves no request
        known = self.captured.get((code, statement.node))
        is_kept = known is not None and known.graph in self.kept
        is_again = known is not None and known is not capture and code.name != "__init__" and not is_kept
        if is_again and not asks_before(self.project, frame.function):
            self.tell(Recapture(), statement, capture)
        self.captured[code, statement.node] = capture

    def ended(self, capture: Capture) -> None:
        """Tell of keys that are read out of tensors, by now that what is kept under them has a graph."""
        for value, key, read in self.keyed:
            if capture.graph in directly_in(value):
                self.tell(KeyRead(self._is_promised(key, read)), read, capture)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        read = read_in(key.values() if isinstance(key, Container) else [key])
        if container.kind == "dict" and read is not None:
            self.keyed.append((value, key, read))
        graph = next((thing for thing in directly_in(value) if thing in self.ledger.latest), None)
        if graph is None or self.ledger.capture is not None:
            return
        self.kept.add(graph)
        capture = self.ledger.latest[graph]
        if container.kind == "dict" and read is not None:
            self.tell(KeyRead(self._is_promised(key, read)), read, capture)
        if container.kind == "dict":
            serves = calls_method(place.function.code, self.replays)  # requests: it replays what it keeps
            if serves and _is_open(key) and _is_asked(place) and not _is_bounded(place):
                is_sure = capture.place.function.code is place.function.code and _is_whole_shape(place)
                self.tell(GraphCollected(True, is_sure), place, capture)
        elif container.kind == "list" and not _is_bounded(place) and not _is_emptied(place):
            others = [g for held in container.values() for g in directly_in(held) if g in self.ledger.latest]
            before = [self.ledger.latest[other] for other in others if other is not graph]
            if any(_is_again(capture, other) for other in before) and not self._is_counted(place):
                self.tell(GraphCollected(False, True), place, capture)

    def _is_promised(self, key: Object, read: Place) -> bool:
        """Whether a key comes out of a parameter that is said to be a tensor, by a name that tells of no host."""
        given = {one.argument for one in parts_of(key) if isinstance(one, Thing)}
        of_device = (one for one in read.function.code.parameters if one.name.rpartition("_")[2] not in OF_HOST)
        return any(one.name in given and self.promises(one, read.function.module) for one in of_device)

    def _is_counted(self, place: Place) -> bool:
        """Whether a graph is kept in a loop of the function that has a fixed number of rounds."""
        loops = (loop for loop in self.ledger.loops if loop.place.function.code is place.function.code)
        return any(isinstance(loop.value, PLAIN) and loop.value is not None for loop in loops)


def _is_same_again(capture: Capture, other: Capture, loop: Loop) -> bool:
    """Whether a round of a loop captures what the round before has captured, whichever round that is."""
    node = loop.place.node
    counts = isinstance(node, ir.For) and not words_in(node.body).isdisjoint(names_in(node.target))
    return isinstance(node, ir.For) and not counts and _is_again(capture, other)


def _is_again(capture: Capture, other: Capture) -> bool:
    """Whether a capture is of the same region as another one, and reads the same, by the same local names too."""
    if other.region != capture.region or _numbers(capture) != _numbers(other):
        return False
    if capture.modules.keys() != other.modules.keys():
        return False
    names, others = _locals_of(capture), _locals_of(other)
    is_same = all(_are_alike(others.get(name, value), value) for name, value in names.items())
    own = [root for root in capture.reads if not any(_are_alike(root, one) for one in other.reads)]
    return is_same and not own and len(other.reads) == len(capture.reads)


def _are_alike(one: Object, other: Object) -> bool:
    """Whether two things are one, or tensors that the same call has made of the same known size."""
    if one is other or not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return one is other
    is_known = one.sizes is not None and all(isinstance(size, int) for size in one.sizes)
    return is_known and one.made is not None and one.made == other.made and one.sizes == other.sizes


def _numbers(capture: Capture) -> list[Object]:
    """The known values that the function which captures was given: the size of a batch is among them."""
    given = capture.owner.given if isinstance(capture.owner, Frame) else []
    return [value for value in given if isinstance(value, PLAIN)]


def _locals_of(capture: Capture) -> dict[tuple[ir.Code, str], Object]:
    """What a region read by local names; the size of a batch is among them, as far as nobody knows it."""
    return {(f.function.code, name): value for (f, name), value in capture.paths.items() if isinstance(f, Frame)}


def directly_in(value: Object) -> Iterator[Thing]:
    """A thing, or what a tuple or an object holds."""
    if isinstance(value, Thing):
        yield value
        held = value.values() if isinstance(value, Container) else value.attributes.values()
        yield from (one for one in held if isinstance(one, Thing))


def _is_open(key: Object) -> bool:
    """Whether a key is computed from the arguments of a call that comes from outside of the program."""
    return any(isinstance(one, Thing) and one.argument is not None for one in parts_of(key))


def _is_asked(place: Place) -> bool:
    """Whether a function looks whether a container has a graph before it keeps one there."""
    node, target = place.node, _item_of(place)
    if target is None:
        return False
    spelt = place.function.source(target.value)
    for part in walk(place.function.code.body):
        if isinstance(part, ir.Compare) and any(
            sign in ("in", "not in") and place.function.source(right) == spelt for sign, right in part.comparisons
        ):
            return True
        if isinstance(part, ir.Attribute) and part.attr == "get" and place.function.source(part.value) == spelt:
            return True
        if isinstance(part, ir.Try) and any(one is node for one in walk(part.handlers)):  # one is missed there
            items = (one.value for one in walk(part.body) if isinstance(one, ir.Subscript))
            if any(place.function.source(one) == spelt for one in items):
                return True
    return False


def _item_of(place: Place) -> ir.Subscript | None:
    """The item that a statement assigns, among other targets it may be."""
    targets = place.node.targets if isinstance(place.node, ir.Assign) else ()
    return next((one for one in targets if isinstance(one, ir.Subscript)), None)


def _is_bounded(place: Place) -> bool:
    """Whether a function asks how many there are, or drops some."""
    for part in walk(place.function.code.body):
        if isinstance(part, ir.Call):
            if isinstance(part.func, ir.Name) and part.func.id == "len":
                return True
            if isinstance(part.func, ir.Attribute) and part.func.attr in _BOUNDING:
                return True
    return False


def _is_emptied(place: Place) -> bool:
    """Whether a method of the object that keeps graphs in a list of its own drops them all."""
    call, owner = place.node, place.function.owner
    kept = call.func.value if isinstance(call, ir.Call) and isinstance(call.func, ir.Attribute) else None
    if (
        owner is None
        or not isinstance(kept, ir.Attribute)
        or not is_one_of(kept.value, {place.function.receiver or ""})
    ):
        return False
    codes = (one.code for found in owner.methods.values() for one in found if one.code is not None)
    return any(_drops(one, kept.attr) for code in codes for one in calls_in(code))


def _drops(call: ir.Call, name: str) -> bool:
    match call.func:
        case ir.Attribute(attr=method, value=ir.Attribute(attr=attribute)):
            return method in _BOUNDING and attribute == name
    return False


def _is_whole_shape(place: Place) -> bool:
    """Whether a key is all of a shape; one size, or what a function rounds up, may be one of a few."""
    target = _item_of(place)
    key = target.index if target is not None else None
    expressions: list[ir.Expr] = [] if key is None else [key]
    if isinstance(key, ir.Name):
        given = assignments_to(place.function.code, key.id)
        expressions += [one.value for one in given if one.value is not None]
    parts = [part for expression in expressions for part in walk(expression)]
    sliced = {id(part.value) for part in parts if isinstance(part, ir.Subscript)}
    return any(isinstance(part, ir.Attribute) and part.attr == "shape" and id(part) not in sliced for part in parts)
