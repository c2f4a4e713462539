"""Flags that only context managers set: where no block of theirs is open, they are as their object is made.

Those of classes and of modules are there once, so that it is known as well what they are inside of such a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import stores
from graphlint.static.interpreter.switches import KIND, Switches
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in
from graphlint.values import NONE, ExternalObject, Value

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_ENTERED = ("__enter__", "__exit__")


class Modes:
    """Knows the flags of objects that are set for as long as a block is open."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.switches = Switches(interpreter)
        self.flags: dict[str, bool] = {}
        self.defaults: dict[tuple[ClassDefinition, str], bool | None] = {}
        self.empty: dict[str, bool] = {}
        self.listed: dict[str, bool] = {}
        self.tried: dict[tuple[ClassDefinition, str], bool] = {}

    def is_off(self, cls: ClassDefinition, flag: str, value: bool, around: frozenset[Value]) -> bool:
        """Whether an attribute is such a flag, and nothing around gives it this value."""
        return self._default(cls, flag) is (not value) and _open(flag) not in around

    def opened_by(self, manager: Function) -> frozenset[Value]:
        """What is in force in the block of a context manager: the flags that it may set."""
        of_objects = (_open(name) for name in _set_in(manager.code) if self._is_flag(name))
        return frozenset([*of_objects, *self.switches.opened_by(manager)])

    def is_never_given(self, name: str) -> bool:
        """Whether the source gives an attribute None, and nothing else, neither as a field nor by its name."""
        if name not in self.empty:
            named = HoldsAny([name], rf"(?<![\w.]){name}\s*[:=](?!=)|[\"']{name}[\"']")
            self.empty[name] = self._is_given_none(name) and not self.interpreter.project.answering(named)
        return self.empty[name]

    def is_listed(self, name: str) -> bool:
        """Whether the source gives an attribute lists, and nothing else: it is none of those that get a name made up,
        as `weight0` is where there are `weight_names` as well.
        """
        if name not in self.listed:
            given = (value for code in self._givers(name) for value in _values(code, name))
            is_given = isinstance(next(given, None), ir.Display)
            self.listed[name] = is_given and all(isinstance(value, ir.Display) for value in given)
        return self.listed[name]

    def is_given_apart(self, cls: ClassDefinition, name: str) -> bool:
        """Whether a member of a class is None, but for scripts that give it something to look at what runs: nobody
        imports them, and they capture nothing.
        """
        if (cls, name) not in self.tried:
            project = self.interpreter.project
            givers = {project.module_at(path) for path in project.storing(name)}
            is_none = self.interpreter.classes.field_default(cls, name) == NONE and not project.owning(name)
            is_apart = bool(givers) and cls.module not in givers and all(map(self._stands_apart, givers))
            self.tried[cls, name] = is_none and is_apart
        return self.tried[cls, name]

    def _stands_apart(self, module: Module) -> bool:
        name = module.name.rpartition(".")[2]
        speaking = self.interpreter.project.answering(HoldsAny([name], rf"\b{name}\b(?!\.py)"))
        captures = any(path == str(module.path) for path, _ in self.interpreter.places_of_regions)
        return not captures and all(path == module.path for path in speaking)

    def _is_given_none(self, name: str) -> bool:
        """Whether every assignment to an attribute gives it None; who finds another one looks no further."""
        project, parts, codes = self.interpreter.project, 0, dict[ir.Code, int]()
        for path in sorted({*project.storing(name), *project.owning(name)}):
            for part, _ in stores(project.module_at(path), name):
                code = part.definition.code if part.definition is not None else None
                if code is not None and code not in codes:
                    given = [*_values(code, name)]
                    if any(value is not None for value in given):
                        return False
                    codes[code] = len(given)
                parts += 1
        return 0 < sum(codes.values()) == parts

    def _givers(self, name: str) -> Iterator[ir.Code]:
        """The functions that assign to an attribute of their own object; who has found enough looks no further."""
        project = self.interpreter.project
        for path in sorted(project.owning(name)):
            for part, _ in stores(project.module_at(path), name):
                if part.definition is not None and part.definition.code is not None:
                    yield part.definition.code

    def _is_flag(self, name: str) -> bool:
        """Whether the objects of some class are made with true or false under that name."""
        if name not in self.flags:
            makers = (code for code in self._givers(name) if code.name == "__init__")
            made = (value for code in makers for value in _values(code, name))
            self.flags[name] = any(isinstance(value, bool) for value in made)
        return self.flags[name]

    def _default(self, cls: ClassDefinition, flag: str) -> bool | None:
        """What constructors give a flag that only context managers set; None for any other attribute."""
        key = (cls, flag)
        if key not in self.defaults:
            self.defaults[key] = self._found(cls, flag)
        return self.defaults[key]

    def _found(self, cls: ClassDefinition, flag: str) -> bool | None:
        made, others = set[object](), list[ir.Code | None]()
        for code in self._setters(cls, flag):
            if code is not None and code.name == "__init__":
                made.update(_values(code, flag))
            else:
                others.append(code)
        match [*made]:
            case [bool(value)]:
                setting = [code for code in others if code is None or {*_values(code, flag)} != {value}]
                is_set_in_blocks = all(code and (code.is_generator or code.name in _ENTERED) for code in setting)
                return value if setting and is_set_in_blocks else None
        return None

    def _setters(self, cls: ClassDefinition, flag: str) -> Iterator[ir.Code | None]:
        """The functions that assign to a flag of an object of the class, or of anything that may be one."""
        classes, project = self.interpreter.classes, self.interpreter.project
        related = [base for one in (cls, *classes.subclasses(cls)) for base in classes.order(one)]
        own = [base for base in related if isinstance(base, ClassDefinition)]
        methods = {definition for base in own for found in base.methods.values() for definition in found}
        for path in sorted({*project.storing(flag), *project.owning(flag)}):
            for part, store in stores(project.module_at(path), flag):
                setter = part.definition
                is_method = setter is not None and setter.qualname != setter.name
                if setter in methods or not (is_method and part.is_own(store)):
                    yield setter.code if setter is not None else None


def in_force(around: frozenset[Value]) -> frozenset[Value]:
    """What of all that is in force comes from blocks that set flags."""
    return frozenset(value for value in around if isinstance(value, ExternalObject) and value.cls.startswith(KIND))


def _open(flag: str) -> Value:
    return ExternalObject(f"{KIND} {flag}")


@remembered
def _set_in(code: ir.Code) -> frozenset[str]:
    """The attributes that a function assigns."""
    targets = (target for one in assignments_in(code) for target in one.targets)
    return frozenset(target.attr for target in targets if isinstance(target, ir.Attribute))


def _values(code: ir.Code, attribute: str) -> Iterator[object]:
    """What a function assigns to an attribute, as far as it is written down."""
    for one in assignments_in(code):
        if any(isinstance(target, ir.Attribute) and target.attr == attribute for target in one.targets):
            yield one.value.value if isinstance(one.value, ir.Literal) else one.value
