"""Files of a library in, the functions out that those who call it may capture: operators, steps, autograd functions.

Long, because a library offers in many ways: by the names of its packages, by modules that are imported one by one, by
what its optimizers and autograd functions do. Its tests tell which modules these are where its packages do not. And
nobody captures most of what takes tensors: each kind of that is told by something else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.rulebook.lexicon import package_of
from graphlint.rulebook.operations import FUNCTIONS
from graphlint.static.domain.program import Instance, function_of
from graphlint.static.findings.trials import set_apart
from graphlint.static.index.imports import members_asked
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.index.parts import called, segments_with
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.models.uses import treats_as_tensor
from graphlint.static.regions.drivers import is_driver
from graphlint.static.regions.hosted import makes_on_host, works_on_host
from graphlint.static.regions.training import losses, steps, training
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name, calls_in, is_one_of, last_name, walk
from graphlint.values import NONE, UNKNOWN, External, Host, Sequence, Tensor, Union, Value, members

MAX_HANDS = 6  # modules that hand on a name, one after the other
RUN = "run"  # what a wrapper that is planned first and run later calls its second part
_READ = frozenset({"float", "str"})  # kinds of numbers and words that no shape gives
_USES_TENSORS = HoldsAny([FUNCTIONS])
_CLASS_NAME = re.compile(r"([A-Z]+[a-z0-9]+){2,}[A-Z]*")
_SCRIPT = HoldsAny(['"__main__"', "'__main__'"])


def exported(
    interpreter: Interpreter, files: Collection[Path], shown: Set[Path], captured: Collection[str]
) -> tuple[str, ...]:
    """What may be captured by those who use these files, as `module:qualname`; not what is only `shown`.

    The modules of a package that exports nothing may be there to be imported one by one, for what nothing else calls,
    unless the package is among those `captured` by their own code; so may those of other packages, for what the tests
    of these import so, and what the library does not call where it captures. What somebody imports under the name of
    a reference is one.
    """
    found_in = [interpreter.project.module_at(path) for path in files]
    modules = [m for m in found_in if m.path not in shown and interpreter.project.is_named(m)]
    checks = interpreter.lexicon.phases["checks"]
    public = [module for module in modules if not is_test(module.name) and not _is_private(module.name, checks)]
    offered = {module.name: list(_operators(interpreter, module)) for module in public if module.is_package}
    found = dict.fromkeys(one for package in offered.values() for one in package)
    free = [module for module in public if outermost(module.name) not in captured]
    for module in free:
        package = module.name.rpartition(".")[0]
        if not module.is_package and not offered.get(package) and not interpreter.project.ask(module.path, _SCRIPT):
            offering = (
                one
                for one in _operators(interpreter, module)
                if not is_called(interpreter, one.rpartition(":")[2], shown)
            )
            found.update(dict.fromkeys(offering))
    inside = [one for one in public if any(_is_below(one.name, package) for package in offered if offered[package])]
    for one in _tried(interpreter, inside, map(interpreter.project.module_at, shown)):
        module_name, _, name = one.partition(":")
        if not (outermost(module_name) in captured and is_called(interpreter, name, shown)):
            found[one] = None
    own = [module for module in modules if not is_test(module.name)]
    found.update(dict.fromkeys(training(interpreter, own)))
    trained = [module for module in own if outermost(module.name) not in captured]
    found.update(dict.fromkeys((*steps(interpreter, trained), *losses(interpreter, free))))
    references = {
        f"{origin.module}:{origin.member}"
        for module in found_in
        for name, origins in module.index.imports.items()
        if checks.match(name)
        for origin in origins
    }
    return tuple(one for one in found if one not in references)


def outermost(module: str) -> str:
    """The outermost package that a module lies in; none for a script, which stands beside others."""
    return package_of(module) if "." in module else ""


def _is_below(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")


def _tried(interpreter: Interpreter, public: Iterable[Module], trying: Iterable[Module]) -> Iterator[str]:
    """The functions of modules that tests, benchmarks and examples import one by one, as those who use them do."""
    asked = {pair for module in trying for pair in members_asked(module)}
    for module in public:
        if not module.is_package and any((module.name, name) in asked for name in module.index.functions):
            for one in _operators(interpreter, module):
                name = one.rpartition(":")[2]
                if (module.name, name) in asked and _promises(module, name):
                    yield one


def _promises(module: Module, name: str) -> bool:
    """Whether a function says of a parameter what it takes: what is for others alone, and no part of a test, does."""
    codes = [one.code for one in module.index.functions.get(name, ())]
    return any(one.annotation is not None for code in codes if code is not None for one in code.parameters)


def only_shown(interpreter: Interpreter, files: Collection[Path]) -> frozenset[Path]:
    """The files that test the others, show how they are used, or how fast they are."""
    named = [interpreter.lexicon.phases[kind] for kind in ("shown", "timed")]
    return set_apart(files, lambda name: is_test(name) or any(names.match(name.lower()) for names in named))


def is_called(interpreter: Interpreter, name: str, shown: Set[Path] = frozenset()) -> bool:
    """Whether something of a name is called in the files, tests and what is only `shown` left out."""
    calling = interpreter.project.calling(name)
    modules = (module for module in calling if module.path not in shown and not is_test(module.name))
    return any(True for module in modules for _ in segments_with(module, name, called))


def _operators(interpreter: Interpreter, module: Module) -> Iterator[str]:
    """The functions that take tensors and the `run` of classes that a module defines or, if it is a package, imports in
    public, and what calling a model does that a package offers.

    What sets something up by its name does so in front of captures, and what checks results does so behind them.
    """
    index, names = module.index, interpreter.lexicon.phases
    for name in [*index.functions, *index.classes, *(index.imports if module.is_package else ())]:
        found = None if name.startswith("_") else origin_of(interpreter, module, name)
        if isinstance(found, Definition):
            is_beside = any(names[kind].match(found.name) for kind in ("checks", "references"))
            is_beside = is_beside or _sets_up(interpreter, found) or _feeds(interpreter, found.module.name)
            if not is_beside and not _is_outside(interpreter, found, None) and takes_tensors(interpreter, found, None):
                yield f"{found.module.name}:{found.qualname}"
        elif found is not None:
            runs = found.methods.get(RUN)
            if runs and not _is_outside(interpreter, runs[-1], found) and takes_tensors(interpreter, runs[-1], found):
                yield f"{found.module.name}:{found.qualname}.{RUN}"
            elif module.is_package and is_captured_whole(interpreter, found):
                yield f"{found.module.name}:{found.qualname}.forward"


def is_captured_whole(interpreter: Interpreter, cls: ClassDefinition) -> bool:
    """Whether a class is a model with a `forward` of its own, which may be captured.

    What takes records, such as a table for each picture, or a picture, is fed by the host, and what gives numbers
    works for it, as does what makes batches of texts.
    """
    if "forward" not in cls.methods or not interpreter.classes.is_model(cls):
        return False
    forward = cls.methods["forward"][-1]
    code = forward.code
    if code is None:
        return True
    is_fed = _takes_records(code) or _takes_pictures(interpreter, code, cls.module)
    is_fed = is_fed or _gives_host(interpreter, code, cls.module)
    return not is_fed and not is_driver(interpreter, forward, cls)


def _sets_up(interpreter: Interpreter, definition: Definition) -> bool:
    """Whether a function sets something up by its name, maybe that of a class, or gives what such a one makes, or a
    function that it defines; what an operator gives is only described where it is traced.
    """
    setup, made = interpreter.lexicon.phases["setup"], ""
    if definition.code is not None and any(_describes(interpreter, one) for one in definition.code.decorators):
        return True
    if _is_handed_to_describe(interpreter, definition):
        return True
    match definition.code:
        case ir.Code(body=[*_, ir.Return(value=ir.Call() as given)]):
            made = called_name(given) or ""
        case ir.Code(body=[*others, ir.Return(value=ir.Name(id=name))]):
            if any(isinstance(one, ir.Define) and one.code.name == name for one in others):
                return True
    return bool(setup.match(made) or setup.match(definition.name) or _CLASS_NAME.fullmatch(definition.name))


def _feeds(interpreter: Interpreter, module: str) -> bool:
    """Whether a module is where objects are made of what files hold, or lies there."""
    return any(interpreter.lexicon.phases["feeds"].match(part) for part in module.split("."))


def _describes(interpreter: Interpreter, decorator: ir.Expr) -> bool:
    """Whether a decorator hands a function to an operator that says what that gives: `@scale.register_fake`."""
    while isinstance(decorator, ir.Call):
        decorator = decorator.func
    return interpreter.lexicon.operators["describes"].match(last_name(decorator) or "") is not None


def _is_handed_to_describe(interpreter: Interpreter, definition: Definition) -> bool:
    """Whether a function is handed to what registers what an operator gives: `impl_abstract("lib::add", add_meta)`."""
    module, name = definition.module, definition.name
    return any(
        isinstance(call, ir.Call)
        and any(is_one_of(argument.value, {name}) for argument in call.arguments)
        and _describes(interpreter, call)
        for _, segment in segments_with(module, name, _is_argument)
        for call in walk(tuple(module.lowered(segment)))
    )


def _is_argument(text: str, at: int, end: int) -> bool:
    """Whether a name may be an argument of a call."""
    return text[end : end + 1] in {",", ")"} and text[at - 1 : at] in {" ", "("}


def origin_of(interpreter: Interpreter, module: Module, name: str) -> Definition | ClassDefinition | None:
    """What a name stands for that modules may import from each other."""
    for _ in range(MAX_HANDS):
        if name in module.index.functions:
            return module.index.functions[name][-1]
        if name in module.index.classes:
            return module.index.classes[name]
        imports = module.index.imports.get(name, ())
        handed = next((one for one in imports if one.member is not None), None)
        source = interpreter.project.module(handed.module) if handed is not None else None
        if handed is None or handed.member is None or source is None or is_test(source.name):
            return None
        module, name = source, handed.member
    return None


def takes_tensors(interpreter: Interpreter, definition: Definition, owner: ClassDefinition | None) -> bool:
    """Whether a parameter is promised to be a tensor, or is used like one where nothing is promised.

    What gives something of the host, or takes an array of it, works there, and so does what reads records, or draws
    from a generator of the host that it is handed: nobody captures that. Arrays are asked for much that tensors have as
    well, so a file that uses none says what it is about.
    """
    function = function_of(definition, owner)
    if function is None or _gives_host(interpreter, function.code, definition.module) or _takes_records(function.code):
        return False
    if makes_on_host(interpreter, function.code) or works_on_host(interpreter, function.code, definition.module):
        return False
    if is_driver(interpreter, definition, owner):
        return False
    code = function.code
    parameters = code.parameters[1:] if owner is not None else code.parameters
    if any(_draws(interpreter, parameter, definition.module) for parameter in parameters):
        return False
    if any(parameter.annotation is not None for parameter in parameters):
        promised = (interpreter.refine(UNKNOWN, parameter, function) for parameter in parameters)
        return any(_carries_tensors(interpreter, member) for value in promised for member in members(value))
    names = {parameter.name for parameter in parameters}
    if not interpreter.project.ask(definition.module.path, _USES_TENSORS) or any(
        _hands_to_host(interpreter, call, names, definition.module) for call in calls_in(code)
    ):
        return False
    return any(treats_as_tensor(interpreter, node, names, definition.module) for node in walk(code.body))


def _draws(interpreter: Interpreter, parameter: ir.Parameter, module: Module) -> bool:
    """Whether a parameter is promised to be a generator of the host, or may be one."""
    named = (part for part in walk(parameter.annotation) if isinstance(part, (ir.Attribute, ir.Name)))
    promised = [interpreter.static_value(part, module) for part in named]
    generators = interpreter.lexicon.phases["draws"]
    return any(isinstance(one, External) and generators.match(one.name) for one in promised)


def _carries_tensors(interpreter: Interpreter, value: Value) -> bool:
    """Whether a promised value is a tensor, or an object whose class says that one of its fields is."""
    if isinstance(value, Instance):
        quoted = interpreter.annotations.quoted
        fields = (quoted(text, value.cls.module) for text in value.cls.annotations.values())
        return any(isinstance(member, Tensor) for field in fields for member in members(field))
    return isinstance(value, Tensor)


def _takes_records(code: ir.Code) -> bool:
    """Whether a function goes through one of its parameters and asks what is in it by a text: `x["image"] for x in`."""
    names = {parameter.name for parameter in code.parameters}
    taken, asked = set[str](), set[str]()
    for node in walk(code.body):
        match node:
            case ir.For(target=ir.Name(id=one), iterable=ir.Name(id=given)) if given in names:
                taken.add(one)
            case ir.Comprehension(clauses=((ir.Name(id=one), ir.Name(id=given), _), *_)) if given in names:
                taken.add(one)
            case ir.Subscript(value=ir.Name(id=one), index=ir.Literal(value=str())):
                asked.add(one)
    return not taken.isdisjoint(asked)


def _takes_pictures(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a parameter is promised to be an array of the host, or a picture of it."""
    pictures = interpreter.lexicon.phases["interacts"]
    promised = (one.annotation for one in code.parameters if isinstance(one.annotation, (ir.Attribute, ir.Name)))
    for node in promised:
        value = interpreter.static_value(node, module)
        if _is_of_host(interpreter, node, module) or (isinstance(value, External) and pictures.match(value.name)):
            return True
    return False


