"""Holes and the functions that tables and configurations name for them in; the calls are made, as if they were known.

Each function is run with the arguments of the real call, so what their kinds are is known and not guessed. Those that
share layers share the contexts of these.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from graphlint.finding import Span
from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.program import Function
from graphlint.static.index.headers import header
from graphlint.static.interpreter.interpreter import MAX_CONTEXTS, Interpreter
from graphlint.static.models.inputs import ANYTHING, entry_arguments, on_device
from graphlint.static.regions.asked import lacks_asked
from graphlint.static.regions.holes import Followed, Hole, accepts, find_holes
from graphlint.static.regions.patterns import Named, find_functions, functions_in, is_named, matching
from graphlint.static.syntax import ir
from graphlint.targets import Target
from graphlint.values import UNKNOWN, Arguments, Value, union

MAX_ROUNDS = 3  # holes in what targets run, and in what those of these run
BUDGET = 12000  # contexts that the functions of known engines may take
FEW = 6  # functions that are run for a hole though no target names them
GUESSED = 4000  # contexts that these may take in all
SHARE = 1500  # of these each may take, before it is run for few kinds of arguments

Find = Callable[[str], list[Named]]


@dataclass
class Targets:
    """Makes the calls of holes with the functions that targets name for them."""

    interpreter: Interpreter
    files: Sequence[Path]
    declared: Sequence[Target] = ()
    known: Sequence[Target] = ()
    left: list[Hole] = field(default_factory=list)
    followed: dict[Span, Followed] = field(default_factory=dict)
    done: set[Target] = field(default_factory=set)  # those that have named what is run: what that calls is not theirs

    def run(self) -> None:
        """Run all that is declared, and of what is known of engines as much as the budget allows.

        Raises UsageError for a declared pattern that names nothing; a row for an engine that is not there says nothing.
        """
        limit = BUDGET
        found = holes = find_holes(self.interpreter.regions.values())
        for _ in range(MAX_ROUNDS):
            before = len(self.done)
            for target in self.declared:
                self._run(target, holes, self._find, None)
            left = [hole for hole in holes if hole.span not in self.followed]
            limit += len(self.interpreter.contexts)
            for target in self.known if left else ():
                self._run(target, left, self._match, limit)
            limit -= len(self.interpreter.contexts)
            if len(self.done) == before:
                break
            holes = find_holes(self.interpreter.regions.values())
        self.left = [hole for hole in found if hole.span not in self.followed]

    def guess(self, targets: Iterable[Target]) -> None:
        """Run what nobody has named, but few classes fit: that it is one of these is a condition of all behind it."""
        limit = len(self.interpreter.contexts) + GUESSED
        for target in targets:
            self._run(target, self.left, self._match, limit, FEW)
        self.left = [hole for hole in self.left if hole.span not in self.followed]

    def _find(self, pattern: str) -> list[Named]:
        return find_functions(self.interpreter, pattern, self.files, "target")

    def _match(self, pattern: str) -> list[Named]:
        return matching(self.interpreter, pattern, self.files)

    def _run(
        self, target: Target, holes: Iterable[Hole], find: Find, limit: int | None, few: int | None = None
    ) -> None:
        """Run the functions of a target for the holes that it means, up to this number of contexts in all.

        What is a guess is run if it names no more than a `few`.
        """
        if target in self.done:
            return
        places = {named.runs_as for named in find(target.at)} if limit is None else set[str]()
        meant = [hole for hole in holes if _lies_in(hole, target.at, places) and _is_spelt(hole, target.call)]
        if not meant and limit is not None:
            return
        functions = [named for pattern in target.runs for named in self._named(pattern, find, meant)]
        if few is not None and len(functions) > few:
            return
        for model, named in enumerate(_spread(functions) if meant else ()):
            for call, hole in enumerate(_fitting(named, meant, target.call is not None)):
                self.done.add(target)
                told = self.followed.setdefault(hole.span, Followed(hole, is_guess=few is not None))
                made = len(self.interpreter.contexts)
                # What the first of an engine shows of its other calls holds for the rest of them.
                if limit is not None and (made > limit or (model and call)):
                    told.left_out += named.entry not in told.run
                else:
                    self.interpreter.limit = MAX_CONTEXTS if limit is None else min(limit, made + SHARE)
                    _call(self.interpreter, named, hole, is_guess=few is not None)
                    self.interpreter.limit = MAX_CONTEXTS
                    told.run.add(named.entry)

    def _named(self, pattern: str, find: Find, holes: Iterable[Hole]) -> list[Named]:
        """What a pattern names; a glob names none whose objects lack what is asked of them at each of its holes."""
        found = find(pattern)
        if "*" not in pattern or not holes:
            return found
        owned = [(one, one.owner) for one in found]
        return [
            one
            for one, owner in owned
            if owner is None or not all(lacks_asked(self.interpreter, owner, hole) for hole in holes)
        ]


def telling(interpreter: Interpreter, hole: Hole) -> list[Target]:
    """The rows of tables that say what a hole runs."""
    return [row for row in interpreter.entries.targets if _lies_in(hole, row.at, ()) and _is_spelt(hole, row.call)]


def rows_for(interpreter: Interpreter) -> list[Target]:
    """The rows of tables that say what is run in the regions that are known by now."""
    holes = find_holes(interpreter.regions.values())
    return list(dict.fromkeys(row for hole in holes for row in telling(interpreter, hole)))


def capturing(interpreter: Interpreter, files: Iterable[Path]) -> list[Path]:
    """The files in which known engines capture what rows of tables name."""
    rows = [row.at.partition(":") for row in interpreter.entries.targets]
    modules = [interpreter.project.module_at(path) for path in files]
    return [
        module.path
        for module in modules
        if any(fnmatchcase(module.name, name) and functions_in(interpreter, module, at) for name, _, at in rows)
    ]


def _lies_in(hole: Hole, at: str, places: Container[str]) -> bool:
    """Whether a hole lies in a function of this name or below, or in one that is written at one of these places."""
    functions = {name.partition(".<locals>")[0] for name in hole.functions}
    return any(name in places or is_named(name, at) for name in functions)


def _is_spelt(hole: Hole, call: str | None) -> bool:
    """Whether the callee is spelt like that, as far as it is told."""
    asked = tuple(call.removeprefix("self.").split(".")) if call is not None else ()
    return not asked or hole.names[-len(asked) :] == asked


def _fitting(named: Named, holes: Iterable[Hole], is_spelt: bool) -> Iterator[Hole]:
    """The holes whose arguments a function takes: all that are spelt as asked, else those at the nearest place."""
    taken = header(named.definition)
    if taken is None:
        return
    bound = 0 if named.owner is None else 1
    method = named.qualname.rpartition(".")[2]
    fitting = [hole for hole in holes if accepts(taken, hole.made.arguments, bound)]
    alike = [hole for hole in fitting if hole.method in (None, method)] or fitting
    yield from (hole for hole in alike if is_spelt or hole.span == alike[0].span)


def _spread(functions: Iterable[Named]) -> list[Named]:
    """The functions, those first whose files import most that the ones before do not: they share the rest."""
    brought = {
        named: {(one.module, one.member) for imports in named.module.index.imports.values() for one in imports}
        for named in functions
    }
    ordered: list[Named] = []
    while brought:
        best = max(brought, key=lambda named: len(brought[named]))
        new = brought.pop(best)
        ordered.append(best)
        for others in brought.values():
            others -= new
    return ordered


def _call(interpreter: Interpreter, named: Named, hole: Hole, is_guess: bool) -> None:
    signature = named.signature()
    if signature is None:
        return
    callee, receiver = named.callee(interpreter)
    arguments = _arguments(interpreter, signature, receiver, hole.made.arguments)
    frame, node = hole.made.frame, hole.made.node
    before = frame.assumed
    is_open = hole.made.arguments.star is not None  # it may be handed more than is known
    if (is_guess or is_open) and isinstance(node, ir.Call):
        frame.assumed = (*before, Assumption(frame.function, node.func, form=f"{{}} is {named.qualname}"))
    interpreter.begin()
    interpreter.calls.call(callee, arguments, node, frame)
    frame.assumed = before
    if not is_guess:
        hole.context.unresolved.pop(hole.span, None)


def _arguments(interpreter: Interpreter, function: Function, receiver: Value | None, given: Arguments) -> Arguments:
    """The arguments of a call; what it may hand over besides is what the signature promises, on the device.

    Where nothing is known of them, the function is run as one that is declared.
    """
    if given == ANYTHING:
        return entry_arguments(interpreter, function, receiver)
    whole = given if receiver is None else given.prepend(receiver)
    parameters = function.code.parameters if receiver is None else function.code.parameters[1:]
    if any(parameter.kind == "*" for parameter in parameters):
        return whole
    bound = interpreter.signatures.bind(function, whole)
    is_open = given.star is not None or given.double_star is not None
    keywords = {}
    for place, parameter in enumerate(parameters):
        if parameter.kind == "**":
            continue
        value = bound[parameter.name]
        if is_open and place >= len(given.positional) and given.keyword(parameter.name) is None:
            value = union((interpreter.refine(UNKNOWN, parameter, function), value))
        keywords[parameter.name] = on_device(value)
    others = ((name, value) for name, value in given.keywords if name not in keywords)
    optional = given.optional.difference(keywords)
    positional = () if receiver is None else (receiver,)
    return Arguments(positional, (*keywords.items(), *others), None, given.double_star, optional)
