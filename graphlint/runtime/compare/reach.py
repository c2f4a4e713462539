"""Some objects in, everything that they can reach out, with a name for each of it."""

from __future__ import annotations

import copy
import functools
import weakref
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.compare.comparison import entries
from graphlint.runtime.compare.generators import default_sources, is_source
from graphlint.runtime.compare.holders import Scope, is_array, is_installed, parts_of
from graphlint.runtime.trace.containers import elements
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.trace.values import module_of

_LONG = 100
_MEMBERS = ("_parameters", "_buffers", "_modules")
_INTERNALS = frozenset(vars(torch.nn.Module())) - {"training"}
_OURS = "graphlint.runtime."
_COMPILERS = ("torch._dynamo", "torch._functorch", "torch._inductor", "torch.fx")
_ATOMS = (bool, int, float, complex, str, bytes, NoneType, Enum, torch.dtype, torch.device, torch.Size)


class Walk:
    """Everything in reach of some roots, the nearest first, optimizers last: a parameter is named after its module.

    What long containers hold comes behind all else, so that no table stands in the way of a model. The walk ends early
    where `sought`, which is memory by its storage, has been found.
    """

    def __init__(self, roots: Iterable[tuple[str, object]], limit: int, sought: Collection[int] | None = None) -> None:
        self.slots: dict[str, object] = {}
        self.lengths: dict[str, object] = {}
        self.names: dict[int, str] = {}
        self.tensors: list[Tensor] = []
        self.holders: list[object] = []
        self.sources = default_sources()
        self.home: object = None
        self.seen: set[object] = set()
        self.queue: deque[tuple[str, object]] = deque()
        self.late: deque[tuple[str, object]] = deque()
        self.last: deque[tuple[str, object]] = deque()
        self.put(roots, self.queue)
        self.sought = None if sought is None else set(sought)
        while (self.queue or self.late or self.last) and len(self.seen) < limit and self.sought != set():
            self.visit(*(self.queue or self.late or self.last).popleft())
        self.unvisited = len(self.queue) + len(self.late) + len(self.last)

    def put(self, parts: Iterable[tuple[str, object]], queue: deque[tuple[str, object]]) -> None:
        for name, part in parts:
            found = _referent(part)
            (self.last if isinstance(found, torch.optim.Optimizer) else queue).append((name, found))

    def visit(self, name: str, value: object) -> None:
        """Take note of an object, and put its parts into the queue."""
        if isinstance(value, Tensor) or is_atom(value):
            self.slots.setdefault(name, value)
        key = value.key if isinstance(value, Scope) else id(value)
        if is_atom(value) or key in self.seen or _is_ours(value):
            return
        self.seen.add(key)
        self.holders.append(value)
        self.names[id(value)] = name
        if isinstance(value, Tensor):
            self.tensors.append(value)
            if self.sought:
                self.sought.discard(storage_key(value))
        elif isinstance(value, (list, dict, set, deque)):
            self.lengths[f"len({name})"] = len(elements(value))
        elif is_source(value):
            self.sources[name] = value
        if is_plain(value):
            self.slots.setdefault(name, copy.copy(value))
        else:
            is_long = isinstance(value, (list, tuple, dict, deque)) and len(elements(value)) > _LONG
            self.put(self.parts(name, value), self.late if is_long else self.queue)

    def parts(self, name: str, value: Any) -> Iterator[tuple[str, object]]:
        """What can be reached from an object in one step."""
        match value:
            case FunctionType():
                yield from self.of_function(name, value)
            case MethodType() | BuiltinMethodType():
                owner = name.removesuffix(f".{value.__name__}")
                yield "self" if owner == name else owner, value.__self__
                if isinstance(value, MethodType):
                    yield name, value.__func__
            case functools.partial():
                yield from ((name, value.func), (f"{name}.args", value.args), (f"{name}.keywords", value.keywords))
            case Scope():
                for global_name, part in parts_of(value).items():
                    yield f"{name}{global_name}", part
                    if isinstance(part, ModuleType) and not is_installed(part.__name__):
                        yield f"{global_name}.", Scope(vars(part), value.names)
            case CellType():
                yield from ((name, part) for part in parts_of(value).values())
            case type():
                yield from self.of_class(value)
            case torch.nn.Module():
                yield from self.of_module(name, value)
            case Tensor():
                yield from ((f"{name}.{key}", part) for key, part in parts_of(value).items())
            case _ if not module_of(type(value)).startswith(_COMPILERS):
                yield from ((name + step, part) for step, part in entries(value, self.names))
        if not is_installed(module_of(type(value))):
            yield type(value).__name__, type(value)

    def of_function(self, name: str, function: FunctionType) -> Iterator[tuple[str, object]]:
        yield from ((f"{name}.{key}", part) for key, part in vars(function).items())
        yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield f"{name}.__defaults__", function.__defaults__ or ()
        yield f"{name}.__kwdefaults__", function.__kwdefaults__ or ()
        module = function.__globals__.get("__name__", "")
        if not is_installed(module):
            self.home = self.home or module
            names = frozenset(names_in(function.__code__))
            yield "" if module == self.home else f"{module}.", Scope(function.__globals__, names)

    def of_class(self, owner: type) -> Iterator[tuple[str, object]]:
        if is_installed(module_of(owner)):
            return
        for key, part in vars(owner).items():
            function = getattr(part, "__func__", getattr(part, "fget", part))
            if isinstance(function, FunctionType):
                yield f"{owner.__name__}.{key}", function
        yield from ((f"{owner.__name__}.{key}", part) for key, part in parts_of(owner).items())
        yield from ((base.__name__, base) for base in owner.__bases__)

    def of_module(self, name: str, module: torch.nn.Module) -> Iterator[tuple[str, object]]:
        for key, part in vars(module).items():
            if key not in _INTERNALS:
                yield f"{name}.{key}", part
                continue
            self.holders.append(part)
            for member, inner in part.items() if isinstance(part, dict) else ():
                step = f"[{member}]" if str(member).isdigit() else f".{member}"
                yield f"{name}{step}" if key in _MEMBERS else f"{name}.{key}[{member}]", inner


def names_in(code: CodeType) -> Iterator[str]:
    """The globals and attributes that a function and the functions in it name."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def _referent(value: Any) -> object:
    """What a proxy stands for, through which a program reaches it as well; None where that is gone."""
    if type(value) not in weakref.ProxyTypes:
        return value
    try:
        return value.__init__.__self__
    except ReferenceError:
        return None


def _is_ours(value: object) -> bool:
    """Whether an object belongs to who looks: what stands in for a function of torch is known by the program, too."""
    module = value.__globals__.get("__name__") if isinstance(value, FunctionType) else module_of(type(value))
    return not isinstance(value, Scope) and str(module).startswith(_OURS)


def is_atom(value: object) -> bool:
    return isinstance(value, _ATOMS) or (module_of(type(value)) == "numpy" and not is_array(value))


def is_plain(value: Any) -> bool:
    """Whether an object is compared as a whole: an array, a set, or a long row of host values such as a vocabulary."""
    if isinstance(value, (list, dict, tuple)) and len(held := elements(value)) > _LONG:
        return all(map(is_atom, held))
    return isinstance(value, (set, frozenset)) or is_array(value)
