"""`graphlint.verify` without a GPU: a fork of the process is emulated, and the process itself stays as it was."""

from __future__ import annotations

import os
import random
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("is about machines without a GPU", allow_module_level=True)

from torch import tensor  # noqa: E402

import graphlint  # noqa: E402
from graphlint.config import Config  # noqa: E402
from graphlint.errors import UsageError  # noqa: E402
from graphlint.finding import Report  # noqa: E402
from graphlint.runtime.session import forked, isolation  # noqa: E402
from graphlint.testing.verdict import judge  # noqa: E402

_NO_DRIVER = 35  # an error of the CUDA runtime


class Scaled(torch.nn.Module):
    """Has tensors in places where `Module.to` finds them, and one where it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
        self.scales = {"all": torch.full((8,), 2.0)}

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.scales["all"]


def making(x: Any) -> Any:
    return torch.maximum(x, torch.zeros_like(x))


def reading(x: Any) -> Any:
    return x / x.max().item()


def uploading(x: Any) -> Any:
    return x * tensor([1.0, 2.0], device="cuda")


def deciding(x: Any) -> Any:
    return x / x.max().item() if x.sum() > 0 else x


def registering(x: Any) -> Any:
    if torch.cuda.is_current_stream_capturing():
        torch.cuda.cudart().cudaHostRegister(0, 8, 0)
    else:
        torch.cuda.profiler.start()
    return x + 1


def aborting(x: Any) -> Any:
    os.abort()


def leaving(x: Any) -> Any:
    os._exit(0)


def codes(report: Report) -> list[str]:
    """What is shown of a report where nothing else is configured."""
    assert "emulator" == report.witness
    return [f"{one.code} {one.function.rpartition(':')[2]}" for one in judge(report, Config(Path())).findings]


def attributes() -> dict[tuple[str, str], int]:
    """What the modules of torch, and its tensors, consist of."""
    owners = [torch, torch._C, torch.cuda, torch.cuda.graphs, torch.accelerator, torch.nn.functional, torch.Tensor]
    return {(str(owner), name): id(value) for owner in owners for name, value in vars(owner).items()}


def test_tensors_that_a_region_makes_are_told_under_the_strict_profile_alone() -> None:
    """As `graphlint check` does: it is no mistake, and some want to know of each."""
    codes = [
        [one.code for one in graphlint.verify(making, (torch.ones(2),), on="emulator", allocations=profile).findings]
        for profile in ("default", "strict")
    ]
    assert [[], ["GL504"]] == codes


def test_what_is_safe_passes_and_leaves_the_process_as_it_was() -> None:
    """Parameters, buffers, gradients, random states, the mode of the module and what torch consists of."""
    model, x = Scaled(), torch.rand(4, 8)
    model(x).sum().backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer.step()

    def step(x: Any) -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def state() -> list[Any]:
        gradients = [one.grad.clone() for one in model.parameters()]
        momenta = [one["momentum_buffer"].clone() for one in optimizer.state.values()]
        return [x.clone(), *map(torch.clone, model.state_dict().values()), *gradients, *momenta, torch.get_rng_state()]

    before, parts, drawn, threads = state(), attributes(), random.getstate(), torch.get_num_threads()
    assert [] == codes(graphlint.verify(step, (x,)))
    assert all(map(torch.equal, before, state()))
    assert (parts, drawn, threads) == (attributes(), random.getstate(), torch.get_num_threads())
    assert model.training and not torch.cuda.is_available() and "cpu" == x.device.type


@pytest.mark.parametrize(
    ("call", "found"), [(reading, "GL101 reading"), (uploading, "GL203 uploading")], ids=["readback", "upload"]
)
def test_what_is_wrong_is_found_on_the_cpu(call: Callable[..., Any], found: str) -> None:
    """Also where the code names the device, and took a function of torch by name before it was emulated."""
    assert [found] == codes(graphlint.verify(call, (torch.ones(2),)))


def test_the_emulator_can_be_asked_for() -> None:
    """By its name, as on the command line; a capture on a GPU is refused without one."""
    report = graphlint.verify(torch.no_grad()(Scaled()), (torch.ones(4, 8),), on="emulator", warm_ups=1, replays=1)
    assert ([], "Scaled") == (codes(report), report.targets[0].name)
    with pytest.raises(UsageError, match="torch finds no GPU here"):
        graphlint.verify(torch.relu, (torch.ones(2),), on="cuda")
    with pytest.raises(UsageError, match="`on` is `auto`, `cuda` or `emulator`, not `tpu`"):
        graphlint.verify(torch.relu, (torch.ones(2),), on="tpu")


def test_what_cannot_be_looked_at_is_an_error_and_no_finding() -> None:
    """Here, or in the fork."""
    with pytest.raises(UsageError, match="does not take the example arguments"):
        graphlint.verify(reading, ())


@pytest.mark.parametrize(
    ("call", "how"),
    [(aborting, "its process was ended by SIGABRT"), (leaving, "its process ended with status 0")],
    ids=["abort", "exit"],
)
def test_an_end_of_its_process_is_a_finding_and_nothing_happens_here(call: Callable[..., Any], how: str) -> None:
    """As on the command line."""
    (finding,) = graphlint.verify(call, (torch.ones(2),)).findings
    assert finding.code == "GL003" and how in finding.why


def test_a_target_that_does_not_end_is_ended_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told where it was; a lock that a thread of this process holds is never free in a fork of it."""
    monkeypatch.setattr(isolation, "GRACE", 0.5)
    lock = threading.Lock()

    def waiting(x: Any) -> Any:
        with lock:
            return x + 1

    with lock:
        (finding,) = graphlint.verify(waiting, (torch.ones(2),), deadline=5).findings
    assert "it was not done after 5 seconds" in finding.why
    assert "waiting" == finding.function
    assert [] == codes(graphlint.verify(waiting, (torch.ones(2),), deadline=0))


