"""Names, attributes and items of a rehearsed run.

Long, because what an object holds is asked by every expression.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from graphlint.rulebook.operations import TENSOR
from graphlint.static.domain.program import Bound, Class, Function, Graphed, ModuleValue, PackageValue
from graphlint.static.index.module import Module, Segment
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.forms import is_sliced, slices, takes_all
from graphlint.static.life.frames import Decisions
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
    is_tensor,
    things_in,
    wrapper,
)
from graphlint.static.life.picked import SETS
from graphlint.static.life.players import Player
from graphlint.static.life.questions import (
    identity,
)
from graphlint.static.life.record import Call
from graphlint.static.life.truth import Truth
from graphlint.static.syntax import ir
from graphlint.values import Const, External, ExternalObject, Value


class Access(Truth):
    """What names, attributes and items are, in one run."""

    def __init__(self, interpreter: Interpreter, ledger: Ledger, decisions: Decisions, player: Player) -> None:
        super().__init__(ledger, decisions, player)
        self.interpreter = interpreter
        ledger.global_of = self.global_of
        self.modules: dict[object, dict[str, Object]] = {}  # what a run knows of the globals of modules
        self.frames_of_modules: dict[object, Frame] = {}
        self.assigned: set[tuple[Module, Segment]] = set()
        self.handlers = 0  # blocks under way whose exceptions are handled
        self.cached: dict[tuple[object, ...], Object] = {}  # what cached functions gave

    def cleared(self, cached: Closure, frame: Frame, node: ir.Node) -> None:
        """What a cache held is held by who else has it."""
        for key in [one for one in self.cached if one[0] is cached.function.code]:
            value = self.cached.pop(key)
            self.ledger.escaped.difference_update(things_in(value))
            self.ledger.deleted(frame, cached.function.code.name, value, frame.place(node))

    @contextmanager
    def caught(self, is_handled: bool) -> Iterator[None]:
        """Run a block whose exceptions are handled, if they are."""
        self.handlers += is_handled
        try:
            yield
        finally:
            self.handlers -= is_handled

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
        module = frame.function.module
        if module not in self.frames_of_modules:
            self.frames_of_modules[module] = Frame(frame.function, env=self.modules.setdefault(module, {}))
        return self.frames_of_modules[module]

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
        value = self.global_of(frame.function.module, node.id)
        if self.ledger.capture is not None and is_tensor(value):
            self.ledger.through(self.global_frame(frame), node.id, value)
        return value

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
            case Made(cls=cls) if self.interpreter.entries.opens_context(cls) and not (
                name in owner.attributes or name.startswith("__")
            ):
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
                self._set_part(owner, index, held, value, frame, node)
            case Thing() if is_sliced(index) or isinstance(value, Tensor):
                if not is_sliced(index):
                    owner.items[identity(held)] = value
                self._set_part(owner, index, held, value, frame, node)
            case Thing():
                owner.items[identity(held)] = value

    def _set_part(self, owner: Thing, index: ir.Expr, held: Object, value: Object, frame: Frame, node: ir.Node) -> None:
        """What is assigned to a part of a tensor is written to it."""
        place = frame.place(node)
        self.ledger.wrote(self.view(owner, place, index, frame), (value,), place)
        self.ledger.answered(Call(f"{TENSOR}.{SETS}", owner, Arguments([held]), None, place))

    def is_adding(self, name: str) -> bool:
        """Whether a method changes a tensor by what it holds, as `+=` does."""
        return name in self.interpreter.lexicon.life["adding"]

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
