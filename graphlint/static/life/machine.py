"""The statements of a rehearsed run: one path at a time, on objects with identities.

Where the interpreter joins paths and asks what may happen in a region, a rehearsal follows one order of events from
construction through capture to replays, as `verify` would see it, and asks what holds between them. What it does not
know is a `Thing` or a `Symbol`; a condition on it is tried both ways, by another run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from graphlint.static.domain.program import Class, Function
from graphlint.static.interpreter.classes import Base
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.calls import Calls
from graphlint.static.life.frames import (
    MAX_ROUNDS,
    UNKNOWN_ROUNDS,
    Broke,
    Continued,
    Decisions,
    Leave,
    Raised,
    Returned,
)
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.methods import sets
from graphlint.static.life.objects import (
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    MethodOf,
    Object,
    Outside,
    Place,
    Thing,
)
from graphlint.static.life.players import Player
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name


class Machine(Calls):
    """One run of a program."""

    def __init__(self, interpreter: Interpreter, ledger: Ledger, decisions: Decisions, player: Player) -> None:
        super().__init__(interpreter, ledger, decisions, player)
        self.made_methods: dict[Function, Object] = {}  # what decorators that capture have made of methods
        self._statements: dict[type, Callable[[Any, Frame], None]] = {
            ir.Assign: self._assign,
            ir.AugAssign: self._augmented,
            ir.Evaluate: self._evaluate,
            ir.Return: self._return,
            ir.Raise: self._raise,
            ir.Assert: self._assert,
            ir.Delete: self._delete,
            ir.If: self._if,
            ir.For: self._for,
            ir.While: self._while,
            ir.With: self._with,
            ir.Try: self._try,
            ir.Match: self._match,
            ir.Jump: self._jump,
            ir.Scope: self._scope,
            ir.Import: self._import,
            ir.Define: self._define,
            ir.DefineClass: self._define_class,
        }

    def drop(self) -> None:
        """Let go of all that the run has made: what leads to itself would stay until somebody searches for it."""
        vars(self.ledger).clear()
        vars(self).clear()

    def block(self, block: ir.Block, frame: Frame) -> None:
        """Run statements. Raises Leave where control leaves them."""
        for statement in block:
            self.step()
            frame.statement = frame.place(statement)
            self.ledger.now += 1
            self._statements[type(statement)](statement, frame)

    def _assign(self, node: ir.Assign, frame: Frame) -> None:
        if node.value is None:
            return
        value = self.eval(node.value, frame)
        for target in node.targets:
            self.store(target, value, frame, node)
            for name in _names_of(target):
                self.ledger.named(name, frame.env.get(name), frame)

    def _augmented(self, node: ir.AugAssign, frame: Frame) -> None:
        before = self.eval(node.target, frame)
        value = self.eval(node.value, frame)
        changed = self.changed_in_place(node, before, value, frame)
        if changed is None:
            changed = self.combined(node.operator, before, value, node, frame)
        self.store(node.target, changed, frame, node)

    def _evaluate(self, node: ir.Evaluate, frame: Frame) -> None:
        self.eval(node.value, frame)

    def _return(self, node: ir.Return, frame: Frame) -> None:
        value = None if node.value is None else self.eval(node.value, frame)
        frame.results.append(value)
        self.ledger.returned(value, frame.place(node), frame)
        raise Returned(value)

    def _raise(self, node: ir.Raise, frame: Frame) -> None:
        if node.value is not None:
            self.eval(node.value, frame)
        raise Raised

    def _assert(self, node: ir.Assert, frame: Frame) -> None:
        """What another file asserts holds in a program that works: what is known otherwise, is known wrongly."""
        fails = self.known_truth(self.eval(node.test, frame)) is False and not self._is_prepared(node.test, frame)
        if fails and (self.handlers or frame.function.module is self.home):
            raise Raised

    def _is_prepared(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether an object is asserted to have what another of its methods sets, that nobody has called so far: who
        runs the program has.
        """
        if isinstance(test, ir.Compare) and [sign for sign, _ in test.comparisons] == ["is not"]:
            test = test.left
        owner = self.eval(test.value, frame) if isinstance(test, ir.Attribute) else None
        if not isinstance(test, ir.Attribute) or not isinstance(owner, Instance):
            return False
        is_unset = test.attr in owner.attributes and owner.attributes[test.attr] is None
        if is_unset and any(name != "__init__" and sets(owner.cls, name, test.attr) for name in owner.cls.methods):
            owner.attributes[test.attr] = Thing(source=(owner,))
            return True
        return False

    def _delete(self, node: ir.Delete, frame: Frame) -> None:
        place = frame.place(node)
        for target in node.targets:
            match target:
                case ir.Name():
                    scope = self.scope_of(target.id, frame)
                    self.ledger.deleted(scope, target.id, scope.env.pop(target.id, None), place)
                case ir.Attribute():
                    self.delete(self.eval(target.value, frame), target.attr, place)
                case ir.Subscript():
                    self.delete_item(self.eval(target.value, frame), self.eval(target.index, frame), place)

    def _if(self, node: ir.If, frame: Frame) -> None:
        is_guard = _raises(node.body) and not self.handlers and not self.ledger.captures
        outcome = self.test(node.test, frame, self._likely(node), is_guard)
        self.block(node.body if outcome else node.orelse, frame)

    def _likely(self, node: ir.If) -> bool:
        """Which side of a condition that nobody knows to try first: not the one that raises or does nothing but go on
        with the next round, nor one that leaves for a single number of many, or once data of the device says so, such
        as that all requests are at their end.
        """
        match node.test:
            case ir.Compare(comparisons=[("==", ir.Literal(value=int()))]):
                is_rare = True
            case test:
                is_rare = called_name(test) in self.interpreter.lexicon.life["waiting"]
        leaves = bool(node.body) and isinstance(node.body[-1], (ir.Jump, ir.Return))
        return not (_raises(node.body) or (leaves and is_rare) or _skips(node.body))

    def _for(self, node: ir.For, frame: Frame) -> None:
        def body(value: Object) -> None:
            self.store(node.target, value, frame, node)
            self.block(node.body, frame)

        iterated = self.eval(node.iterable, frame)
        if self.rounds(iterated, frame, node, body):
            self.block(node.orelse, frame)

    def rounds(self, iterated: Object, frame: Frame, node: ir.Node, body: Callable[[Object], None]) -> bool:
        """Run a body for the elements of what is iterated over; whether no `break` ended it."""

        try:
            with self.ledger.loop(frame.place(node)) as loop:

                def once(value: Object) -> None:
                    loop.value, loop.began = value, self.ledger.now
                    with suppress(Continued):
                        body(value)

                self.iterate(iterated, frame, node, once)
        except Broke:
            return False
        return True

    def _while(self, node: ir.While, frame: Frame) -> None:
        with self.ledger.loop(frame.place(node)) as loop:
            for number in range(MAX_ROUNDS):
                loop.began = self.ledger.now
                known = self.known_truth(self.eval(node.test, frame))
                if known is False:
                    break
                self.ledger.is_cut = self.ledger.is_cut or known is None or number == MAX_ROUNDS - 1
                if known is None and number >= UNKNOWN_ROUNDS:
                    break
                try:
                    self.block(node.body, frame)
                except Continued:
                    continue
                except Broke:
                    return
        self.block(node.orelse, frame)

    def _with(self, node: ir.With, frame: Frame) -> None:
        self._entered(node, 0, frame)

    def _entered(self, node: ir.With, number: int, frame: Frame) -> None:
        """Enter the managers of a `with` from one on, run the body and leave them."""
        if number == len(node.items):
            self.block(node.body, frame)
            return
        expression, target = node.items[number]
        manager = self.eval(expression, frame)

        def inside(value: Object) -> None:
            if target is not None:
                self.store(target, value, frame, node)
            self._entered(node, number + 1, frame)

        with self.ledger.surrounded(manager, frame.place(expression)):
            self.within(manager, expression, frame, inside)

    def _try(self, node: ir.Try, frame: Frame) -> None:
        try:
            try:
                with self.caught(not all(_raises(one.body) for one in node.handlers)):
                    self.block(node.body, frame)
            except Raised:
                if not node.handlers:
                    raise
                self.ledger.handled(node.handlers, frame)
                self.block(node.handlers[0].body, frame)
            else:
                self.block(node.orelse, frame)
        except Leave:
            self.block(node.final, frame)
            raise
        self.block(node.final, frame)

    def _match(self, node: ir.Match, frame: Frame) -> None:
        subject = self.eval(node.subject, frame)
        for case in node.cases:
            if (
                case.literal is not None
                and self.known_truth(self.compared("==", subject, self.eval(case.literal, frame), node, frame)) is False
            ):
                continue
            for name in case.binds:
                frame.env[name] = Thing()
            if case.target is not None:
                self.store(case.target, subject, frame, node)
            is_last = case is node.cases[-1]
            if (case.literal is None and case.guard is None) or is_last or self.decide(frame.place(node), True):
                self.block(case.body, frame)
                return

    def _jump(self, node: ir.Jump, frame: Frame) -> None:
        if node.kind == "break":
            raise Broke
        if node.kind == "continue":
            raise Continued

    def _scope(self, node: ir.Scope, frame: Frame) -> None:
        frame.declared.update(dict.fromkeys(node.names, node.kind))

    def _import(self, node: ir.Import, frame: Frame) -> None:
        frame.env[node.alias] = self.imported(node, frame)

    def _define(self, node: ir.Define, frame: Frame) -> None:
        first = frame.function.first_line
        name = f"{frame.function.qualname}.<locals>.{node.code.name}"
        function = Function(node.code, frame.function.module, name, first)
        frame.env[node.code.name] = self.decorated(Closure(function, frame), node.code.decorators, frame)

    def _define_class(self, node: ir.DefineClass, frame: Frame) -> None:
        value = self.interpreter.names.local_class(node, self.abstract_frame(frame))
        frame.env[node.name] = ClassRef(value.definition) if isinstance(value, Class) else Thing()

    # Stores

    def store(self, target: ir.Expr, value: Object, frame: Frame, node: ir.Node) -> None:
        """Give a target a value."""
        match target:
            case ir.Name():
                scope = self.scope_of(target.id, frame)
                before = scope.env.get(target.id)
                scope.env[target.id] = value
                if before is not None and self.ledger.latest:
                    self.ledger.bound(scope, target.id, before, value, frame.place(node))
            case ir.Attribute():
                self.set_attribute(self.eval(target.value, frame), target.attr, value, frame.place(node))
            case ir.Subscript():
                owner = self.eval(target.value, frame)
                self.set_item(owner, target.index, value, frame, node)
            case ir.Starred():
                self.store(target.value, Container(kind="list", is_open=True), frame, node)
            case ir.Display():
                parts = self.unpacked(value, len(target.elements), frame, node)
                for element, part in zip(target.elements, parts, strict=True):
                    self.store(element, part, frame, node)

    def bound_method(self, owner: Base, member: object, receiver: Object, frame: Frame) -> Object | None:
        """A method of a class; of one that its decorator captures, what that has made of it, once for all objects."""
        method = super().bound_method(owner, member, receiver, frame)
        if not isinstance(method, Closure) or not method.is_bound or not self.is_made_to_capture(method.function):
            return method
        if method.function not in self.made_methods:
            self.made_methods[method.function] = self.behind_decorators(method.function)
        made = self.made_methods[method.function]
        return replace(made, receiver=receiver, is_bound=True) if isinstance(made, Closure) else method

    def set_attribute(self, owner: Object, name: str, value: Object, place: Place) -> None:
        """`owner.name = value`."""
        if isinstance(owner, MethodOf):  # no method, if it has attributes: a part, as the weight of a module is
            owner = Thing(source=(owner.receiver,) if isinstance(owner.receiver, Thing) else ())
        if isinstance(owner, Thing):
            before = owner.attributes.get(name)
            owner.attributes[name] = value
            self.ledger.bound(owner, name, before, value, place)
        elif isinstance(owner, ClassRef):
            self.set_in_class(owner.definition, name, value, place)
        elif isinstance(owner, Outside):
            self.ledger.configured(f"{owner.name}.{name}", value, place)


def _raises(block: ir.Block) -> bool:
    """Whether statements end with an exception."""
    return bool(block) and isinstance(block[-1], ir.Raise)


def _skips(block: ir.Block) -> bool:
    """Whether statements only go on with the next round of a loop."""
    return len(block) == 1 and isinstance(block[0], ir.Jump) and block[0].kind == "continue"


def _names_of(target: ir.Expr) -> list[str]:
    """The names that a target, or the parts of it, stand for."""
    targets = target.elements if isinstance(target, ir.Display) else (target,)
    return [one.id for one in targets if isinstance(one, ir.Name)]
