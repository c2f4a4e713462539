"""Something that captures and replays by itself in; whether its results are right and stay so out."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import torch

from graphlint.runtime.compare.comparison import differing, leaves, noise_floor
from graphlint.runtime.examine.arguments import Arguments, Values, cloned, copied, renewed
from graphlint.runtime.examine.fresh_inputs import LEVELS
from graphlint.runtime.judge.reporting import Reporting


def examine_runner(
    replay: Callable[..., Any], eager: Callable[..., Any] | None, examples: Arguments, reporting: Reporting
) -> dict[str, float]:
    """Replay on fresh inputs; a result must stay when the next one is made, and equal `eager` where there is one."""
    kept: list[tuple[object, Values]] = []
    if not reporting.watch.driver.has_numbers:
        _called(replay, examples)
        return {}
    for number, level in enumerate(LEVELS):
        result, values = _compared(replay, eager, renewed(examples, level, seed=number), reporting)
        for earlier, before in kept:
            if any(one.is_mismatch for one in differing(cloned(leaves(earlier, "output")), before, {}, "")):
                reporting.told("overwritten-output", replay, "a result changed when the next replay ran")
        kept.append((result, values))
    return {}


def examine_graphed(call: Callable[..., Any], examples: Arguments, reporting: Reporting) -> dict[str, float]:
    """Call what `make_graphed_callables` gave on fresh inputs; the next call may overwrite its results.

    What torch compiles may round otherwise than eager, and is called alone.
    """
    if not reporting.watch.driver.has_numbers:
        _called(call, examples)
        return {}
    is_module = isinstance(call, torch.nn.Module) and "forward" in vars(call) and not is_compiled(call)
    eager = functools.partial(type(call).forward, call) if is_module else None  # type: ignore[attr-defined]
    for number, level in enumerate(LEVELS):
        _compared(call, eager, renewed(examples, level, seed=number), reporting)
    return {}


def is_compiled(call: Callable[..., Any]) -> bool:
    """Whether torch compiles what runs."""
    return hasattr(call, "_orig_mod") or hasattr(call, "_torchdynamo_orig_callable")


def compiled(call: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """The same, compiled in a mode; what is compiled already stays as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch loads what it warns of itself
        importlib.import_module("torch._inductor.compile_fx")
    return call if is_compiled(call) else torch.compile(call, mode=mode)


def _compared(
    replay: Callable[..., Any], eager: Callable[..., Any] | None, inputs: Arguments, reporting: Reporting
) -> tuple[object, Values]:
    """What replay gives on some inputs, and its values; told if eager gives others."""
    result = _called(replay, inputs)
    values = cloned(leaves(result, "output"))
    runs = [cloned(leaves(_called(eager, inputs), "output")) for _ in range(2)] if eager is not None else []
    differences = differing(values, runs[0], noise_floor(runs, ""), "") if runs else []
    mismatch = next((one for one in differences if one.is_mismatch), None)
    if mismatch is not None:
        said = f"{mismatch.path[2:-2]} is {mismatch.found}, {mismatch.expected} in eager"
        reporting.told("unexplained-divergence", replay, said)
    return result, values


def _called(call: Callable[..., Any], inputs: Arguments) -> object:
    args, kwargs = copied(inputs)
    result = call(*args, **kwargs)
    torch.cuda.synchronize()
    return result
