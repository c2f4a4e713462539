"""Values as Python text: the arguments of a call in, source text over named operands out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CONSTANTS = (torch.dtype, torch.layout, torch.memory_format)


class Speller:
    """Spells values, and remembers under which name each operand went into the text."""

    def __init__(self) -> None:
        self.operands: dict[str, object] = {}
        self.complete = True

    def call(self, name: str, positional: Sequence[object], keywords: Mapping[str, object]) -> str:
        return f"{name}({self.arguments(positional, keywords)})"

    def arguments(self, positional: Sequence[object], keywords: Mapping[str, object]) -> str:
        spelled = [self.value(one) for one in positional]
        return ", ".join(spelled + [f"{name}={self.value(one)}" for name, one in keywords.items()])

    def value(self, value: object) -> str:
        if isinstance(value, torch.Tensor):
            return self._operand(value)
        if value is None or isinstance(value, bool | int | complex):
            return repr(value)
        if value is Ellipsis:
            return "..."
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, np.generic):
            return self.value(value.item())
        if isinstance(value, CONSTANTS):
            return str(value)
        if isinstance(value, torch.device):
            return f'"{value}"'
        if isinstance(value, slice):
            return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if type(value) is list:
            return f"[{', '.join(map(self.value, value))}]"
        if type(value) in (tuple, torch.Size):
            spelled = [self.value(one) for one in value]
            return f"({spelled[0]},)" if len(spelled) == 1 else f"({', '.join(spelled)})"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.value(key)}: {self.value(one)}" for key, one in value.items()) + "}"
        if value in (bool, int, float, complex):
            return value.__name__
        # Functions and objects take part by name: the text runs, but does not tell what they are.
        self.complete = False
        return self._operand(value)

    def index(self, value: object) -> str:
        """What stands between the brackets of a subscript."""
        if isinstance(value, tuple) and value:
            return ", ".join(map(self._index_part, value)) + ("," if len(value) == 1 else "")
        return self._index_part(value)

    def _index_part(self, value: object) -> str:
        if not isinstance(value, slice):
            return self.value(value)
        bounds = ["" if bound is None else self.value(bound) for bound in (value.start, value.stop)]
        return ":".join(bounds) + (f":{self.value(value.step)}" if value.step is not None else "")

    def _operand(self, value: object) -> str:
        for name, known in self.operands.items():
            if known is value:
                return name
        count = len(self.operands)
        name = LETTERS[count] if count < len(LETTERS) else f"a{count}"
        self.operands[name] = value
        return name


def describe(value: object) -> str:
    """An operand in words: where it lies, its dtype and its shape."""
    if isinstance(value, torch.Tensor):
        place = "pinned" if value.device.type == "cpu" and value.is_pinned() else value.device.type
        layout = "" if value.layout is torch.strided else f" {str(value.layout).removeprefix('torch.')}"
        shape = "nested" if value.is_nested else list(value.shape)
        grad = " grad" if value.requires_grad else ""
        return f"{place} {str(value.dtype).removeprefix('torch.')} {shape}{layout}{grad}"
    if isinstance(value, torch.nn.Module):
        return f"module {type(value).__name__}"
    if isinstance(value, torch.optim.Optimizer):
        return f"optimizer {type(value).__name__}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} [{', '.join(map(describe, value))}]"
    return type(value).__name__
