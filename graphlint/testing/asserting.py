"""A test and its settings in, an assertion that a target of it is safe to capture out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

import graphlint
from graphlint.config import Config, extend_config, load_config, load_rules
from graphlint.errors import UsageError
from graphlint.finding import Report, Severity
from graphlint.testing.options import MARKER
from graphlint.testing.settings import Settings, read_settings
from graphlint.testing.verdict import failure, judge, partly_graphed

BROKEN = pytest.StashKey[str]()
FORMS = "(callable, args) or (callable, args, kwargs)"


class GraphSafe:
    """Asserts for one test; `settings` are values, or texts as they stand in an ini file."""

    def __init__(self, item: pytest.Item, settings: Mapping[str, Any]) -> None:
        self._item = item
        self._given = settings

    def __repr__(self) -> str:
        return MARKER  # pytest shows it above the line of a test that fails

    def __call__(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Report:
        """Fail the test unless `call` is safe to capture with these example arguments; the report, if it is.

        `settings` are those of the options, as `on="emulator"` or `ignore=["GL207"]`, and count for this call alone.
        Raises UsageError where the target cannot be looked at.
        """
        __tracebackhide__ = True
        report, said = self._look(call, args, kwargs or {}, settings)
        if said:
            raise AssertionError(said)
        return report

    def compiled(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        mode: str = "reduce-overhead",
        **settings: Any,
    ) -> Report:
        """Fail the test unless all that `torch.compile` makes of `call` runs in CUDA graphs; the report, if it does.

        `call` is compiled in this mode, unless it is compiled already. What is left out fails the test with its line.
        """
        __tracebackhide__ = True
        from graphlint.runtime.examine.runner import compiled

        report, said = self._look(compiled(call, mode), args, kwargs or {}, {"fail_on": "note", **settings})
        if not said:
            said = next(filter(None, map(partly_graphed, report.targets)), "")
        if said:
            raise AssertionError(said)
        return report

    def buckets(
        self,
        call: Callable[..., Any],
        sizes: Iterable[int],
        make: Callable[[int], Any],
        *,
        eager: Callable[..., Any] | None = None,
        buffers: Sequence[Any] = (),
        **settings: Any,
    ) -> None:
        """Fail the test unless each bucket is safe to capture, and no batch changes what another one gives.

        `make(n)` gives the arguments of a batch of n rows, which are dimension 0 of each tensor. Without `eager`,
        `call` is what a bucket captures: padding of NaN must not change the rows before it. With it, `eager` is what
        is captured, and `call` pads and serves by itself: batches that fill a bucket and that do not give what `eager`
        gives, right after a full one of NaN; an empty batch and one beyond the last bucket do so too, or raise
        ValueError; and nothing of that full batch stays in the tail of `buffers`, the static inputs with rows in
        dimension 0.
        """
        __tracebackhide__ = True
        from graphlint.runtime.examine.buckets import Buckets

        served = Buckets(call, tuple(sorted(sizes)), make, eager, buffers)
        for size in served.sizes:
            _, said = self._look(eager or call, served.args(size), {}, settings)
            if said:
                raise AssertionError(f"bucket of {size}: {said}")
        if troubles := list(served.troubles()):
            name = getattr(call, "__qualname__", type(call).__qualname__)
            raise AssertionError("\n  ".join([f"{name} does not keep its batches apart:", *troubles]))

    def returned(self, target: object) -> None:
        """Fail the test unless what it returned is a target that is safe to capture."""
        if not isinstance(target, tuple) or not 1 <= len(target) <= 3:
            found = "nothing" if target is None else f"a {type(target).__name__}"
            pytest.fail(f"a test that is marked `{MARKER}` returns {FORMS}; this one returned {found}", pytrace=False)
        defaults: tuple[Any, ...] = (None, (), {})
        call, args, kwargs = (*target, *defaults[len(target) :])
        try:
            _, said = self._look(call, args, kwargs, {})
        except (UsageError, TimeoutError) as error:
            said = f"graphlint: {error}"
        if said:
            pytest.fail(said, pytrace=False)

    def _look(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> tuple[Report, str]:
        """The report, and why the assertion fails; the process is asked afterwards whether it can go on."""
        __tracebackhide__ = True
        config = self._item.config
        broken = config.stash.get(BROKEN, None)
        if broken is not None:
            raise UsageError(f"{broken} broke the device for this process; run that test in a process of its own")
        settings = read_settings({**self._given, **changes})
        chosen = extend_config(
            load_config(config.rootpath), select=settings.select, ignore=settings.ignore, rules=settings.rules
        )
        try:
            rulebook = load_rules(chosen, settings.rules)
            found = witnessed(call, args, kwargs, settings, chosen)
        except (UsageError, TimeoutError) as error:
            raise error.with_traceback(None) from None  # the way through graphlint says nothing about the test
        report = judge(found, chosen, rulebook)
        self._item.user_properties.append((MARKER, self._witness(report)))
        base = config.invocation_params.dir
        said = failure(report, settings.fail_on, base)
        if report.findings and not said:
            self._item.add_report_section("call", "graphlint", failure(report, Severity.NOTE, base))
        return report, said

    def _witness(self, report: Report) -> str:
        """Who answered; a capture that failed may have broken the device."""
        if report.witness != "capture":
            return "emulated"
        from graphlint.runtime.session import inprocess

        name = inprocess.device()
        if report.findings and not inprocess.is_healthy():
            self._item.config.stash[BROKEN] = self._item.nodeid
        return f"captured on {name}"


def witnessed(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: Settings, config: Config
) -> Report:
    """What the runtime half says of a target; skips the test where it is a capture that is asked for, without a GPU."""
    options: dict[str, Any] = {
        "warm_ups": settings.warm_ups,
        "replays": settings.replays,
        "deadline": settings.deadline,
        "allocations": config.allocations,
        "rules": config.rules or None,
        "contract": settings.contract,
    }
    if settings.on == "cuda":
        from graphlint.runtime.session.session import witness

        try:
            witness("cuda")
        except UsageError as error:
            pytest.skip(f"graphlint: {error}")
    options["on"] = settings.on.removeprefix("require-")
    return graphlint.verify(call, args, kwargs, **{name: one for name, one in options.items() if one is not None})