def _gives_host(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function says that it gives an array of the host, numbers or words."""
    match code.returns:
        case None:
            return False
        case ir.Subscript(value=one) if last_name(one) == "Literal":
            return True
    promised = interpreter.annotations.promised(code.returns, module)
    if isinstance(promised, Instance):
        return _is_report(interpreter, promised.cls)
    if isinstance(promised, Sequence) and isinstance(promised.element, Instance):
        return _is_report(interpreter, promised.element.cls, least=0)
    return _is_of_host(interpreter, code.returns, module) or _holds_host(promised)


def _is_report(interpreter: Interpreter, cls: ClassDefinition, least: float = 0.5) -> bool:
    """Whether more than this share of the fields of a class are numbers and words, and none is a tensor."""
    fields = [interpreter.annotations.quoted(text, cls.module) for text in cls.annotations.values()]
    if any(_carries_tensors(interpreter, member) for field in fields for member in members(field)):
        return False
    return sum(map(_holds_host, fields)) > least * len(fields)


def _holds_host(value: Value) -> bool:
    """Whether a promised value is one of the host. Beside tensors, whole numbers and flags may come from shapes."""
    match value:
        case Host():
            return True
        case Sequence(kind="tuple", elements=tuple(given)):
            return any(isinstance(one, Host) and one.kind in _READ for one in given) or all(map(_holds_host, given))
        case Sequence(elements=None, element=one):
            return _holds_host(one)
        case Union():
            return all(one == NONE or _holds_host(one) for one in value.members)
    return False


def _hands_to_host(interpreter: Interpreter, call: ir.Call, names: Set[str], module: Module) -> bool:
    """Whether a call hands one of these names, as it is, to a library of the host."""
    given = {argument.value.id for argument in call.arguments if isinstance(argument.value, ir.Name)}
    return not given.isdisjoint(names) and _is_of_host(interpreter, call.func, module)


def _is_of_host(interpreter: Interpreter, node: ir.Expr, module: Module) -> bool:
    value = interpreter.static_value(node, module)
    return isinstance(value, External) and interpreter.lexicon.promised(value.name) == "host-array"


def _is_outside(interpreter: Interpreter, definition: Definition, owner: ClassDefinition | None) -> bool:
    """Whether a function calls what tells tests that results are the same, shows people what goes on, writes files, or
    replays.
    """
    function, lexicon = function_of(definition, owner), interpreter.lexicon
    named = [lexicon.phases[kind] for kind in ("compares", "files", "interacts")]
    for call in calls_in(function.code) if function is not None else ():
        if isinstance(call.func, ir.Attribute) and lexicon.host_state["replays"].match(call.func.attr):
            return True
        called = interpreter.static_value(call.func, definition.module)
        if isinstance(called, External) and any(names.match(called.name) for names in named):
            return True
    return False


def _is_private(module: str, checks: re.Pattern[str]) -> bool:
    """Whether a module is for the library alone, or holds what its results are compared with, as `torch_ref` does."""
    parts = module.split(".")
    return any((part.startswith("_") and not part.startswith("__")) or checks.match(part) for part in parts)
