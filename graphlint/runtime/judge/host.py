"""What a region read and changed on the host in; what replay does not do, or does with old values, out."""

from __future__ import annotations

import functools
import gc
from collections.abc import Container, Iterator
from types import CodeType

import torch

from graphlint.finding import Span
from graphlint.runtime.trace.bindings import Binding
from graphlint.runtime.trace.capture import Capture, Trouble
from graphlint.runtime.trace.host_values import LENGTH, Description, Position, TensorMemory
from graphlint.runtime.trace.operators import storage_key, tensors
from graphlint.runtime.trace.optimizers import hyperparameters
from graphlint.runtime.trace.places import Place, Stack, is_read, is_user_code, loads

_CACHE = type(functools.lru_cache(int))


def after_capture(capture: Capture, hooks: Container[CodeType]) -> Iterator[Trouble]:
    """State that the region has changed, and random numbers that it has drawn: each once, at capture."""
    for binding in capture.bindings.found.values():
        effect = _changed(capture, binding)
        is_lost = effect == "lost-side-effect" or (binding.access.is_method and not binding.is_local)
        if is_lost and binding.place.code in hooks:
            effect = "lost-hook"
        step = binding.access.steps[-1] if binding.access.steps else None
        if effect == "escaping-allocation" and isinstance(step, str) and not is_read(step, binding.place.path):
            continue
        if effect is not None:
            is_own = (effect == "escaping-allocation" and binding.is_given) or (
                effect == "lost-side-effect"
                and binding.access.how == "write"
                and _is_read_by_region_alone(capture, binding)
            )
            yield Trouble(effect, (binding.place,), span=binding.statement, is_own=is_own)
    yield from consumed(capture)
    yield from _in_caches(capture)
    for stack in capture.released:
        yield Trouble("allocator-call", stack)
    for place in dict.fromkeys(capture.bindings.draws):
        yield Trouble("frozen-host-random", (place,), span=Span(place.path, place.line))


def consumed(capture: Capture) -> Iterator[Trouble]:
    """Iterators that were there before the region and have gone on in it: what they gave, they gave at capture."""
    for binding in capture.bindings.found.values():
        before, after = binding.entered.get(""), binding.left.get("")
        if isinstance(before, Position) and isinstance(after, Position) and before.key == after.key and before != after:
            yield Trouble("frozen-host-value", (binding.place,), "it takes from an iterator", binding.span)


def _in_caches(capture: Capture) -> Iterator[Trouble]:
    """Memory of the graph that a cache keeps, and memory that it reads from a bounded one, which drops old keys."""
    for cache in gc.get_objects():
        code = getattr(cache.__wrapped__, "__code__", None) if type(cache) is _CACHE else None
        if code is None or not is_user_code(code.co_filename):
            continue
        held = [one for part in gc.get_referents(cache) for one in tensors(part)]
        kept = {storage_key(one) for one in held}
        for key in kept & capture.internals.keys():
            stack = capture.internals[key].stack
            depth = next((depth for depth, place in enumerate(stack) if place.code is code), -1)
            yield Trouble("escaping-allocation", stack[depth + 1 :], f"`{code.co_name}` keeps it")
        used = {storage_key(one) for one in held if storage_key(one) in capture.externals and not _is_owned(one, cache)}
        if used and cache.cache_parameters()["maxsize"] is not None:
            place = Place(code, 0, cache.__module__)
            span = Span(code.co_filename, code.co_firstlineno)
            evictable = Trouble("evictable-cache", (place,), span=span, is_luck=True)
            yield evictable
            for key in used:
                capture.externals[key].cached = evictable


def _is_owned(tensor: torch.Tensor, cache: object) -> bool:
    """Whether something besides the cache keeps a tensor: an object, or a container that is no frame's."""
    own = gc.get_referents(cache)
    holders = (one for one in gc.get_referrers(tensor) if one is not cache and not any(one is part for part in own))
    return any(hasattr(one, "__dict__") or (isinstance(one, dict) and "__name__" not in one) for one in holders)


