"""A callable and its arguments in, the state that it can reach out: to keep, to put back, and to compare.

What is walked, kept and put back has to be the same, kind of object by kind of object; so one long module has it all.
"""

from __future__ import annotations

import copy
import functools
import random
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.examine.comparison import attributes, differing, entries, same, unequal

LIMIT = 100_000  # objects: a second or two
_LONG = 100
_MEMBERS = ("_parameters", "_buffers", "_modules")
_INTERNALS = frozenset(vars(torch.nn.Module())) - {"training"}
_COMPILERS = ("torch._dynamo", "torch._functorch", "torch._inductor", "torch.fx")
_ATOMS = (bool, int, float, complex, str, bytes, NoneType, Enum, torch.dtype, torch.device, torch.Size)
_ABSENT = object()


@dataclass(frozen=True)
class Change:
    """What became of a name: `value`, `moved`, `rebound`, `host`, `created`, `removed`, or `generator`.

    A tensor with another `value` is the same object, or another one in the same place; one that `moved` is the same
    object at another address; a name that is `rebound` stands for another tensor elsewhere. `before` and `after` are
    given for a host value or a length.
    """

    name: str
    kind: str
    before: object = None
    after: object = None


@dataclass(frozen=True)
class State:
    """What is in reach: tensors and host values by names such as `model.blocks[0].weight`.

    `unvisited` objects were left out because of the limit. `unreadable` tensors have no memory of their own (sparse
    ones, wrappers of other tensors, the meta device), and no snapshot keeps them.
    """

    roots: tuple[tuple[str, object], ...]
    limit: int
    tensors: Mapping[str, Tensor]
    hosts: Mapping[str, object]
    unvisited: int
    unreadable: tuple[str, ...]

    def snapshot(self, before: Snapshot | None = None) -> Snapshot:
        """What is in reach at this moment, which stays alive as long as the snapshot does.

        It shares with an earlier one the copies of memory that has not changed.
        """
        return Snapshot(_Walk(self.roots, self.limit), before)


def reachable(callable: object, args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int = LIMIT) -> State:
    """What a callable can read and write through itself, its arguments, its closure, and the globals that it names.

    Functions and classes are followed; globals count where no installed package defines them.
    """
    arguments = [(f"args[{position}]", value) for position, value in enumerate(args)]
    name = getattr(getattr(callable, "func", callable), "__name__", type(callable).__name__.lower())
    roots = ((name, callable), *arguments, *kwargs.items())
    walk = _Walk(roots, limit)
    tensors = {walk.names[id(tensor)]: tensor for tensor in walk.tensors}
    hosts = {name: value for name, value in walk.slots.items() if not isinstance(value, Tensor)} | walk.lengths
    unreadable = tuple(walk.names[id(tensor)] for tensor in walk.tensors if not _is_readable(tensor))
    return State(roots, limit, tensors, hosts, walk.unvisited, unreadable)


def kept(state: State, before: Mapping[str, object]) -> dict[str, object]:
    """What the tensors of a state hold, by name; the copy in `before` again where that has not changed."""
    alike = {
        name: (tensor, old)
        for name, tensor in state.tensors.items()
        if name not in state.unreadable
        and isinstance(old := before.get(name), Tensor)
        and (old.shape, old.dtype, old.device) == (tensor.shape, tensor.dtype, tensor.device)
    }
    differs = dict(zip(alike, unequal(list(alike.values())), strict=True))
    return {
        name: before[name] if not differs.get(name, True) else tensor.detach().clone()
        for name, tensor in state.tensors.items()
    }


@dataclass(frozen=True)
class _Place:
    """Where a tensor was, which `alias` still is, and what it held."""

    tensor: Tensor
    alias: Tensor
    saved: Tensor

    def is_at(self, other: Tensor) -> bool:
        return _layout(self.alias) == _layout(other)


