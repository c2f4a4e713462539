"""Files and declarations in, capture regions out, with everything that they reach already run.

What opens a region is found by the words of its spelling first, then run; helpers that pass a region on are searched
for in turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.contexts import Context, Mode, OpenRegion, reachable
from graphlint.static.domain.program import Bound, Class, Function, Graphed, Instance, function_of, owner_of
from graphlint.static.index.module import TOO_DEEP, ClassDefinition, Definition, Module, Segment
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.beginnings import handed_in, held_by_self, origins
from graphlint.static.regions.declarations import marked, run_declared
from graphlint.static.regions.patterns import functions_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, last_name, words_in
from graphlint.static.syntax.words import Words
from graphlint.values import UNKNOWN, External, Value, members

MAX_ROUNDS = 3  # helpers that open regions, helpers of those, and so on
MAX_USERS = 60  # files that use one helper
BUDGET = 400  # contexts that a function may take of which only others say whether it captures


@dataclass
class Search:
    """The search for regions over a set of files."""

    interpreter: Interpreter
    files: list[Path]
    progress: Callable[[int, int], None] | None = None
    done: set[Definition | Module] = field(default_factory=set)
    methods: dict[str, set[str]] = field(default_factory=dict)  # that run what an object of the class was given
    passing_on: set[str] = field(default_factory=set)  # names in the files that were run first
    handing: set[str] = field(default_factory=set)  # functions that give what they get to what captures it
    managing: dict[ClassDefinition, set[str]] = field(default_factory=dict)  # their methods that give what opens one
    kept: set[str] = field(default_factory=set)  # attributes in which objects keep what passes a region on
    capturing: set[ClassDefinition] = field(default_factory=set)  # those whose constructor passes a region on
    unmarked: set[Path] = field(default_factory=set)  # the candidates that may compile without graphs as well

    @cached_property
    def words(self) -> Words:
        """The last names of the entries."""
        entries = self.interpreter.entries
        keywords = frozenset({*entries.graphing, None})
        return Words(_any_of(entries.last_names), frozenset(entries.compiling), keywords)

    @cached_property
    def candidates(self) -> list[Path]:
        """The files that hold a mark, and those that compile in a way that others choose."""
        entries = self.interpreter.entries
        spelt = "|".join(rf"{name}(?<!\w{name})" for name in sorted(entries.graphing))  # begins with plain text
        marked = self._files_with(entries.marks, self.files)
        chosen = self._files_with(self._compilers, self.files, re.compile(rf"(?:{spelt}) *= *[A-Za-z_]"))
        self.unmarked = {*chosen} - {*marked}
        return list(dict.fromkeys((*marked, *chosen)))

    @cached_property
    def _compilers(self) -> list[str]:
        """How calls of compilers are spelt."""
        return [f"{name}(" for row in self.interpreter.entries.rows for name in row.names if row.graphing]

    def first(self, paths: Iterable[Path]) -> None:
        """Run these files before the others."""
        for path in paths:
            self.passing_on |= self._run_file(self.interpreter.project.module_at(path), self.words)

    def lexical(self) -> None:
        """Run every function that can open a region, its callers in the same file, and the users of helpers."""
        pending = dict.fromkeys(self.candidates, self.words)
        helpers: set[str] = set()
        found = self.passing_on
        for _ in range(MAX_ROUNDS):
            for number, (path, words) in enumerate(pending.items()):
                if self.progress is not None:
                    self.progress(number, len(pending))
                module = self.interpreter.project.module_at(path)
                try:
                    found |= self._run_file(module, words)
                except RecursionError:
                    module.problem = module.problem or TOO_DEEP
            self._run_holders()
            self._run_inherited()
            new = {name for name in found if len(name) > 3} - helpers
            if not new:
                return
            helpers |= new
            pattern = _any_of(new)
            users = self._files_with(new, self.files, pattern)[:MAX_USERS]
            methods = {method for name in new for method in self.methods.get(name, ())}
            pending = dict.fromkeys(users, Words(_any_of(new | methods)))
            found = set()

    def marked(self) -> None:
        """Run what carries a decorator that declares a region, under whatever name the decorator goes."""
        known: set[str] = set()
        new = self.interpreter.entries.declaring
        looked_at: set[Path] = set()
        files = self.candidates  # the decorator's own name is a mark; what it is called elsewhere is none
        while new:
            known |= new
            paths = [p for p in self._files_with(new, files, _any_of(new)) if p not in looked_at]
            looked_at.update(paths)
            files = self.files
            modules = [self.interpreter.project.module_at(path) for path in paths]
            for module in modules:
                for qualname in marked(self.interpreter, module):
                    for named in functions_in(self.interpreter, module, qualname):
                        run_declared(self.interpreter, named)
            new = {name for module in modules for name in _aliases(module, known)} - known

    def compiled(self) -> None:
        """Run what hands something to a compiler without asking for graphs, and is no region: it is told of what."""
        words = Words(_any_of(self.interpreter.entries.compiling))
        for path in self._files_with(self._compilers, self.files):
            self._run_file(self.interpreter.project.module_at(path), words)

    def _files_with(
        self, marks: Collection[str], files: Iterable[Path], pattern: re.Pattern[str] | None = None
    ) -> list[Path]:
        """Those of the files that hold one of the marks and, if there is one, match the pattern."""
        question = HoldsAny(sorted(marks), pattern.pattern if pattern else "")
        return [path for path in files if self.interpreter.project.ask(path, question)]

    def _run_file(self, module: Module, words: Words) -> set[str]:
        """Run the functions of a file that use an entry or helper; the names of those that pass a region on."""
        index = module.index
        is_word = words.pattern.fullmatch
        aliases = [name for name, imports in index.imports.items() if any(is_word(i.member or "") for i in imports)]
        aliases += [cls.name for cls in index.classes.values() if any(words.pattern.search(base) for base in cls.bases)]
        if aliases:
            words = replace(words, pattern=re.compile(f"{words.pattern.pattern}|{_any_of(aliases).pattern}"))
        names = self.interpreter.names
        # Other files take an entry from here by another name; under its own they are found without this.
        new = [name for name in aliases if not self.words.pattern.fullmatch(name)]
        helpers = {name for name in new if self._opens(names.resolve(module, name))}
        functions = list(index.all_functions())
        chosen = [f for f in functions if words.used_in(module.source_of(f.segment))]
        for definition in chosen:
            helpers |= self._run_definition(definition, words)
        statements = "".join(map(module.source_of, index.statements))
        if words.used_in(statements):
            self._run_module(module)
        if chosen:
            called = Words(_any_of({_called_as(definition) for definition in chosen} | self.kept))
            for definition in functions:
                if definition not in self.done and called.used_in(module.source_of(definition.segment)):
                    helpers |= self._run_definition(definition, called)
            if called.used_in(statements):
                self._run_module(module)
        return helpers

    def _run_holders(self) -> None:
        """Capture what objects were given, also where nobody is seen to call them."""
        for instance in list(self.interpreter.heap.instances.values()):
            if instance.cls in self.capturing and instance.arguments is not None:
                self.interpreter.heap.attributes(instance)  # it captures while it is made
            names = self.methods.get(instance.cls.name, ()) if instance.arguments is not None else ()
            for name in names:
                for method in _raw(self.interpreter.classes.method(instance.cls, name) or UNKNOWN):
                    self.interpreter.calls.run_promised(method, instance, Mode.OUTSIDE)

    def _run_inherited(self) -> None:
        """Run what a class has from another one and leaves to its own methods: `with self.capturing():`."""
        while self.managing:
            owner, names = self.managing.popitem()
            receiver = self.interpreter.heap.instance(owner, None, False)
            bases = [one for one in self.interpreter.classes.order(owner)[1:] if isinstance(one, ClassDefinition)]
            for base in bases:
                inherited = (one for name, found in base.methods.items() if name not in owner.methods for one in found)
                for definition in inherited:
                    if _calls_one_of(definition, names):
                        for function in _raw(self.interpreter.names.definition(definition, base)):
                            self.interpreter.begin()
                            self.interpreter.calls.run_promised(function, receiver, Mode.OUTSIDE)

    def _run_module(self, module: Module) -> None:
        """Run the statements at the top level of a file, as a script would."""
        if module in self.done:
            return
        self.done.add(module)
        self.interpreter.begin()
        frame = self.interpreter.names.module_frame(module, 1)
        for segment in module.index.statements:
            frame.function = replace(frame.function, first_line=segment.first)
            if not self.interpreter.block(module.lowered(segment), frame):
                return

    def _run_definition(self, definition: Definition, words: Words) -> set[str]:
        if definition in self.done:
            return set()
        self.done.add(definition)
        owner = owner_of(definition)
        run = partial(self.interpreter.calls.run_promised, mode=Mode.OUTSIDE)
        helpers: set[str] = set()
        for function in _raw(self.interpreter.names.definition(definition, owner)):
            helpers |= self._run_function(function, definition, owner, words, run)
        written = function_of(definition, owner)
        if written is not None and self._misses_entry(written):
            run_all = self.interpreter.calls.run_every_branch
            helpers |= self._run_function(written, definition, owner, words, run_all)
        return helpers

    def _run_function(
        self,
        function: Function,
        definition: Definition,
        owner: ClassDefinition | None,
        words: Words,
        run: Callable[[Function, Value | None], Context],
    ) -> set[str]:
        """Run a function, and what is defined inside; the names under which it passes a region on."""
        helpers: set[str] = set()
        before = len(self.interpreter.regions)
        receiver = self.interpreter.heap.instance(owner, None, False) if owner is not None else None
        if owner is not None and not _takes_self(function):
            receiver = None
        known = len(self.interpreter.calls.closures)
        self.interpreter.begin(BUDGET if function.module.path in self.unmarked else None)
        context = run(function, receiver)
        # What is defined inside is run as well: it is returned, kept or handed on, and called somewhere else.
        for made in dict.fromkeys(self.interpreter.calls.closures[known:]):
            inside = made.module is function.module and made.qualname.startswith(f"{function.qualname}.<locals>")
            returned = made in members(context.result)
            if inside and (returned or words.used_in(_inner(made))):
                self.interpreter.calls.run_promised(made, None, Mode.OUTSIDE)
        if self._passes_on(context, function, before):
            helpers.add(_called_as(definition))
            if owner is not None:
                self.managing.setdefault(owner, set()).add(definition.name)
        if self._hands_on(function):
            self.handing.add(_called_as(definition))
            helpers.add(_called_as(definition))
        if helpers and owner is not None and definition.name == "__init__":
            self.capturing.add(owner)
        if owner is not None and receiver is not None and self._runs_what_it_holds(receiver, context, before):
            helpers.add(owner.name)
            self.methods.setdefault(owner.name, set()).add(definition.name)
        if definition.name == "__init__" and receiver is not None:
            held = self.interpreter.heap.attributes(receiver)
            if any(self.interpreter.capture.is_manager(m) for value in held.values() for m in members(value)):
                helpers.add(_called_as(definition))
            self.kept.update(name for name, value in held.items() if _is_one_of(value, words))
        return helpers

    def _misses_entry(self, function: Function) -> bool:
        """Whether a function calls an entry where no region was found: behind a condition or a decorator."""
        path = str(function.module.path)
        places = {
            (path, function.first_line + c.pos[0])
            for c in calls_in(function.code)
            if self._is_entry(c, function.module)
        }
        return not places <= self.interpreter.places_of_regions

    def _is_entry(self, call: ir.Call, module: Module) -> bool:
        """Whether a call opens a region under a name that the file knows, or one that tells enough."""
        entries = self.interpreter.entries
        value = self.interpreter.names.static_value(call.func, module)
        entry = entries.find(value.name) if isinstance(value, External) else None
        if entry is None and isinstance(call.func, ir.Attribute):
            entry = entries.by_last_name.get(call.func.attr)
        if entry is None:
            return False
        if entry.form == "compile":
            return any(argument.keyword in entries.graphing for argument in call.arguments)
        return entry.form in ("context", "begin", "callable")

    def _opens(self, value: Value) -> bool:
        """Whether a name stands for one of the table, or for a class derived from one."""
        names = [value.name] if isinstance(value, External) else []
        if isinstance(value, Class):
            names = self.interpreter.classes.external_bases(value.definition)
        return any(self.interpreter.entries.find(name) is not None for name in names)

    def _opened(self, context: Context, before: int) -> list[OpenRegion]:
        """The regions that have been opened in this file since there were so many."""
        return [r for r in islice(self.interpreter.regions.values(), before, None) if r.region.path == context.path]

    def _runs_what_it_holds(self, receiver: Instance, context: Context, before: int) -> bool:
        """Whether a method captures something that was handed to the constructor, and that only its users know."""
        contexts = (reached for region in self._opened(context, before) for reached, _ in reachable(region.context))
        names = {held_by_self(found.callee) for reached in contexts for found in reached.unresolved.values()} - {None}
        held = self.interpreter.heap.attributes(receiver) if names else {}
        return any(value == UNKNOWN for name, value in held.items() if name in names)

    def _passes_on(self, context: Context, function: Function, before: int) -> bool:
        """Whether the callers of a function hold a region that it opens, or decide what runs inside."""
        if context.left_open or context.open_at_yield:
            return True
        if any(self.interpreter.capture.is_manager(m) for m in members(context.result)):
            return True
        parameters = handed_in(function)
        unresolved = [u for region in self._opened(context, before) for u in region.context.unresolved.values()]
        return any(not parameters.isdisjoint(origins(found.callee, function.code)) for found in unresolved)

    def _hands_on(self, function: Function) -> bool:
        """Whether a function gives what it was given to what captures it, or that decides whether graphs are used."""
        handing, graphing = self.handing | self.methods.keys(), self.interpreter.entries.graphing
        parameters = handed_in(function)
        return any(
            (
                last_name(call.func) in handing
                or (argument.keyword in graphing and self._is_entry(call, function.module))
            )
            and not parameters.isdisjoint(origins(argument.value, function.code))
            for call in calls_in(function.code)
            for argument in call.arguments
        )


def _aliases(module: Module, words: set[str]) -> Iterator[str]:
    """The names under which a file hands on one of these words."""
    for name, imports in module.index.imports.items():
        if any(imported.member in words for imported in imports):
            yield name
    for name, segments in module.index.assignments.items():
        holding = (s for s in segments if any(module.holds(s, word) for word in words))
        if any(words & words_in(module.lowered(segment)) for segment in holding):
            yield name


def _is_one_of(value: Value, words: Words) -> bool:
    """Whether a value is an object of a class that is called by one of these words."""
    return any(isinstance(m, Instance) and words.pattern.fullmatch(m.cls.name) is not None for m in members(value))


def _raw(value: Value) -> list[Function]:
    """The functions behind decorators that keep them as they are."""
    found = []
    for member in members(value):
        while isinstance(member, (Bound, Graphed)):
            member = member.receiver if isinstance(member, Bound) else member.function
        if isinstance(member, Function):
            found.append(member)
    return found


def _called_as(definition: Definition) -> str:
    """The name that stands where a function is used: that of the class for `__init__` and its like."""
    *path, name = definition.qualname.split(".")
    return path[-1] if path and name.startswith("__") else name


def _calls_one_of(definition: Definition, names: set[str]) -> bool:
    """Whether a function calls something by one of these names."""
    is_held = any(definition.module.holds(definition.segment, name) for name in names)
    code = definition.code if is_held else None
    return code is not None and any(last_name(call.func) in names for call in calls_in(code))


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")


def _takes_self(function: Function) -> bool:
    decorators = {getattr(d, "id", "") for d in function.code.decorators}
    return bool(function.code.parameters) and not decorators & {"staticmethod", "classmethod"}


def _inner(made: Function) -> str:
    """The source of a function inside another one."""
    first, _, last, _ = made.code.pos
    return made.module.source_of(Segment(made.first_line + first, made.first_line + last))
