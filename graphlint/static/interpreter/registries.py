"""A container of a module or of a class, or an object with one, in; the same with what registers in it out.

Those are the decorators of the project that are spelt with it, calls at the top level of modules, and what a class runs
for each subclass.

And a dict and a key in, what of it the program does not choose out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Function, Instance
from graphlint.static.index.module import ClassDefinition, Module, nested_class
from graphlint.static.index.parts import filled, filling, parts_with, spelling, writes_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering import lower_expression
from graphlint.static.syntax.traversal import assignments_in, last_name, names_in, walk
from graphlint.values import UNKNOWN, Arguments, Const, Mapping, Sequence, Union, Value, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

AT_BIRTH = "__init_subclass__"


def fill(interpreter: Interpreter, module: Module, name: str, held: Value) -> Value:
    """Run what registers in a container of a module, or in an object that it keeps under a name."""
    found = list(members(held))
    if any(isinstance(member, (Mapping, Sequence)) for member in found):
        roots = _writers(module, name)
    else:  # an object of this module, and not one that it imports
        keeps = name in module.index.assignments and any(_keeps(interpreter, one) for one in found)
        roots = {name} if keeps else set()
    if not roots:
        return held
    interpreter.names.globals[(module, name)] = held
    _register(interpreter, module, roots, held)
    return interpreter.names.globals[(module, name)]


def fill_member(interpreter: Interpreter, owner: ClassDefinition, name: str) -> None:
    """Run what registers in a dict of a class, which a method of the class fills."""
    methods = set(owner.functions())
    fillers = {part.definition.name for part in filling(owner.module, name) if part.definition in methods}
    if fillers:
        helpers = _callers(owner.module, [f"{owner.name}.{name}(" for name in fillers])
        _register(interpreter, owner.module, {owner.name, *helpers, *fillers.intersection([AT_BIRTH])})


def _callers(module: Module, calls: list[str]) -> set[str]:
    """The functions of a module in which one of these calls stands."""
    spoken = ((name, one) for name, definitions in module.index.functions.items() for one in definitions)
    return {name for name, one in spoken if any(call in module.source_of(one.segment) for call in calls)}


def patch(interpreter: Interpreter, cls: ClassDefinition) -> None:
    """Run the statements of its file that give a class members, and what the class that it stands in does for itself:
    `Layer.Config.owner = Layer`.
    """
    *outer, _ = path = cls.qualname.split(".")
    for segment in cls.module.index.mutations.get(path[0], ()):
        for statement in cls.module.lowered(segment):
            if isinstance(statement, ir.Assign) and path in map(_holder, statement.targets):
                interpreter.block((statement,), interpreter.names.module_frame(cls.module, segment.first))
    owner = nested_class(cls.module.index.classes, outer)
    born = interpreter.classes.method(owner, AT_BIRTH) if owner is not None else None
    for one in members(born) if born is not None else ():
        targets = (
            [target for part in assignments_in(one.code) for target in part.targets]
            if isinstance(one, Function)
            else []
        )
        if owner is not None and any(_holder(target)[1:] == [cls.name] for target in targets):
            interpreter.decorators.run(one, Arguments((Class(owner),), (), UNKNOWN, UNKNOWN), owner)


def _holder(target: ir.Expr) -> list[str]:
    """The names of what is given an attribute: `["Layer", "Config"]` of `Layer.Config.owner`."""
    found: list[str] = []
    node = target.value if isinstance(target, ir.Attribute) else None
    while isinstance(node, ir.Attribute):
        found.insert(0, node.attr)
        node = node.value
    return [node.id, *found] if isinstance(node, ir.Name) else []


def _keeps(interpreter: Interpreter, member: Value) -> bool:
    """Whether a value is an object with a method that stores under a key."""
    order = interpreter.classes.order(member.cls) if isinstance(member, Instance) else ()
    own = [base for base in order if isinstance(base, ClassDefinition)]
    return any(writes_in(one.module.source_of(one.segment)).filled for base in own for one in base.functions())


def _register(interpreter: Interpreter, home: Module, roots: set[str], held: Value = UNKNOWN) -> None:
    """Run the decorators and calls that are spelt with names of a module, and what it runs for each new subclass."""

    def registers(node: ir.Expr | None, user: Module) -> bool:
        spelt = [part for part in _chain(node) if last_name(part) in roots]
        return bool(spelt) and (user is home or any(_is_of(interpreter, part, user, home, held) for part in spelt))

    users = (user for root in sorted(roots) for user in interpreter.project.registering(root))
    for user in dict.fromkeys((home, *users)):
        for cls in user.index.classes.values():
            for source in cls.decorators:
                if registers(lower_expression(source), user):
                    frame = interpreter.names.module_frame(user, cls.segment.first)
                    interpreter.decorators.run_on_class(source, cls, frame)
        for definition in user.index.own_functions():
            code = definition.code if any(user.holds(definition.segment, root) for root in roots) else None
            if code is not None and any(registers(decorator, user) for decorator in code.decorators):
                interpreter.names.definition(definition)
        # Statements of its own that fill it by its name are run with it.
        called = roots & home.index.functions.keys() if user is home else roots
        for segment in user.index.statements:
            if any(user.holds(segment, root) for root in called):
                for statement in walk(user.lowered(segment)):  # it may stand in an `if` that asks for a package
                    if isinstance(statement, ir.Evaluate) and registers(statement.value, user):
                        interpreter.block((statement,), interpreter.names.module_frame(user, segment.first))
    for base in home.index.classes.values() if AT_BIRTH in roots else ():
        method = interpreter.classes.method(base, AT_BIRTH) if base.name in roots else None
        if method is not None:
            for cls in interpreter.classes.subclasses(base):
                interpreter.decorators.run(method, Arguments((Class(cls),), (), UNKNOWN, UNKNOWN), cls)


def _chain(node: ir.Expr | None) -> Iterator[ir.Expr]:
    """What is called in a decorator, and what that is taken from: `models.register` and `models` of both."""
    while isinstance(node, ir.Call):
        node = node.func
    while isinstance(node, ir.Attribute):
        yield node
        node = node.value
    if node is not None:
        yield node


def _is_of(interpreter: Interpreter, node: ir.Expr, user: Module, home: Module, held: Value) -> bool:
    """Whether a name of a module stands for a function or a class of another one, or for what that holds."""
    for member in members(interpreter.names.static_value(node, user)):
        match member:
            case Function(module=module) | Class(definition=ClassDefinition(module=module)) if module is home:
                return True
            case Instance() if member in members(held):
                return True
    return False


def _writers(module: Module, name: str) -> set[str]:
    """What stores into a dict of a module and what uses that: functions, and methods with their classes."""
    found = {
        part.definition.qualname
        for part in parts_with(module, name, filled)
        if part.definition is not None and name in map(spelling, part.writes.filled)
    }
    found = {part for qualname in found for part in qualname.split(".")}
    new = found
    while new:
        holding = {f for f in module.index.own_functions() if any(module.holds(f.segment, writer) for writer in new)}
        users = {f.name for f in holding if (code := f.code) is not None and names_in(code.body) & new}
        new = users - found
        found |= new
    return found


def keep(interpreter: Interpreter, name: str, changed: Value, frame: Frame) -> None:
    """A class or function that a function stores in a container of its module stays there when the function returns."""
    known = interpreter.names.globals.get((frame.module, name))
    is_bound = name in frame.env or any(name == held for held, _ in frame.function.closure)
    if isinstance(known, (Mapping, Sequence)) and not is_bound:
        frame.scopes[name] = "global"
    if frame.scopes.get(name) == "global" and _leads_to_code(changed):
        interpreter.names.globals[(frame.module, name)] = changed


def _leads_to_code(value: Value) -> bool:
    """Whether a value is a class or a function, or a container or an object that was made with one."""
    match value:
        case Class() | Function():
            return True
        case Mapping():
            held = [one for _, one in value.items] + ([] if value.other is None else [value.other])
            return any(map(_leads_to_code, held))
        case Sequence():
            return any(map(_leads_to_code, (*value.first, value.element)))
        case Instance(arguments=Arguments() as given):
            return any(isinstance(one, (Class, Function)) for one in given.all_values())
        case Union():
            return any(map(_leads_to_code, value.members))
    return False


def note_unnamed(interpreter: Interpreter, registry: Mapping, key: Value, frame: Frame) -> None:
    """Remember what a package that is followed may choose by a key that nobody knows, and that the program never names.

    Whoever uses a package says what it is to choose, or gets what it chooses by itself.
    """
    project = interpreter.project
    if all(isinstance(member, Const) for member in members(key)) or project.is_checked(frame.module):
        return
    for name, held in registry.items:
        if isinstance(name, Const) and isinstance(name.value, str) and not project.says(name.value):
            interpreter.unnamed.update(member for member in members(held) if isinstance(member, (Class, Function)))
