"""A function in, whether it drives what others capture out: it makes batches of texts, or gives copies of the host.

`if isinstance(prompts, str): prompts = [prompts]`, a tokenizer that is asked for tensors, `return images.cpu()`: what
stands between the user and a model. What a kernel language runs by its own compiler is captured by nobody, either:
outside of that it only raises, as does what Python itself refuses. A function of its own that takes a copy of the host
by its name, `lengths_cpu`, makes an array of a tensor, gives a module that it has made, keeps several numbers that it
reads in a table, reads a clock or frees memory, works there on purpose; in a method of a model, the same is likelier a
mistake. What gives nothing and changes nothing only looks: it refuses what it is handed, or tells somebody of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphlint.static.domain.program import Function, Instance
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, calls_in, children, is_one_of, last_name, names_in, walk
from graphlint.values import External, ExternalObject, members

_NUMBERS = ("bool", "float", "int", "str")
_ARRAY = "host-array"
_COPIED = (_ARRAY, "host-tensor")  # what methods give that copy from the device
_READ = ("list", "number")  # what methods give that read from it
_OF_HOST = "math."
_SHOWN = "tensor-printing"
_DEPTH = 4  # of names for names


def is_driver(interpreter: Interpreter, definition: Definition, owner: ClassDefinition | None) -> bool:
    """Whether nobody captures a function, by what it takes, what it asks of others, or what it gives."""
    code, module = definition.code, definition.module
    if code is None:
        return False
    reports = interpreter.lexicon.phases["reports"]
    if any(reports.match(one.name) for one in code.parameters) or any(map(_is_refused, calls_in(code))):
        return True
    if _gives_host(interpreter, code, module, owner) or any(
        _only_raises(interpreter, one, module) for one in code.decorators
    ):
        return True
    if _picks_best(interpreter, code, module) or (owner is None and _works_for_host(interpreter, code, module)):
        return True
    return any(_takes_texts(one) or _prepares(interpreter, one, module) for one in _codes(code, owner))


def _is_refused(call: ir.Call) -> bool:
    """Whether Python refuses a call, as code of its second version has it: `range(n / 4)`."""
    return is_one_of(call.func, {"range"}) and any(
        isinstance(one.value, ir.Binary) and one.value.operator == "/" for one in call.arguments
    )


def _works_for_host(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function that is no method is for the host by what it takes, makes on the way, or gives."""
    of_host = interpreter.lexicon.phases["of_host"]
    needed = (one for one in code.parameters if one.default is None and not is_one_of(one.annotation, {"bool"}))
    if any(of_host.match(one.name) for one in needed):
        return True
    if _manages(interpreter, code, module) or _goes_through_devices(interpreter, code, module):
        return True
    if _only_looks(interpreter, code, module):
        return True
    for part in walk(code.body):
        match part:
            case ir.Call(func=ir.Attribute(attr=method)):
                operation = interpreter.catalogue.method(method)
                if operation is not None and operation.returns == _ARRAY:
                    return True
            case ir.DictDisplay(items=items):
                if sum(_is_read(interpreter, value) for _, value in items) > 1:
                    return True
    if _gives_what_it_makes(interpreter, code, module):
        return True
    given = members(interpreter.annotations.promised(code.returns, module)) if code.returns is not None else ()
    return any(isinstance(one, Instance) and interpreter.classes.is_model(one.cls) for one in given)


