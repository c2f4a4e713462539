"""Captures in, the collectives in them out, as one rank has them."""

from __future__ import annotations

import torch

from graphlint.contract import tensor_type
from graphlint.finding import Collective
from graphlint.rulebook import builtin_catalogue
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.operators import COLLECTIVE, Traced
from graphlint.runtime.trace.places import shown
from graphlint.runtime.trace.values import dtype_name

_NAMESPACE = f"{COLLECTIVE}."  # begins the names of operators that several ranks run together


def collectives(capture: Capture) -> tuple[Collective, ...]:
    """What all ranks of a group have to run in the same order."""
    found = []
    between_two = builtin_catalogue().families["between-two"]
    for one in capture.decisions:
        if one.operator.startswith(_NAMESPACE) and _schema(one) not in between_two:
            place = next(iter((*one.stack, *capture.stack)), None)
            path, line, text = (place.path, place.line, shown(place.span)) if place is not None else ("?", 0, "")
            found.append(Collective(_what(one), text, path, line, place.function if place is not None else ""))
    return tuple(found)


def _schema(traced: Traced) -> str:
    """The operator, as tables name it."""
    return "::".join(traced.operator.split(".")[:2])


def _what(traced: Traced) -> str:
    """The operator, with the shapes that all ranks have to agree on, if there are any."""
    schema = _schema(traced)
    name = schema.partition("::")[2].strip("_")
    shapes = [tensor_type(dtype_name(one[1]), one[0]) for one in traced.numbers if isinstance(one, tuple)]
    return f"{name} of {', '.join(shapes)}" if schema in builtin_catalogue().families["same-shape"] else name


def need_all_ranks(capture: Capture) -> bool:
    """Whether what is captured can only run where other ranks run it at the same time."""
    is_alone = not torch.distributed.is_available() or not torch.distributed.is_initialized()
    if is_alone or torch.distributed.get_world_size() == 1:
        return False
    return any(one.operator.startswith(_NAMESPACE) for one in capture.decisions)
