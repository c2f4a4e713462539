"""A sample in; whether it synchronises, captures, and replays as eager does out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress

import torch
from torch.cuda import _gpu_trace
from torch.utils._python_dispatch import TorchDispatchMode

from graphlint.runtime.device.backend import Backend, Refused
from tests.sweep.sample import Sample, Trial, seed

DEVICE = 0
MEMORY_SHARE = 0.07  # of the device, so that a dozen workers fit
TOLERANCE = 1e-2
LONGEST_TEXT = 160
WARM_UP = """
    square @ square; torch.linalg.inv(square); torch.linalg.svd(square); torch.linalg.cholesky(square)
    torch.linalg.eigh(square); torch.fft.fft(square); torch.nn.functional.conv2d(square[None, None], square[None, None])
    torch.nn.LSTM(8, 8, device="cuda")(square); square.to_sparse_csr() @ square; square.half() @ square.half()
"""


class SyncTrace(TorchDispatchMode):
    """Counts the waits for the device by the operator that was running."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] | None = None
        self._running = [""]

    def __torch_dispatch__(
        self, func: object, types: object, args: tuple = (), kwargs: Mapping[str, object] | None = None
    ) -> object:
        self._running.append(str(func))
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._running.pop()

    def waited(self, *_event: object) -> None:
        if self.counts is not None:
            self.counts[self._running[-1]] += 1


