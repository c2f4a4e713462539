"""A class that captures in, the methods out that may exchange what its graphs read, and that nobody calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field

from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.hooks import classes_of
from graphlint.static.life.methods import calls_of, leads_to
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in, walk

MAX_HAVING = 2  # files with methods of a name, which may be one of what an object holds
SETTING = "__setattr__"


@dataclass
class Changing:
    """Methods that may exchange what a model is made of are `moving`."""

    interpreter: Interpreter
    moving: Set[str] = field(init=False)

    def __post_init__(self) -> None:
        lexicon = self.interpreter.lexicon
        self.moving = {name for name, kind in lexicon.methods.items() if kind == "moves"} | lexicon.life["training"]

    def of(self, owner: ClassDefinition, names: Iterable[str], capturing: Set[str]) -> Iterator[str]:
        """The public methods that exchange what an object holds, and that neither these methods nor others come to.

        One behind which whoever calls it captures anew is none of them. What somebody sets an attribute of, which an
        object that it holds has a method for, is one.
        """
        led = {other for name in names for other in leads_to(owner, name)}
        led |= {other for name in owner.methods for other in leads_to(owner, name)[1:]}
        prepares = self.interpreter.lexicon.host_state["prepares"]
        for name in owner.methods:
            if name in led or name.startswith("_") or prepares.match(name):
                continue
            if any(self._changes(owner, one) for one in leads_to(owner, name)) and not self._is_renewed(
                name, capturing
            ):
                yield name
        if any(one.name in self._names_in(owner.module) for one in self._having(SETTING)) and _shows_parts(owner):
            yield SETTING

    def _changes(self, owner: ClassDefinition, name: str) -> bool:
        return self._exchanges(owner, name, self.moving) or self._lets_exchange(owner, name)

    def _lets_exchange(self, owner: ClassDefinition, name: str) -> bool:
        """Whether a method calls one of what the object holds, or gives that to a function, which exchanges parts."""
        calls = calls_of(owner, name)
        funcs = [one.func for one in calls]
        held = {one.attr for one in funcs if isinstance(one, ir.Attribute) and isinstance(one.value, ir.Attribute)}
        if any(
            self._exchanges(other, method, frozenset())
            for method in held
            for other in self._having(method)
            if other is not owner
        ):
            return True
        handing = (one for one in calls if any(isinstance(given.value, ir.Attribute) for given in one.arguments))
        return any(self._sets_parts(one.func, owner.module) for one in handing)

    def _sets_parts(self, func: ir.Expr, module: Module) -> bool:
        """Whether a function sets attributes of what it is given, by names that are values."""
        called = self.interpreter.names.resolve(module, func.id) if isinstance(func, ir.Name) else None
        if not isinstance(called, Function):
            return False
        names = {parameter.name for parameter in called.code.parameters}
        setting = (one for one in calls_in(called.code) if isinstance(one.func, ir.Name) and one.func.id == "setattr")
        firsts = (one.arguments[0].value for one in setting if one.arguments)
        return any(isinstance(first, ir.Name) and first.id in names for first in firsts)

    def _having(self, name: str) -> Iterator[ClassDefinition]:
        """The classes that have a method of a name, if few files do."""
        paths = self.interpreter.project.defining(name)
        for path in paths if len(paths) <= MAX_HAVING else ():
            yield from (one for one in classes_of(self.interpreter.project.module_at(path)) if name in one.methods)

    def _names_in(self, module: Module) -> Set[str]:
        return {*module.index.imports, *module.index.classes}

    def _is_renewed(self, name: str, capturing: Set[str]) -> bool:
        """Whether a class that calls a method of this name also calls one that captures."""
        for module in self.interpreter.project.calling(name):
            for user in classes_of(module):
                funcs = [call.func for one in user.methods for call in calls_of(user, one)]
                called = {func.attr for func in funcs if isinstance(func, ir.Attribute)}
                if name in called and capturing & called:
                    return True
        return False

    def _exchanges(self, owner: ClassDefinition, name: str, moving: Set[str]) -> bool:
        """Whether a method gives attributes something else, or moves what they hold."""
        code = owner.methods[name][-1].code
        if code is None:
            return False
        given = (node.targets for node in assignments_in(code) if not isinstance(node.value, ir.Literal))
        calls = (one.func for one in calls_in(code))
        is_moved = any(isinstance(func, ir.Attribute) and func.attr in moving for func in calls)
        return is_moved or any(isinstance(target, ir.Attribute) for targets in given for target in targets)


def _shows_parts(owner: ClassDefinition) -> bool:
    """Whether strangers come to what an object holds: a method that takes nothing else returns it."""
    for name, definitions in owner.methods.items():
        code = definitions[-1].code
        if code is not None and not name.startswith("_") and len(code.parameters) == 1:
            returned = (part.value for part in walk(code.body) if isinstance(part, ir.Return))
            if any(isinstance(part, ir.Attribute) for value in returned if value is not None for part in walk(value)):
                return True
    return False
