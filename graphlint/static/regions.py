"""Files and declarations in, capture regions out, with everything that they reach already run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import reduce
from pathlib import Path

from graphlint.errors import UsageError, nearest
from graphlint.finding import Region
from graphlint.static import ir
from graphlint.static.entries import entry_arguments
from graphlint.static.frames import Context, Mode, OpenRegion
from graphlint.static.interpreter import Interpreter
from graphlint.static.project import ClassDefinition, Definition, Module
from graphlint.static.spelling import Words
from graphlint.static.values import Bound, Class, External, Function, Instance, Value, members

MAX_ROUNDS = 3  # helpers that open regions, helpers of those, and so on
MAX_USERS = 60  # files that use one helper
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Search:
    """The search for regions over a set of files."""

    interpreter: Interpreter
    files: list[Path]
    progress: Callable[[int, int], None] | None = None
    done: set[Definition | Module] = field(default_factory=set)
    unreadable: dict[Path, str] = field(default_factory=dict)

    def lexical(self) -> None:
        """Run every function that can open a region, its callers in the same file, and the users of helpers."""
        entries = self.interpreter.entries
        candidates = self._files_with(entries.marks)
        pending = dict.fromkeys(candidates, entries.words)
        helpers: set[str] = set()
        for _ in range(MAX_ROUNDS):
            found: set[str] = set()
            for number, (path, words) in enumerate(pending.items()):
                if self.progress is not None:
                    self.progress(number, len(pending))
                found |= self._run_file(self.interpreter.project.module_at(path), words)
            new = {name for name in found if len(name) > 3} - helpers
            if not new:
                return
            helpers |= new
            pattern = _any_of(new)
            users = self._files_with([name.encode() for name in new], pattern)[:MAX_USERS]
            pending = dict.fromkeys(users, Words(pattern))

    def marked(self) -> None:
        """Run what carries a decorator that declares a region, under whatever name the decorator goes."""
        known: set[str] = set()
        new = self.interpreter.entries.declaring
        looked_at: set[Path] = set()
        while new:
            known |= new
            paths = [p for p in self._files_with([name.encode() for name in new], _any_of(new)) if p not in looked_at]
            looked_at.update(paths)
            modules = [self.interpreter.project.module_at(path) for path in paths]
            for module in modules:
                for qualname in _marked(self.interpreter, module):
                    for target in _targets(self.interpreter, module, qualname):
                        _run_declared(self.interpreter, module, target)
            new = {name for module in modules for name in _aliases(module, known)} - known

    def _files_with(self, marks: Collection[bytes], pattern: re.Pattern[str] | None = None) -> list[Path]:
        """The files that hold one of the marks and, if there is one, match the pattern."""
        found = []
        for path in self.files:
            try:
                raw = path.read_bytes()
            except OSError as problem:
                self.unreadable[path] = f"cannot be read: {problem.strerror or problem}"
                continue
            # A plain search for each mark is faster than one expression for all of them.
            if any(mark in raw for mark in marks) and (pattern is None or pattern.search(raw.decode("utf-8", "replace"))):
                found.append(path)
        return found

    def _run_file(self, module: Module, words: Words) -> set[str]:
        """Run the functions of a file that use an entry or helper; the names of those that pass a region on."""
        index = module.index
        aliases = [
            name for name, imports in index.imports.items() if any(words.pattern.fullmatch(i.member or "") for i in imports)
        ]
        aliases += [cls.name for cls in index.classes.values() if any(words.pattern.search(base) for base in cls.bases)]
        if aliases:
            words = replace(words, pattern=re.compile(f"{words.pattern.pattern}|{_any_of(aliases).pattern}"))
        names = self.interpreter.names
        # Other files take an entry from here by another name; under its own they are found without this.
        new = [name for name in aliases if not self.interpreter.entries.words.pattern.fullmatch(name)]
        helpers = {name for name in new if self._opens(names.resolve(module, name))}
        functions = list(index.all_functions())
        chosen = [f for f in functions if words.used_in(_body(module, f))]
        for definition in chosen:
            helpers |= self._run_definition(definition, index.classes)
        statements = "".join(_text(module, s.first, s.last) for s in index.statements)
        if words.used_in(statements):
            self._run_module(module)
        if chosen:
            called = Words(_any_of({_called_as(definition) for definition in chosen}))
            for definition in functions:
                if definition not in self.done and called.used_in(_body(module, definition)):
                    self._run_definition(definition, index.classes)
            if called.used_in(statements):
                self._run_module(module)
        return helpers

    def _run_module(self, module: Module) -> None:
        """Run the statements at the top level of a file, as a script would."""
        if module in self.done:
            return
        self.done.add(module)
        frame = self.interpreter.names.module_frame(module, 1)
        for segment in module.index.statements:
            frame.function = replace(frame.function, first_line=segment.first)
            if not self.interpreter.block(module.lowered(segment), frame):
                return

    def _run_definition(self, definition: Definition, classes: dict[str, ClassDefinition]) -> set[str]:
        if definition in self.done:
            return set()
        self.done.add(definition)
        owner = _owner(definition, classes)
        helpers: set[str] = set()
        before = len(self.interpreter.regions)
        for function in _raw(self.interpreter.names.definition(definition, owner)):
            receiver = self.interpreter.objects.instance(owner, None, False) if owner is not None else None
            if owner is not None and not _takes_self(definition, function):
                receiver = None
            context = self.interpreter.calls.run_promised(function, receiver, Mode.OUTSIDE)
            for made in members(context.result):
                if isinstance(made, Function) and made.qualname.startswith(f"{function.qualname}.<locals>"):
                    self.interpreter.calls.run_promised(made, None, Mode.OUTSIDE)
            if self._passes_on(context, function, before):
                helpers.add(_called_as(definition))
            if definition.name == "__init__" and isinstance(receiver, Instance):
                held = (m for value in self.interpreter.objects.attributes(receiver).values() for m in members(value))
                if any(self.interpreter.entries.is_manager(value) for value in held):
                    helpers.add(_called_as(definition))
        return helpers

    def _opens(self, value: Value) -> bool:
        """Whether a name stands for one of the table, or for a class derived from one."""
        names = [value.name] if isinstance(value, External) else []
        if isinstance(value, Class):
            names = self.interpreter.objects.external_bases(value.definition)
        return any(self.interpreter.entries.find(name) is not None for name in names)

    def _passes_on(self, context: Context, function: Function, before: int) -> bool:
        """Whether the callers of a function hold a region that it opens, or decide what runs inside."""
        if context.left_open or context.open_at_yield:
            return True
        if any(self.interpreter.entries.is_manager(m) for m in members(context.result)):
            return True
        opened = [r for r in list(self.interpreter.regions.values())[before:] if r.region.path == context.path]
        parameters = {p.name for p in function.code.parameters} - {"self", "cls"}
        return any(
            (name := _WORD.match(text)) is not None and name.group() in parameters
            for region in opened
            for text in region.context.unresolved.values()
        )


def declare(interpreter: Interpreter, patterns: Iterable[str], files: list[Path]) -> None:
    """Run the declared regions. Raises UsageError for a pattern that names nothing."""
    for pattern in patterns:
        module_name, colon, qualname = pattern.partition(":")
        if not colon or not module_name or not qualname:
            raise UsageError(f"region `{pattern}`: write it as module:qualname, as in `serve.model:Decoder.forward`")
        modules = _modules(interpreter, module_name, files, pattern)
        found = [(module, target) for module in modules for target in _targets(interpreter, module, qualname)]
        if not found:
            known = [name for module in modules for name in _qualnames(module)]
            raise UsageError(
                f"region `{pattern}`: nothing in `{module_name}` is called `{qualname}`{nearest(qualname, known)}"
            )
        for module, target in found:
            _run_declared(interpreter, module, target)


@dataclass(frozen=True, slots=True)
class _Target:
    """What a declared region names: the qualified name, its definition, and the class whose object it runs on."""

    qualname: str
    definition: Definition
    defined_in: ClassDefinition | None
    owner: ClassDefinition | None


def _modules(interpreter: Interpreter, name: str, files: list[Path], pattern: str) -> list[Module]:
    project = interpreter.project
    if any(c in name for c in "*?["):
        matches = re.compile(translate(name))
        found = [module for path in files if matches.match((module := project.module_at(path)).name)]
    else:
        module = project.module(name)
        found = [module] if module is not None else []
    if not found:
        known = [project.module_at(path).name for path in files]
        raise UsageError(f"region `{pattern}`: no module `{name}` in the checked paths{nearest(name, known)}")
    return found


def _qualnames(module: Module) -> list[str]:
    names = [definition.qualname for definition in module.index.all_functions()]
    return [*names, *(cls.qualname for cls in module.index.classes.values())]


def _targets(interpreter: Interpreter, module: Module, qualname: str) -> list[_Target]:
    """The functions that a qualified name, or a glob over them, means; a method may be that of a base class."""
    index = module.index
    if any(c in qualname for c in "*?["):
        names = dict.fromkeys(d.qualname for d in index.all_functions() if fnmatchcase(d.qualname, qualname))
        return [target for name in names for target in _targets(interpreter, module, name)]
    if qualname in index.functions:
        return [_Target(qualname, index.functions[qualname][-1], None, None)]
    *path, last = qualname.split(".")
    whole = _nested_class(index.classes, [*path, last])
    owner, names = (
        (whole, ["forward", "__call__"]) if whole is not None else (_nested_class(index.classes, path), [last])
    )
    for name in names:
        found = interpreter.objects.find(owner, name) if owner is not None else None
        if owner is not None and found is not None and isinstance(found[0], ClassDefinition):
            definitions = found[0].methods.get(name)
            if definitions:
                return [_Target(f"{owner.qualname}.{name}", definitions[-1], found[0], owner)]
    return []


def _nested_class(classes: dict[str, ClassDefinition], path: list[str]) -> ClassDefinition | None:
    cls = None
    for name in path:
        cls = classes.get(name)
        if cls is None:
            return None
        classes = cls.classes
    return cls


def _run_declared(interpreter: Interpreter, module: Module, target: _Target) -> None:
    definition = target.definition
    code = definition.code
    if code is None:
        return
    entry, path = f"{module.name}:{target.qualname}", str(definition.module.path)
    region = OpenRegion(Region("declared", path, definition.line, entry), Context(entry, path), Mode.CAPTURE)
    interpreter.regions[("declared", path, definition.line, entry)] = region
    frame = interpreter.names.module_frame(definition.module, definition.segment.first)
    frame.regions.append(region)
    # The signature is that of the function as it is written; the call goes through its decorators.
    signature = Function(code, definition.module, definition.qualname, definition.segment.first, target.defined_in)
    method = interpreter.names.definition(definition, target.defined_in)
    receiver: Value | None = None
    if target.owner is not None and not isinstance(method, Bound):
        receiver = interpreter.objects.instance(target.owner, None, False)
    arguments = entry_arguments(interpreter, signature, receiver)
    call = ir.Call(code.pos, ir.Name(code.pos, ""), ())
    interpreter.calls.call(method, arguments, call, frame)


def _marked(interpreter: Interpreter, module: Module) -> list[str]:
    """The qualified names of the functions and classes with a decorator that declares them."""
    names = interpreter.names
    found = []
    for definition in module.index.all_functions():
        code = definition.code if definition.segment.first < definition.line else None
        if code is not None and any(_declares(interpreter, names.static_value(d, module)) for d in code.decorators):
            found.append(definition.qualname)
    pending = list(module.index.classes.values())
    for cls in pending:
        pending.extend(cls.classes.values())
        for decorator in cls.decorators:
            first, *rest = decorator.split(".")
            if _declares(interpreter, reduce(names.attribute_of_module, rest, names.resolve(module, first))):
                found.append(cls.qualname)
    return found


def _declares(interpreter: Interpreter, decorator: Value) -> bool:
    for member in members(decorator):
        name = member.name if isinstance(member, External) else ""
        if isinstance(member, Function):  # graphlint itself is among the files that are looked at
            name = f"{member.module.name}.{member.qualname}"
        if interpreter.entries.declares(name):
            return True
    return False


def _aliases(module: Module, words: set[str]) -> Iterator[str]:
    """The names under which a file hands on one of these words."""
    for name, imports in module.index.imports.items():
        if any(imported.member in words for imported in imports):
            yield name
    for name, segments in module.index.assignments.items():
        if any(words & set(_WORD.findall(_text(module, s.first, s.last))) for s in segments):
            yield name


def _raw(value: Value) -> list[Function]:
    """The functions behind decorators that keep them as they are."""
    found = []
    for member in members(value):
        while isinstance(member, Bound):
            member = member.receiver
        if isinstance(member, Function):
            found.append(member)
    return found


def _owner(definition: Definition, classes: dict[str, ClassDefinition]) -> ClassDefinition | None:
    path = definition.qualname.split(".")[:-1]
    return _nested_class(classes, path) if path else None


def _called_as(definition: Definition) -> str:
    """The name that stands where a function is used: that of the class for `__init__` and its like."""
    *path, name = definition.qualname.split(".")
    return path[-1] if path and name.startswith("__") else name


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")


def _takes_self(definition: Definition, function: Function) -> bool:
    decorators = {getattr(d, "id", "") for d in function.code.decorators}
    return bool(function.code.parameters) and not decorators & {"staticmethod", "classmethod"}


def _body(module: Module, definition: Definition) -> str:
    return _text(module, definition.segment.first, definition.segment.last)


def _text(module: Module, first: int, last: int) -> str:
    return "".join(f"{line}\n" for line in module.lines[first - 1 : last])
