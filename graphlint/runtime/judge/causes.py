"""A refused operator and the line it stands on in, the effect that a rule reports out."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import functools
import re
import sys
from collections.abc import Iterator
from types import CodeType, ModuleType

from graphlint.rulebook.effects import Condition
from graphlint.rulebook.operations import Catalogue
from graphlint.rulebook.signatures import Operation
from graphlint.runtime.trace.capture import Refusal
from graphlint.runtime.trace.places import Place, Stack, source_tree

_BRANCHES = ("JUMP", "TO_BOOL", "UNARY_NOT", "COMPARE_OP", "CONTAINS_OP")
_TEXT = ("FORMAT", "BUILD_STRING")
_INDEXING = ("SUBSCR", "SLICE")
_UNPACKING = ("FOR_ITER", "GET_ITER", "UNPACK")
_ASKING = frozenset({"bool", "any", "all", "max", "min", "sorted"})
_READING = frozenset({"int", "float", "complex", "round", "divmod", "pow", "sum", "abs", "hex", "list", "index"})
_PRINTING = re.compile(r"torch\._tensor_str:|Tensor\.__(repr|str|format)__$")

# What an operator can be the cause of. The first entry is the answer where the line of code does not tell.
_READBACK = (
    "scalar-readback",
    "data-dependent-branch",
    "data-dependent-loop",
    "tensor-as-size",
    "tensor-printing",
    "hidden-sync",
    "host-to-device-copy",
    "data-dependent-shape",
)
_DOWNLOAD = ("device-to-host-copy", "scalar-readback", "tensor-printing", "hidden-sync", "non-capturable-optimizer")
_UPLOAD = ("host-to-device-copy", "literal-upload", "host-index", "hidden-sync")
_LITERAL = ("literal-upload", "host-index", "hidden-sync")
_SHAPE = ("data-dependent-shape", "boolean-mask-index", "hidden-sync")
_WAITING = frozenset(
    {"explicit-sync", "hidden-sync", "device-to-host-copy", "host-to-device-copy", "data-dependent-shape"}
)
_LEGAL_FIRST = frozenset({"foreign-allocation", "allocator-call"})
_TUNING = ("triton", "torch._inductor", "torch._dynamo")
_OTHER = (
    "hidden-sync",
    "data-dependent-shape",
    "boolean-mask-index",
    "explicit-sync",
    "tensor-as-size",
    "non-capturable-optimizer",
)

# A library that sets itself up, or allocates, and does not wait.
_IS_SETUP = re.compile("conflicts with a stream capture")

# The words by which torch and the driver say what they refuse, where the operator alone does not tell.
_SENTENCES = tuple((re.compile(words, re.I), effect) for words, effect in (
    ("CAPTURE_UNJOINED|unjoined|fork that was not joined", "unjoined-stream"),
    ("CAPTURE_?(ISOLATION|IMPLICIT|MERGE)|legacy stream|STREAM_LEGACY|stale reference", "uncaptured-dependency"),
    ("uncaptured work|merge of separate capture", "uncaptured-dependency"),
    ("CAPTURED_?EVENT|event last recorded in a capturing stream", "explicit-sync"),
    ("CAPTURE_?(UNMATCHED|WRONG_?THREAD)|non-default stream|already capturing", "capture-protocol"),
    ("not initiated in this stream|thread-local capture sequence", "capture-protocol"),
    ("same stream it began|prepare for replay", "capture-protocol"),
    ("CUDA generator not in capture mode|register_generator_state|not registered", "unregistered-generator"),
    (r"generator|\brng\b|current_seed|philox", "random-state-access"),
    ("out of memory|OUT_OF_MEMORY", "out-of-memory"),
    ("capturable", "non-capturable-optimizer"),
))  # fmt: skip


class Causes:
    """Names the effect of a refusal by what was said, the catalogue, the instruction of the line and the operator."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._waiting = {
            name.rpartition(".")[2]
            for name, rows in catalogue.effects.items()
            if any(row["effect"] == "explicit-sync" for row in rows)
        }

    def effect(self, refusal: Refusal) -> str:
        """The effect; `capture-refused` where nothing is known about it."""
        if refusal.effect:
            return refusal.effect
        for pattern, effect in _SENTENCES:
            if pattern.search(refusal.said):
                return effect
        if any(_PRINTING.search(name) for name in refusal.through):
            return "tensor-printing"
        if any(name.startswith("torch.optim.") and name.endswith(".step") for name in refusal.through):
            return "non-capturable-optimizer"
        possible = self._possible(refusal)
        place = refusal.stack[0] if refusal.stack else None
        is_call = True
        if place is not None:
            opname = _opname(place.code, place.offset)
            is_call = "CALL" in opname
            found = _by_instruction(place, opname, possible) or (
                self._by_callee(place, possible, refusal) if is_call else None
            )
            if found:
                return found
        if any(name.startswith(_TUNING) for name in refusal.through):
            return "capture-refused"
        if possible is _OTHER and _IS_SETUP.search(refusal.said):
            return "capture-refused"
        if refusal.through and possible is not _OTHER and is_call:
            return "hidden-sync"  # the line calls a function of torch, and that one does it
        if refusal.is_from_driver and not refusal.operator.startswith("aten"):
            return "capture-refused"
        return possible[0] if refusal.operator else "capture-refused"

    def _possible(self, refusal: Refusal) -> tuple[str, ...]:
        """What the refused operator can be the cause of, the likeliest first."""
        operator = refusal.operator
        known = self.catalogue.find(f"torch.ops.{operator}") if operator else None
        effects = {one.name for one in known.told} if known is not None else set()
        if "scalar-readback" in effects:
            return _READBACK
        if refusal.direction:
            return {"upload": _UPLOAD, "literal": _LITERAL, "download": _DOWNLOAD}[refusal.direction]
        if "data-dependent-shape" in effects:
            return _SHAPE
        if operator.rpartition(".")[2] in self._waiting:
            return ("explicit-sync",)
        return _OTHER if operator else ("capture-refused", *_OTHER, *_DOWNLOAD, *_UPLOAD, *_READBACK)

    def _by_callee(self, place: Place, possible: tuple[str, ...], refusal: Refusal) -> str | None:
        """What the catalogue says about the function that the line calls, if the operator can be the cause of it."""
        allowed = {*possible, *(_WAITING if refusal.through else ()), *(() if refusal.operator else _LEGAL_FIRST)}
        for name in _callees(place):
            operation = self.catalogue.find(name)
            effects = [one for one in operation.effects if one.name in allowed] if operation is not None else []
            if operation is not None and effects:
                given = _given(place, operation)
                likely = [one for one in effects if not any(_is_refuted(condition, given) for condition in one.when)]
                if likely:
                    return likely[0].name
        return None


