"""Names, attributes and items of a rehearsed run, and the truth of what nobody knows.

Long, because what an object holds and whether it is one are asked by every expression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from graphlint.static.domain.program import Bound, Class, Function, Graphed, ModuleValue, PackageValue
from graphlint.static.index.module import Module, Segment
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.bounds import Bounds
from graphlint.static.life.forms import is_sliced, slices, takes_all
from graphlint.static.life.frames import MAX_STEPS, Decisions, Stopped
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.objects import (
    PLAIN,
    Arguments,
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    MethodOf,
    Object,
    Outside,
    Place,
    Symbol,
    Tensor,
    Thing,
    things_in,
    wrapper,
)
from graphlint.static.life.players import Player
from graphlint.static.life.questions import (
    ArrayAsked,
    Opposite,
    Question,
    identity,
)
from graphlint.static.syntax import ir
from graphlint.values import Const, External, ExternalObject, Value


class Access:
    """What names, attributes and items are, in one run."""

    def __init__(self, interpreter: Interpreter, ledger: Ledger, decisions: Decisions, player: Player) -> None:
        self.interpreter = interpreter
        self.ledger = ledger
        ledger.global_of = self.global_of
        self.decisions = decisions
        self.player = player
        self.steps = 0
        self.is_making, self.has_begun = False, False  # whether the object that a program is about is made, or was
        self.is_wide = False  # whether conditions are tried both ways wherever they stand, while it is made
        self.is_refused = False  # an exception has ended what the program called
        self.home: Module | None = None  # the file whose conditions are tried both ways
        self.modules: dict[object, dict[str, Object]] = {}  # what a run knows of the globals of modules
        self.assigned: set[tuple[Module, Segment]] = set()
        self.outcomes: dict[object, bool] = {}  # of questions and symbols
        self.bounds = Bounds()
        self.handlers = 0  # blocks under way whose exceptions are handled
        self.cached: dict[tuple[object, ...], Object] = {}  # what cached functions gave

    @contextmanager
    def caught(self, is_handled: bool) -> Iterator[None]:
        """Run a block whose exceptions are handled, if they are."""
        self.handlers += is_handled
        try:
            yield
        finally:
            self.handlers -= is_handled

    def step(self) -> None:
        """Count a step. Raises Stopped after too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Stopped

    # Names

    def scope_of(self, name: str, frame: Frame) -> Frame:
        """The frame that a name is assigned in."""
        kind = frame.declared.get(name)
        if kind == "nonlocal":
            outer = frame.scope
            while outer is not None and name not in outer.env:
                outer = outer.scope
            return outer or frame
        if kind == "global":
            return self.global_frame(frame)
        return frame

    def global_frame(self, frame: Frame) -> Frame:
        """A frame whose names are the globals of a module."""
        return Frame(frame.function, env=self.modules.setdefault(frame.function.module, {}))

    def _name(self, node: ir.Name, frame: Frame) -> Object:
        scope: Frame | None = frame if node.id not in frame.declared else frame.scope
        while scope is not None:
            if node.id in scope.env:
                self.ledger.loaded(node.id, scope)
                self.ledger.through(scope, node.id, scope.env[node.id])
                return scope.env[node.id]
            scope = scope.scope
        known = self.modules.setdefault(frame.function.module, {})
        if node.id not in known:
            for captured, held in frame.function.closure:
                if captured == node.id:
                    return self.concrete(held)
        return self.global_of(frame.function.module, node.id)

    def global_of(self, module: Module, name: str) -> Object:
        """What a global of a module holds, which is found out when it is first asked for."""
        known = self.modules.setdefault(module, {})
        if name not in known:
            self.assign_global(module, name)
        if name not in known:
            known[name] = self.concrete(self.interpreter.names.resolve(module, name))
        return known[name]

    @abstractmethod
    def assign_global(self, module: Module, name: str) -> None: ...

    def concrete(self, value: Value) -> Object:
        """What the interpreter knows of a value, as an object of the run."""
        match value:
            case Const():
                return value.value if isinstance(value.value, PLAIN) else Symbol()
            case External():
                return Outside(self.interpreter.catalogue.named(value.name))
            case Class():
                return ClassRef(value.definition)
            case Function():
                return Closure(value)
            case Graphed(function=Function() as function):
                return self._compiled(function)
            case Bound(function=External(name="contextlib.contextmanager")):
                return self.concrete(value.receiver)
            case ExternalObject(cls="functools.lru_cache") if isinstance(
                cached := value.argument("function"), Function
            ):
                return Closure(cached, is_cached=True)
            case ModuleValue() | PackageValue():
                return value
        return Thing()

    def _compiled(self, function: Function) -> Object:
        """What stands for a function that a decorator compiles, with the plain values that it is told."""
        for node in function.code.decorators:
            name = (
                self.interpreter.names.qualified_name(node.func, function.module) if isinstance(node, ir.Call) else ""
            )
            entry = self.interpreter.entries.find(name)
            if isinstance(node, ir.Call) and entry is not None and entry.form == "compile":
                keywords = {
                    one.keyword or "": one.value.value for one in node.arguments if isinstance(one.value, ir.Literal)
                }
                return wrapper(name, Closure(function), Arguments(keywords=keywords), Place(function, node))
        return Closure(function)

    def imported(self, node: ir.Import, frame: Frame) -> Object:
        return self.concrete(self.interpreter.names.imported(frame.function.module, node))

    # Attributes and items

    def _attribute(self, node: ir.Attribute, frame: Frame) -> Object:
        return self.attribute(self.eval(node.value, frame), node.attr, frame, node)

    def attribute(self, owner: Object, name: str, frame: Frame, node: ir.Node) -> Object:
        """An attribute of a value."""
        match owner:
            case Outside():
                return self.concrete(self.interpreter.names.external(f"{owner.name}.{name}"))
            case ModuleValue():
                known = self.modules.setdefault(owner.module, {})
                if name not in known:
                    known[name] = self.concrete(self.interpreter.names.attribute_of_module(owner, name))
                return known[name]
            case PackageValue():
                return self.concrete(self.interpreter.names.attribute_of_module(owner, name))
            case ClassRef():
                return self.of_class(owner.definition, name, None, frame)
            case Tensor():
                return self.of_tensor(owner, name, frame, node)
            case Instance() if name not in owner.attributes:
                value = self.of_class(owner.cls, name, owner, frame)
                return self.passed(owner, name, value)
            case Made() if isinstance(owner.state.get("wrapped"), (Instance, Made)) and name not in owner.attributes:
                return self.attribute(owner.state["wrapped"], name, frame, node)
            case Made() if self.interpreter.entries.opens_context(owner.cls) and name not in owner.attributes:
                return owner.attributes.setdefault(name, Thing(source=(owner,)))  # the graph of what captured
            case Made() | Container() if name not in owner.attributes:
                return MethodOf(owner, name)
            case Thing():
                if name not in owner.attributes:
                    member = self.of_presumed(owner, name, frame)
                    if member is not None:
                        return member
                    kind = Tensor if name == "grad" else Thing
                    owner.attributes[name] = kind(made_in=owner.made_in, source=(owner,), argument=owner.argument)
                return self.passed(owner, name, owner.attributes[name])
        return MethodOf(owner, name)

    def passed(self, owner: Thing, name: str, value: Object) -> Object:
        """Note the attribute that a value was read through."""
        self.ledger.through(owner, name, value)
        return value

    def _subscript(self, node: ir.Subscript, frame: Frame) -> Object:
        owner = self.eval(node.value, frame)
        index = self.eval(node.index, frame)
        return self.item(owner, index, node, frame)

    def item(self, owner: Object, index: Object, node: ir.Subscript, frame: Frame) -> Object:
        """`owner[index]`."""
        place = frame.place(node)
        match owner:
            case Container():
                return self.element_at(owner, index)
            case Thing() if chosen := [one for one in things_in(index) if isinstance(one, Tensor)]:
                return self.operated((owner, *chosen), place)  # a copy
            case Tensor():
                return self.view(owner, place, node.index, frame)
            case Thing():
                key = identity(index)
                if key not in owner.items:
                    owner.items[key] = self.part_of(owner, node, frame)
                return owner.items[key]
            case Closure():
                state = {"kernel": owner, "index": index}
                return Made(frame.place(node), self.ledger.capture, cls="<kernel>", state=state)
            case str() | bytes() if isinstance(index, int):
                with suppress(IndexError):
                    return owner[index]
        return Symbol() if isinstance(owner, (Symbol, *PLAIN)) else Thing()

    def part_of(self, owner: Thing, node: ir.Subscript, frame: Frame) -> Object:
        """What is in a thing: a view if it is sliced, since then it is a tensor, or a list that stays in the thing."""
        if is_sliced(node.index):
            return self.view(owner, frame.place(node), node.index, frame)
        return Thing(made_in=owner.made_in, source=(owner,), argument=owner.argument)

    def element_at(self, owner: Container, index: Object) -> Object:
        """An item of a container; where nobody knows which one, the last that was put there, or something new."""
        if owner.kind != "dict":
            if isinstance(index, int) and -len(owner.elements) <= index < len(owner.elements):
                return owner.elements[index]
            if isinstance(index, (Symbol, Thing)) and owner.elements:
                return self._guess(owner.elements[-1], index, len(owner.elements) - 1)
            return Thing()
        key = identity(index)
        if key not in owner.keyed:
            if owner.keyed and isinstance(index, (Symbol, Thing)):
                key, value = [*owner.keyed.values()][-1]
                return self._guess(value, index, key)
            owner.keyed[key] = (index, Thing(argument=index if owner.is_open and isinstance(index, str) else None))
        value = owner.keyed[key][1]
        return self.passed(owner, index, value) if isinstance(index, str) else value

    def _guess(self, value: Object, asked: Object, key: Object) -> Object:
        """An item that stands for the one that is asked for."""
        if isinstance(value, Thing):
            self.ledger.guessed[value] = asked, key
        return value

    def set_item(self, owner: Object, index: ir.Expr, value: Object, frame: Frame, node: ir.Node) -> None:
        """`owner[index] = value`."""
        held = self.eval(index, frame)
        match owner:
            case Container(kind="dict"):
                before = owner.keyed.get(identity(held), (None, None))[1]
                owner.keyed[identity(held)] = (held, value)
                if isinstance(held, str):
                    self.ledger.bound(owner, held, before, value, frame.place(node))
                self.ledger.collected(owner, held, value, frame.place(node))
            case Container():
                if isinstance(held, int) and -len(owner.elements) <= held < len(owner.elements):
                    before, owner.elements[held] = owner.elements[held], value
                    self.ledger.bound(owner, f"[{held}]", before, value, frame.place(node))
                else:
                    owner.elements.append(value)
            case Tensor():
                self.ledger.read(held, frame.place(node))
                self.ledger.wrote(self.view(owner, frame.place(node), index, frame), (value,), frame.place(node))
            case Thing() if is_sliced(index) or isinstance(value, Tensor):
                if not is_sliced(index):
                    owner.items[identity(held)] = value
                self.ledger.wrote(self.view(owner, frame.place(node), index, frame), (value,), frame.place(node))
            case Thing():
                owner.items[identity(held)] = value

    def view(self, owner: Thing, place: Place, index: ir.Expr | None = None, frame: Frame | None = None) -> Tensor:
        """A tensor that looks into another; an index selects a part unless it takes everything."""
        part = index is not None and not takes_all(index)
        where = owner.place if isinstance(owner, Tensor) else None
        made = Tensor(place, owner.made_in, source=(owner,), base=owner, is_part=part, index=index, place=where)
        for slice_ in slices(index) if index is not None and frame is not None else ():
            if slice_.bounds[1] is not None and frame is not None:
                made.bounds[slice_.bounds[1]] = self.eval(slice_.bounds[1], frame)
        return made

    @abstractmethod
    def of_tensor(self, owner: Tensor, name: str, frame: Frame, node: ir.Node) -> Object: ...

    @abstractmethod
    def of_class(self, cls: Any, name: str, receiver: Instance | None, frame: Frame) -> Object: ...

    @abstractmethod
    def of_presumed(self, owner: Thing, name: str, frame: Frame) -> Object: ...

    @abstractmethod
    def block(self, block: ir.Block, frame: Frame) -> None: ...

    @abstractmethod
    def _call(self, node: ir.Call, frame: Frame) -> Object: ...

    @abstractmethod
    def operated(self, values: Iterable[Object], place: Place, name: str = "") -> Object: ...

    @abstractmethod
    def iterate(self, iterated: Object, frame: Frame, node: ir.Node, body: Callable[[Object], None]) -> None: ...

    @abstractmethod
    def eval(self, node: ir.Expr, frame: Frame) -> Object: ...

    @abstractmethod
    def condition(self, node: ir.Expr, frame: Frame, likely: bool, is_guard: bool = False) -> Object: ...

    # Truth

    def known_truth(self, value: Object) -> bool | None:
        """The truth of a value if it is known, or has been decided in this run."""
        match value:
            case Opposite():
                inner = self.known_truth(value.negated)
                return None if inner is None else not inner
            case Question():
                known = self.outcomes.get(value.asked)
                return self.bounds.answer(value.asked) if known is None and value.is_counted else known
            case Container(is_sifted=True):
                return value.truth
            case Container():
                return True if value.values() else (None if value.is_open else False)
            case Tensor():
                return None
            case Instance() | Made() | Closure() | ClassRef() | MethodOf():
                return True
            case Thing():
                return value.truth
            case Symbol():
                return self.outcomes.get(value)
            case Outside() | ModuleValue() | PackageValue():
                return True
        return bool(value)

    def decide_on(self, value: Object, place: Place, likely: bool, is_guard: bool = False) -> bool:
        """Decide the truth of a value that nobody knows, for the rest of the run."""
        if isinstance(value, Opposite):
            return not self.decide_on(value.negated, place, not likely, is_guard)
        if self._is_unlikely(value, place):
            likely = False
        likely = likely if getattr(value, "likely", None) is None or is_guard else value.likely
        outcome = self.decide(place, likely, is_guard)
        match value:
            case Question():
                if isinstance(value, ArrayAsked):
                    value.array.is_array = outcome
                self.outcomes[value.asked] = outcome
                if value.is_counted:
                    self.bounds.learn(value.asked, outcome)
            case Tensor():
                pass
            case Thing():
                value.truth = outcome
            case Symbol():
                self.outcomes[value] = outcome
        return outcome

    def _is_unlikely(self, value: Object, place: Place) -> bool:
        """Whether a question is to be denied: a count that is due, or that what somebody gives is nothing, where that
        answer is the only one.
        """
        if not isinstance(value, Question):
            return False
        if value.is_counted:
            return self.bounds.is_due(value.asked)
        return value.asked[0] == "is" and identity(None) in value.asked and not self._is_tried(place)

    def _is_tried(self, place: Place) -> bool:
        """Whether a condition is tried both ways, as a rule."""
        is_home = place.function.module is self.home or self.player.is_from(place.function.module)
        return is_home or (self.is_wide and self.is_making)

    def decide(self, place: Place, likely: bool, is_guard: bool = False) -> bool:
        self.ledger.decided += 1
        capture = self.ledger.capture
        is_closed = capture is not None and capture.manager is not None  # no exception leaves it open
        is_inside = is_closed and capture is not None and place.function.code is not capture.place.function.code
        is_free = self._is_tried(place) and not is_inside and not is_guard
        return self.decisions.decide(place, likely, is_free, self.has_begun)

    def test(self, node: ir.Expr, frame: Frame, likely: bool, is_guard: bool = False) -> bool:
        """The outcome of a condition: known, or decided; of one that is a guard, the other leads nowhere."""
        value = self.condition(node, frame, likely, is_guard)
        known = self.known_truth(value)
        outcome = known if known is not None else self.decide_on(value, frame.place(node), likely, is_guard)
        self.ledger.tested(frame.place(node), outcome, known is not None)
        return outcome
