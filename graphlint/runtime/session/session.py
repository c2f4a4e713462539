"""A target and the rules in, messages about it out: what happens inside the process that a target has for itself."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphlint.contract import Contract
from graphlint.errors import UsageError
from graphlint.finding import Collective, Finding, Span
from graphlint.rulebook import Rulebook
from graphlint.rulebook.operations import Catalogue
from graphlint.runtime.examine.target import DEFAULT_RUNS, Runs, Spec
from graphlint.runtime.judge.findings import NOWHERE, Findings, Key

if TYPE_CHECKING:
    from graphlint.runtime.device.backend import Backend, Refused
    from graphlint.runtime.device.emulator.library import Emulator
    from graphlint.runtime.judge.contracts import Contracts
    from graphlint.runtime.judge.reporting import Reporting
    from graphlint.runtime.watch.watch import Watch

AUTO, CUDA, EMULATOR = "auto", "cuda", "emulator"  # where a target is captured
SHAPES = "shapes"  # the emulator without numbers

Send = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding; a later one of the same key takes its place."""

    key: Key
    finding: Finding


@dataclass(frozen=True, slots=True)
class Witness:
    """Who answers, as the report calls it: `capture`, `emulator`, or `shapes` for one without numbers."""

    name: str


@dataclass(frozen=True, slots=True)
class Unseen:
    """What the witness cannot see on this machine."""

    what: str


