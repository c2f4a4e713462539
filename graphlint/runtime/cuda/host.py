"""What a region read and changed on the host in; what replay does not do, or does with old values, out."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator

import torch

from graphlint.finding import Span
from graphlint.runtime.bindings import Binding, Memory, State
from graphlint.runtime.cuda.audit import Trouble
from graphlint.runtime.cuda.capture import Capture
from graphlint.runtime.cuda.operators import storage_key, tensors
from graphlint.runtime.places import Place, Stack, is_user_code

_LENGTH = "length"
_CACHE = type(functools.lru_cache(int))


def after_capture(capture: Capture) -> Iterator[Trouble]:
    """State that the region has changed, and random numbers that it has drawn: each once, at capture."""
    for binding in capture.bindings.found.values():
        effect = _changed(capture, binding)
        if effect is not None:
            yield Trouble(effect, (binding.place,), span=binding.statement)
    yield from _in_caches(capture)
    for stack in capture.released:
        yield Trouble("allocator-call", stack)
    for place in dict.fromkeys(capture.bindings.draws):
        yield Trouble("frozen-host-random", (place,), span=Span(place.path, place.line))


def _in_caches(capture: Capture) -> Iterator[Trouble]:
    """Memory that the graph reads and that a bounded cache owns: other keys will push it out."""
    for cache in gc.get_objects():
        if type(cache) is not _CACHE or cache.cache_parameters()["maxsize"] is None:
            continue
        used = {
            storage_key(one) for part in gc.get_referents(cache) for one in tensors(part)
        } & capture.externals.keys()
        code = getattr(cache.__wrapped__, "__code__", None)
        if used and code is not None and is_user_code(code.co_filename):
            place = Place(code, 0, cache.__module__)
            yield Trouble("evictable-cache", (place,), span=Span(code.co_filename, code.co_firstlineno))
            for key in used:
                capture.externals[key].is_cached = True


def before_replay(capture: Capture, is_alone: bool) -> Iterator[Trouble]:
    """State that the region read and that holds something else now; `is_alone` is this region's only capture."""
    yield from changed_hyperparameters(capture)
    for binding in capture.bindings.found.values():
        if binding.access.how not in ("read", "call") or (binding.is_local and not is_alone):
            continue
        now = binding.look_up()
        for key, before in binding.entered.items():
            after = now.get(key, before)
            if key == _LENGTH:  # a cache that grows is no value that changes
                continue
            if isinstance(before, Memory):
                yield from _moved(capture, before, after)
            elif isinstance(after, Memory) or binding.access.how == "call":
                continue
            elif after != binding.left.get(key, before):
                yield Trouble(
                    "frozen-host-value", (binding.place,), f"{before!r} at capture, {after!r} now", binding.span
                )
            elif after != before and _is_scalar(before):
                yield Trouble(
                    "frozen-host-value", (binding.place,), f"the region itself changed it to {after!r}", binding.span
                )


def suspect(capture: Capture, stack: Stack) -> Trouble | None:
    """A value that the region both changes and reads, read last before an operator in one of the functions above it."""
    found = capture.bindings.found.values()
    effects = {(one.access.root, one.access.steps): effect for one in found if (effect := _changed(capture, one))}
    above = {place.code: place.line for place in stack}
    read = [
        one
        for one in found
        if one.access.how == "read"
        and (one.access.root, one.access.steps) in effects
        and one.access.line <= above.get(one.place.code, 0)
    ]
    if not read:
        return None
    last = max(read, key=lambda one: one.access.line)
    is_tensor = effects[last.access.root, last.access.steps] == "escaping-allocation"
    return Trouble("moved-tensor" if is_tensor else "frozen-host-value", (last.place,), span=last.span)


def changed_hyperparameters(capture: Capture) -> Iterator[Trouble]:
    """Learning rates and the like that a captured step took as numbers, and that are others now."""
    for stepped in capture.optimizers:
        now = hyperparameters(stepped.optimizer)
        for before, after in zip(stepped.groups, now, strict=False):
            changed = [
                f"{name}: {value} at capture, {after.get(name)} now"
                for name, value in before.items()
                if after.get(name) != value
            ]
            if changed:
                yield Trouble("frozen-hyperparameter", stepped.stack, changed[0])


def hyperparameters(optimizer: torch.optim.Optimizer) -> list[dict[str, object]]:
    """The numbers of the parameter groups that a step reads on the host."""
    return [
        {name: _number(value) for name, value in group.items() if name != "params"} for group in optimizer.param_groups
    ]


def _number(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return None if value.is_cuda else value.tolist()
    return value if isinstance(value, int | float | tuple) else None


def _moved(capture: Capture, before: Memory, after: object) -> Iterator[Trouble]:
    external = capture.externals.get(before.key)
    if external is None or not isinstance(after, Memory) or after == before or after.shape != before.shape:
        return
    if after.key != before.key and not external.storage.expired():
        operation = capture.operations[external.used]
        yield Trouble("moved-tensor", operation.stack, "its name holds another tensor now")


def _changed(capture: Capture, binding: Binding) -> str | None:
    """What a region does to a name, if it changes what it stands for."""
    how, before, after = binding.access.how, binding.entered, binding.left
    fresh = [key for key, one in after.items() if one != before.get(key) and _is_internal(capture, one)]
    if how in ("read", "call") and ".last_epoch" not in before:
        is_born = any(key.startswith(".") and before.get(key) is None for key in fresh)
        return "state-born-in-region" if is_born else None
    if binding.access.is_method:
        grows = _length(after) > _length(before) and not binding.is_local
        return "growing-memory" if grows else None
    if fresh:
        is_deeper = binding.place.code is not capture.bindings.opening
        return "escaping-allocation" if is_deeper else None
    if any(one != before.get(key) and not isinstance(one, Memory) for key, one in after.items()):
        return "lost-side-effect" if not binding.is_local else None
    return None


def _is_internal(capture: Capture, value: object) -> bool:
    return isinstance(value, Memory) and value.key in capture.internals


def _length(state: State) -> int:
    length = state.get(_LENGTH, 0)
    return length if isinstance(length, int) else 0


def _is_scalar(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
