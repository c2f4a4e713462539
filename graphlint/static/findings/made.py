"""A test of what an object holds and the calls on its way in, whether all who make such objects go against it out.

`Encoder(width)` leaves out `dynamic=False`, so that `self.dynamic` is false: as long as the program makes its encoders
all alike, and shows the class to nobody else.
"""

from __future__ import annotations

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.defaults import COMPARISONS
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.findings.left import is_replaced, made_of
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parts import segments_with, stores
from graphlint.static.index.roots import is_test
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, given_for, is_one_of, last_name, walk

_CALLED = ("__call__", "forward")
_ASKING = ("isinstance", "issubclass", "super")


class Made:
    """What objects hold since they were made, by what their constructor is given throughout a program."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._project = evaluator.project
        self._calls: dict[ClassDefinition, list[ir.Call]] = {}
        self._known: dict[tuple[ClassDefinition, str], ir.Literal | None] = {}

    def denies(self, test: ir.Expr, outcome: bool, function: Function, sites: tuple[Site, ...]) -> bool:
        """Whether a test comes out otherwise for each object that a program makes."""
        match test:
            case ir.Unary(operator="not", operand=asked):
                return self.denies(asked, not outcome, function, sites)
            case ir.Boolean(operator=operator, left=left, right=right):
                denied = (self.denies(one, outcome, function, sites) for one in (left, right))
                return any(denied) if (operator == "and") is outcome else all(denied)
            case ir.Compare(left=left, comparisons=((sign, right),)):
                sides = [self._value(one, function, sites) for one in (left, right)]
                values = [one.value for one in sides if one is not None]
                try:
                    return len(values) == len(sides) and bool(COMPARISONS[sign](*values)) is not outcome
                except TypeError:
                    return False
        value = self._value(test, function, sites)
        return value is not None and bool(value.value) is not outcome

    def _value(self, node: ir.Expr, function: Function, sites: tuple[Site, ...]) -> ir.Literal | None:
        """The constant that a node is; None if nobody knows."""
        match node:
            case ir.Literal():
                return node
            case ir.Attribute(value=ir.Name(id="self"), attr=name) if function.owner is not None:
                return self._held(function.owner, name)
            case ir.Name(id=name) if any(one.name == name for one in function.code.parameters):
                return None if is_replaced(function.code, name, node) else self._handed(name, function, sites)
            case ir.Name(id=name) if (made := made_of(function.code, name, node)) is not None:
                return self._value(made, function, sites)
        return None

    def _handed(self, name: str, function: Function, sites: tuple[Site, ...]) -> ir.Literal | None:
        """The constant of an object that the call on the way hands in for a parameter.

        One that is written down there is known to whoever follows the call, unless it is another one by then.
        """
        callers = [site.function for site in sites]
        at = (callers.index(function) if function in callers else len(callers)) - 1
        call = sites[at].node if at >= 0 else None
        if not isinstance(call, ir.Call) or not self._is_direct(call, function, callers[at]):
            return None
        names = [one.name for one in function.code.parameters]
        given = given_for(call, name, names.index(name) - (names[0] in ("self", "cls")))
        if not isinstance(given, (ir.Name, ir.Attribute)) or any(one.star for one in call.arguments):
            return None
        return self._value(given, callers[at], sites[:at])

    def _is_direct(self, call: ir.Call, function: Function, caller: Function) -> bool:
        """Whether a call hands its arguments to a function as they stand there, and not by way of another one."""
        if function.code.name not in _CALLED:
            return last_name(call.func) == function.code.name
        return isinstance(call.func, ir.Attribute) and isinstance(call.func.value, ir.Name)

    def _held(self, cls: ClassDefinition, name: str) -> ir.Literal | None:
        """The constant that an attribute of all objects of a class is."""
        key = cls, name
        if key not in self._known:
            self._known[key] = self._find(cls, name)
        return self._known[key]

    def _find(self, cls: ClassDefinition, name: str) -> ir.Literal | None:
        constructor = next(iter(cls.methods.get("__init__", ())), None)
        code = constructor.code if constructor is not None else None
        if code is None or code.decorators or cls.decorators or self._project.is_set_from_outside(name):
            return None
        kept = [
            one.value.id if isinstance(one.value, ir.Name) else ""
            for one in walk(code.body)
            if isinstance(one, ir.Assign) and any(_is_own(target, name) for target in one.targets)
        ]
        methods = {one for found in cls.methods.values() for one in found}
        written = [part for part, one in stores(cls.module, name) if part.definition in methods or not part.is_own(one)]
        parameter = next((one for one in code.parameters if [one.name] == list(set(kept))), None)
        if parameter is None or len(written) != len(kept) or assignments_to(code, parameter.name):
            return None
        return self._given(cls, parameter, code.parameters.index(parameter) - 1)

    def _given(self, cls: ClassDefinition, parameter: ir.Parameter, position: int) -> ir.Literal | None:
        """The constant that all calls of a constructor give a parameter, or leave to its default."""
        if cls not in self._calls:
            self._calls[cls] = self._constructions(cls)
        found: dict[tuple[type, object], ir.Literal] = {}
        for call in self._calls[cls]:
            given = given_for(call, parameter.name, position) or parameter.default
            if not isinstance(given, ir.Literal) or any(one.star for one in call.arguments):
                return None
            found[type(given.value), given.value] = given
        return next(iter(found.values())) if len(found) == 1 else None

    def _constructions(self, cls: ClassDefinition) -> list[ir.Call]:
        """The calls that make objects of a class; none where somebody else may make some, or only tests do."""
        project = self._project
        found: list[ir.Call] = []
        is_used = False
        if project.says(cls.name) or any(True for _ in project.subclass_modules(cls.name)):
            return []
        for module in map(project.module_at, project.answering(HoldsAny([cls.name]))):
            names = {cls.name} if module is cls.module else _imported(module, cls.name)
            if module.is_package and names:
                return []
            for name in names:
                for definition, segment in segments_with(module, name):
                    code = definition.code if definition is not None else None
                    calls, others = _mentions(code.body if code is not None else module.lowered(segment), name)
                    if others:
                        return []
                    is_used |= bool(calls) and not is_test(module.name)
                    found += calls
        return found if is_used else []


def _imported(module: Module, name: str) -> set[str]:
    """What a module calls a class that it imports from another one."""
    index = module.index
    return {bound for bound, imports in index.imports.items() if any(one.member == name for one in imports)}


def _mentions(body: ir.Block, name: str) -> tuple[list[ir.Call], list[ir.Expr]]:
    """Where a class is called in a body, and what else is said of it, but for questions of its objects."""
    calls = [one for one in walk(body) if isinstance(one, ir.Call)]
    asking = [one for one in calls if isinstance(one.func, ir.Name) and one.func.id in _ASKING]
    asked = {id(part) for call in asking for one in call.arguments for part in walk(one.value)}
    named = [one for one in walk(body) if isinstance(one, (ir.Name, ir.Attribute)) and last_name(one) == name]
    making = [one for one in calls if any(one.func is func for func in named)]
    known = asked | {id(one.func) for one in making}
    return making, [one for one in named if id(one) not in known]


def _is_own(target: ir.Expr, name: str) -> bool:
    return isinstance(target, ir.Attribute) and target.attr == name and is_one_of(target.value, {"self"})