def test_threads_that_computed_here_are_not_missed_in_the_fork() -> None:
    """Neither by operators that share work among threads nor by autograd, and Python does not warn of them."""
    model, x = torch.nn.Linear(512, 512), torch.rand(512, 512)
    model(x).exp().sum().backward()
    (x @ x).sort()

    def step(x: Any) -> Any:
        torch.set_num_threads(4)
        model.zero_grad(set_to_none=False)
        model(x).sum().backward()
        return (x @ x).exp()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [] == codes(graphlint.verify(step, (x,), deadline=120))
    assert [] == [str(one.message) for one in told]


def test_a_device_that_is_in_use_cannot_be_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork could use neither the real one nor forget it."""
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(UsageError, match="this process uses a GPU already"):
        graphlint.verify(torch.relu, (torch.ones(2),), on="emulator")


def test_a_build_for_cuda_that_finds_no_gpu_is_emulated_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its forks are no use to it, and its runtime answers every call with an error."""
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    monkeypatch.setattr(torch.cuda, "_cudart", SimpleNamespace(cudaHostRegister=lambda *_: _NO_DRIVER))
    assert ["GL101 deciding", "GL301 deciding"] == codes(graphlint.verify(deciding, (torch.ones(2),)))
    assert ["GL609 registering"] == codes(graphlint.verify(registering, (torch.ones(2),)))


def test_an_interrupted_process_leaves_no_fork_behind() -> None:
    """Whoever interrupts it, as a timer does."""
    forks: list[int] = []

    def heard(process: int) -> None:
        forks.append(process)
        raise KeyboardInterrupt

    def work(send: Callable[[Any], None]) -> None:
        send(os.getpid())
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        forked.run_forked(work, 60, heard)
    with pytest.raises(ProcessLookupError):
        os.kill(forks[0], 0)