class Snapshot:
    """Names, addresses, values, host values and random states of one moment."""

    def __init__(self, walk: _Walk, before: Snapshot | None = None) -> None:
        self._walk = walk
        self._contents = [(holder, _contents(holder)) for holder in walk.holders]
        self._random = {name: (source, _random_state(source)) for name, source in walk.sources.items()}
        known = before._memory if before is not None else {}
        self._memory: dict[int, tuple[Tensor, Tensor]] = {}
        self._places = {id(tensor): self._place(tensor, known) for tensor in walk.tensors if _is_readable(tensor)}

    def held(self) -> dict[str, Tensor]:
        """What each tensor held, by name; not to be written."""
        return {self._walk.names[key]: place.saved for key, place in self._places.items()}

    def restore(self) -> None:
        """Put back what names stand for, where tensors lie, what memory holds, and the random states."""
        for holder, contents in self._contents:
            _put(holder, contents)
        with torch.no_grad():
            for place in self._places.values():
                if not place.is_at(place.tensor):
                    place.tensor.data = place.alias
            for live, saved in self._memory.values():
                live.copy_(saved)
        for source, state in self._random.values():
            _set_random_state(source, state)

    def changes(self, later: Snapshot) -> list[Change]:
        """What became of the same state until a later snapshot; waits once for each device."""
        found, pairs = [], []
        for key, place in self._places.items():
            if key in later._places:
                pairs.append((self._walk.names[key], place, later._places[key]))
        before, after = self._walk.slots, later._walk.slots
        for name in before | after:
            old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
            kind = "" if old is new else _kind(old, new)
            one, other = self._places.get(id(old)), later._places.get(id(new))
            if kind == "rebound" and one and other and one.is_at(other.alias):
                pairs.append((name, one, other))  # another view of the same memory
            elif kind == "host":
                found.append(Change(name, kind, old, new))
            elif (kind == "created" and id(new) in self._places) or (kind == "removed" and id(old) in later._places):
                continue  # it has another name as well
            elif kind:
                found.append(Change(name, kind))
        for name, length in self._walk.lengths.items():
            if (now := later._walk.lengths.get(name, length)) != length:
                found.append(Change(name, "host", length, now))
        found += [Change(name, "moved") for name, one, other in pairs if not one.is_at(other.alias)]
        alike = [(name, one.saved, other.saved) for name, one, other in pairs if one.is_at(other.alias)]
        changed = unequal([(one, other) for _, one, other in alike])
        found += [Change(name, "value") for (name, _, _), differs in zip(alike, changed, strict=True) if differs]
        for name, (_, state) in self._random.items():
            if name in later._random and differing(later._random[name][1], state, {}):
                found.append(Change(name, "generator"))
        return found

    def _place(self, tensor: Tensor, known: Mapping[int, tuple[Tensor, Tensor]]) -> _Place:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._memory:
            # Bytes of whole storages: what shares memory is kept once, and neither dtype nor autograd has a say.
            live = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            _, old = known.get(storage._cdata, (live, live))
            is_same = old is not live and old.shape == live.shape and torch.equal(old, live)
            self._memory[storage._cdata] = live, old if is_same else live.clone()
        kept = self._memory[storage._cdata][1].untyped_storage()
        saved = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return _Place(tensor, tensor.data, saved.set_(kept, tensor.storage_offset(), tensor.shape, tensor.stride()))


class _Scope:
    """Those globals of a module that one function names."""

    def __init__(self, namespace: dict[str, object], names: frozenset[str]) -> None:
        self.namespace = namespace
        self.names = names
        self.key = id(namespace), names


