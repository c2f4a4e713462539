"""The globals of a rehearsed run: what statements at the top level assign, and what other files import of that."""

from __future__ import annotations

from abc import abstractmethod

from graphlint.static.domain.program import Function, ModuleValue, function_of
from graphlint.static.index.module import Module
from graphlint.static.index.parts import rebound_in
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.access import Access
from graphlint.static.life.objects import Closure, Frame, Object, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in


class Globals(Access):
    """Knows the variables of files."""

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
                    function = Function(MODULE_CODE, module, "<module>", segment.first)
                    for statement in module.lowered(segment):
                        if isinstance(statement, (ir.Assign, ir.AugAssign)):
                            self.block((statement,), Frame(function, env=env))
        finally:
            self.ledger.open = under_way
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
        if function is not None and any(self._captures(one, module) for one in function.code.decorators):
            under_way, self.ledger.open = self.ledger.open, []  # it was made before any capture
            try:
                frame = Frame(Function(MODULE_CODE, module, "<module>", function.first_line), env=known)
                known[name] = self.decorated(Closure(function), function.code.decorators, frame)
            finally:
                self.ledger.open = under_way
        return known[name]

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
