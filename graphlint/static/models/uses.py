"""A function and what its parameters are called in, what their uses say of them out: tensors, or plain values.

Long, because each way to use one tells something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import zip_longest

from graphlint.rulebook.signatures import Operation
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.models.asked import (
    EQUAL,
    asks_how_large,
    asks_whether_equal,
    called_by,
    is_asked,
    is_name,
    is_number,
    is_text,
    is_written,
)
from graphlint.static.models.own import own_methods
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, children, names_in, walk
from graphlint.values import NONE, UNKNOWN, Host, Sequence, Tensor, Value, members

MAX_HANDS = 3  # functions that hand on a parameter, one after the other
_COUNTS = frozenset({"int", "number", "size"})  # types of parameters that are read on the host
_SIZE = "tensor-as-size"  # what becomes of a tensor that is taken for one
_SIZES = frozenset({"int", "shape"})  # results that are sizes, or numbers of them
_AXES = frozenset({"axis", "dim", "dim0", "dim1", "dims"})
_MADE = frozenset({"factory", "object"})  # results of operations that need no tensor
_PLAIN = (str, int, float, list, tuple, dict)


def treats_as_tensor(evaluator: Evaluator, node: object, names: Set[str], module: Module) -> bool:
    """Whether a node hands one of these names to the library of tensors, or asks of it what only tensors have."""
    match node:
        case ir.Call():
            operation = _operation(evaluator, node, module)
            if operation is None or operation.returns in _MADE or _is_of_numbers(evaluator, node, module):
                return False
            return not names.isdisjoint(_handed_over(evaluator, node, module))
        case ir.Attribute(value=(ir.Compare() | ir.Binary()) as computed):
            used = _computed_of(evaluator, computed, module)
            return evaluator.catalogue.method(node.attr) is not None and not names.isdisjoint(used)
        case ir.Attribute(value=ir.Name(id=name)):
            unknown = evaluator.lexicon.unknown
            telling = evaluator.catalogue.telling
            return name in names and any(node.attr in t for t in (telling, unknown["attributes"], unknown["methods"]))
    return False


def is_tensor(evaluator: Evaluator, function: Function, name: str, hands: int = MAX_HANDS) -> bool:
    """Whether a parameter that nothing is promised of is used as a tensor, and as nothing that has no such use.

    One that tensors are made with as their size is a number, unless it is asked for what tensors alone have.
    """
    parts = list(walk(function.code.body))
    calls = [part for part in parts if isinstance(part, ir.Call)]
    if any(_makes_of_size(evaluator, call, name, function.module) for call in calls) and not any(
        _asks_as_tensor(evaluator, part, name) for part in parts
    ):
        return False
    if is_asked(evaluator, function, name) or any(_is_of_another_kind(evaluator, part, name) for part in parts):
        return False
    if any(
        treats_as_tensor(evaluator, part, {name}, function.module) and _speaks_of(evaluator, part, name)
        for part in parts
    ):
        return True
    handed = (pair for call in calls if hands for pair in handed_to(evaluator, call, name, function))
    return any(
        is_tensor(evaluator, callee, taken.name, hands - 1) for callee, taken in handed if taken.annotation is None
    )


def _speaks_of(evaluator: Evaluator, node: object, name: str) -> bool:
    """Whether a name stands in a node for itself, and not for what many other objects have as well: `config.device`."""
    if isinstance(node, ir.Attribute) and node.attr in evaluator.lexicon.unknown["attributes"]:
        return False
    is_method = isinstance(node, ir.Attribute) and node.attr in evaluator.lexicon.unknown["methods"]
    return not is_method and (is_name(node, name) or any(_speaks_of(evaluator, part, name) for part in children(node)))


def _is_of_another_kind(evaluator: Evaluator, node: object, name: str) -> bool:
    """Whether a node calls a name, iterates over it, takes an item by a text, or asks of it what no tensor has."""
    match node:
        case ir.Call(func=called):
            return is_name(called, name)
        case ir.Attribute(value=holder, attr=attr):
            return is_name(holder, name) and evaluator.catalogue.method(attr) is None
        case ir.Subscript(value=holder, index=ir.Literal(value=str())) | ir.For(iterable=holder):
            return is_name(holder, name)
    return False


def _handed_over(evaluator: Evaluator, call: ir.Call, module: Module) -> Iterator[str]:
    """The names in what an operation is given, but for those that are sizes to it."""
    for value, _, counts in _given(evaluator, call, module):
        if not counts:
            yield from _computed_of(evaluator, value, module)


def _computed_of(evaluator: Evaluator, node: object, module: Module) -> Iterator[str]:
    """The names that a value is computed of, but for those that only say how large it is, or which part of another."""
    match node:
        case ir.Name(id=name):
            yield name
        case ir.Slice():
            return
        case ir.Binary(operator="//" | "%", left=dividend, right=divisor):  # `(n + k - 1) // k` says nothing of k
            divided = _computed_of(evaluator, dividend, module)
            yield from (name for name in divided if name not in names_in(divisor))
        case ir.Call() if _is_of_numbers(evaluator, node, module):
            return
        case ir.Call() if (operation := _operation(evaluator, node, module)) is not None:
            if operation.returns not in _MADE:
                yield from _handed_over(evaluator, node, module)
        case ir.Call(func=ir.Attribute(value=receiver, attr=attr)) if evaluator.catalogue.method(attr) is not None:
            yield from _computed_of(evaluator, receiver, module)
            yield from _handed_over(evaluator, node, module)
        case _:
            for part in children(node):
                yield from _computed_of(evaluator, part, module)


def _is_of_numbers(evaluator: Evaluator, call: ir.Call, module: Module) -> bool:
    """Whether a call takes numbers, or lists of them, and no tensors of the device: `range`, `math.sqrt`."""
    return any(map(evaluator.lexicon.takes_no_tensor, called_by(evaluator, call, module)))


def is_plain(evaluator: Evaluator, function: Function, name: str, hands: int = MAX_HANDS) -> bool:
    """Whether a parameter that nothing is promised of is used as a string, a number or a callable, and no tensor."""
    parts = list(walk(_until_made(evaluator, function, name)))
    named = dict(_named_once(function.code))
    names = {name, *_parts(function.code, name), *(alias for alias, made in named.items() if is_name(made, name))}
    if any(treats_as_tensor(evaluator, part, names, function.module) for part in parts):
        return False
    if any(_asks_as_tensor(evaluator, part, one) for part in parts for one in names):
        return False
    names |= _reckoned(function.code, names)  # arithmetic makes no number of a tensor
    if any(_treats_as_plain(evaluator, part, one, named, function.module) for part in parts for one in names):
        return True
    if _is_measured(evaluator, parts, name) or any(asks_how_large(part, name) for part in parts):
        return True
    if is_text(evaluator, function, name):
        return True
    calls = [part for part in parts if isinstance(part, ir.Call)]
    held = (*names, *_items(function.code, name))
    handed = [pair for call in calls for one in held for pair in handed_to(evaluator, call, one, function)]
    return any(
        promises_plain(evaluator, callee, taken)
        if taken.annotation is not None
        else hands > 0 and is_plain(evaluator, callee, taken.name, hands - 1)
        for callee, taken in handed
    )


def _until_made(evaluator: Evaluator, function: Function, name: str) -> tuple[object, ...]:
    """The statements in which a name is what was handed in, and no tensor yet: `n = torch.full((4,), n)`."""
    block = function.code.body
    for number, one in enumerate(block):
        if isinstance(one, ir.Assign) and any(is_name(target, name) for target in one.targets):
            calls = (part for part in walk(one.value) if isinstance(part, ir.Call))
            if any(_operation(evaluator, call, function.module) is not None for call in calls):
                return (*block[:number], one.value)
    return block


def promises_plain(evaluator: Evaluator, function: Function, parameter: ir.Parameter) -> bool:
    """Whether an annotation, or a default, promises a number, a string, a flag or a list, or None at most."""
    promised = members(evaluator.refine(UNKNOWN, parameter, function))
    return promised != (NONE,) and all(_is_plain_kind(kind) for kind in promised)


def _is_plain_kind(kind: Value) -> bool:
    """Whether what is promised is no tensor, and holds none that anybody speaks of: `List[int]`, `list`."""
    if isinstance(kind, Sequence):
        return not any(isinstance(m, Tensor) for held in (*kind.first, kind.element) for m in members(held))
    return isinstance(kind, Host) or kind == NONE


def _asks_as_tensor(evaluator: Evaluator, node: object, name: str) -> bool:
    """Whether a node asks for what tensors have, and strings, numbers and containers do not."""
    if not (isinstance(node, ir.Attribute) and is_name(node.value, name)):
        return False
    return evaluator.catalogue.method(node.attr) is not None and not any(hasattr(kind, node.attr) for kind in _PLAIN)


def _operation(evaluator: Evaluator, call: ir.Call, module: Module) -> Operation | None:
    """The function on tensors that is called; None if it is something else."""
    for name in called_by(evaluator, call, module):
        if evaluator.lexicon.is_catalogued(name) and evaluator.catalogue.method(name.rpartition(".")[2]) is not None:
            return evaluator.catalogue.find(name)
    return None


def _named_once(code: ir.Code) -> Iterator[tuple[str, ir.Expr]]:
    """The local names that stand for one other name, or one tuple."""
    given = [
        (target.id, one.value) for one in assignments_in(code) for target in one.targets if isinstance(target, ir.Name)
    ]
    times = Counter(name for name, _ in given)
    yield from ((name, made) for name, made in given if times[name] == 1 and isinstance(made, (ir.Name, ir.Display)))


def _reckoned(code: ir.Code, names: Set[str]) -> set[str]:
    """The local names that stand for these, or for what arithmetic makes of them, one after the other."""
    found: set[str] = set()
    for one in assignments_in(code):
        if one.value is not None and any(_adds_up(one.value, name) for name in names | found):
            found |= {target.id for target in one.targets if isinstance(target, ir.Name)}
    return found


def _items(code: ir.Code, name: str) -> Iterator[str]:
    """The local names that are given an item of another one: `left = ranks[rank - 1]`."""
    for one in assignments_in(code):
        if isinstance(one.value, ir.Subscript) and is_name(one.value.value, name):
            yield from (target.id for target in one.targets if isinstance(target, ir.Name))


def _parts(code: ir.Code, name: str) -> Iterator[str]:
    """The local names that another one, or an item of it, is taken apart into: `rows, columns = block`."""
    for one in assignments_in(code):
        value = one.value.value if isinstance(one.value, ir.Subscript) else one.value
        for target in one.targets if is_name(value, name) else ():
            if isinstance(target, ir.Display):
                yield from (part.id for part in target.elements if isinstance(part, ir.Name))


def _treats_as_plain(
    evaluator: Evaluator, node: object, name: str, named: Mapping[str, ir.Expr], module: Module
) -> bool:
    """Whether a node does with a name what cannot be done with tensors."""
    if asks_whether_equal(node, name):
        return True
    match node:
        case ir.Compare():
            sides = [node.left, *(side for _, side in node.comparisons)]
            written = any(map(is_written, sides)) or (node.comparisons[0][0] in EQUAL and any(map(is_number, sides)))
            return any(is_name(_dividend(side), name) for side in sides) and written
        case ir.Binary(operator="//" | "%", left=size, right=divisor):
            return is_name(divisor, name) and _is_size(evaluator, size)
        case ir.Slice(bounds=bounds):
            return any(is_name(bound, name) for bound in bounds)
        case ir.Attribute(value=holder, attr=attr):
            is_held = evaluator.catalogue.method(attr) is None and any(hasattr(kind, attr) for kind in _PLAIN)
            return _adds_up(holder, name) and is_held
        case ir.Call():
            return is_name(node.func, name) or _counts(evaluator, node, name, named, module)
    return False


def _dividend(node: ir.Expr) -> ir.Expr:
    """What is asked for a multiple of something: `n` of `n % 2`."""
    return node.left if isinstance(node, ir.Binary) and node.operator == "%" else node


def _is_size(evaluator: Evaluator, node: ir.Expr) -> bool:
    """Whether a node is a size of a tensor: `x.shape[0]`, `x.size(0)`."""
    match node:
        case ir.Subscript(value=ir.Attribute(attr=attr)) | ir.Call(func=ir.Attribute(attr=attr), arguments=(_, *_)):
            return _returns_size(evaluator, attr)
    return False


def returns_plain(evaluator: Evaluator, attr: str) -> bool:
    """Whether tensors have something by a name that is a number, a size or a kind: `x.ndim`, `x.numel()`."""
    operation = evaluator.catalogue.method(attr)
    return operation is not None and operation.returns in _SIZES | {"bool", "dtype", "device"}


def _returns_size(evaluator: Evaluator, attr: str) -> bool:
    operation = evaluator.catalogue.method(attr)
    return operation is not None and operation.returns in _SIZES


def _is_measured(evaluator: Evaluator, parts: list[object], name: str) -> bool:
    """Whether a size is compared with what is made of a name: `rows, _ = x.shape; assert rows == 2 * name`, or several
    are less some items of it: `rows - name[0], columns - name[1]`.
    """
    sizes: set[str] = set()
    for part in parts:
        match part:
            case ir.Assign(targets=targets, value=ir.Attribute(attr=attr)) if _returns_size(evaluator, attr):
                sizes |= names_in(targets)
            case ir.Assign(targets=targets, value=value) if value is not None and _is_size(evaluator, value):
                sizes |= names_in(targets)
    less = set[object]()
    for part in parts:
        match part:
            case ir.Binary(left=ir.Name(id=size), right=ir.Subscript(value=held, index=ir.Literal(value=item))):
                less |= {item} if size in sizes and is_name(held, name) else set()
        if isinstance(part, ir.Compare):
            sides = [part.left, *(side for _, side in part.comparisons)]
            measured = [s for s in sides if _is_size(evaluator, s) or (isinstance(s, ir.Name) and s.id in sizes)]
            if measured and any(name in names_in(side) for side in sides if side not in measured):
                return True
    return len(less) > 1


def _counts(evaluator: Evaluator, call: ir.Call, name: str, named: Mapping[str, ir.Expr], module: Module) -> bool:
    """Whether a call takes a name for a number: as a size, in a list of data, or among those of `range` and `math`."""
    all_read = _is_of_numbers(evaluator, call, module)
    given = list(_given(evaluator, call, module))
    read = (value for value, _, counts in given if counts or all_read)
    if any(is_name(size, name) for value in read for size in _sizes(value, named)):
        return True
    if any(
        taken in _AXES and isinstance(value, ir.Subscript) and is_name(value.value, name) for value, taken, _ in given
    ):
        return True  # of items: a tensor may say how much of another one is meant, but not which of its dimensions
    data = [argument.value for argument in call.arguments[:1] if isinstance(argument.value, ir.Display)]
    holds = any(is_name(element, name) for display in data for element in display.elements)
    factories = evaluator.lexicon.factories
    return holds and any(one in factories and factories[one].data for one in called_by(evaluator, call, module))


def _makes_of_size(evaluator: Evaluator, call: ir.Call, name: str, module: Module) -> bool:
    """Whether a call makes a new tensor of this size, as in `torch.ones(n) * n**-0.5`."""
    called = map(evaluator.catalogue.find, called_by(evaluator, call, module))
    is_new = any(operation is not None and operation.returns in _MADE for operation in called)
    return is_new and _counts(evaluator, call, name, {}, module)


def _sizes(node: ir.Expr, named: Mapping[str, ir.Expr]) -> Iterator[ir.Expr]:
    """The sizes that stand in an argument: one, those of a tuple, the parts of a sum or a product."""
    match node:
        case ir.Name(id=name) if isinstance(named.get(name), ir.Display):
            yield from _sizes(named[name], {})
        case ir.Display(elements=elements):
            for element in elements:
                yield from _sizes(element, named)
        case ir.Binary(left=left, right=right):
            yield from _sizes(left, named)
            yield from _sizes(right, named)
        case _:
            yield node


def _adds_up(node: ir.Expr, name: str) -> bool:
    """Whether a node is a name, or arithmetic with it."""
    return isinstance(node, (ir.Name, ir.Binary)) and any(is_name(part, name) for part in _sizes(node, {}))


def _given(evaluator: Evaluator, call: ir.Call, module: Module) -> Iterator[tuple[ir.Expr, str | None, bool]]:
    """The arguments of a call, each with the parameter that takes it, and whether that is read on the host, as a size.

    What a star gives has none.
    """
    known = map(evaluator.catalogue.find, called_by(evaluator, call, module))
    operation = next(filter(None, known), None)
    skipped = 0
    if operation is None and isinstance(call.func, ir.Attribute):
        operation, skipped = evaluator.catalogue.method(call.func.attr), 1
    params = operation.params or () if operation is not None else ()
    sizes = {p.name for p in params if p.type in _COUNTS}
    for effect in operation.effects if operation is not None else ():
        sizes |= {condition.argument for condition in effect.when if effect.name == _SIZE}
    places, last = iter(params[skipped:]), params[-1] if params else None
    taken = None
    for argument in call.arguments:
        if argument.keyword is None and not argument.star:
            if taken is None or not taken.variadic:  # else it takes all that follow
                taken = next(places, last)
            name = taken.name if taken is not None else None
        else:
            name = argument.keyword
        yield argument.value, name, name in sizes


def handed_to(
    evaluator: Evaluator, call: ir.Call, name: str, function: Function
) -> Iterator[tuple[Function, ir.Parameter]]:
    """The functions of the project that a call hands a name to, each with the parameter that takes it."""
    if not any(_adds_up(argument.value, name) for argument in call.arguments):
        return
    one_of = (call.func.body, call.func.orelse) if isinstance(call.func, ir.Conditional) else (call.func,)
    called = [member for one in one_of for member in members(evaluator.static_value(one, function.module))]
    found = [(callee, tuple(callee.code.parameters)) for callee in called if isinstance(callee, Function)]
    for callee, parameters in (*found, *own_methods(evaluator, call.func, function)):
        named = {parameter.name: parameter for parameter in callee.code.parameters}
        for argument, parameter in zip_longest(call.arguments, parameters):
            if argument is None or argument.star or not _adds_up(argument.value, name):
                continue
            taken = parameter if argument.keyword is None else named.get(argument.keyword)
            if taken is not None:
                yield callee, taken