def before_replay(capture: Capture, is_alone: bool, touched: Container[int]) -> Iterator[Trouble]:
    """State that the region read and that holds something else now; `is_alone` is this region's only capture.

    Memory that was `touched` since the capture is filled from whatever a name holds.
    """
    yield from changed_hyperparameters(capture)
    for binding in capture.bindings.found.values():
        if binding.access.how not in ("read", "call") or (binding.is_local and not is_alone):
            continue
        now = binding.look_up()
        for key, before in binding.entered.items():
            after = now.get(key, before)
            if key == LENGTH:  # a cache that grows is no value that changes
                continue
            if isinstance(before, TensorMemory):
                if not binding.access.steps and after == binding.left.get(key, before):
                    continue  # the region itself gives the name another tensor, at capture as in eager
                is_state = bool(binding.access.steps) and not binding.is_local
                if before.key not in touched:
                    yield from _moved(capture, before, after, is_state)
            elif isinstance(after, TensorMemory) or binding.access.how == "call":
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


def _moved(capture: Capture, before: TensorMemory, after: object, is_state: bool) -> Iterator[Trouble]:
    """A variable may be used for something else later on, which has another shape; an attribute is not."""
    external = capture.externals.get(before.key)
    if external is None or not isinstance(after, TensorMemory) or after == before:
        return
    if not is_state and after.shape != before.shape:
        return
    if after.key != before.key and not external.storage.expired():
        operation = capture.operations[external.used]
        yield Trouble("moved-tensor", operation.stack, "its name holds another tensor now")


def _changed(capture: Capture, binding: Binding) -> str | None:
    """What a region does to a name, if it changes what it stands for."""
    how, before, after = binding.access.how, binding.entered, binding.left
    fresh = [key for key, one in after.items() if one != before.get(key) and _is_internal(capture, one)]
    if how in ("read", "call") and ".last_epoch" not in before:
        born = {key for key in fresh if key.startswith(".") and before.get(key) is None}
        return "state-born-in-region" if born - _assigned_by_opening(capture) else None
    if binding.access.is_method:
        new = [one for key, one in after.items() if key not in before]
        is_harmless = bool(new) and all(_is_text(one) or _is_on_host(one) for one in new)
        grows = _length(after) > _length(before) and not binding.is_local
        return "growing-memory" if grows and not is_harmless else None
    if fresh:
        is_deeper = binding.place.code is not capture.bindings.opening
        return "escaping-allocation" if is_deeper else None
    changed = [one for key, one in after.items() if one != before.get(key)]
    if not binding.is_local and any(not isinstance(one, TensorMemory) and not _is_text(one) for one in changed):
        return "lost-side-effect"
    return None


def _is_read_by_region_alone(capture: Capture, binding: Binding) -> bool:
    """Whether the name is read in the file, and only in functions that the region calls."""
    steps = [one for one in binding.access.steps if isinstance(one, str)]
    name = steps[-1] if steps else binding.access.root
    called = {code for _, code in capture.bindings.found} - {capture.bindings.opening}
    spans = [range(code.co_firstlineno, max(line or 0 for *_, line in code.co_lines()) + 1) for code in called]
    lines = set(loads(binding.place.path, name))
    return bool(lines) and all(any(line in span for span in spans) for line in lines)


def _assigned_by_opening(capture: Capture) -> set[str]:
    """Attributes to which the function that opens the region assigns its results."""
    writes = [one for one in capture.bindings.found.values() if one.place.code is capture.bindings.opening]
    return {f".{one.access.steps[-1]}" for one in writes if one.access.how == "write" and one.access.steps}


def _is_internal(capture: Capture, value: object) -> bool:
    return isinstance(value, TensorMemory) and value.key in capture.internals


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_on_host(value: object) -> bool:
    return isinstance(value, TensorMemory) and value.is_host


def _length(state: Description) -> int:
    length = state.get(LENGTH, 0)
    return length if isinstance(length, int) else 0


def _is_scalar(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
