"""Whether what a graph reads is filled for each call: data that a call is given and that goes nowhere.

Long, because what captures may be the call that replays, one that it makes, or one that gives the graph of before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphlint.reading.questions import HoldsAny
from graphlint.rule import StaleReplay
from graphlint.static.domain.callers import may_stay
from graphlint.static.index.project import Project
from graphlint.static.life.forms import is_number
from graphlint.static.life.inputs import Inputs, place_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.methods import looks_at
from graphlint.static.life.objects import (
    Capture,
    Container,
    Frame,
    Instance,
    Object,
    Place,
    Tensor,
    Thing,
    is_tensor,
    things_in,
)
from graphlint.static.life.record import Loop, Write
from graphlint.static.life.tensors import is_copied
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import holds, last_name, names_in, walk


@dataclass
class Unrefreshed(Listener):
    """Follows one run; `caches` are names of what a request has computed so far, whatever it is kept in."""

    tell: Tell
    inputs: Inputs
    project: Project
    caches: re.Pattern[str]
    used: set[tuple[Frame, str]] = field(default_factory=set)  # names of functions, since a capture
    kept: dict[tuple[Thing, str], Place] = field(default_factory=dict)  # where attributes were assigned last
    over: dict[ir.Code, Frame] = field(default_factory=dict)  # the last call of what has captured, since a replay

    def loaded(self, name: str, frame: Frame) -> None:
        self.used.add((frame, name))

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        self.kept[owner, name] = place

    def left(self, frame: Frame) -> None:
        owners = [one.owner for one in self.ledger.captures]
        codes = (one.function.code for one in owners if isinstance(one, Frame))
        if frame not in owners and any(one is frame.function.code for one in codes):
            self.over[frame.function.code] = frame

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        since = {root: self.ledger.since(root, last) for root in self.inputs.inputs(capture)}
        if since and not capture.may_be_replayed:
            if capture.replays and not any(since.values()):
                self._unused(capture, place)
            self._captured_call(capture, place, since)
            self._passed_over(capture, place, since)
            self._asked_for(capture, since)
            self._called_before(capture, since)
        self.over.clear()

    def _unused(self, capture: Capture, place: Place) -> None:
        """Tell of a replay without new data, where the function was given some and does nothing with it."""
        loop = next(
            (loop for loop in reversed(self.ledger.loops) if loop.place.function.code is place.function.code), None
        )
        name = _data_of(loop) if loop is not None else None
        if name is not None and not any(isinstance(part, ir.Name) and part.id == name for part in walk(place.node)):
            self.tell(StaleReplay((name,)), place, capture)
        code = place.function.code
        if not any(one.function.code is code for one in self.ledger.frames[-1:]) or code.name == "<module>":
            return
        if capture.owner is self.ledger.frames[-1]:
            return  # it was captured with what this call was given
        names = tuple(p.name for p in code.parameters if _is_unused(p, code))
        if names and not _has_other_way(code, place.node, capture):
            self.tell(StaleReplay(names), place, capture)

    def _passed_over(self, capture: Capture, place: Place, since: dict[Thing, list[Write]]) -> None:
        """Tell of what a call is given for an input, by its name, and does nothing with, where others are filled."""
        code, owner = place.function.code, capture.owner
        frame = self.ledger.frames[-1] if self.ledger.frames else owner
        if not any(since.values()) or not isinstance(frame, Frame) or frame is owner or frame.function.code is not code:
            return
        stale = {name for (_, name), value in capture.paths.items() if not since.get(value.root, True)}
        stale |= {
            one.argument for root, writes in since.items() if not writes for one in _sources(root) if one.argument
        }
        taken = _taken(capture, owner) if isinstance(owner, Frame) else set()
        names = tuple(p.name for p in code.parameters if p.name in stale | taken and _is_unused(p, code))
        if names:
            self.tell(StaleReplay(names), place, capture)

    def _asked_for(self, capture: Capture, since: dict[Thing, list[Write]]) -> None:
        """Tell of what a function is given that gives the graph of before, where nobody writes it there."""
        owner = capture.owner
        later = self.over.get(owner.function.code) if isinstance(owner, Frame) else None
        if later is None or not isinstance(owner, Frame) or owner.receiver is not later.receiver:
            return
        if any(one.function.code is owner.function.code for one in self.ledger.frames):
            return  # the call that replays is one of that function
        for root, writes in since.items():
            read = capture.reads.get(root)
            where = place_in(owner, read) if read is not None else None
            if writes or where is None or root.argument is not None:
                continue
            names = tuple(name for name in _of_call(root, owner) if _is_replaced(root, name, later))
            if names:
                self.tell(StaleReplay(names, False, False), where, capture)

    def _called_before(self, capture: Capture, since: dict[Thing, list[Write]]) -> None:
        """Tell of what a function was given when it had another one capture, where a later call never looks at it."""
        owner = capture.owner
        if not isinstance(owner, Frame) or not any(since.values()):
            return
        for earlier in owner.stack():
            alike = (one for one in self.ledger.frames if one.function.code is earlier.function.code)
            later = next((one for one in alike if one is not earlier and one.receiver is earlier.receiver), None)
            if later is None or earlier is owner:
                continue
            for root in (root for root, writes in since.items() if not writes and root in capture.reads):
                read = capture.reads[root]
                is_own = read.function.code is earlier.function.code  # of the `with` that another one opens
                where = read if is_own else place_in(owner, read)
                names = tuple(
                    name
                    for name, value in earlier.env.items()
                    if _is_of(root, value) and self._is_ignored(root, name, earlier, later)
                )
                if names and where is not None:
                    self.tell(StaleReplay(names, False, isinstance(root, Tensor)), where, capture)

    def _is_ignored(self, root: Thing, name: str, earlier: Frame, later: Frame) -> bool:
        """Whether a later call never looks at what it is given by a name, which is of the request as far as known.

        A tensor is, and what an annotation says the class of, unless somebody gives what he keeps.
        """
        parameter = next((one for one in earlier.function.code.parameters if one.name == name), None)
        if parameter is None or not (_is_data(parameter) or is_number(parameter)) or (later, name) in self.used:
            return False
        is_known = isinstance(root, Tensor) or parameter.annotation is not None or is_number(parameter)
        return (is_known or self.caches.match(name) is not None) and not may_stay(self.project, earlier.function, name)

    def _is_brought(self, name: str, owner: Frame, later: Frame) -> bool:
        """Whether each request brings its own of what has a name, as far as those say who call, and nobody looks."""
        is_cache = self.caches.match(name) is not None and (later, name) not in self.used
        return is_cache and not may_stay(self.project, owner.function, name)

    def _kept_for_the_graph(self, root: Thing, capture: Capture, owner: Frame, later: Frame, is_fed: bool) -> None:
        """Tell of an argument in an attribute that nothing but the function which captures reads, and no call fills."""
        receiver, given = owner.receiver, _of_call(root, owner)
        numbers = {one.name for one in owner.function.code.parameters if is_number(one)}
        names = tuple(name for name in given if name not in numbers and self._is_ignored(root, name, owner, later))
        if not names or not is_fed or not isinstance(receiver, Instance):
            return
        holding = [name for name, value in receiver.attributes.items() if _holds(value, {root})]
        own = {owner.function.code.name}
        files = {path for path in self.project.answering(HoldsAny(holding)) if holding}
        is_private = files == {receiver.cls.module.path} and all(looks_at(receiver.cls, one) <= own for one in holding)
        kept = self.kept.get((receiver, holding[0])) if is_private else None
        if kept is not None:
            self.tell(StaleReplay(names, False, isinstance(root, Tensor), is_kept=True), kept, capture)

    def _captured_call(self, capture: Capture, place: Place, since: dict[Thing, list[Write]]) -> None:
        """Tell of inputs that are of the call which captured, where a later call of that function writes nowhere."""
        owner = capture.owner
        if not isinstance(owner, Frame):
            return
        again = (frame for frame in self.ledger.frames if frame.function.code is owner.function.code)
        later = next((frame for frame in again if frame is not owner and frame.receiver is owner.receiver), None)
        if later is None:
            return
        numbers = {p.name for p in owner.function.code.parameters if is_number(p) and (later, p.name) not in self.used}
        held = set(things_in(owner.receiver))
        for root, writes in since.items():
            read = capture.reads.get(root)
            where = place_in(owner, read) if read is not None else None
            names = (_of_call(root, owner) if where is read else ()) or _made_anew(root, owner, later)
            if root in held and not is_copied(root):
                self._kept_for_the_graph(root, capture, owner, later, is_fed=any(since.values()) and not writes)
                continue
            is_data = isinstance(root, Tensor) or root.argument is None or root in capture.sure
            is_data = is_data or any(self._is_brought(name, owner, later) for name in names)
            if writes or not names or where is None or not is_data:
                continue
            numbers -= {*names}
            self.tell(StaleReplay(names, False, isinstance(root, Tensor)), where, capture)
        if frozen := tuple(sorted(numbers & _taken(capture, owner))):
            self.tell(StaleReplay(frozen, False, False), capture.place, capture)
        for view, where in capture.views.items():
            moving = next((base for base in _bases(view) if _moves(base, owner)), None)
            names = tuple(name for name, value in owner.before.items() if value is moving)
            if moving is not None and names and where.function.code is owner.function.code:
                self.tell(StaleReplay(names, False), where, capture)


def _is_replaced(root: Thing, name: str, later: Frame) -> bool:
    """Whether a later call of what has captured is given another tensor, or other ones in a list."""
    now = later.env.get(name)
    if isinstance(now, Container):
        return any(type(one) is type(root) for one in now.values()) and root not in things_in(now)
    return isinstance(now, Thing) and now.root is not root and type(now) is type(root)


def _sources(root: Thing) -> set[Thing]:
    """A tensor, and what it is a copy of."""
    return {root, *root.source} if is_copied(root) else {root}


def _is_of(root: Thing, given: object) -> bool:
    """Whether memory is that of an argument, or a copy of it."""
    return isinstance(given, Thing) and given.root in _sources(root)


def _holds(value: Object, sources: set[Thing]) -> bool:
    """Whether a value is one of some tensors, a view of one, or a list that has one."""
    if isinstance(value, Container):
        return any(isinstance(one, Thing) and one.root in sources for one in value.values())
    return isinstance(value, Thing) and value.root in sources


def _taken(capture: Capture, owner: Frame) -> set[str]:
    """The parameters of the function that captures which the body of its region speaks of, but to call them."""
    code = owner.function.code
    opened = (one for one in walk(code.body) if isinstance(one, ir.With))
    body = [part for one in opened if one.items[-1][0] is capture.place.node for part in walk(one.body)]
    called = {id(one.func) for one in body if isinstance(one, ir.Call)}
    names = {one.id for one in body if isinstance(one, ir.Name) and id(one) not in called}
    return names & {p.name for p in code.parameters}


def _of_call(root: Thing, owner: Frame) -> tuple[str, ...]:
    """The parameters, or the local names, of the call that captured which hold a tensor or what it is a copy of."""
    sources = _sources(root)
    parameters = {p.name for p in owner.function.code.parameters if _is_data(p)}
    names = [name for name, value in owner.before.items() if _holds(value, sources)]
    mine = (
        isinstance(root, Tensor)
        and root.made is not None
        and root.made.function.code is owner.function.code
        and root.made.way == owner.way
    )
    return tuple(name for name in names if (root.source if mine else name in parameters))


def _made_anew(root: Thing, owner: Frame, later: Frame) -> tuple[str, ...]:
    """The local names of a tensor that a later call has made anew, wherever it calls for that."""
    names = (name for name, value in owner.before.items() if value is root and root.argument is None)
    again = ((name, later.env.get(name)) for name in names)
    return tuple(
        name
        for name, now in again
        if isinstance(now, Thing) and is_tensor(now) and now.made == root.made and now is not root
    )


def _bases(thing: Thing) -> Iterator[Thing]:
    """A tensor, and what it is a view of, one behind the other."""
    yield thing
    while isinstance(thing, Tensor) and thing.base is not None:
        thing = thing.base
        yield thing


def _moves(view: Thing, owner: Frame) -> bool:
    """Whether a view was made by the call that captured, at a place that an attribute says."""
    made = view.made
    if not isinstance(view, Tensor) or view.index is None or made is None:
        return False
    mine = made.function.code is owner.function.code and made.way == owner.way
    return mine and any(isinstance(part, ir.Attribute) for part in walk(view.index))


def _data_of(loop: Loop) -> str | None:
    """The name of what a loop goes through, if that is data and not a count."""
    node = loop.place.node
    if not isinstance(node, ir.For) or not isinstance(node.target, ir.Name) or not is_tensor(loop.value):
        return None
    return None if _counts(node.iterable) or node.target.id.startswith("_") else node.target.id


def _counts(iterable: ir.Expr) -> bool:
    """Whether a loop goes through numbers, however that is shown: `tqdm(range(n))`."""
    if not isinstance(iterable, ir.Call):
        return False
    if isinstance(iterable.func, ir.Name) and iterable.func.id in ("enumerate", "range"):
        return True
    return bool(iterable.arguments) and _counts(iterable.arguments[0].value)


def _has_other_way(code: ir.Code, replay: ir.Node, capture: Capture) -> bool:
    """Whether a function does without the graph what a replay does, in the other branch of a test, where it captures
    nothing: what neither of them uses is asked for by neither.
    """
    owner = capture.owner
    capturing = {one.function.code.name for one in owner.stack()} if isinstance(owner, Frame) else set()
    for part in walk(code.body):
        if isinstance(part, ir.If) and (holds(part.body, replay) or holds(part.orelse, replay)):
            other = part.orelse if holds(part.body, replay) else part.body
            called = {last_name(one.func) for one in walk(other) if isinstance(one, ir.Call)}
            if called and capturing.isdisjoint(called) and not holds(other, capture.place.node):
                return True
    return False


def _is_unused(parameter: ir.Parameter, code: ir.Code) -> bool:
    """Whether a function does nothing with data that it is given, but give it another type or place."""
    return _is_data(parameter) and not any(speaks_of(parameter.name, one) for one in code.body)


def speaks_of(name: str, statement: ir.Node) -> bool:
    """Whether a statement does more with what has a name than to give it another type or place: `x = x.cuda()`."""
    match statement:
        case ir.Assign(targets=(ir.Name(id=target),)) if target == name:
            return False
    return name in names_in(statement)


def _is_data(parameter: ir.Parameter) -> bool:
    is_required = parameter.kind in ("positional", "keyword") and parameter.default is None
    return is_required and parameter.name not in ("self", "cls")