def _by_instruction(place: Place, opname: str, possible: tuple[str, ...]) -> str | None:
    """What an instruction other than a call of a catalogued function means to do with a tensor."""
    tree = place.expression
    called = tree.func if isinstance(tree, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) and "CALL" in opname else ""
    is_indexing = any(word in opname for word in _INDEXING) or (
        opname == "BINARY_OP" and isinstance(tree, ast.Subscript)
    )
    if possible is _READBACK:
        if any(word in opname for word in _BRANCHES) or name in _ASKING:
            return "data-dependent-loop" if _is_loop_condition(place) else "data-dependent-branch"
        if any(word in opname for word in _TEXT) or _is_percent_format(tree):
            return "tensor-printing"
        if name == "range":
            return "data-dependent-loop"
        if name in _READING:
            return "scalar-readback"
        if is_indexing:
            return "scalar-readback" if isinstance(_receiver(place, tree), list | tuple | dict) else "tensor-as-size"
        return None
    if is_indexing:
        if possible in (_UPLOAD, _LITERAL) or possible[0] == "capture-refused":
            return "host-index"
        if possible in (_SHAPE, _OTHER):
            return "boolean-mask-index"
    return None


def _is_percent_format(tree: ast.expr | None) -> bool:
    return (
        isinstance(tree, ast.BinOp)
        and isinstance(tree.op, ast.Mod)
        and isinstance(tree.left, ast.Constant | ast.JoinedStr)
    )


def _receiver(place: Place, tree: ast.expr | None) -> object:
    """What a subscript is taken of, if it is a global name or written out."""
    named = tree.value if isinstance(tree, ast.Subscript) else None
    with contextlib.suppress(ValueError):
        return ast.literal_eval(named) if named is not None else None
    return getattr(sys.modules.get(place.module), named.id, None) if isinstance(named, ast.Name) else None


def _callees(place: Place) -> Iterator[str]:
    """The qualified names that the called expression of a line can have."""
    tree = place.expression
    if isinstance(tree, ast.Await):
        tree = tree.value
    if not isinstance(tree, ast.Call):
        return
    parts: list[str] = []
    node: ast.expr = tree.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    module = sys.modules.get(place.module)
    root = getattr(module, node.id, None) if isinstance(node, ast.Name) else None
    parts.reverse()
    if isinstance(root, ModuleType):
        yield ".".join([root.__name__, *parts])
    elif root is not None and not parts:
        yield from _public_names(root)
        yield f"{getattr(root, '__module__', None) or 'torch'}.{getattr(root, '__qualname__', '')}"
    elif isinstance(node, ast.Name) and not parts and hasattr(builtins, node.id):
        yield f"builtins.{node.id}"
    if parts and not isinstance(root, ModuleType):
        yield f"torch.Tensor.{parts[-1]}"
        if root is not None:
            kind = type(root)
            yield f"{kind.__module__}.{kind.__qualname__}.{parts[-1]}"


def _public_names(function: object) -> Iterator[str]:
    """The names under which torch offers a function of its own; one that is written in C does not know them."""
    name = getattr(function, "__name__", "")
    for module in ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"):
        if name and getattr(sys.modules.get(module), name, None) is function:
            yield f"{module}.{name}"


def _given(place: Place, operation: Operation) -> dict[str, tuple[ast.expr, ...]] | None:
    """The arguments of the call by parameter; None where the call unpacks some."""
    tree = place.expression
    if not isinstance(tree, ast.Call) or any(isinstance(one, ast.Starred) for one in tree.args):
        return None
    first = operation.params[0].name if operation.params else ""
    receiver = [tree.func.value] if first == "self" and isinstance(tree.func, ast.Attribute) else []
    keywords = {keyword.arg: keyword.value for keyword in tree.keywords if keyword.arg is not None}
    return operation.bind([*receiver, *tree.args], keywords) if len(keywords) == len(tree.keywords) else None


def _is_refuted(condition: Condition, given: dict[str, tuple[ast.expr, ...]] | None) -> bool:
    """Whether a condition fails whatever the values are: what it asks for is left out, or is written as a constant."""
    if given is None or condition.argument == "*" or "." in condition.argument:
        return False
    nodes = given.get(condition.argument, ())
    if condition.predicate == "absent":
        return bool(nodes)
    if condition.predicate in ("device", "host", "tensor", "bool"):
        return all(isinstance(one, ast.Constant) for node in nodes for one in _elements(node))
    return condition.predicate in ("given", "true") and not nodes


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


@functools.cache
def _opname(code: CodeType, offset: int) -> str:
    """The name of an instruction; a frame that has called a Python function may stand in the cache behind the call."""
    names = [one.opname for one in dis.get_instructions(code) if one.offset <= offset]
    return names[-1] if names else ""


def _is_loop_condition(place: Place) -> bool:
    return _is_test(place, (ast.While,))


def branching(stack: Stack) -> Stack:
    """The stack from the line on that branches on what a function further in found out; all of it where none does."""
    found = (depth for depth, place in enumerate(stack) if _is_test(place, (ast.If, ast.IfExp, ast.While)))
    return stack[next(found, 0) :]


def _is_test(place: Place, kinds: tuple[type[ast.If | ast.IfExp | ast.While], ...]) -> bool:
    """Whether the line belongs to the condition of a statement or expression of one of these kinds."""
    tests = [node.test for node in ast.walk(source_tree(place.path)) if isinstance(node, kinds)]
    return any(test.lineno <= place.line <= (test.end_lineno or test.lineno) for test in tests)
