"""What a warm-up keeps in an object that the capture is given as well, so that the capture finds it there.

Kernels ask the object of a request for what they have not computed of it yet: `if not hasattr(state, "blocks")`. Which
ones a captured model comes to, often nobody knows; but they have the object by the name that the capture has it by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.reading.questions import HoldsAny
from graphlint.rule import MemoKept
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.imports import loaded_with
from graphlint.static.index.module import Module
from graphlint.static.index.project import Project
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Instance, Object, Place, Tensor, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import is_none, targets_of, walk

MIN_NAME = 5  # letters that make a name telling


@dataclass(frozen=True, slots=True)
class Memo:
    """What a function computes of an object, and keeps there if it has not been: an attribute, and where."""

    name: str
    place: Place


@dataclass
class Memos(Listener):
    """Follows one run; `memos` finds what functions keep in a parameter of a name."""

    tell: Tell
    memos: Callable[[str, Module], Memo | None]
    warmed: dict[tuple[Thing, Thing], Place] = field(default_factory=dict)  # callees with objects, before a capture
    kept: dict[Capture, dict[str, Place]] = field(default_factory=dict)  # names of objects that both are given

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note a call of what nobody knows with an object of this request."""
        for name, one in _named(place.node, given):
            is_own = isinstance(one, Instance) and not one.is_module
            if not isinstance(callee, Thing) or not (is_own or one.argument) or isinstance(one, (Container, Tensor)):
                continue
            capture = self.ledger.capture
            if capture is None:
                self.warmed[callee, one] = place
            elif (callee, one) in self.warmed:
                self.kept.setdefault(capture, {})[name] = self.warmed[callee, one]

    def replayed(self, capture: Capture, place: Place) -> None:
        for name, where in self.kept.pop(capture, {}).items():
            if (memo := self.memos(name, where.function.module)) is not None:
                line = f"{memo.place.function.module.path.name}:{memo.place.line}"
                self.tell(MemoKept(name, memo.name, line), where, capture)


def _named(node: ir.Node, given: list[Object]) -> Iterator[tuple[str, Thing]]:
    """The objects that a call is given by a local name, with that."""
    arguments = node.arguments if isinstance(node, ir.Call) else ()
    for argument, value in zip(arguments, given, strict=False):
        if isinstance(argument.value, ir.Name) and isinstance(value, Thing):
            yield argument.value.id, value


@remembered_in_run
def memo_in(project: Project, name: str, user: Module) -> Memo | None:
    """What a function keeps in a parameter of a name, of what else that holds, if a module may come to that function.

    That is one of the same package, or of what the module loads.
    """
    if len(name) < MIN_NAME:
        return None
    top = user.name.partition(".")[0]
    for path in project.answering(HoldsAny([name], rf"attr\s*\(\s*{name}\s*,")):
        module = project.module_at(path)
        if module.name.partition(".")[0] != top and module not in loaded_with(user, project):
            continue
        for definition in module.index.all_functions():
            is_given = definition.code is not None and any(one.name == name for one in definition.code.parameters)
            function = function_of(definition) if is_given else None
            found = next(_memos(function, name), None) if function is not None else None
            if found is not None:
                return found
    return None


def _memos(function: Function, name: str) -> Iterator[Memo]:
    """What a function keeps in an object of a name where a condition finds it missing, with a call, out of the rest."""
    for part in walk(function.code.body):
        asked = _asked(part.test, name) if isinstance(part, ir.If) else None
        if asked is None or not isinstance(part, ir.If):
            continue
        inside = [*walk(part.body)]
        held = {one.attr for one in inside if isinstance(one, ir.Attribute) and _is(one.value, name)}
        kept = (one for one in inside if isinstance(one, ir.Assign) and asked in _stored(one, name))
        if (place := next(kept, None)) and held != {asked} and any(isinstance(one, ir.Call) for one in inside):
            yield Memo(asked, Place(function, place))


def _stored(assignment: ir.Assign, name: str) -> set[str]:
    """The attributes of an object of a name that are assigned to."""
    targets = targets_of(assignment)
    return {one.attr for one in targets if isinstance(one, ir.Attribute) and _is(one.value, name)}


def _asked(test: ir.Expr, name: str) -> str | None:
    """The attribute that a condition finds missing in an object."""
    match test:
        case ir.Unary(operator="not", operand=ir.Call(func=ir.Name(id="hasattr")) as call):
            return _of(call, name)
        case ir.Compare(left=ir.Call(func=ir.Name(id="getattr")) as call, comparisons=(("is", nothing),)):
            return _of(call, name) if is_none(nothing) else None
    return None


def _of(call: ir.Call, name: str) -> str | None:
    """The attribute that `hasattr(name, "attribute")` asks for."""
    match [one.value for one in call.arguments]:
        case [ir.Name(id=owner), ir.Literal(value=str() as attribute), *_] if owner == name:
            return attribute
    return None


def _is(node: ir.Expr, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name
