"""What Python does by itself in a rehearsed run: iteration, its own functions, lists and dictionaries.

Long, because each of its functions and methods gives something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from graphlint.static.index.module import ClassDefinition
from graphlint.static.life.frames import MAX_ROUNDS, UNKNOWN_ROUNDS, Raised
from graphlint.static.life.objects import (
    Arguments,
    ClassRef,
    Container,
    Frame,
    Instance,
    Made,
    Object,
    Outside,
    Place,
    Symbol,
    Tensor,
    Thing,
    class_of,
)
from graphlint.static.life.questions import identity, read_in, spelt, things_of
from graphlint.static.life.reflection import Reflection
from graphlint.static.syntax import ir

_EXTENTS = frozenset({"dim", "numel", "size"})
_COPYING = frozenset({"list", "tuple", "sorted", "set", "reversed", "iter", "dict"})


class Builtins(Reflection):
    """Evaluates what Python brings."""

    # Iteration

    def iterate(self, iterated: Object, frame: Frame, node: ir.Node, body: Callable[[Object], None]) -> None:
        """Run a body for what iterating over something gives, for the first rounds."""
        if isinstance(iterated, Made) and iterated.cls == "<generator>" and "frame" in iterated.state:
            inner = iterated.state.pop("frame")
            inner.on_yield = lambda value: body(value)
            self._finish(inner)
            return
        if isinstance(iterated, Container) and (iterated.values() or not iterated.is_open):
            held = [key for key, _ in iterated.keyed.values()] if iterated.kind == "dict" else list(iterated.elements)
            self.ledger.is_cut |= iterated.is_open
            self._rounds(held[:UNKNOWN_ROUNDS] if iterated.is_open else held, body)
            return
        if isinstance(iterated, range):
            self._rounds(iterated, body)
            return
        parts = self.parts_of(iterated)
        if parts is not None:
            self._rounds(parts, body)
            return
        self.ledger.is_cut = True
        of = iterated if isinstance(iterated, Thing) else None
        are_numbers = isinstance(iterated, Made) and iterated.cls == "range"
        for _ in range(UNKNOWN_ROUNDS):
            source = (of,) if of is not None else ()
            body(Symbol() if are_numbers else Thing(made_in=self.ledger.capture, source=source))

    def parts_of(self, value: Object) -> list[Object] | None:
        """What a list of modules holds, or a module that calls others one after the other; None for all else."""
        kind = self.interpreter.lexicon.containers.get(value.cls) if isinstance(value, Made) else None
        if kind not in ("list", "sequential"):
            return None
        given = [value.given[key] for key in sorted(key for key in value.given if isinstance(key, int))]
        if kind == "list" and given:
            return list(given[0].elements) if isinstance(given[0], Container) and not given[0].is_open else None
        return given

    def _rounds(self, values: Sequence[Object], body: Callable[[Object], None]) -> None:
        """Run a body for the first of some values."""
        self.ledger.is_cut = self.ledger.is_cut or bool(values[MAX_ROUNDS : MAX_ROUNDS + 1])  # may have no length
        for value in values[:MAX_ROUNDS]:
            body(value)

    def unpacked(self, value: Object, count: int, frame: Frame, node: ir.Node) -> list[Object]:
        """The parts of what is assigned to several targets."""
        if isinstance(value, Container) and value.kind != "dict" and len(value.elements) == count:
            return list(value.elements)
        if isinstance(value, Thing):
            for number in range(count):
                key = identity(number)
                if key not in value.items:
                    made = value.made or frame.place(node)
                    kind = Tensor if isinstance(value, Tensor) else Thing
                    value.items[key] = kind(made, value.made_in, source=(value,), argument=value.argument)
            return [value.items[identity(number)] for number in range(count)]
        return [Symbol(value.of, read=value.read) if isinstance(value, Symbol) else Thing() for _ in range(count)]

    def item(self, owner: Object, index: Object, node: ir.Subscript, frame: Frame) -> Object:
        """`owner[index]`, of a list of modules as of any other."""
        parts = self.parts_of(owner) if type(index) is int else None
        if parts is not None and -len(parts) <= index < len(parts):
            return parts[index]
        return super().item(self._listed(owner), index, node, frame)

    def set_item(self, owner: Object, index: ir.Expr, value: Object, frame: Frame, node: ir.Node) -> None:
        """`owner[index] = value`, of a list of modules as of any other, and of modules that call others."""
        number = self.eval(index, frame) if self.parts_of(owner) is not None else None
        if isinstance(owner, Made) and type(number) is int and number in owner.given and self._listed(owner) is owner:
            before, owner.given[number] = owner.given[number], value
            self.ledger.bound(owner, f"[{number}]", before, value, frame.place(node))
            return
        super().set_item(self._listed(owner), index, value, frame, node)

    def _listed(self, value: Object) -> Object:
        """What a list of modules was made of, if that is known; else what is given."""
        kind = self.interpreter.lexicon.containers.get(value.cls) if isinstance(value, Made) else None
        given = value.given.get(0) if isinstance(value, Made) and kind == "list" else None
        return given if isinstance(given, Container) and given.kind == "list" and not given.is_open else value

    def element_at(self, owner: Container, index: Object) -> Object:
        """An item of a container; what an empty dict lacks is missed where somebody handles that."""
        if self.handlers and owner.kind == "dict" and not owner.keyed and not owner.is_open:
            raise Raised
        return super().element_at(owner, index)

    def call_tensor(self, owner: Thing, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of a tensor; how large one is stays the same whenever that is asked."""
        result = super().call_tensor(owner, name, given, node, frame)
        if name not in _EXTENTS or not isinstance(owner, Tensor) or given.keywords:
            return result
        shape = self.attribute(owner, "shape", frame, node)
        sizes = shape.elements if isinstance(shape, Container) else None
        axis = given.get(0)
        if sizes is None or (axis is not None and not (isinstance(axis, int) and -len(sizes) <= axis < len(sizes))):
            return owner.attributes.setdefault(f"{name}({spelt(axis)})", result)
        if name == "size":
            return shape if axis is None else sizes[axis]
        return len(sizes) if name == "dim" else math.prod(sizes)

    def call_outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call by qualified name; of an array, memory of a tensor may be written."""
        first = given.get(0)
        if name in self.interpreter.lexicon.life["filling"] and isinstance(first, Thing):
            self.ledger.wrote(first, given.all()[1:], frame.place(node))
            return None
        return super().call_outside(name, given, node, frame)

    # Python's own

    def call_builtin(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a function of Python's own gives."""
        first = given.get(0)
        place = frame.place(node)
        match name:
            case "range":
                with suppress(TypeError, ValueError):
                    return range(*given.positional)
                return Made(place, cls="range")
            case "bool" if isinstance(first, Container):
                return Symbol()  # whether it is empty, whatever it holds
            case "len":
                return self._length(first, frame, node)
            case "super":
                return self._super(frame, place)
            case "getattr" | "setattr" | "hasattr" | "object.__setattr__":
                return self.reflected(name.rpartition(".")[2].strip("_"), given, node, frame)
            case "next":
                return self._next(first, place)
            case "enumerate" | "zip" | "map" | "filter":
                return self._combined_iterators(name, given, frame, node)
            case "isinstance":
                known = self._is_instance(first, given.get(1))
                return self.kind_of(first, given.get(1)) if known is None else known
            case "callable" | "issubclass" | "id" | "type" | "hash":
                return Symbol()
            case "float" if isinstance(first, str) and first.strip("+-") in ("nan", "inf"):
                return float(first)
            case "min" | "max" | "any" | "all" | "sum" if (known := _compared(name, given.positional)) is not None:
                return known
            case "dict.fromkeys" if isinstance(first, Container) and not first.is_open:
                keys = first.elements if first.kind != "dict" else [key for key, _ in first.keyed.values()]
                held = {identity(key): (key, given.get(1)) for key in keys}
                return Container(place, self.ledger.capture, kind="dict", keyed=held)
            case _ if name in _COPYING:
                copied = self._copied(name, first, place)
                if given.keywords and isinstance(copied, Container) and name == "dict":
                    copied.keyed |= {identity(key): (key, value) for key, value in given.keywords.items()}
                return copied
        self.ledger.read(given.all(), place)
        if name == "print" or name in ("int", "float", "bool", "str", "repr", "abs", "round", "sum", "any", "all"):
            is_number = name in ("int", "float") and isinstance(first, Tensor)
            read = place if is_number else read_in(given.all())
            return Symbol(things_of(given.all()), read=read)
        return Thing(place, self.ledger.capture, source=tuple(v for v in given.all() if isinstance(v, Thing)))

    def _length(self, value: Object, frame: Frame, node: ir.Node) -> Object:
        """How many elements a container has, or how many rows a tensor."""
        if isinstance(value, Tensor):
            shape = self.attribute(value, "shape", frame, node)
            return shape.elements[0] if isinstance(shape, Container) else Symbol()
        is_known = isinstance(value, Container) and not (value.is_open or value.is_guessed or value.is_sifted)
        return len(value.values()) if is_known else Symbol()

    def _is_instance(self, value: Object, cls: Object) -> bool | None:
        """Whether a value is of a class, or of one of several; None where nobody knows."""
        if isinstance(cls, Container) and not cls.is_open:
            known = [self._is_instance(value, one) for one in cls.elements]
            return True if True in known else None if None in known else False
        match value:
            case bool() | int() | float() | str() | None if isinstance(cls, Outside):
                return any(cls.name == f"builtins.{one.__name__}" for one in type(value).__mro__)
            case Tensor() if isinstance(cls, Outside):
                return True if cls.name in self.interpreter.lexicon.tensor_classes else None
            case Instance() if isinstance(cls, ClassRef):
                return cls.definition in self.interpreter.classes.order(value.cls)
        return None

    def _super(self, frame: Frame, place: Place) -> Object:
        method = next((f for f in frame.stack() if isinstance(f.owner, ClassDefinition)), None)
        receiver = method.receiver if method is not None else None
        of = class_of(receiver)
        if method is None or of is None:
            return Thing(place)
        return Made(place, cls="<super>", state={"after": method.owner, "receiver": receiver, "of": of})

    def _next(self, iterator: Object, place: Place) -> Object:
        if isinstance(iterator, Thing):
            iterator.items.clear()
        return Thing(place, self.ledger.capture, source=(iterator,) if isinstance(iterator, Thing) else ())

    def _copied(self, kind: str, value: Object, place: Place) -> Object:
        if isinstance(value, range):
            value = Container(elements=list((value[::-1] if kind == "reversed" else value)[:MAX_ROUNDS]))
        elif isinstance(value, Container) and kind == "reversed":
            value = replace(value, elements=value.elements[::-1], keyed=dict([*value.keyed.items()][::-1]))
        if isinstance(value, Container):
            kind = kind if kind in ("tuple", "set", "dict") else "list"
            if kind == "dict":
                return self._dictionary(value, place)
            elements = [key for key, _ in value.keyed.values()] if value.kind == "dict" else list(value.elements)
            return Container(place, self.ledger.capture, kind=kind, elements=elements, is_open=value.is_open)
        parts = self.parts_of(value)
        if parts is not None:
            return Container(
                place, self.ledger.capture, kind=kind if kind in ("tuple", "set") else "list", elements=parts
            )
        if value is None:
            return Container(place, self.ledger.capture, kind=kind if kind in ("tuple", "set", "dict") else "list")
        if isinstance(value, Made) and "frame" in value.state and kind in ("list", "tuple"):
            made = Container(place, self.ledger.capture, kind=kind)
            with self.ledger.loop(place):

                def collect(one: Object) -> None:
                    made.take((one,))
                    self.ledger.collected(made, None, one, place)

                self.iterate(value, value.state["frame"], place.node, collect)
            return made
        if isinstance(value, Thing):
            return Thing(place, self.ledger.capture, source=(value,))
        return Symbol() if isinstance(value, Symbol) else Thing(place, self.ledger.capture)

    def _dictionary(self, value: Container, place: Place) -> Container:
        """A dict of what another one holds, or of pairs."""
        made = Container(place, self.ledger.capture, kind="dict", keyed=dict(value.keyed), is_open=value.is_open)
        for pair in value.elements:
            if isinstance(pair, Container) and len(pair.elements) == 2:
                made.keyed[identity(pair.elements[0])] = pair.elements[0], pair.elements[1]
            else:
                made.is_open = True
        return made

    def _combined_iterators(self, name: str, given: Arguments, frame: Frame, node: ir.Node) -> Object:
        """What `enumerate`, `zip` and the like give, as a list."""
        made = Container(frame.place(node), self.ledger.capture)
        sources = given.positional[1:] if name in ("map", "filter") else given.positional
        columns: list[list[Object]] = []
        for source in sources:
            column: list[Object] = []
            self.iterate(source, frame, node, column.append)
            columns.append(column)
        for number, row in enumerate(zip(*columns, strict=False)):
            match name:
                case "enumerate":
                    made.elements.append(Container(kind="tuple", elements=[number, *row]))
                case "zip":
                    made.elements.append(Container(kind="tuple", elements=list(row)))
                case "map":
                    made.elements.append(self.call(given.positional[0], Arguments(row), node, frame))
                case _:
                    made.take(row)
        return made

    def _taken_out(self, owner: Container, name: str, given: Arguments, place: Place) -> Object:
        """What a method gives that takes something, or all, out of a container."""
        if owner.kind != "dict":
            is_one = name != "clear" and owner.elements
            taken = owner.elements.pop() if is_one else Thing()
            owner.elements = [] if name == "clear" else owner.elements
            return taken
        keys = list(owner.keyed)
        if name == "pop":
            keys = [identity(given.get(0))]
        elif name == "popitem":
            keys = keys[:1] if given.keywords.get("last", given.get(0)) is False else keys[-1:]
        held: tuple[Object, Object] = (None, Thing())
        for key in keys:
            if key not in owner.keyed:
                continue
            held = owner.keyed.pop(key)
            self.ledger.deleted(owner, spelt(held[0]), held[1], place)
        return Container(place, kind="tuple", elements=list(held)) if name == "popitem" else held[1]

    def _replaced_by(self, owner: Container, other: Thing, place: Place) -> None:
        """Give every key of a dict what something unknown has under it."""
        for key, (name, before) in owner.keyed.items():
            value = Thing(place, self.ledger.capture, source=(other,))
            owner.keyed[key] = name, value
            self.ledger.bound(owner, spelt(name), before, value, place)

    def call_container(self, owner: Container, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a method of a list, set or dict does."""
        first = given.get(0)
        place = frame.place(node)
        match name:
            case "append" | "add" | "appendleft":
                owner.take((first,))
                self.ledger.collected(owner, None, first, place)
            case "extend" | "update":
                held = first if isinstance(first, Container) else None
                are_any = held is not None and any(isinstance(key, Symbol) for key, _ in held.keyed.values())
                if isinstance(first, Thing) and (held is None or are_any) and owner.kind == "dict":
                    self._replaced_by(owner, first, place)
                owner.take(held.elements if held is not None and owner.kind != "dict" else ())
                if isinstance(node, ir.Call) and any(isinstance(one.value, ir.Display) for one in node.arguments):
                    for one in held.elements if held is not None else ():
                        self.ledger.collected(owner, None, one, place)
                given_keys = {identity(key): (key, value) for key, value in given.keywords.items()}
                for key, (name, value) in {**(held.keyed if held is not None else {}), **given_keys}.items():
                    _, before = owner.keyed.get(key, (None, None))
                    owner.keyed[key] = name, value
                    self.ledger.bound(owner, spelt(name), before, value, place)
                owner.is_open = owner.is_open or held is None
            case "clear" | "pop" | "popitem" | "popleft":
                return self._taken_out(owner, name, given, place)
            case "get":
                if identity(first) in owner.keyed or (owner.keyed and not isinstance(first, (int, str))):
                    return self.element_at(owner, first)
                return Thing() if owner.is_open else given.get(1, "default")
            case "setdefault":
                return owner.keyed.setdefault(identity(first), (first, given.get(1)))[1]
            case "items":
                pairs = [Container(kind="tuple", elements=[key, value]) for key, value in owner.keyed.values()]
                return Container(place, elements=pairs, is_open=owner.is_open)
            case "keys":
                return Container(place, elements=[key for key, _ in owner.keyed.values()], is_open=owner.is_open)
            case "values":
                return Container(place, elements=[value for _, value in owner.keyed.values()], is_open=owner.is_open)
            case "copy":
                return self._copied(owner.kind, owner, place)
            case _:
                return Symbol()
        return None


def _compared(name: str, given: list[Object]) -> Object | None:
    """What is least or largest of numbers, or asked of the keys of a table; what lies under them is not read."""
    table = given[0] if given and isinstance(given[0], Container) and given[0].kind == "dict" else None
    asked = given if table is None else [] if table.is_open else [key for key, _ in table.keyed.values()]
    if name not in ("min", "max") or not asked or not all(isinstance(one, (int, float, Symbol)) for one in asked):
        return None if table is None else Symbol()
    numbers = [one for one in asked if isinstance(one, (int, float))]
    if len(numbers) < len(asked):
        return Symbol(things_of(asked), read=read_in(asked))
    return min(numbers) if name == "min" else max(numbers)