class _Walk:
    """Everything in reach of some roots, the nearest first, optimizers last: a parameter is named after its module."""

    def __init__(self, roots: Iterable[tuple[str, object]], limit: int) -> None:
        self.slots: dict[str, object] = {}
        self.lengths: dict[str, object] = {}
        self.names: dict[int, str] = {}
        self.tensors: list[Tensor] = []
        self.holders: list[object] = []
        self.sources = _default_sources()
        self.home: object = None
        self.seen: set[object] = set()
        self.queue: deque[tuple[str, object]] = deque()
        self.last: deque[tuple[str, object]] = deque()
        self.put(roots)
        while (self.queue or self.last) and len(self.seen) < limit:
            self.visit(*(self.queue or self.last).popleft())
        self.unvisited = len(self.queue) + len(self.last)

    def put(self, parts: Iterable[tuple[str, object]]) -> None:
        for part in parts:
            (self.last if isinstance(part[1], torch.optim.Optimizer) else self.queue).append(part)

    def visit(self, name: str, value: object) -> None:
        """Take note of an object, and put its parts into the queue."""
        if isinstance(value, Tensor) or _is_atom(value):
            self.slots.setdefault(name, value)
        key = value.key if isinstance(value, _Scope) else id(value)
        if _is_atom(value) or key in self.seen:
            return
        self.seen.add(key)
        self.holders.append(value)
        self.names[id(value)] = name
        if isinstance(value, Tensor):
            self.tensors.append(value)
        elif isinstance(value, (list, dict, set, deque)):
            self.lengths[f"len({name})"] = len(value)
        elif _is_source(value):
            self.sources[name] = value
        if _is_plain(value):
            self.slots.setdefault(name, copy.copy(value))
        else:
            self.put(self.parts(name, value))

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
            case _Scope():
                for global_name, part in _contents(value).items():
                    yield f"{name}{global_name}", part
                    if isinstance(part, ModuleType) and not _is_installed(part.__name__):
                        yield f"{global_name}.", _Scope(vars(part), value.names)
            case CellType():
                yield from ((name, part) for part in _contents(value).values())
            case type():
                yield from self.of_class(value)
            case torch.nn.Module():
                yield from self.of_module(name, value)
            case Tensor():
                yield from ((f"{name}.{key}", part) for key, part in _contents(value).items())
            case _ if not type(value).__module__.startswith(_COMPILERS):
                yield from ((name + step, part) for step, part in entries(value, self.names))
        if not _is_installed(type(value).__module__):
            yield type(value).__name__, type(value)

    def of_function(self, name: str, function: FunctionType) -> Iterator[tuple[str, object]]:
        yield from ((f"{name}.{key}", part) for key, part in vars(function).items())
        yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield f"{name}.__defaults__", function.__defaults__ or ()
        yield f"{name}.__kwdefaults__", function.__kwdefaults__ or ()
        module = function.__globals__.get("__name__", "")
        if not _is_installed(module):
            self.home = self.home or module
            names = frozenset(_names(function.__code__))
            yield "" if module == self.home else f"{module}.", _Scope(function.__globals__, names)

    def of_class(self, owner: type) -> Iterator[tuple[str, object]]:
        if _is_installed(owner.__module__):
            return
        for key, part in vars(owner).items():
            function = getattr(part, "__func__", getattr(part, "fget", part))
            if isinstance(function, FunctionType):
                yield f"{owner.__name__}.{key}", function
        yield from ((f"{owner.__name__}.{key}", part) for key, part in _contents(owner).items())
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


def _names(code: CodeType) -> Iterator[str]:
    """The globals and attributes that a function and the functions in it name."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_installed(module: str) -> bool:
    """Whether a module is of the standard library, PyTorch, or another installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("torch", "graphlint"):
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _contents(holder: Any) -> dict[Any, Any]:
    """What an object refers to itself, by index, key or attribute."""
    match holder:
        case dict():
            return dict(dict.items(holder))  # past a subclass that makes its values when they are asked for
        case list() | deque():
            return dict(enumerate(holder))
        case set():
            return dict.fromkeys(holder)
        case _Scope():
            return {name: holder.namespace[name] for name in holder.names & holder.namespace.keys()}
        case CellType():
            return {"cell_contents": holder.cell_contents} if hasattr(holder, "cell_contents") else {}
        case Tensor():
            grad = {"grad": holder.grad} if holder.is_leaf and holder.requires_grad else {}
            return {**vars(holder), **grad}
        case type():
            own = {} if _is_installed(holder.__module__) else vars(holder)
            return {key: part for key, part in own.items() if key[:2] != "__" and not hasattr(type(part), "__get__")}
        case torch.nn.Module() | FunctionType():
            return dict(vars(holder))
    return {...: holder.copy()} if _is_array(holder) else attributes(holder)