@dataclass(frozen=True, slots=True)
class Contracted:
    """What the graphs depend on and what they change."""

    contracts: tuple[Contract, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """The collectives of each capture."""

    collectives: tuple[tuple[Collective, ...], ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done."""

    name: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """The target cannot be looked at, and why; no target can, where it is the machine's fault."""

    reason: str
    is_of_machine: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, by name."""

    values: dict[str, float]


@dataclass(frozen=True)
class Session:
    """Looks at one target; with `shapes_only`, the emulator computes no numbers.

    With `has_contracts`, it is taken down what the graphs depend on. `environment` is set for the process.
    """

    spec: Spec
    rulebook: Rulebook
    on: str = AUTO
    runs: Runs = DEFAULT_RUNS
    shapes_only: bool = False
    has_contracts: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, send: Send) -> None:
        os.environ.update(self.environment)
        gc.freeze()  # what is there before the target is none of its: no search for who holds a tensor looks at it
        home = Span(str(self.spec.path or self.spec.module), 1)
        tell(self.look, send, self.rulebook, home, f"target `{self.spec.name}`: ")

    def look(self, findings: Findings, send: Send) -> None:
        """The steps, in order."""
        where = witness(self.on, shapes_only=self.shapes_only)
        send(Witness("capture" if where == CUDA else where))
        watch, reporting = watch_for(findings, where)
        send(unseen(watch, reporting))

        from graphlint.runtime.examine.look import run_target
        from graphlint.runtime.examine.program import run_program
        from graphlint.runtime.examine.reruns import Reruns

        measured: dict[str, float] = {}
        contracts = contracts_of(watch) if self.has_contracts else None
        if self.spec.path is not None and self.spec.is_program:
            send(Stage("run"))
            reruns = Reruns(watch, reporting)
            run_program(self.spec.path.resolve(), watch, reporting)
            reporting.unseen += filter(None, [reruns.unseen])
            measured["compared"] = reruns.compared
        else:
            measured = run_target(self.spec, self.runs, watch, reporting, lambda name: send(Stage(name)))
        send(unseen(watch, reporting))
        send(Measured(measured | counts(watch, reporting)))
        send(Joint(joint(watch)))
        if contracts is not None:
            send(Contracted(contracts.made()))


def tell(
    look: Callable[[Findings, Send], None],
    send: Send,
    rulebook: Rulebook,
    home: Span = NOWHERE,
    named: str = "",
) -> None:
    """Look at a target, and send each finding when it is found; why that cannot be done begins with `named`."""
    try:
        look(Findings(rulebook, lambda key, one: send(Found(key, one)), home), send)
    except NoDeviceError as error:
        send(Unusable(str(error), is_of_machine=True))
    except UsageError as error:
        send(Unusable(named + str(error).removeprefix(named)))


def joint(watch: Watch) -> tuple[tuple[Collective, ...], ...]:
    """What the captures do together with other ranks."""
    from graphlint.runtime.judge.collectives import collectives

    return tuple(collectives(capture) for capture in watch.captures)


def contracts_of(watch: Watch) -> Contracts:
    """Takes down what graphs depend on from here on."""
    from graphlint.runtime.judge.contracts import Contracts

    return Contracts(watch)


def counts(watch: Watch, reporting: Reporting) -> dict[str, float]:
    """How often was captured and replayed, and how much of what is compiled is graphed."""
    captured = {"captures": len(watch.captures), "replays": sum(one.replays for one in watch.captures)}
    return captured | reporting.compiled.share


def unseen(watch: Watch, reporting: Reporting) -> Unseen:
    """What could not be seen, as far as it is known by now."""
    return Unseen("; ".join(filter(None, (watch.driver.unseen, *reporting.unseen))))


def watch_for(findings: Findings, where: str) -> tuple[Watch, Reporting]:
    """A watch over this process, which captures where `witness` says, and what reports on it. Raises UsageError."""
    # First, since it decides what torch finds.
    catalogue = findings.rulebook.catalogue
    backend = _gpu() if where == CUDA else _emulator(catalogue, has_numbers=where == EMULATOR)

    from graphlint.runtime.judge.calls import AddedRules
    from graphlint.runtime.judge.causes import Causes
    from graphlint.runtime.judge.reporting import Reporting
    from graphlint.runtime.watch.watch import Watch

    try:
        watch = Watch(backend)
    except OSError as error:
        raise UsageError(f"the CUDA driver cannot be loaded: {error}") from error
    AddedRules(findings.rulebook, findings).follow(watch.calls)
    return watch, Reporting(watch, Causes(findings.rulebook.catalogue), findings)


class NoDeviceError(UsageError):
    """No target can be looked at on this machine."""


def witness(on: str, *, shapes_only: bool = False) -> str:
    """Where `auto` captures: on a GPU if there is one. Raises NoDeviceError where `cuda` finds none."""
    require_torch()
    try:
        import torch
    except ImportError as error:
        raise NoDeviceError(f"`verify` needs PyTorch: {error}") from error
    if not hasattr(torch, "accelerator"):
        raise NoDeviceError(f"torch {torch.__version__} is too old for `verify`, which needs 2.6")
    if shapes_only:
        return SHAPES
    has_gpu = torch.cuda.is_available() and not is_emulated()
    if on == CUDA and not has_gpu:
        raise NoDeviceError(
            "torch finds no GPU here, and this takes a real capture; `graphlint verify --on emulator` takes none"
        )
    return CUDA if has_gpu and on != EMULATOR else EMULATOR


def require_torch() -> None:
    """Raises NoDeviceError where PyTorch is missing, without importing it."""
    if importlib.util.find_spec("torch") is None:
        raise NoDeviceError("`verify` needs PyTorch, which is not installed; install `torch-graphlint[runtime]`")


def _gpu() -> Callable[[Refused], Backend]:
    from graphlint.runtime.device.cuda.backend import CudaDriver

    return CudaDriver


def _emulator(catalogue: Catalogue, *, has_numbers: bool) -> Callable[[Refused], Backend]:
    from graphlint.runtime.device.emulator.backend import EmulatedDriver

    emulator = emulate() if has_numbers else emulate(has_numbers=False)
    emulator.consult(catalogue)
    return functools.partial(EmulatedDriver, emulator)


def is_emulated() -> bool:
    """Whether torch takes this process for one with a GPU that is not there."""
    return bool(emulate.cache_info().currsize)


@functools.cache
def emulate(*, has_numbers: bool = True) -> Emulator:
    """From here on, torch takes this process for one with a GPU."""
    from graphlint.runtime.device.emulator.library import Emulator

    emulator = Emulator(has_numbers=has_numbers)
    emulator.install()
    return emulator
