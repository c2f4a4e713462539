"""The targets of assignments: a value in, names, attributes and items bound; what outlives the region is noticed.

What is put into a container makes it another one, which is stored where the old one was read from, however deep. What
is taken apart is bound here too: each part of a tuple is a target of its own, which may be a tuple again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.rule import StateWrite
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Bound, Class, Function, Instance
from graphlint.static.facts import growth
from graphlint.static.interpreter import choices, registries
from graphlint.static.models import uses
from graphlint.static.models.containers import with_item
from graphlint.static.models.modules import named
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, is_none, walk
from graphlint.static.writes.states import is_handed
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    join,
    members,
    union,
)
from graphlint.values.queries import doubted, fresh_tensor, is_plain, perhaps, placed_by_name, unsure, with_guesses

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Assignment:
    """Stores values where assignments say."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def store(self, target: ir.Expr, value: Value, frame: Frame) -> None:
        """Assign a value to a name, attribute, item, or several of these."""
        match target:
            case ir.Name():
                if frame.scopes.get(target.id) == "global":
                    self._keep(target, value, frame)
                choices.forget(target.id, frame)
                frame.env[target.id] = placed_by_name(value, target.id)
            case ir.Display():
                self._unpack(target, value, frame)
            case ir.Attribute():
                self._store_attribute(target, value, frame)
            case ir.Subscript():
                self._store_item(target, value, frame)

    def _unpack(self, target: ir.Display, value: Value, frame: Frame) -> None:
        rows = [(member, self._columns(target, member)) for member in members(value) if member != NONE]
        fitting = [row for _, row in rows if row]
        if len(fitting) < len(rows) and all(isinstance(member, Tensor) for member, row in rows if row):
            fitting = []  # promised a tensor, or a tuple, which has another length: a tensor is not what is taken apart
        columns = [union(column) for column in zip(*fitting, strict=True)] or [UNKNOWN] * len(target.elements)
        is_alike = any(isinstance(member, Sequence) and member.elements is None for member in members(value))
        for element, column in zip(target.elements, columns, strict=True):
            if is_alike and isinstance(element, ir.Name) and unsure(column) != column:
                # A list of tensors, by its annotation, that other things are in as well.
                column = unsure(column) if uses.is_plain(self.interpreter, frame.function, element.id) else column
            self.store(element.value if isinstance(element, ir.Starred) else element, column, frame)

    def _columns(self, target: ir.Display, value: Value) -> list[Value]:
        """What each target gets of a value; nothing if the value is too long or too short."""
        if isinstance(value, Instance):
            value = self.interpreter.records.held(value) or value
        count = len(target.elements)
        star = next((i for i, element in enumerate(target.elements) if isinstance(element, ir.Starred)), None)
        if isinstance(value, Sequence) and value.elements is not None:
            behind = 0 if star is None else count - star - 1
            middle = len(value.elements) - behind
            if star is None:
                return list(value.elements) if len(value.elements) == count else []
            if middle < star:
                return []
            starred = Sequence("list", value.elements[star:middle])
            return [*value.elements[:star], starred, *value.elements[middle:]]
        rest = doubted(self.interpreter.expressions.element(value))
        columns = [rest] * count
        if isinstance(value, Sequence):
            known = value.prefix[: count if star is None else star]
            columns[: len(known)] = known
        if star is not None:
            columns[star] = Sequence("list", None, rest)
        return columns

    def _store_attribute(self, target: ir.Attribute, value: Value, frame: Frame) -> None:
        choices.forget(target.attr, frame)
        receiver = self.interpreter.eval(target.value, frame)
        for member in members(receiver):
            match member, target:
                case Instance(), _:
                    self.write(member, target.attr, _of_its_own(member, receiver, value), target, frame)
                    if member is receiver:
                        self._settle(member, target.attr, value, frame)
                case Class(), _:
                    self.interpreter.classes.patch(member.definition, target.attr, value)
                    self._keep(target, value, frame)
                case Tensor(), ir.Attribute(value=ir.Name(id=name), attr="data"):
                    frame.env[name] = value
                case Tensor(), ir.Attribute(value=ir.Attribute() as holder, attr="data"):
                    if self.outlives_region(holder, frame):
                        self._keep(target, value, frame)

    def write(self, instance: Instance, name: str, value: Value, target: ir.Expr, frame: Frame) -> None:
        """Assign to an attribute of an object, seen by whoever reads it later; `target` is what says so."""
        frame.env[(instance, name)] = value
        if not frame.is_unlikely:
            self.interpreter.heap.write(instance, name, value)
        if not instance.in_region:
            self._keep(target, value, frame, instance.arguments is None and is_handed(target, frame))

    def _settle(self, instance: Instance, name: str, value: Value, frame: Frame) -> None:
        """Before a region, an object that is made on the way holds what it was given last."""
        if not (frame.in_region or frame.is_unlikely or frame.constructing):
            self.interpreter.heap.recent.assign(instance, name, value)

    def is_computed_of_moved(self, target: ir.Attribute, value: ir.Expr) -> bool:
        """Whether an attribute is what is computed of it where something else lies, which lies there in the next run,
        too: `self.low = torch.minimum(self.low.to(x.device), x)`.
        """
        given = value.arguments if isinstance(value, ir.Call) else ()
        if not any(self.is_moved(target, one.value) for one in given):
            return False
        return sum(any(isinstance(part, ir.Call) for part in walk(one.value)) for one in given) == 1

    def is_moved(self, target: ir.Attribute, value: ir.Expr) -> bool:
        """Whether an attribute, if any, is put where something else lies: `self.table = self.table.to(x.device)`."""
        match value:
            case ir.Conditional(body=one, orelse=other):
                each = [part for part in (one, other) if not is_none(part) and not growth.is_same(part, target)]
                return bool(each) and all(self.is_moved(target, part) for part in each)
            case ir.Call(func=ir.Attribute(value=moved, attr=name)):
                return self.interpreter.lexicon.methods.get(name) == "moves" and growth.is_same(moved, target)
        return False

    def settle_moved(self, target: ir.Attribute, value: Value, frame: Frame) -> None:
        """An attribute is moved before a region: from then on it lies there."""
        for member in () if frame.in_region else members(self.interpreter.eval(target.value, frame)):
            if isinstance(member, Instance) and member.arguments is not None:
                self.interpreter.heap.replace(member, target.attr, value)

    def _store_item(self, target: ir.Subscript, value: Value, frame: Frame) -> None:
        container = self.interpreter.eval(target.value, frame)
        index = self.interpreter.eval(target.index, frame)
        if isinstance(target.value, ir.Attribute) and target.value.attr == "__dict__":
            self._store_named(target.value.value, index, value, target, frame)
            return
        if frame.in_region:
            self.interpreter.items.chosen(target, container, index, frame)
        for member in with_guesses(container):
            match member:
                case Tensor() if isinstance(index, Const) and isinstance(index.value, str):
                    continue  # it is a table, as no tensor has items by words
                case Tensor() | Unknown():
                    self.interpreter.tensors.store_item(member, target, index, value, frame)
                case Mapping():
                    self._keep_item(target, value, frame)
                    self.put_back(target.value, with_item(member, index, value), frame)
                case Sequence() if not isinstance(target.index, ir.Slice):
                    self._keep_item(target, value, frame)
                    self.put_back(target.value, _with_element(member, index, value), frame)
                case Instance():
                    call = ir.Call(target.mark, target.value, ())
                    self.interpreter.methods.call(member, "__setitem__", Arguments((index, value)), call, frame)

    def _keep_item(self, target: ir.Subscript, value: Value, frame: Frame) -> None:
        if self.outlives_region(target.value, frame):
            self._keep(target, value, frame)

    def _store_named(self, owner: ir.Expr, name: Value, value: Value, target: ir.Expr, frame: Frame) -> None:
        """Assign to an attribute whose name is a value: `self.__dict__[name] = value`."""
        for member in members(self.interpreter.eval(owner, frame)):
            if isinstance(member, Instance):
                self.write(member, named(name), value, target, frame)

    def put_back(self, target: ir.Expr, new: Value, frame: Frame) -> None:
        """Store a changed container where the old one was read from."""
        match target:
            case ir.Name():
                registries.keep(self.interpreter, target.id, new, frame)
                choices.forget(target.id, frame)
                frame.env[target.id] = new
            case ir.Attribute():
                for member in members(self.interpreter.eval(target.value, frame)):
                    if isinstance(member, Instance):
                        frame.env[(member, target.attr)] = new
                        self.interpreter.heap.write(member, target.attr, new)
                    elif isinstance(member, Class) and not frame.in_region:
                        self.interpreter.classes.put(member.definition, target.attr, new)
                    elif isinstance(member, Mapping):  # a table of modules has its items by their names as well
                        self.put_back(target.value, with_item(member, Const(target.attr), new), frame)
            case ir.Subscript():
                self._put_item_back(target.value, target.index, new, frame)
            case ir.Call(func=ir.Attribute(value=holder, attr="get" | "setdefault"), arguments=(key, *_)):
                self._put_item_back(holder, key.value, new, frame)

    def _put_item_back(self, holder: ir.Expr, key: ir.Expr, new: Value, frame: Frame) -> None:
        """Store a changed container in the one that it was read from."""
        outer = self.interpreter.eval(holder, frame)
        index = self.interpreter.eval(key, frame)
        if isinstance(outer, Mapping):
            self.put_back(holder, with_item(outer, index, new), frame)
        elif isinstance(outer, Sequence):
            self.put_back(holder, _with_element(outer, index, new), frame)

    def _keep(self, target: ir.Expr, value: Value, frame: Frame, is_lent: bool = False) -> None:
        """A tensor allocated in the region and kept by something that outlives it.

        The function that opens the region is the one to keep its static outputs; whatever it calls is not. An object
        that is only promised to a function, and that nothing was seen to make, may be one for this run; one that the
        program makes for the capture is. What is handed in and handed back holds outputs.
        """
        if not frame.in_region or frame.regions:
            return
        if fresh_tensor(value) is not None and not _is_handed_on(target, frame.function.code):
            is_lent = is_lent or self._is_for_this_run(target, frame) or _is_handed_back(target, frame.function.code)
            may_be_held = growth.may_be_held(target, frame.function.code)
            event = StateWrite(value, growth.enlarges(target, frame.tests), is_lent, may_be_held)
            self.interpreter.traces.keeps(target, event, frame)

    def _is_for_this_run(self, target: ir.Expr, frame: Frame) -> bool:
        """Whether what is assigned to belongs to objects alone that nothing holds once the capture is over."""
        while isinstance(target, ir.Subscript):
            target = target.value
        if not isinstance(target, ir.Attribute):
            return False
        held = members(self.interpreter.eval(target.value, frame))
        return all(isinstance(one, Instance) and self.interpreter.heap.is_dropped(one) for one in held)

    def outlives_region(self, node: ir.Expr, frame: Frame) -> bool:
        """Whether a container is held by something that was there before the region, and is not made anew in it."""
        if isinstance(node, ir.Attribute):
            is_new = not frame.regions and self._is_made_anew(node, frame)
            return not is_new and any(
                isinstance(m, Class) or (isinstance(m, Instance) and not m.in_region)
                for m in members(self.interpreter.eval(node.value, frame))
            )
        is_here = isinstance(node, ir.Name) and (node.id in frame.env or node.id in frame.function.fresh)
        return isinstance(node, ir.Name) and not is_here and frame.in_region

    def _is_made_anew(self, container: ir.Expr, frame: Frame) -> bool:
        """Whether the function that fills a container makes it anew, or the method of a region that calls it does."""
        function = frame.function
        if growth.is_replaced(container, function.code):
            return True
        if function.owner is None or function.is_nested:
            return False
        openers = {opener.function for opener in self.interpreter.traces.openers.values()}
        around = (one for one in self.interpreter.running if one not in openers)
        own = [one.code for one in around if isinstance(one, Function) and one.owner is function.owner]
        return growth.is_replaced_before(container, function.code.name, own)


