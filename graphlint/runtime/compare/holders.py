"""An object in, what it refers to itself out; and the other way round, to let it refer to that again."""

from __future__ import annotations

import sys
from collections import deque
from types import CellType, FunctionType
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.compare.comparison import attributes
from graphlint.runtime.trace.containers import elements
from graphlint.runtime.trace.values import module_of

ABSENT = object()


class Scope:
    """Those globals of a module that one function names."""

    def __init__(self, namespace: dict[str, object], names: frozenset[str]) -> None:
        self.namespace = namespace
        self.names = names
        self.key = id(namespace), names


def parts_of(holder: Any) -> dict[Any, Any]:
    """What an object refers to itself, by index, key or attribute."""
    match holder:
        case dict():
            return dict(dict.items(holder))  # past a subclass that makes its values when they are asked for
        case list() | deque():
            return dict(enumerate(elements(holder)))
        case set():
            return dict.fromkeys(elements(holder))
        case Scope():
            return {name: holder.namespace[name] for name in holder.names & holder.namespace.keys()}
        case CellType():
            return _contents(holder)
        case Tensor():
            grad = {"grad": holder.grad} if holder.is_leaf and holder.requires_grad else {}
            return {**vars(holder), **grad}
        case type():
            own = {} if is_installed(module_of(holder)) else vars(holder)
            return {key: part for key, part in own.items() if key[:2] != "__" and not hasattr(type(part), "__get__")}
        case torch.nn.Module() | FunctionType():
            return dict(vars(holder))
    return {...: holder.copy()} if is_array(holder) else attributes(holder)


def _contents(cell: CellType) -> dict[str, object]:
    try:
        return {"cell_contents": cell.cell_contents}
    except ValueError:  # its variable has no value yet, or none any more
        return {}


def put_back(holder: Any, parts: dict[Any, object]) -> None:
    """Let an object refer to what it once did, where it does not."""
    now = parts_of(holder)
    if list(now) == list(parts) and all(part is parts[key] for key, part in now.items()):
        return
    kind: Any = next((one for one in (list, deque, dict, set) if isinstance(holder, one)), None)
    if kind is not None:  # past what a subclass does when it is filled
        kind.clear(holder)
        kind.extend(holder, parts.values()) if kind in (list, deque) else kind.update(holder, parts)
    else:
        for key in now | parts:
            if now.get(key, ABSENT) is not parts.get(key, ABSENT):
                _assign(holder, key, parts.get(key, ABSENT))


def _assign(holder: Any, key: Any, value: object) -> None:
    if isinstance(holder, Scope):
        holder.namespace.pop(key, None)
        holder.namespace |= {} if value is ABSENT else {key: value}
    elif is_array(holder):
        if holder.flags.writeable:  # what can only be read is what it was
            holder[key] = value
    else:
        owner = type if isinstance(holder, type) else object  # past what a class does when an attribute is set
        owner.__delattr__(holder, key) if value is ABSENT else owner.__setattr__(holder, key, value)


def is_array(value: object) -> bool:
    return module_of(type(value)) == "numpy" and type(value).__name__ == "ndarray"


def is_installed(module: str) -> bool:
    """Whether a module is of the standard library, PyTorch, or another installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("torch", "graphlint"):
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