class Observer:
    """Observes one sample after the other on a stream of its own, eagerly and under capture, while it is healthy.

    `backend` makes the driver of the device, a real one or that of the emulator, from what hears of refused calls.
    """

    def __init__(self, backend: Callable[[Refused], Backend]) -> None:
        warnings.simplefilter("ignore")
        torch.cuda.set_per_process_memory_fraction(MEMORY_SHARE)
        self.stream = torch.cuda.Stream()
        self.refused: list[str] = []
        self.driver = backend(self.refused.append)
        self.hearing = ExitStack()  # the driver, to the end of the process
        self.trace = SyncTrace()
        self.abandoned: list[torch.cuda.CUDAGraph] = []  # the allocator may still point to them
        torch._C._activate_gpu_trace()
        _gpu_trace.register_callback_for_stream_synchronization(self.trace.waited)
        _gpu_trace.register_callback_for_device_synchronization(self.trace.waited)
        _gpu_trace.register_callback_for_event_synchronization(self.trace.waited)
        self.healthy = True
        self._reset()
        for line in WARM_UP.replace(";", "\n").split("\n"):
            with suppress(RuntimeError):  # a library that is missing will say so in the samples
                exec(line.strip(), {"torch": torch, "square": torch.eye(8, device="cuda")})
        self._capture_something()
        self.hearing.enter_context(self.driver.listening())

    def observe(self, sample: Sample) -> dict[str, object]:
        self._reset()
        sample, error = self._warm_up(sample)
        observed: dict[str, object] = {"eager_error": error}
        if not error:
            try:
                observed, expected = self._eager(sample)
            except Exception as raised:
                observed = {"eager_error": first_line(raised)}
            else:
                observed |= self._capture(sample, expected)
        self._reset()
        try:
            torch.cuda.synchronize()
        except RuntimeError:  # an error of the device stays with the process
            self.healthy = False
        return {**sample.facts, **observed}

    def is_doubtful(self, record: dict[str, object]) -> bool:
        """Whether something went wrong in eager or at replay, perhaps because of a capture that failed before."""
        return (
            self.driver.is_real
            and bool(self.abandoned)
            and bool(record.get("eager_error") or record.get("replay") not in (None, "equal"))
        )

    def _warm_up(self, sample: Sample) -> tuple[Sample, str]:
        """The sample as it runs, or what it raises; libraries and kernels are loaded afterwards."""
        error = ""
        for one in filter(None, (sample, sample.otherwise)):
            try:
                self._run(one.make())
                torch.cuda.synchronize()
            except Exception as raised:
                error = error or first_line(raised)
                self._reset()
            else:
                return one, ""
        return sample, error

    def _eager(self, sample: Sample) -> tuple[dict[str, object], list[torch.Tensor]]:
        trial = sample.make()
        torch.cuda.synchronize()
        before, after = Counter(), Counter()

        def forward_is_done() -> None:
            self.trace.counts = after

        seed()
        with self.trace:
            self.trace.counts = before
            try:
                outcome = trial.run(forward_is_done)
            finally:
                self.trace.counts = None
        self._reset()
        names = ("forward_syncs", "backward_syncs") if trial.leaves else ("syncs",)
        counted = {name: dict(sorted(found.items())) for name, found in zip(names, (before, after), strict=False)}
        return counted, values(trial, outcome)

    def _capture(self, sample: Sample, expected: list[torch.Tensor]) -> dict[str, object]:
        trial = sample.make()
        torch.cuda.synchronize()
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        seed()
        self.refused.clear()
        refused: list[str] = []
        try:
            with torch.cuda.graph(graph, pool=pool, stream=self.stream):
                try:
                    outcome = trial.run()
                    nodes = self.driver.capture(self.stream.cuda_stream)[1]
                finally:
                    refused = list(self.refused)  # before the end of the capture, which may be refused as well
        except Exception as error:
            raised = first_line(error)
            cause = refused[0] if refused else raised
            del trial, error
            self._recover(graph, pool)
            return {"captures": False, "cause": cause, "error": raised, "nodes": None, "replay": None}
        replay = self._replay(sample, graph, trial, outcome, expected)
        del trial, outcome
        graph.reset()
        return {"captures": True, "cause": None, "error": None, "nodes": nodes, "replay": replay}

    def _replay(
        self, sample: Sample, graph: torch.cuda.CUDAGraph, trial: Trial, outcome: object, expected: list[torch.Tensor]
    ) -> str | None:
        """How a replay compares to eager; None where nothing can be said, because two eager runs differ as well."""
        self._reset()
        try:
            seed()
            graph.replay()
            torch.cuda.synchronize()
            found = values(trial, outcome)
        except Exception as error:
            return f"error: {first_line(error)}"
        if not expected or "empty" in str(sample.facts["statement"]):  # memory as it was is not compared
            return None
        if agree(found, expected):
            return "equal"
        again = sample.make()
        return "differs" if agree(values(again, self._run(again)), expected) else None

    def _run(self, trial: Trial) -> object:
        seed()
        outcome = trial.run()
        self._reset()
        return outcome

    def _recover(self, graph: torch.cuda.CUDAGraph, pool: tuple[int, int]) -> None:
        """Clean up behind a failed capture; left alone, the process would die or its generator get stuck."""
        self.abandoned.append(graph)
        torch.cuda.set_stream(torch.cuda.default_stream())
        try:
            graph.pool()  # answers only after a capture that torch has ended properly
        except RuntimeError:
            self.driver.end_capture(self.stream.cuda_stream)
            with suppress(RuntimeError):
                torch._C._cuda_endAllocateToPool(DEVICE, pool)
            with suppress(RuntimeError):
                torch._C._cuda_releasePool(DEVICE, pool)
        else:
            graph.reset()
        self._capture_something()

    def _capture_something(self) -> None:
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=torch.cuda.graph_pool_handle(), stream=self.stream):
                torch.zeros(1, device="cuda")
            torch.rand(1, device="cuda")  # refused, if the default generator still believes in a capture
            torch.cuda.synchronize()
        except RuntimeError:
            self.healthy = False

    def _reset(self) -> None:
        """Undo what a statement may have left behind in the thread or the process."""
        torch.cuda.set_stream(self.stream)
        torch.cuda.set_sync_debug_mode(0)
        torch.set_grad_enabled(True)
        torch.set_autocast_enabled("cuda", False)
        torch.clear_autocast_cache()
        torch.autograd.set_multithreading_enabled(False)  # backward in this thread, in view of the trace
        torch.use_deterministic_algorithms(False)
        torch.set_default_dtype(torch.float32)
        torch.distributions.Distribution.set_default_validate_args(True)  # which the compiler turns off


def first_line(error: BaseException) -> str:
    """The first exception of a chain, which is the cause; the later ones tell of its consequences."""
    while error.__context__ is not None:
        error = error.__context__
    lines = str(error).strip().split("\n")
    return f"{type(error).__name__}: {lines[0]}"[:LONGEST_TEXT]


def values(trial: Trial, outcome: object) -> list[torch.Tensor]:
    return [plain(part) for one in trial.tensors(outcome) for part in (one.unbind() if one.is_nested else [one])]


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers on the host, in a dtype that compares."""
    tensor = tensor.detach()
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    return dense.cpu().to(torch.complex128 if dense.is_complex() else torch.float64)


def agree(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    return len(found) == len(expected) and all(
        one.shape == other.shape and torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )
