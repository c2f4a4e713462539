"""Functions in, buffers out that are filled up to a request's end, while others of their kind are reset before that.

Whoever resets `locations` before `locations[:n]` is filled knows that a graph reads behind `n`, where the rest of a
longer request is left; so it is in `locations_window`, if that is only filled, and in the one or two indices among the
buffers of an object that are not reset where most are: old data does no harm behind `n`, but leads astray as an index.
No region needs to be seen for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from graphlint.reading.questions import HoldsAny
from graphlint.rule import PartialFill
from graphlint.static.domain.program import Function, functions_with
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.objects import Capture, Place
from graphlint.static.life.questions import OF_HOST
from graphlint.static.life.tensors import is_start
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name, walk

_RESETTING = frozenset({"fill_", "zero_"})
_MANY = 4  # buffers of an object that are reset, before one that is not has been forgotten


def left_behind(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[tuple[PartialFill, Place, Capture]]:
    """The fills of a part of a buffer that is never reset, in functions that reset one of its kind."""
    life = interpreter.lexicon.life
    asked = HoldsAny([*life["hooks"], *(f".{name}" for name in life["replays"])], r"\.(?:fill_|zero_)\b")
    for path in files:
        if not interpreter.project.ask(path, asked):
            continue
        for function in functions_with(interpreter.project.module_at(path), _RESETTING):
            for node, bound in _left(function, life["indexing"]):
                place = Place(function, node)
                yield PartialFill(bound, True, False), place, Capture.unseen(function.code.name, place)


def _left(function: Function, indexing: Set[str]) -> Iterator[tuple[ir.Node, str]]:
    """The parts of a function that are filled, and up to where."""
    filled: dict[str, tuple[ir.Subscript, ir.Node, str]] = {}
    whole: set[str] = set()  # what is reset, or copied as a whole
    cleared: dict[str, set[str]] = {}  # what is reset up to where, such as what a graph reads of it
    for part in walk(function.code.body):
        for one in _targets(part):
            if (cut := _cut(one)) is None:
                whole.add(
                    function.source(one.value if isinstance(one, ir.Subscript) and _slice(one) is not None else one)
                )
            elif isinstance(one, ir.Subscript):
                if isinstance(part, ir.Call) and last_name(part.func) in _RESETTING:
                    cleared.setdefault(function.source(one.value), set()).add(function.source(cut))
                    continue
                is_listed = isinstance(part, ir.Display) or (isinstance(part, ir.Call) and one is not _owner(part))
                node = part if isinstance(part, ir.Node) and not is_listed else one
                filled.setdefault(function.source(one.value), (one, node, function.source(cut)))
    whole |= {spelt for spelt, (*_, bound) in filled.items() if cleared.get(spelt, {bound}) != {bound}}
    kinds = {spelt: _kind(one.value) for spelt, (one, *_) in filled.items()}
    reset = [kinds[spelt] for spelt in whole & filled.keys()]
    rest = [kinds[spelt] for spelt in filled.keys() - whole]
    for spelt, (_, node, bound) in filled.items():
        beside = [one for one in reset if one[0] == kinds[spelt][0] != ""]
        left = sum(one[0] == kinds[spelt][0] for one in rest)
        is_index = kinds[spelt][1].rpartition("_")[2] in indexing
        is_missed = is_index and len(beside) >= _MANY and 2 * left <= len(beside)
        if spelt not in whole and (is_missed or any(_are_related(kinds[spelt], one) for one in reset)):
            yield node, bound


def _owner(call: ir.Call) -> ir.Expr | None:
    """What a method is called of."""
    return call.func.value if isinstance(call.func, ir.Attribute) else None


def _targets(part: object) -> Iterator[ir.Expr]:
    """What is written to, or put into a list of what will be."""
    match part:
        case ir.Assign(targets=targets):
            yield from (one for one in targets if isinstance(one, ir.Subscript) and _slice(one) is not None)
        case ir.Call(func=ir.Attribute(value=owner, attr=name)) if name in _RESETTING or name == "copy_":
            yield from (owner,) if _slice(owner) is not None or not isinstance(owner, ir.Subscript) else _item(owner)
        case ir.Call(func=ir.Attribute(attr="append"), arguments=(ir.Argument(value=ir.Subscript() as one),)):
            yield from (one,) if _cut(one) is not None else ()
        case ir.Display(kind="list", elements=elements):
            yield from (one for one in elements if _cut(one) is not None)


def _item(node: ir.Subscript) -> tuple[ir.Expr, ...]:
    """A buffer that is an item with a key in quotes; of any other item, nobody knows how much of a buffer it is."""
    return (node,) if isinstance(node.index, ir.Literal) and isinstance(node.index.value, str) else ()


def _slice(node: ir.Expr) -> ir.Slice | None:
    return node.index if isinstance(node, ir.Subscript) and isinstance(node.index, ir.Slice) else None


def _cut(node: ir.Expr) -> ir.Expr | None:
    """Where a slice from the start ends, if that is no fixed number."""
    bounds = slice_.bounds if (slice_ := _slice(node)) is not None else (None, None, None)
    return bounds[1] if is_start(bounds[0]) and not isinstance(bounds[1], ir.Literal) else None


def _kind(node: ir.Expr) -> tuple[str, str]:
    """What holds a buffer, and its name there: an attribute, or an item with a key in quotes."""
    match node:
        case ir.Attribute(value=owner, attr=name):
            return last_name(owner) or "", name
        case ir.Subscript(value=owner, index=ir.Literal(value=str() as name)):
            return last_name(owner) or "", name
    return "", last_name(node) or ""


def _are_related(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two names in one place are those of a thing and of a variant of it: `slots` and `slots_draft`."""
    short, long = sorted((one[1], other[1]), key=len)
    if one[0] != other[0] or short == long or not short or long.rpartition("_")[2] in OF_HOST:
        return False
    return long.startswith(f"{short}_") or long.endswith(f"_{short}")
