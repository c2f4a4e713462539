"""Host values followed through what a region runs: from state that is read, through names and calls, to their uses.

Every function of a region keeps, for its names and calls, the reads that their values come from; a parameter stands
for whatever callers give it, so that a function is run once for all of them. What a use comes from is worked out last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.rule import StateWrite
from graphlint.static.domain.contexts import Context, Frame, Mode, Source
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Bound, Class, Function, Instance, ModuleValue
from graphlint.static.domain.sources import GUARD, NOTHING, Change, Draw, Place, Read, Scope, Sources, State, Taken
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import unset_in, walk
from graphlint.static.writes.objects import Objects
from graphlint.static.writes.states import (
    asks_whether_empty,
    changed_by,
    counts_in,
    is_container,
    is_count,
    is_given_before,
    is_handed,
    is_looked_at_again,
    is_plain,
    is_seeded,
    is_written_number,
    items_of,
    key_of,
    lengths_of,
    read_of,
    states,
)
from graphlint.static.writes.uses import CALLED, Asked, Keeping, Use, chosen_of
from graphlint.values import TRUE, UNKNOWN, Arguments, ExternalObject, Host, Value, members
from graphlint.values.queries import device_tensor, fresh_tensor

_OUTSIDE, _CAPTURING = Mode.OUTSIDE.value, Mode.CAPTURE.value


class Traces:
    """What the functions of regions read, hand on, use and change."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.objects = Objects(evaluator)
        self.given: dict[Taken, dict[Source, None]] = {}
        self.uses: dict[Source, dict[str, Use]] = {}
        self.changes: dict[tuple[Context, ir.Node], Change] = {}
        self.taken: dict[tuple[Context, ir.Node], Change] = {}
        self.steps: dict[tuple[Context, ir.Node], tuple[ExternalObject, Place]] = {}
        self.openers: dict[Context, Place] = {}
        self.around: dict[Context, frozenset[ir.Expr]] = {}  # the conditions around regions: each is for one way
        self.hooks: set[tuple[Module, str]] = set()
        self.memos: dict[tuple[Context, ir.Node], Change] = {}
        self.schedules: dict[tuple[Context, ir.Node], Place] = {}
        self.branches: dict[tuple[Context, ir.Node], Asked] = {}
        self.kept: dict[tuple[Context, ir.Expr, StateWrite], Keeping] = {}
        self.captured: set[tuple[Module, str]] = set()
        self.calls: dict[tuple[Function, ir.Call | None], Context] = {}  # of what has parameters that may be nothing
        self.asking: set[tuple[Module, str]] = set()  # functions that ask whether a capture is under way
        self.work = 0  # how many operations on the device have been seen in regions

    def worked(self) -> None:
        """Something runs on the device in a region."""
        self.work += 1

    def opened(self, inside: Context, node: ir.Node, frame: Frame) -> None:
        """A function opens a region."""
        self.openers.setdefault(frame.context, Place(frame.function, node, inside, ()))
        self.around[frame.context] = frozenset(frame.tests)

    def hooked(self, hook: Value) -> None:
        """A function is registered as a hook."""
        for member in members(hook):
            function = member.function if isinstance(member, Bound) else member
            if isinstance(function, Function):
                self.hooks.add((function.module, function.qualname))

    # Reads

    def attribute(self, node: ir.Attribute, base: Value, value: Value, frame: Frame) -> None:
        """An attribute is read in a region."""
        self.guarded(node.attr, node, frame)
        if frame.answers:  # by a property
            frame.sources[node] = frozenset(frame.answers)
            return
        found: list[Source] = []
        for member in members(base) if node not in frame.sources and is_plain(value) else ():
            if isinstance(member, Instance) and not member.in_region:
                assigned = frame.sources.get((member, node.attr))
                if assigned is None:
                    found += self.objects.reads(node, value, frame)
                    found.append(read_of(State(member.cls, node.attr), node, value, frame))
                found += assigned or ()
            elif isinstance(member, (Class, ModuleValue)):
                owner = member.definition if isinstance(member, Class) else member.module
                found.append(read_of(State(owner, node.attr), node, value, frame))
        if found:
            frame.sources[node] = frozenset(found)

    def of(self, node: ir.Expr, frame: Frame) -> Sources:
        """The reads and parameters that the value of an expression comes from, as far as it is a plain one."""
        if (known := frame.sources.get(node)) is not None:
            return known
        match node:
            case ir.Name():
                return self._of_name(node, frame)
            case ir.Subscript(value=holder, index=index):
                return self._of_item(node, holder, index, frame)
            case ir.Call(func=ir.Name(id="callable" | "getattr" | "hasattr" | "isinstance")):  # it stays
                return NOTHING
            case ir.Call(func=ir.Name(id="len"), arguments=(counted,)):
                return lengths_of(self.of(counted.value, frame))
            case ir.Call(func=func, arguments=arguments):
                receiver = (func.value,) if isinstance(func, ir.Attribute) else ()
                return self._joined((*receiver, *(argument.value for argument in arguments)), frame)
            case ir.Binary(left=left, right=right):
                return self._joined((left, right), frame)
            case ir.Boolean(left=left, right=right):
                return self._of_boolean(left, right, frame)
            case ir.Compare(left=left, comparisons=[("is" | "is not", ir.Literal(value=None))]):
                return NOTHING.union(*([one] for one in self.of(left, frame) if not is_count(one)))
            case ir.Compare(left=left, comparisons=[("in" | "not in", right)]):
                return self.of(left, frame) | items_of(self.of(right, frame), key_of(left, frame), right, frame)
            case ir.Compare(left=left, comparisons=comparisons):
                sides = [self.of(side, frame) for side in (left, *(right for _, right in comparisons))]
                return NOTHING if is_looked_at_again(sides) else NOTHING.union(*sides)
            case ir.Conditional():
                return self._joined(chosen_of(node, self.evaluator.lexicon), frame)
            case ir.Display(elements=elements):
                return self._joined(elements, frame)
            case ir.DictDisplay(items=items):
                return self._joined((value for _, value in items), frame)
            case ir.Starred(value=inner) | ir.Walrus(value=inner) | ir.Await(value=inner) | ir.Unary(operand=inner):
                return self.of(inner, frame)
            case ir.Slice(bounds=bounds):
                return self._joined((bound for bound in bounds if bound is not None), frame)
        return NOTHING

    def _of_boolean(self, left: ir.Expr, right: ir.Expr, frame: Frame) -> Sources:
        """What is drawn for the right side decides nothing where nobody knows whether that is asked for."""
        found = self.of(right, frame)
        if frame.known.get(left) is None:
            found = frozenset(one for one in found if not isinstance(one, Draw))
        return self.of(left, frame) | found

    def _joined(self, nodes: Iterable[ir.Expr], frame: Frame) -> Sources:
        return NOTHING.union(*(self.of(node, frame) for node in nodes))

    def _of_name(self, node: ir.Name, frame: Frame) -> Sources:
        name, function = node.id, frame.function
        if (known := frame.sources.get(name)) is not None:
            return known
        state: State | None = None
        held: Value | None = None
        value = frame.env.get(name)
        if value is not None:
            if not is_plain(value):
                return NOTHING
            taken = Taken(frame.context, name, function)
            if not frame.regions:
                return frozenset([taken])
            owner = function.module if function.qualname == "<module>" else Scope(function.module, function.first_line)
            if any(parameter.name == name for parameter in function.code.parameters):
                return frozenset([taken, self._reading(State(owner, name), node, value, frame)])
            state = State(owner, name)
        elif (held := dict(function.closure).get(name)) is not None:
            state = State(Scope(function.module, function.first_line), name) if is_plain(held) else None
        elif name in function.module.index.assignments:
            held = self.evaluator.module_member(function.module, name)
            state = State(function.module, name) if held is not None and is_plain(held) else None
        if state is None:
            return NOTHING
        return frozenset([self._reading(state, node, value or held or UNKNOWN, frame)])

    def _reading(self, state: State, node: ir.Expr, value: Value, frame: Frame) -> Read:
        read = read_of(state, node, value, frame)
        frame.sources[node] = frozenset([read])
        return read

    def _of_item(self, node: ir.Subscript, holder: ir.Expr, index: ir.Expr, frame: Frame) -> Sources:
        """An item of state is a piece of it, by its key; which one is read may be decided by other state."""
        item = items_of(self.of(holder, frame), key_of(index, frame), node, frame)
        frame.sources[node] = self.of(index, frame) | item
        return frame.sources[node]

    # What values are handed on to

    def stored(self, target: ir.Expr, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A region assigns a value, which is that of a node, to a name or an attribute."""
        match target:
            case ir.Name(id=name):
                frame.sources[name] = self._of_stored(node, value, frame)
            case ir.Attribute() | ir.Subscript() if not is_plain(value):
                self._remembered(target, value, frame)
            case ir.Attribute(value=holder, attr=attr):
                sources = self._of_stored(node, value, frame)
                for member in members(self.evaluator.eval(holder, frame)):
                    if isinstance(member, Instance):
                        frame.sources[(member, attr)] = sources
            case ir.Display(elements=elements):
                parts = node.elements if isinstance(node, ir.Display) else ()
                for index, element in enumerate(elements):
                    part = parts[index] if len(parts) == len(elements) else node
                    self.stored(element, part, Host("object"), frame)

    def _remembered(self, target: ir.Expr, value: Value, frame: Frame) -> None:
        """A tensor that is only computed where none is kept yet: what a warm-up fills is not in the graph."""
        if device_tensor(value) is not None and frame.tests and asks_whether_empty(frame.tests[-1]):
            for state in self.states(target, frame):
                self.memos.setdefault((frame.sink, target), Change(state, Place.of(frame, target)))

    def augmented(self, node: ir.AugAssign, value: Value, frame: Frame) -> None:
        """A region changes a name or an attribute by what it was."""
        sources = self.of(node.target, frame) | self.of(node.value, frame)
        for target in changed_by(node, value, frame):
            self.changed(target, node, frame)
        if isinstance(node.target, ir.Name):
            frame.sources[node.target.id] = sources if is_plain(value) else NOTHING

    def assigned(self, node: ir.Assign, value: Value, frame: Frame) -> None:
        """A region assigns a value to targets."""
        for target in node.targets:
            is_sum = isinstance(node.value, ir.Binary) and any(map(is_written_number, walk(node.value)))
            if isinstance(target, ir.Attribute) and is_sum and is_plain(value) and node.value is not None:
                states = set(self.states(target, frame))
                if any(isinstance(one, Read) and one.state in states for one in self.of(node.value, frame)):
                    self.changed(target, node, frame)
            elif is_sum and is_plain(value) and counts_in(node.value, target):
                self.changed(target, node, frame)
            self.stored(target, node.value, value, frame)

    def _of_stored(self, node: ir.Expr | None, value: Value, frame: Frame) -> Sources:
        """Where a value comes from that is kept: which one it is, the conditions around it have decided as well."""
        if not is_plain(value):
            return NOTHING
        around = self.around.get(frame.context, frozenset())
        tests = self._joined([test for test in frame.tests if test not in around], frame)
        return tests if node is None else self.of(node, frame) | tests

    def called(self, function: Function, context: Context, node: ir.Call | None, frame: Frame) -> None:
        """A function of the program is called in a region."""
        self.captured.add((function.module, function.qualname))
        if unset_in(function.code):
            self.calls.setdefault((function, node), context)
        self.work += context.has_work
        given: dict[str, Sources] = {}
        names = [parameter.name for parameter in function.code.parameters]
        for name, value, is_star in self._arguments(names, node):
            sources, taken = self.of(value, frame), Taken(context, name, function)
            if not is_star:
                self.objects.hand(value, taken, frame)
            elif not sources:
                continue
            given[name] = given.get(name, NOTHING) | sources
            self.given.setdefault(taken, {}).update(dict.fromkeys(sources))
        answers: set[Source] = set()
        for source in context.answers:
            own = isinstance(source, Taken) and source.context is context
            answers |= given.get(source.name, NOTHING) if isinstance(source, Taken) and own else {source}
        if GUARD in answers:
            self.asking.add((frame.module, frame.function.qualname))
        if node is None:
            frame.answers = [*frame.answers, *answers]
        else:
            frame.sources[node] = frame.sources.get(node, NOTHING) | answers

    @staticmethod
    def _arguments(names: list[str], node: ir.Call | None) -> Iterator[tuple[str, ir.Expr, bool]]:
        """What parameters are given, counted from the last of the positional ones that a receiver comes before."""
        if node is None or not node.arguments:
            return
        positional = [argument for argument in node.arguments if argument.keyword is None and not argument.star]
        offset = int(bool(names) and names[0] in ("self", "cls", "ctx"))
        yield from ((name, one.value, False) for name, one in zip(names[offset:], positional, strict=False))
        for argument in node.arguments:
            if argument.keyword is not None:
                yield argument.keyword, argument.value, False
            elif argument.star:
                yield from ((name, argument.value, True) for name in names[offset:])

    def answered(self, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A function of a region returns a value."""
        if node is not None and is_plain(value):
            frame.context.answers.update(dict.fromkeys(self._of_stored(node, value, frame)))

    # Uses and changes

    def used(self, kind: str, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A value decides what a region does."""
        if node is None or not frame.in_region or not is_plain(value) or isinstance(node, ir.Literal):
            return
        for source in self.of(node, frame):
            if kind == CALLED and not isinstance(source, Draw):
                continue  # what is called is a matter of what it does, unless it was drawn
            self.uses.setdefault(source, {}).setdefault(kind, Use(kind, Place.of(frame, node)))

    def changed(self, target: ir.Expr, node: ir.Node, frame: Frame) -> None:
        """A statement of a region makes new state out of what was there, or changes a container."""
        for state in self.states(target, frame):
            self.changes.setdefault((frame.sink, node), Change(state, Place.of(frame, node), is_handed(target, frame)))

    def keeps(self, target: ir.Expr, event: StateWrite, frame: Frame) -> None:
        """A region keeps a tensor of its own."""
        keeping = Keeping(Place.of(frame, target), event, tuple(self.states(target, frame)))
        self.kept.setdefault((frame.sink, target, event), keeping)

    def consumed(self, node: ir.Call, frame: Frame) -> None:
        """A region takes the next item of what an iterator gives that was there before."""
        iterator = node.arguments[0].value if frame.in_region and node.arguments else None
        if iterator is not None and not is_given_before(iterator, node, frame.function):
            for state in self.states(iterator, frame):
                self.taken.setdefault((frame.sink, node), Change(state, Place.of(frame, node)))

    def mutated(self, node: ir.Call, receiver: Value, arguments: Arguments, frame: Frame) -> None:
        """A method that changes a container is called in a region; of tensors that grow in one, another rule speaks."""
        assert isinstance(node.func, ir.Attribute)
        if any(fresh_tensor(value) is not None for value in arguments.all_values()) and not self.is_hook(frame):
            return
        lexicon = self.evaluator.lexicon
        foreign = any(isinstance(m, ExternalObject) and not lexicon.is_catalogued(m.cls) for m in members(receiver))
        is_counted = foreign or self.is_hook(frame) or lexicon.host_state["grows"].match(node.func.attr)
        is_mutator = lexicon.host_state["mutators"].match(node.func.attr) is not None
        if is_mutator and is_counted and (foreign or is_container(receiver)):
            self.changed(node.func.value, node, frame)

    def is_hook(self, frame: Frame) -> bool:
        """Whether a function that runs is registered as a hook."""
        return (frame.module, frame.function.qualname) in self.hooks

    def states(self, target: ir.Expr, frame: Frame) -> Iterator[State]:
        """The state that an expression stands for, if that was there before the region."""
        return states(self.evaluator, target, frame)

    def drawn(self, name: str, node: ir.Call | None, result: Value, frame: Frame) -> None:
        """A function outside of the program is called in a region: if its result is a draw, its uses are told."""
        if node is None or not frame.in_region or not is_plain(result):
            return
        self.guarded(name, node, frame)
        for kind in ("draws", "clocks"):
            is_told = self.evaluator.lexicon.host_state[kind].match(name) is not None
            if is_told and not (kind == "draws" and is_seeded(node, frame.function)):
                draw = Draw(kind, Place.of(frame, node))
                frame.sources[node] = frame.sources.get(node, NOTHING) | {draw}

    def guarded(self, name: str, node: ir.Expr, frame: Frame) -> None:
        """What has this name is asked in a region: it may tell whether a capture is under way."""
        answers = self.evaluator.lexicon.guard(name)
        if answers is not None and answers[_CAPTURING] == TRUE and answers[_OUTSIDE] != TRUE:
            frame.sources[node] = frame.sources.get(node, NOTHING) | {GUARD}
            self.asking.add((frame.module, frame.function.qualname))

    def branched(self, node: ir.If | ir.Conditional, outcome: bool | None, frame: Frame) -> None:
        """A region comes to a branch."""
        if outcome is not None and frame.in_region:
            sources = self.of(node.test, frame)
            if GUARD in sources and not self._asks_more(node.test, frame):
                is_flag = any(
                    isinstance(part, ir.Attribute) and GUARD in frame.sources.get(part, ()) for part in walk(node.test)
                )
                asked = Asked(node, Place.of(frame, node.test), outcome, is_flag)
                self.branches.setdefault((frame.sink, node), asked)

    def _asks_more(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether a condition asks for something else that nobody knows: then the ways may come to the same."""
        match test:
            case ir.Boolean(left=left, right=right):
                return self._asks_more(left, frame) or self._asks_more(right, frame)
            case ir.Unary(operand=operand):
                return self._asks_more(operand, frame)
        return GUARD not in self.of(test, frame) and frame.known.get(test) is None

    def stepped(self, name: str, receiver: Value, node: ir.Call | None, frame: Frame) -> None:
        """A method of an optimizer of torch is captured; where it is compiled, its numbers are asked for anew."""
        if node is None or frame.mode is not Mode.CAPTURE:
            return
        if isinstance(receiver, ExternalObject) and name.endswith(".step"):
            if self.evaluator.lexicon.is_scheduler(receiver.cls):
                self.schedules.setdefault((frame.sink, node), Place.of(frame, node))
            elif self.evaluator.lexicon.is_optimizer(receiver.cls):
                self.worked()
                self.steps.setdefault((frame.sink, node), (receiver, Place.of(frame, node)))

    def origins(self, source: Source) -> list[Source]:
        """A source, and what it stands for."""
        pending, seen = [source], {source}
        for one in pending:
            for other in self.objects.behind(one) if isinstance(one, Read) else self._given_to(one):
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return [one for one in pending if not (isinstance(one, Read) and one.is_open)]

    def _given_to(self, source: Source) -> Iterable[Source]:
        return self.given.get(source, ()) if isinstance(source, Taken) else ()