def _of_its_own(instance: Instance, receivers: Value, value: Value) -> Value:
    """What one of several objects is given: `self.mlp.run = self.mlp.fast` gives none of them a method of another."""
    holders = {one.receiver for one in members(value) if isinstance(one, Bound)}
    if instance not in holders or not holders <= set(members(receivers)):
        return value
    return union(one for one in members(value) if not isinstance(one, Bound) or one.receiver == instance)


def _is_handed_on(target: ir.Expr, code: ir.Code) -> bool:
    """Whether an attribute is given what another one holds, which keeps it already: `self.last = self.current`."""
    assigned = assignments_in(code)
    given = [one.value for one in assigned if target in one.targets]
    for value in given:
        if isinstance(value, ir.Name):
            made = [one for one in assigned if any(isinstance(t, ir.Name) and t.id == value.id for t in one.targets)]
            return bool(made) and all(isinstance(one.value, ir.Attribute) for one in made)
        return isinstance(value, ir.Attribute)
    return False


@remembered
def _is_handed_back(target: ir.Expr, code: ir.Code) -> bool:
    """Whether a target belongs to a parameter, other than the object of a method, that all ends of a function give."""
    while isinstance(target, (ir.Subscript, ir.Attribute)):
        target = target.value
    if not isinstance(target, ir.Name) or target.id in ("self", "cls"):
        return False
    ends = [part.value for part in walk(code.body) if isinstance(part, ir.Return)]
    given = all(isinstance(one, ir.Name) and one.id == target.id for one in ends)
    return bool(ends) and given and any(one.name == target.id for one in code.parameters)


def _with_element(sequence: Sequence, index: Value, value: Value) -> Sequence:
    """The sequence after `sequence[index] = value`; an unknown index may be any of them."""
    if sequence.elements is None:
        return Sequence(sequence.kind, None, join(sequence.element, value))
    elements = list(sequence.elements)
    if isinstance(index, Const) and isinstance(index.value, int):
        if -len(elements) <= index.value < len(elements):
            elements[index.value] = value
        return Sequence(sequence.kind, tuple(elements))
    put = join if all(map(is_plain, elements)) else perhaps
    return Sequence(sequence.kind, tuple(put(element, value) for element in elements))
