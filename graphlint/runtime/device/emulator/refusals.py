"""An operator of the device in, what the host has to wait for or to copy for it, as the catalogue says, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from graphlint.rulebook.effects import Effect
from graphlint.rulebook.operations import Catalogue
from graphlint.rulebook.signatures import Operation
from graphlint.runtime.trace.conditions import holds
from graphlint.runtime.trace.operators import Call, Operator

UNPINNED = "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned"
# The effects of an operator by what the host does meanwhile; copies that are asked for are followed in another place.
_WAITS = ("scalar-readback", "tensor-as-size", "hidden-sync", "data-dependent-shape", "boolean-mask-index")
_COPIES = ("host-to-device-copy", "device-to-host-copy", "host-index", "literal-upload")
_OWN = ("aten", "prims")  # the namespaces of torch's own operators


@dataclass(frozen=True, slots=True)
class _Known:
    """What the catalogue says of an operator; `takes_hosts` that tensors of the host may stand beside its others."""

    operation: Operation | None = None
    waits: tuple[Effect, ...] = ()
    copies: tuple[Effect, ...] = ()
    takes_hosts: bool = False


class Refusals:
    """Looks up what operators do, each once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._looked_up: dict[Operator, _Known] = {}
        self._tuned: set[object] = set()
        self._waiting_backward = catalogue.families["waiting-backward"]

    def waits(self, call: Call) -> bool:
        """Whether the host waits for the device in the course of an operator other than a copy."""
        known = self._of(call.operator)
        return _happens(known.operation, known.waits, call.args, call.kwargs)

    def copies(self, call: Call) -> bool:
        """Whether an operand has to be copied between host and device."""
        known = self._of(call.operator)
        return _happens(known.operation, known.copies, call.args, call.kwargs)

    def mixes(self, call: Call) -> bool:
        """Whether an operator of the device takes a tensor of the host that is not a single number, and must not."""
        given = call.tensors
        if not any(one.is_cuda for one in given) or not any(not one.is_cuda and one.dim() for one in given):
            return False
        return not self._of(call.operator).takes_hosts

    def tune(self, call: Call, wait: Callable[[], None]) -> None:
        """Where a program asks for the fastest kernels, some operators time them for each shape that is new."""
        if torch.backends.cudnn.benchmark and call.schema in self.catalogue.families["benchmarked"]:
            shapes = call.name, call.numbers, tuple((one.shape, one.dtype) for one in call.tensors)
            if shapes not in self._tuned:
                wait()
                self._tuned.add(shapes)

    def waits_backward(self, node: str) -> bool:
        """Whether the host waits before a node of autograd, known by its name, runs its first operator."""
        return node in self._waiting_backward

    def is_host_result(self, call: Call, number: int) -> bool:
        """Whether a result of an operator of the device lies on the host."""
        return number == 1 and call.schema in self.catalogue.families["second-on-host"]

    def is_number_written(self, call: Call, tensor: torch.Tensor) -> bool:
        """Whether a tensor of C++ is a number that is written through an index, which stays one of the host."""
        operation = None if tensor.dim() else self._of(call.operator).operation
        bound = operation.bind(call.args, call.kwargs) if operation is not None else {}
        return "indices" in bound and bound.get("values", (None,))[0] is tensor

    def of_function(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[bool, bool]:
        """Whether the host waits, and whether it copies, for a function by its qualified name."""
        known = _known(self.catalogue.find(name), takes_hosts=True)
        waits, copies = (_happens(known.operation, one, args, kwargs) for one in (known.waits, known.copies))
        return waits, copies

    def _of(self, operator: Operator) -> _Known:
        if operator not in self._looked_up:
            takes_hosts = operator.schema in self.catalogue.families["host-operands"] or operator.namespace not in _OWN
            self._looked_up[operator] = _known(
                self.catalogue.find(f"torch.ops.{operator.name}"), takes_hosts=takes_hosts
            )
        return self._looked_up[operator]


def _known(operation: Operation | None, *, takes_hosts: bool) -> _Known:
    effects = operation.told if operation is not None else ()
    speaks_of_hosts = any(part.predicate == "host" and part.argument != "*" for one in effects for part in one.when)
    waits, copies = (tuple(one for one in effects if one.name in names) for names in (_WAITS, _COPIES))
    return _Known(operation, waits, copies, takes_hosts or speaks_of_hosts)


def _happens(
    operation: Operation | None, effects: tuple[Effect, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> bool:
    if operation is None or not effects:
        return False
    bound = operation.bind(args, kwargs)
    return any(holds(one, bound) for one in effects)