def _put(holder: Any, contents: dict[Any, object]) -> None:
    """Let an object refer to what it once did, where it does not."""
    now = _contents(holder)
    if list(now) == list(contents) and all(part is contents[key] for key, part in now.items()):
        return
    if isinstance(holder, (list, deque)):
        holder.clear()
        holder.extend(contents.values())
    elif isinstance(holder, (dict, set)):
        holder.clear()
        holder.update(contents)
    else:
        for key in now | contents:
            if now.get(key, _ABSENT) is not contents.get(key, _ABSENT):
                _assign(holder, key, contents.get(key, _ABSENT))


def _assign(holder: Any, key: Any, value: object) -> None:
    if isinstance(holder, _Scope):
        holder.namespace.pop(key, None)
        holder.namespace |= {} if value is _ABSENT else {key: value}
    elif _is_array(holder):
        holder[key] = value
    else:
        owner = type if isinstance(holder, type) else object  # past what a class does when an attribute is set
        owner.__delattr__(holder, key) if value is _ABSENT else owner.__setattr__(holder, key, value)


def _kind(old: object, new: object) -> str:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return "rebound"
    if old is _ABSENT or isinstance(new, Tensor):
        return "created"
    if new is _ABSENT or isinstance(old, Tensor):
        return "removed"
    return "" if same(new, old) else "host"


def _layout(tensor: Tensor) -> tuple[object, ...]:
    return tensor.untyped_storage()._cdata, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _is_readable(tensor: Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        return False
    try:
        storage = tensor.untyped_storage()
        return not storage.nbytes() or bool(storage.data_ptr())
    except (NotImplementedError, RuntimeError):
        return False  # a wrapper of other tensors, or one that only stands for a tensor


def _is_atom(value: object) -> bool:
    return isinstance(value, _ATOMS) or (type(value).__module__ == "numpy" and not _is_array(value))


def _is_plain(value: Any) -> bool:
    """Whether an object is compared as a whole: an array, a set, or a long row of host values such as a vocabulary."""
    if isinstance(value, (list, dict, tuple)) and len(value) > _LONG:
        return all(map(_is_atom, dict.values(value) if isinstance(value, dict) else value))
    return isinstance(value, (set, frozenset)) or _is_array(value)


def _is_array(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def _default_sources() -> dict[str, Any]:
    """The random generators that a program uses without naming them."""
    found = {"random": random, "torch.default_generator": torch.default_generator}
    if torch.cuda.is_initialized():
        devices = enumerate(torch.cuda.default_generators)
        found |= {f"torch.cuda.default_generators[{device}]": generator for device, generator in devices}
    if "numpy.random" in sys.modules:
        found["numpy.random"] = sys.modules["numpy.random"]
    return found


def _is_source(value: object) -> bool:
    if isinstance(value, random.SystemRandom):
        return False  # the system's entropy has no state
    numpy = type(value).__module__.startswith("numpy.random.")
    return isinstance(value, (torch.Generator, random.Random)) or (numpy and hasattr(value, "random"))


def _random_state(source: Any) -> Any:
    if hasattr(source, "get_state"):
        return source.get_state()
    return source.getstate() if hasattr(source, "getstate") else copy.deepcopy(source.bit_generator.state)


def _set_random_state(source: Any, state: Any) -> None:
    if hasattr(source, "set_state"):
        source.set_state(state)
    elif hasattr(source, "setstate"):
        source.setstate(state)
    else:
        source.bit_generator.state = state
