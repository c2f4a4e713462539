"""A condition of a way in, whether it speaks of what is hardly captured out: prompts, exports, no graphs or no GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.assumptions import RAISED, Assumption
from graphlint.static.domain.contexts import OpenRegion, Site
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name

_MORE = (">", ">=", "!=", "is not")  # of a number and zero, or of anything and None: there is some
_LESS = ("<", "<=", "==", "is")
_AMONG, _NOT_AMONG = ("==", "in"), ("!=", "not in")
_KIND, _OTHER = "device", "other"  # of the devices of the lexicon: those that capture, and those of other makers


def is_other_phase(assumption: Assumption, sites: tuple[Site, ...], opened: OpenRegion, lexicon: Lexicon) -> bool:
    """Whether a model is exported on a way, or runs on another device, or no memory is left, or no graphs are used, or
    pictures are computed that engines hand in as embeddings, or whole prompts are, and nothing says that these are
    captured.
    """
    if assumption.form == RAISED and lexicon.phases["failures"].match(last_name(assumption.test) or ""):
        return True  # what the device refuses ends a capture, whoever handles it
    for test, holds in assumption.asked if assumption.is_plain else ():
        if _is_on_another(test, holds, lexicon):
            return True
        if any(lexicon.phases["export" if holds else "graphs"].match(name) for name in _names_asked(test)):
            return True
        if _is_there(test, holds, lexicon.phases["media"]):
            return True
    prompt, token = lexicon.phases["prompt"], lexicon.phases["token"]
    if not assumption.is_plain or not any(_is_there(test, holds, prompt, token) for test, holds in assumption.asked):
        return False
    names = [Path(opened.region.path).stem, *(site.function.qualname for site in sites[:1])]
    is_told = any(lexicon.phases["openers"].match(name.lower()) for name in names)
    return opened.region.entry is None and not is_told


def _names_asked(test: ir.Expr) -> Iterator[str]:
    """The last names of what a test asks for its truth: `is_exporting()`, `environment.ENABLE_CUDA_GRAPH.get()`."""
    asked = [test.func if isinstance(test, ir.Call) else test]
    if isinstance(test, ir.Call) and isinstance(test.func, ir.Attribute):
        asked.append(test.func.value)
    for one in asked:
        yield (last_name(one) or "").lower()


def _is_there(test: ir.Expr, holds: bool, named: re.Pattern[str], else_named: re.Pattern[str] | None = None) -> bool:
    """Whether a test says that there is something of some names, or nothing of others."""
    match test:
        case ir.Call(func=ir.Attribute(value=ir.Name() | ir.Attribute() as asked, attr="any")):  # of a whole batch
            return _is_there(asked, holds, named, else_named)
        case ir.Walrus(target=asked) | ir.Call(func=asked):
            return _is_there(asked, holds, named, else_named)
        case ir.Compare(left=asked, comparisons=[(sign, ir.Literal(value=0 | None))]) if sign in _MORE + _LESS:
            return _is_there(asked, holds is (sign in _MORE), named, else_named)
        case ir.Name(id=name) | ir.Attribute(attr=name):
            names = named if holds else else_named
            return names is not None and names.match(name) is not None
    return False


def _is_on_another(test: ir.Expr, holds: bool, lexicon: Lexicon) -> bool:
    """Whether a test says that what runs is on no device that captures: `x.device.type != "cuda"`."""
    match test:
        case ir.Compare(left=asked, comparisons=((sign, right),)) if sign in _AMONG + _NOT_AMONG:
            if isinstance(asked, ir.Literal):  # `"cuda" in str(x.device)`
                asked, right = right, asked
            elements = right.elements if isinstance(right, ir.Display) else (right,)
            is_among = holds is (sign in _AMONG)
        case ir.Call(func=ir.Attribute(value=asked, attr="startswith"), arguments=(ir.Argument(value=named),)):
            elements, is_among = (named,), holds
        case _:
            return False
    named_kinds = [lexicon.devices.get(str(one.value)) for one in elements if isinstance(one, ir.Literal)]
    if len(named_kinds) < len(elements) or not _is_own_device(asked):
        return False
    return _OTHER in named_kinds and _KIND not in named_kinds if is_among else _KIND in named_kinds


def _is_own_device(node: ir.Expr) -> bool:
    """Whether a node is the type of a device, or the device of something: not where something else shall go."""
    match node:
        case ir.Call(func=ir.Name(id="str"), arguments=(ir.Argument(value=given),)):
            return _is_own_device(given)
        case ir.Attribute(value=holder, attr="type"):
            return last_name(holder) == "device"
        case ir.Attribute(attr=name):
            return name in ("device", "device_type")
    return last_name(node) == "device_type"
