"""The globals of a rehearsed run: what statements at the top level assign, and what other files import of that."""

from __future__ import annotations

from graphlint.static.domain.program import Function, ModuleValue
from graphlint.static.index.module import Module
from graphlint.static.index.parts import rebound_in
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.access import Access
from graphlint.static.life.objects import Frame, Object, Thing
from graphlint.static.syntax import ir


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