def _manages(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function reads a clock, frees memory that is kept for later, or asks for that of the host."""
    lexicon = interpreter.lexicon
    for call in calls_in(code):
        if isinstance(call.func, ir.Attribute) and lexicon.phases["manages"].match(call.func.attr):
            return True
        called = interpreter.static_value(call.func, module)
        named = (lexicon.phases["manages"], lexicon.host_state["clocks"])
        if isinstance(called, External) and any(names.match(called.name) for names in named):
            return True
    return False


def _only_looks(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function gives nothing, binds nothing but names of its own, and calls only to tell somebody."""
    is_looking = False
    for part in walk(code.body):
        match part:
            case ir.Return(value=ir.Literal(value=None) | None):
                pass
            case ir.Raise() | ir.Assert():
                is_looking = True
            case ir.Evaluate(value=ir.Call(func=func)) if _tells(interpreter, func, module):
                is_looking = True
            case ir.Evaluate(value=ir.Literal()):
                pass
            case ir.Assign(targets=targets) if all(isinstance(one, (ir.Display, ir.Name)) for one in targets):
                pass
            case ir.Call(func=func) if (last_name(func) or "").endswith("_"):  # in place
                return False
            case ir.Return() | ir.Yield() | ir.Evaluate() | ir.Assign() | ir.AugAssign() | ir.Define() | ir.With():
                return False
    return is_looking


def _tells(interpreter: Interpreter, func: ir.Expr, module: Module) -> bool:
    """Whether a call shows somebody what it is handed, as `print` and loggers do, or is named for a warning."""
    if interpreter.lexicon.host_state["looks"].match(last_name(func) or ""):
        return True
    called = interpreter.static_value(func, module)
    name = called.name if isinstance(called, External) else ""
    if isinstance(func, ir.Attribute) and not name:
        held = interpreter.static_value(func.value, module)
        name = f"{held.cls}.{func.attr}" if isinstance(held, ExternalObject) else ""
    operation = interpreter.catalogue.find(name) if name else None
    return operation is not None and any(one.name == _SHOWN for one in operation.effects)


def _goes_through_devices(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function chooses a device in each round of a loop: a graph is one of a single device."""
    choosing = interpreter.lexicon.life["choosing"]
    for loop in (part for part in walk(code.body) if isinstance(part, ir.For)):
        turning = {part.id for part in walk(loop.target) if isinstance(part, ir.Name)}
        entered = (one for part in walk(loop.body) if isinstance(part, ir.With) for one, _ in part.items)
        turned = (one.func for one in entered if isinstance(one, ir.Call) and not turning.isdisjoint(names_in(one)))
        managers = (interpreter.static_value(one, module) for one in turned)
        if any(isinstance(one, External) and one.name in choosing for one in managers):
            return True
    return False


def _gives_what_it_makes(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether all that a function gives are tensors that it makes without a device, as a table or a filter is."""
    host = _Host(interpreter, code, module)
    given = [one.value for one in _returns(code) if one.value is not None]
    return bool(given) and all(map(host.makes, given))


def _is_read(interpreter: Interpreter, node: ir.Expr) -> bool:
    """Whether an expression is a method that reads a number from the device."""
    operation = None
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute):
        operation = interpreter.catalogue.method(node.func.attr)
    return operation is not None and operation.returns == "number"


def _picks_best(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function goes through choices and compares numbers that it reads from the device, as a search does."""
    for loop in walk(code.body):
        if isinstance(loop, ir.For):
            assigned = [one for one in walk(loop.body) if isinstance(one, ir.Assign)]
            read = {
                target.id
                for one in assigned
                for target in one.targets
                if isinstance(target, ir.Name)
                and any(_is_number(interpreter, part, module) for part in walk(one.value))
            }
            tests = (part.test for part in walk(loop.body) if isinstance(part, ir.If))
            if any(isinstance(test, ir.Compare) and is_one_of(test.left, read) for test in tests):
                return True
    return False


def _is_number(interpreter: Interpreter, part: object, module: Module) -> bool:
    """Whether a call reads a number, or is one of a function that says that it gives a float."""
    if not isinstance(part, ir.Call):
        return False
    if _is_read(interpreter, part):
        return True
    called = members(interpreter.static_value(part.func, module))
    return any(isinstance(one, Function) and is_one_of(one.code.returns, {"float"}) for one in called)


def _codes(code: ir.Code, owner: ClassDefinition | None) -> Iterator[ir.Code]:
    """A function and the methods of its object that it calls."""
    yield code
    for call in calls_in(code) if owner is not None else ():
        match call.func:
            case ir.Attribute(value=ir.Name(id="self"), attr=name) if owner is not None:
                yield from (one.code for one in owner.methods.get(name, ()) if one.code is not None)


def _takes_texts(code: ir.Code) -> bool:
    """Whether a function makes a list of one of its parameters if that is a text."""
    names = {one.name for one in code.parameters}
    for node in walk(code.body):
        match node:
            case ir.If(
                test=test, body=[ir.Assign(targets=[ir.Name(id=name)], value=ir.Display(elements=[ir.Name(id=one)]))]
            ):
                if name == one and name in names and _asks_for_text(test, name):
                    return True
    return False


def _asks_for_text(test: ir.Expr, name: str) -> bool:
    match test:
        case ir.Call(func=ir.Name(id="isinstance"), arguments=[ir.Argument(value=ir.Name(id=asked)), kind]):
            return asked == name and any(isinstance(part, ir.Name) and part.id == "str" for part in walk(kind.value))
    return False


def _prepares(interpreter: Interpreter, code: ir.Code, module: Module) -> bool:
    """Whether a function has texts or pictures made into tensors, by a keyword for that, or shows what it does, or
    gathers what a model is quantised by.
    """
    phases = interpreter.lexicon.phases
    for call in calls_in(code):
        if isinstance(call.func, ir.Attribute) and phases["calibrates"].match(call.func.attr):
            return True
        if any(one.keyword is not None and phases["prepares"].match(one.keyword) for one in call.arguments):
            return True
        called = interpreter.static_value(call.func, module)
        if isinstance(called, External) and phases["interacts"].match(called.name):
            return True
    return False


def _gives_host(
    interpreter: Interpreter, code: ir.Code, module: Module, owner: ClassDefinition | None, depth: int = _DEPTH
) -> bool:
    """Whether all that a function gives lies on the host: copies and arrays, or a table of what was read.

    A number alone is often read by mistake.
    """
    host = _Host(interpreter, code, module, owner)
    given = [one.value for one in _returns(code) if one.value is not None and not isinstance(one.value, ir.Literal)]
    return bool(given) and all(
        host.has(one, depth) and (isinstance(one, ir.DictDisplay) or host.copies(one, depth)) for one in given
    )


def _returns(code: ir.Code) -> Iterator[ir.Return]:
    """The statements by which a function itself ends, but for those of functions inside of it."""
    pending: list[object] = [code.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ir.Return):
            yield part
        elif not isinstance(part, (ir.Define, ir.DefineClass, ir.Lambda)):
            pending += children(part)


@dataclass(frozen=True, slots=True)
class _Host:
    """Tells which expressions of a function, maybe one of the methods of a class, lie on the host."""

    interpreter: Interpreter
    code: ir.Code
    module: Module
    owner: ClassDefinition | None = None

    def has(self, node: ir.Expr, depth: int = _DEPTH) -> bool:
        """Whether an expression is surely one of the host; of a dict, whether most of it is."""
        match node:
            case ir.Call(func=func, arguments=arguments):
                return self._gives(func, arguments, depth)
            case ir.Name(id=name):
                values = [one.value for one in assignments_to(self.code, name)] if depth else []
                made = [one for one in values if one is not None and name not in names_in(one)]
                made = made or self._replaced_if_tensor(name)
                return bool(made) and all(self.has(one, depth - 1) for one in made)
            case ir.Binary(left=left, right=right):
                return self._all([left, right], depth)
            case ir.Compare(left=left, comparisons=comparisons):
                return self._all([left, *(right for _, right in comparisons)], depth)
            case ir.Conditional(body=body, orelse=orelse):
                return self._all([body, orelse], depth)
            case ir.Display(elements=elements):
                return self._all(elements, depth)
            case ir.DictDisplay(items=items):
                return sum(self.has(value, depth) for _, value in items) * 2 > len(items)
            case ir.Comprehension(element=one) | ir.Unary(operand=one) | ir.Subscript(value=one):
                return self.has(one, depth)
        return False

    def copies(self, node: object, depth: int = _DEPTH) -> bool:
        """Whether arrays or tensors of the host are among what an expression is made of."""
        for part in walk(node):
            match part:
                case ir.Call(func=func) if self._is_copy(func) or self._is_own(func, depth):
                    return True
                case ir.Name(id=name) if depth:
                    if any(self.copies(one.value, depth - 1) for one in assignments_to(self.code, name)):
                        return True
        return False

    def makes(self, node: ir.Expr, depth: int = _DEPTH) -> bool:
        """Whether an expression is a tensor that is made without a device, or computed of one, and moved nowhere."""
        match node:
            case ir.Call(func=ir.Attribute(value=held, attr=method)) if self.makes(held, depth):
                return self.interpreter.lexicon.methods.get(method) != "moves"
            case ir.Call(func=func, arguments=arguments):
                called = self.interpreter.static_value(func, self.module)
                operation = self.interpreter.catalogue.find(called.name) if isinstance(called, External) else None
                if operation is None or operation.returns != "factory":
                    return operation is not None and any(self.makes(one.value, depth) for one in arguments)
                return not any(one.star or one.keyword == "device" for one in arguments) and self._is_anew(
                    operation.name
                )
            case ir.Name(id=name):
                values = [one.value for one in assignments_to(self.code, name)] if depth else []
                made = [one for one in values if one is not None and name not in names_in(one)]
                return bool(made) and all(self.makes(one, depth - 1) for one in made)
            case ir.Binary(left=left, right=right):
                return self.makes(left, depth) or self.makes(right, depth)
            case ir.Subscript(value=one) | ir.Unary(operand=one):
                return self.makes(one, depth)
        return False

    def _replaced_if_tensor(self, name: str) -> list[ir.Expr]:
        """What something is replaced by where it is a tensor: `if torch.is_tensor(x): x = x.tolist()`."""
        for part in walk(self.code.body):
            match part:
                case ir.If(
                    test=ir.Call(func=func, arguments=[ir.Argument(value=ir.Name(id=asked)), *_]),
                    body=[ir.Assign(targets=[ir.Name(id=one)], value=ir.Call() as value)],
                ) if asked == one == name and last_name(func) in self.interpreter.lexicon.tensor_tests:
                    return [value]
        return []

    def _is_own(self, func: ir.Expr, depth: int) -> bool:
        """Whether a call is one of a method of the same object that gives something of the host."""
        match func:
            case ir.Attribute(value=ir.Name(id="self"), attr=name) if self.owner is not None and depth:
                order = self.interpreter.classes.order(self.owner)
                holders = (one for one in order if isinstance(one, ClassDefinition) and name in one.methods)
                holder = next(holders, None)
                code = None if holder is None else holder.methods[name][-1].code
                if holder is not None and code is not None:
                    return _gives_host(self.interpreter, code, holder.module, self.owner, depth - 1)
        return False

    def _is_anew(self, name: str) -> bool:
        """Whether a factory does not hand on what it is given, wherever that lies."""
        factory = self.interpreter.lexicon.factories.get(name)
        return factory is None or factory.data != "shared"

    def _all(self, nodes: Sequence[ir.Expr], depth: int) -> bool:
        """Whether some expressions are, beside numbers and words that are spelt out."""
        told = [one for one in nodes if not isinstance(one, ir.Literal)]
        return bool(told) and all(self.has(one, depth) for one in told)

    def _gives(self, func: ir.Expr, arguments: Sequence[ir.Argument], depth: int) -> bool:
        """Whether a call gives something of the host: a read, a number, or what a library of the host makes."""
        match func:
            case ir.Name(id=name) if name in _NUMBERS:
                return bool(arguments)
            case ir.Attribute(value=held, attr=method):
                if self._is_own(func, depth):
                    return True
                operation = self.interpreter.catalogue.method(method)
                if (operation is not None and operation.returns in _READ) or self.has(held, depth):
                    return True
        called = self.interpreter.static_value(func, self.module)
        return self._is_copy(func) or (isinstance(called, External) and called.name.startswith(_OF_HOST))

    def _is_copy(self, func: ir.Expr) -> bool:
        """Whether a function gives arrays or tensors of the host."""
        operation = self.interpreter.catalogue.method(func.attr) if isinstance(func, ir.Attribute) else None
        if operation is not None and operation.returns in _COPIED:
            return True
        called = self.interpreter.static_value(func, self.module)
        return isinstance(called, External) and self.interpreter.lexicon.promised(called.name) == _ARRAY


def _only_raises(interpreter: Interpreter, decorator: ir.Expr, module: Module) -> bool:
    """Whether a decorator puts a function in front that raises unless a keyword is given, which is none of ours."""
    made = members(interpreter.static_value(decorator, module))
    return any(_guards(inner.code) for one in made if isinstance(one, Function) for inner in _defined(one.code))


def _defined(code: ir.Code) -> Iterator[ir.Define]:
    return (part for part in code.body if isinstance(part, ir.Define))


def _guards(code: ir.Code) -> bool:
    """Whether a function begins with a test for a name among its keywords, and raises where that is missing."""
    gathered = {one.name for one in code.parameters if one.kind == "**"}
    match next((part for part in code.body if not isinstance(part, ir.Evaluate)), None):
        case ir.If(test=test, body=[*_, ir.Raise()]):
            asked = (part.comparisons for part in walk(test) if isinstance(part, ir.Compare))
            return any(sign == "not in" and is_one_of(table, gathered) for one in asked for sign, table in one)
    return False
