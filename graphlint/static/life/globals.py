"""The globals of a rehearsed run: what statements at the top level and in classes assign, and what files import."""

from __future__ import annotations

from abc import abstractmethod

from graphlint.static.domain.program import Function, ModuleValue, function_of
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import rebound_in
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.access import Access
from graphlint.static.life.objects import ClassRef, Closure, Container, Frame, Instance, Object, Place, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import calls_in, walk


class Globals(Access):
    """Knows the variables of files, and of classes."""

    def outer_frame(self, module: Module, line: int) -> Frame:
        """The frame of a file, from which a program starts; its names are the globals, and `global` ones are these."""
        self.home = module
        frame = self._frame_of(module, line)
        self.frames_of_modules.setdefault(module, frame)
        return frame

    def _frame_of(self, module: Module, line: int) -> Frame:
        """A frame for what stands at the top of a file."""
        return Frame(Function(MODULE_CODE, module, "<module>", line), env=self.modules.setdefault(module, {}))

    def attribute(self, owner: Object, name: str, frame: Frame, node: ir.Node) -> Object:
        """An attribute of a value; what a class holds is held for all of its objects."""
        cls = owner.definition if isinstance(owner, ClassRef) else None
        if isinstance(owner, Instance) and name not in owner.attributes:
            cls = owner.cls
        holder = self._holding(cls, name) if cls is not None else None
        if holder is None:
            return super().attribute(owner, name, frame, node)
        return self.passed(holder, name, holder.attributes[name])

    def _holding(self, cls: ClassDefinition, name: str) -> Instance | None:
        """What stands for the class, of those that one derives from, that was seen to hold a variable."""
        for one in self.interpreter.classes.order(cls):
            if not isinstance(one, ClassDefinition):
                continue
            if name in one.assignments:
                self._assign_in_class(one, name)
            held = self.modules.get(one.module, {}).get(_key(one))
            if isinstance(held, Instance) and name in held.attributes:
                return held
            if name in one.methods or name in one.assignments:
                return None
        return None

    def _assign_in_class(self, cls: ClassDefinition, name: str) -> None:
        """Let a class have a container that stands in its body, unless something else was put there before."""
        for segment in cls.assignments[name]:
            if (cls.module, segment) in self.assigned:
                continue
            self.assigned.add((cls.module, segment))
            for statement in cls.module.lowered(segment):
                if isinstance(statement, ir.Assign) and isinstance(statement.value, (ir.Display, ir.DictDisplay)):
                    value = self.eval(statement.value, self._frame_of(cls.module, segment.first))
                    self._object_of(cls).attributes.setdefault(name, value)

    def _object_of(self, cls: ClassDefinition) -> Instance:
        """What stands for a class, and holds its variables."""
        known = self.modules.setdefault(cls.module, {}).setdefault(_key(cls), Instance(cls=cls))
        assert isinstance(known, Instance)
        return known

    def set_in_class(self, cls: ClassDefinition, name: str, value: Object, place: Place) -> None:
        """`Class.name = value`."""
        held = self._object_of(cls)
        before = held.attributes.get(name)
        held.attributes[name] = value
        self.ledger.bound(held, name, before, value, place)

    def assign_global(self, module: Module, name: str) -> None:
        """Run the statements at the top level of a file that assign a name, where nothing has run them yet.

        A name that functions declare `global` may hold anything by the time that somebody uses the file.
        """
        if name in rebound_in(module):
            return
        env = self.modules.setdefault(module, {})
        under_way, self.ledger.open = self.ledger.open, []  # it ran before any capture
        try:
            for segment in module.index.assignments.get(name, ()):
                if (module, segment) not in self.assigned:
                    self.assigned.add((module, segment))
                    for statement in module.lowered(segment):
                        if isinstance(statement, (ir.Assign, ir.AugAssign)):
                            self.block((statement,), self._frame_of(module, segment.first))
        finally:
            self.ledger.open = under_way
        held = env.get(name)
        if isinstance(held, Container) and not (held.keyed or held.elements) and _is_filled_below(module, name):
            held.is_open = True
        if name not in env:
            self._import_global(module, name)

    @abstractmethod
    def decorated(self, closure: Closure, decorators: tuple[ir.Expr, ...], frame: Frame) -> Object: ...

    def global_of(self, module: Module, name: str) -> Object:
        """What a global of a module holds; a function that its decorator captures is what that has made of it."""
        known = self.modules.setdefault(module, {})
        is_new = name not in known
        value = super().global_of(module, name)
        defined = module.index.functions.get(name, ()) if is_new and isinstance(value, Closure) else ()
        function = function_of(defined[-1]) if defined else None
        if function is not None and self.is_made_to_capture(function):
            known[name] = self.behind_decorators(function)
        return known[name]

    def is_made_to_capture(self, function: Function) -> bool:
        """Whether a decorator of a function captures it."""
        return any(self._captures(one, function.module) for one in function.code.decorators)

    def behind_decorators(self, function: Function) -> Object:
        """What the decorators of a function make of it, as its file is imported: before any capture."""
        under_way, self.ledger.open = self.ledger.open, []
        try:
            frame = self._frame_of(function.module, function.first_line)
            return self.decorated(Closure(function), function.code.decorators, frame)
        finally:
            self.ledger.open = under_way

    def _captures(self, decorator: ir.Expr, module: Module) -> bool:
        """Whether a decorator is a function of the project whose body, or what it returns, opens a region."""
        node = decorator.func if isinstance(decorator, ir.Call) else decorator
        function = self.interpreter.names.static_value(node, module)
        names = self.interpreter.names
        return isinstance(function, Function) and any(
            self.interpreter.entries.find(names.qualified_name(call.func, function.module)) is not None
            for call in calls_in(function.code)
        )

    def imported(self, node: ir.Import, frame: Frame) -> Object:
        """What an import gives; of a variable of another file, what that holds."""
        value = super().imported(node, frame)
        if type(value) is Thing:
            self._import_global(frame.function.module, node.alias)
            value = self.modules.get(frame.function.module, {}).get(node.alias, value)
        return value

    def _import_global(self, module: Module, name: str) -> None:
        """Let a file have the variable of another one that it imports: they are one object."""
        for imported in module.index.imports.get(name, ()):
            source = self.interpreter.names.module_value(imported.module)
            member = imported.member
            if isinstance(source, ModuleValue) and member is not None and member in source.module.index.assignments:
                known = self.modules.setdefault(source.module, {})
                if member not in known:
                    self.assign_global(source.module, member)
                if member in known:
                    self.modules.setdefault(module, {})[name] = known[member]


@remembered_in_run
def _is_filled_below(module: Module, name: str) -> bool:
    """Whether a statement at the top level puts items into what a variable holds: `TABLE[key] = value`."""
    blocks = (module.lowered(one) for one in module.index.statements if module.holds(one, name))
    parts = (part for block in blocks for part in walk(block) if isinstance(part, ir.Assign))
    filled = (one.value for part in parts for one in part.targets if isinstance(one, ir.Subscript))
    return any(isinstance(one, ir.Name) and one.id == name for one in filled)


def _key(cls: ClassDefinition) -> str:
    """The name of what stands for a class among the globals of its file, which no variable has."""
    return f"class {cls.qualname}"
