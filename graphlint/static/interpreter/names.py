"""A name and a module in, a value out: imports, definitions and the state of modules.

Long, because each of these binds names in a way of its own.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.reading.questions import Holds, HoldsAny
from graphlint.rulebook.lexicon import package_of
from graphlint.static.domain.contexts import Context, Frame, Mode
from graphlint.static.domain.program import Class, Function, Instance, ModuleValue, PackageValue
from graphlint.static.index.module import ClassDefinition, Definition, ImportedName, Module, Segment
from graphlint.static.index.parts import is_filled_later, rebinding, rebound_in
from graphlint.static.interpreter import registries
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, names_in, walk
from graphlint.values import NONE, UNKNOWN, Arguments, Const, External, Host, Mapping, Sequence, Value, members, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_SCOPES = 8  # surroundings of one class statement; behind that, the first stand for all
ALTERNATIVES = 4  # definitions of one name
MODULE_CODE = ir.Code(ir.NOWHERE, "<module>", (), ())
_BUILTINS = frozenset(dir(builtins))
# Names whose value does not depend on who runs the code.
_KNOWN: dict[str, Value] = {
    "typing.TYPE_CHECKING": Const(False),
    "sys.platform": Const("linux"),
    "sys.version_info": Host("object"),
}
# Where a name may get a value.
_BOUND = r"(?m)(?:^|[,;:(\[*]|\b(?:def|class|import|as|for|global)\b)\s*{name}\b"
# What is empty at first, and what it may hold once a function has put something in.
_EMPTY: dict[Value, Value] = {Mapping(): Mapping(other=UNKNOWN), Sequence("list", ()): Sequence("list", None, UNKNOWN)}
_STAR = Holds(["import *"])


class Names:
    """Resolves names; each is worked out once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.project = interpreter.project
        self.globals: dict[tuple[Module, str], Value] = {}
        self.absent: set[tuple[Module, str]] = set()  # names that modules do not bind, such as those of built-ins
        self.decorated: dict[Definition, Value] = {}
        self.local: dict[tuple[Module, Segment], dict[object, ClassDefinition]] = {}
        self.scopes: dict[ClassDefinition, dict[str, Value]] = {}  # what classes inside of functions read around them

    def load(self, name: str, frame: Frame) -> Value:
        """What a name means in a frame."""
        value = frame.env.get(name)
        if value is not None:
            return self.interpreter.calls.bound_since(value, frame) if isinstance(value, Function) else value
        for captured, held in frame.function.closure:
            if captured == name:
                return held
        if name == frame.function.code.name and frame.function.closure:
            return frame.function
        if name == "__name__" and frame.function.code is MODULE_CODE:
            return union((Const(frame.module.name), Const("__main__")))  # it may be run as a script
        given = self.interpreter.heap.modes.switches.value(frame.module, name, frame.around)
        return self.resolve(frame.module, name) if given is None else given

    def resolve(self, module: Module, name: str) -> Value:
        """What a name means at the top level of a module, built-ins included."""
        found = self.member(module, name)
        if found is not None:
            return found
        if name == "__name__":
            return Const(module.name)
        if name == "__package__":
            return Const(module.name if module.is_package else module.name.rpartition(".")[0])
        return External(f"builtins.{name}") if name in _BUILTINS else UNKNOWN

    def member(self, module: Module, name: str) -> Value | None:
        """What a module binds a name to; None if it does not."""
        key = (module, name)
        if key not in self.globals and key not in self.absent:
            self.globals[key] = UNKNOWN  # for whoever asks while this is worked out
            found = self._find(module, name)
            if found is None:
                del self.globals[key]
                self.absent.add(key)
            else:
                self.globals[key] = found
        return self.globals.get(key)

    def _find(self, module: Module, name: str) -> Value | None:
        index = module.index
        found: list[Value] = []
        if name in index.classes:
            found.append(Class(index.classes[name]))
        if name in index.functions:
            found.append(self.function(index.functions[name]))
        for imported in index.imports.get(name, ()):
            is_part = imported == ImportedName(module.name, name)  # a package that imports what lies in it
            value = self.module_value(f"{module.name}.{name}") if is_part else self.follow_import(imported)
            if value not in found:
                found.append(value)
        known = [value for value in found if value not in (UNKNOWN, NONE)]
        for segment in index.assignments.get(name, ()):
            before = [value for value in found if value != UNKNOWN]
            value = self.assigned(module, name, segment, union(before) if before else None)
            # `NAMES = {**NAMES, ...}` takes the place of what was there; other assignments are alternatives.
            found = [value] if before and _adds_to(module.lowered(segment), name) else [*found, value]
            known = [v for v in known if v in found]
        if name in index.annotations and all(value == UNKNOWN for value in found):
            found = [self.interpreter.annotations.quoted(index.annotations[name], module)]
        if not found:
            return self._elsewhere(module, name)
        if known and len(found) > len(known):
            # `try: from x import f` with `except ImportError: f = None` means f where there is one.
            found = known + [v for v in found if v not in known and v not in (UNKNOWN, NONE)]
        value = self.mutated(module, name, union(found))
        if value in _EMPTY and is_filled_later(module, name):
            value = _EMPTY[value]
        if name in rebound_in(module):
            if name in index.functions:
                value = union((value, *self._rebound(module, name, value)))
            promised = (
                self.interpreter.annotations.quoted(index.annotations[name], module)
                if name in index.annotations
                else union((UNKNOWN, *self._made(module, name)))
            )
            return loosened(value, promised)
        return value

    def _elsewhere(self, module: Module, name: str) -> Value | None:
        """A module of the package, or a name that a star import brings."""
        if module.is_package:
            inner = self.project.module(f"{module.name}.{name}")
            if inner is not None:
                return ModuleValue(inner)
        binds, ask = HoldsAny([name], _BOUND.format(name=name)), self.project.ask
        for source in module.index.stars:
            inner = self.project.module(source)
            if inner is None or inner is module or not (ask(inner.path, binds) or ask(inner.path, _STAR)):
                continue
            value = self.member(inner, name)
            if value is not None:
                return value
        return None

    def assigned(self, module: Module, name: str, segment: Segment, before: Value | None) -> Value:
        """The value that a module-level statement gives a name, which may have had another before."""
        frame = self.module_frame(module, segment.first)
        if before is not None:
            frame.env[name] = before
        for statement in module.lowered(segment):
            if isinstance(statement, (ir.Assign, ir.AugAssign)):
                self.interpreter.block((statement,), frame)
        return frame.env.get(name, UNKNOWN)

    def _rebound(self, module: Module, name: str, before: Value) -> Iterator[Value]:
        """What functions of a module make of another one, for all: `global f; f = torch.compile(f)`."""
        self.globals[(module, name)] = before
        for part in rebinding(module):
            code = part.definition.code if part.definition is not None and name in part.writes.shared else None
            for node in walk(code.body) if code is not None else ():
                match node:
                    case ir.Assign(targets=(ir.Name(id=target),), value=ir.Call() as made):
                        if target == name and name in names_in(made.arguments):
                            yield self.interpreter.eval(made, self.module_frame(module, part.segment.first))

    def _made(self, module: Module, name: str) -> Iterator[Value]:
        """Objects of the classes that functions of a module make one for all of: `global f; f = Class()`."""
        for part in rebinding(module):
            code = part.definition.code if part.definition is not None and name in part.writes.shared else None
            if code is None:
                continue
            for node in assignments_in(code):
                match node:
                    case ir.Assign(targets=(ir.Name(id=target),), value=ir.Call(func=func)) if target == name:
                        for value in (self.static_value(one, module) for one in _choices(func, code)):
                            if isinstance(value, Class):
                                yield self.interpreter.heap.promised(value.definition)

    def mutated(self, module: Module, name: str, value: Value) -> Value:
        """The value after the module-level statements that fill it: `name["key"] = f`, `name.register(...)`."""
        value = registries.fill(self.interpreter, module, name, value)
        segments = module.index.mutations.get(name, ())
        if not segments or not any(isinstance(m, (Mapping, Sequence, Instance)) for m in members(value)):
            return value
        self.globals[(module, name)] = value
        for segment in segments:
            frame = self.module_frame(module, segment.first)
            frame.env[name] = value
            self.interpreter.block(module.lowered(segment), frame)
            value = frame.env[name]
        return value

    def module_frame(self, module: Module, first_line: int) -> Frame:
        """A frame for statements at a module's top level."""
        function = Function(MODULE_CODE, module, "<module>", first_line)
        return Frame(function, Context(f"{module.name}:<module>", str(module.path)), Mode.OUTSIDE, 0)

    def imported(self, module: Module, node: ir.Import) -> Value:
        """The value that an import statement binds."""
        return self.follow_import(ImportedName(module.absolute(node.module, node.level), node.member))

    def follow_import(self, imported: ImportedName) -> Value:
        source = self.module_value(imported.module)
        if imported.member is None:
            return source
        return self.attribute_of_module(source, imported.member)

    def module_value(self, name: str) -> Value:
        if self.interpreter.lexicon.is_catalogued(name):
            return External(name)
        module = self.project.module(name)
        if module is not None:
            return ModuleValue(module)
        # Python imports a package that is installed, and no folder without `__init__.py` of that name.
        is_installed = package_of(name) in self.interpreter.entries.packages
        return External(name) if is_installed or not self.project.has_package(name) else PackageValue(name)

    def attribute_of_module(self, source: Value, member: str) -> Value:
        """An attribute of a module, package or external name."""
        if isinstance(source, ModuleValue):
            found = self.member(source.module, member)
            if found is not None:
                return found
            if source.module.is_package:
                inner = self.module_value(f"{source.module.name}.{member}")
                if not isinstance(inner, External):
                    return inner
            getter = source.module.index.functions.get("__getattr__")
            if getter is not None:
                return self._given(source.module, getter, member)
            return UNKNOWN if source.module.is_empty else External(f"{source.module.name}.{member}")
        if isinstance(source, PackageValue):
            return self.module_value(f"{source.name}.{member}")
        if isinstance(source, External):
            return self.external(f"{source.name}.{member}")
        return UNKNOWN

    def _given(self, module: Module, getter: list[Definition], name: str) -> Value:
        """What the `__getattr__` of a module gives for a name that it does not bind, as those do that import late."""
        key = (module, name)
        if key not in self.globals:
            self.globals[key] = UNKNOWN  # for whoever asks while this is worked out
            frame = self.module_frame(module, getter[-1].segment.first)
            given = self.interpreter.calls.call(self.function(getter), Arguments((Const(name),)), None, frame)
            self.globals[key] = UNKNOWN if given == NONE else given
        return self.globals[key]

    def external(self, name: str) -> Value:
        """A dotted name outside the project, or what the project knows it as."""
        if name in _KNOWN:
            return _KNOWN[name]
        number = self.interpreter.lexicon.numbers.get(name)
        return External(name) if number is None else Const(number)

    # Definitions

    def function(self, definitions: list[Definition]) -> Value:
        """A function with its decorators applied; overloads give way to the implementation."""
        return union(map(self.definition, self.alternatives(definitions)))

    def alternatives(self, definitions: list[Definition]) -> list[Definition]:
        """The definitions of a name that may be meant by it: all but overloads."""
        return [one for one in definitions[-ALTERNATIVES:] if self.definition(one) != External("typing.overload")]

    def definition(self, definition: Definition, owner: ClassDefinition | None = None) -> Value:
        known = self.decorated.get(definition)
        if known is not None:
            return known
        code = definition.code
        if code is None:
            return UNKNOWN
        scope = self.scopes.get(owner, {}) if owner is not None else {}
        held = tuple(sorted((name, value) for name, value in scope.items() if name in code.loads))
        raw = Function(code, definition.module, definition.qualname, definition.segment.first, owner, held)
        self.decorated[definition] = raw
        value: Value = raw
        frame = self.module_frame(definition.module, definition.segment.first)
        for decorator in reversed(code.decorators):
            value = self.interpreter.decorators.apply(self.interpreter.eval(decorator, frame), value, frame, decorator)
        self.decorated[definition] = value
        return value

    def local_class(self, node: ir.DefineClass, frame: Frame) -> Value:
        """A class statement: those at the top level of a module are indexed, others read what is around them."""
        function, module = frame.function, frame.module
        if function.code is MODULE_CODE:
            found = module.index.classes.get(node.name)
            return Class(found) if found is not None else UNKNOWN
        first, _, last, _ = node.pos
        segment = Segment(function.first_line + first, function.first_line + last)
        around = dict(function.closure) | {name: held for name, held in frame.env.items() if isinstance(name, str)}
        read = names_in(node)
        scope = {name: held for name, held in around.items() if name in read}
        made = self.local.setdefault((module, segment), {})
        key = tuple(sorted(scope.items()))
        if key not in made and len(made) < MAX_SCOPES:
            definition = module.class_in(segment, f"{function.qualname}.<locals>.")
            if definition is None:
                return UNKNOWN
            made[key] = definition
            self.scopes[definition] = scope
            scope[node.name] = Class(definition)
        return Class(made[key] if key in made else next(iter(made.values())))

    # Dotted names

    def qualified_name(self, node: ir.Expr, module: Module) -> str:
        """The name of what is outside of the project and that a decorator, or a dotted name, stands for; or empty."""
        value = self.static_value(node.func if isinstance(node, ir.Call) else node, module)
        return value.name if isinstance(value, External) else ""

    def static_value(self, node: ir.Expr, module: Module, scope: dict[str, Value] | None = None) -> Value:
        """A dotted name at a module's top level, or of the scope around a class inside of a function."""
        if isinstance(node, ir.Name):
            return scope[node.id] if scope and node.id in scope else self.resolve(module, node.id)
        if isinstance(node, ir.Attribute):
            source = self.static_value(node.value, module, scope)
            if isinstance(source, Class):
                inner = source.definition.classes.get(node.attr)
                return Class(inner) if inner is not None else UNKNOWN
            return self.attribute_of_module(source, node.attr)
        return UNKNOWN


def _adds_to(block: ir.Block, name: str) -> bool:
    """Whether what a name is given is made of what it had: `NAMES = {**NAMES, ...}`, `NAMES += [...]`."""
    values = (statement.value for statement in block if isinstance(statement, (ir.Assign, ir.AugAssign)))
    return any(isinstance(s, ir.AugAssign) for s in block) or any(name in names_in(value) for value in values)


def _choices(node: ir.Expr, code: ir.Code) -> list[ir.Expr]:
    """What an expression may be that is a name of a function, by what is assigned to it there."""
    found = [node]
    for one in found:  # which grows meanwhile
        match one:
            case ir.Name(id=name):
                given = (
                    a.value for a in assignments_in(code) for t in a.targets if isinstance(t, ir.Name) and t.id == name
                )
                found += [value for value in given if value is not None and value not in found]
            case ir.Conditional():
                found += [one.body, one.orelse]
    return found


def loosened(value: Value, promised: Value = UNKNOWN) -> Value:
    """What a constant may have become since it was assigned: another one of its kind, or anything if it was None."""
    if value == NONE:
        return union((NONE, promised))
    if isinstance(value, Const) and not isinstance(value.value, str):
        return Host(type(value.value).__name__)
    return value
