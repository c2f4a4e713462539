"""graphlint: is it safe to capture this into a CUDA graph and replay it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphlint.deadline import DEADLINE
from graphlint.version import __version__ as __version__

if TYPE_CHECKING:
    from graphlint.finding import Report

_Target = TypeVar("_Target")


def graph_safe(target: _Target) -> _Target:
    """Say that a function, method or class is captured somewhere: `graphlint check` takes it for a declared region.

    It is given back as it is, and costs nothing at run time.
    """
    return target


def verify(
    call: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    on: str = "auto",
    warm_ups: int = 3,
    replays: int = 3,
    deadline: float = DEADLINE,
    allocations: str = "default",
    rules: Iterable[str | Path] = (),
    has_contracts: bool = False,
    contract: str | Path | None = None,
) -> Report:
    """Capture a callable with these example arguments, replay it on fresh ones, and compare with eager.

    `call` is a function, a module, a training step, or an object with `capture()` and `replay(...)`. `on` is `cuda`,
    `emulator`, or `auto` for the emulator where there is no GPU. On a GPU it runs in this process, which is cleaned
    up after a capture that fails; on the emulator in a fork of this process, where what it reaches counts as on the
    device. `warm_ups` counts the eager runs before the capture, `replays` those that are compared; it has `deadline`
    seconds, or as long as it takes if that is 0. With `allocations="strict"`, tensors that are made are told as well.
    `rules` are directories of rules of your own. With `has_contracts`, the report says what each graph depends on and
    what it changes; rank 0 of a job compares that with the file `contract`, and adds it where that knows nothing of it.
    Needs PyTorch; raises `graphlint.errors.UsageError` where that or a GPU is missing, or `call` does not take the
    arguments.
    """
    from graphlint.runtime.examine.target import Runs
    from graphlint.runtime.session.inprocess import verify as verify_here

    runs, directories = Runs(warm_ups, replays), [Path(directory) for directory in rules]
    return verify_here(
        call,
        args,
        kwargs or {},
        on=on,
        runs=runs,
        seconds=deadline,
        allocations=allocations,
        rules=directories,
        has_contracts=has_contracts,
        contract=None if contract is None else Path(contract),
    )


def assert_graph_safe(
    call: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None, **settings: Any
) -> Report:
    """As `verify`, as far as [tool.graphlint] and ignore comments leave it; raises AssertionError for an error.

    `settings` are those of `verify`.
    """
    __tracebackhide__ = True
    from graphlint.config import extend_config, load_config, load_rules
    from graphlint.finding import Severity
    from graphlint.testing.verdict import failure, judge

    given = tuple(map(Path, settings.pop("rules", ())))
    config = extend_config(load_config(Path()), rules=given)
    rulebook = load_rules(config, given)
    report = judge(verify(call, args, kwargs, rules=config.rules, **settings), config, rulebook)
    if said := failure(report, Severity.ERROR, Path.cwd()):
        raise AssertionError(said)
    return report
