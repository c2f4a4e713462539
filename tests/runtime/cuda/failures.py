"""The name of a way in which a capture fails in, what a process goes through that fails so and is cleaned up out."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.examine.recovery import is_healthy, recover

OPERATIONS = 200  # that a process goes on for; one that is left alone dies after a few


@dataclass
class Attempt:
    """What a capture is begun with; `x` are four ones on the device. `kept` lives as long as the process."""

    driver: Driver = field(default_factory=Driver)
    graph: torch.cuda.CUDAGraph = field(default_factory=torch.cuda.CUDAGraph)
    pool: tuple[int, int] = field(default_factory=torch.cuda.graph_pool_handle)
    stream: torch.cuda.Stream = field(default_factory=torch.cuda.Stream)
    x: torch.Tensor = field(default_factory=lambda: torch.ones(4, device="cuda"))
    kept: list[object] = field(default_factory=list)

    def capture(self) -> torch.cuda.graph:
        return torch.cuda.graph(self.graph, pool=self.pool, stream=self.stream)

    def recover(self) -> bool:
        return recover(self.driver, self.graph, self.pool, self.stream)


@dataclass(frozen=True)
class Way:
    """How a capture fails; `afterwards` is what is done once the process is cleaned up, and whether that went well.

    `raises` is False where no exception tells of the failure, or some versions of PyTorch let it pass.
    """

    fail: Callable[[Attempt], object]
    raises: bool = True
    afterwards: Callable[[Attempt], bool] | None = None


@dataclass(frozen=True)
class Run:
    """The work of one process: it tells each of its steps, with how that came out."""

    way: str
    cleans_up: bool = True

    def __call__(self, send: Callable[[Any], None]) -> None:
        way, attempt = WAYS[self.way], Attempt()
        send(("failed", outcome(lambda: way.fail(attempt))))
        if self.cleans_up:
            recovered = attempt.recover()
            send(("recovered", recovered))
            if not recovered:
                return
        if way.afterwards is not None:
            send(("afterwards", way.afterwards(attempt)))
        for check in CHECKS:
            send((check.__name__, outcome(check)))


def outcome(call: Callable[[], object]) -> object:
    """What a call gives, or the first line of what it raises."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def inside(work: Callable[[torch.Tensor], object]) -> Callable[[Attempt], None]:
    """A capture of the work, with an operator before and one behind."""

    def fail(attempt: Attempt) -> None:
        with attempt.capture():
            y = attempt.x * 2
            work(y)
            y.add_(1)

    return fail


def read_back(x: torch.Tensor) -> None:
    x.sum().item()


def synchronize_event(_: torch.Tensor) -> None:
    event = torch.cuda.Event()
    event.record()
    event.synchronize()


def read_back_debugged(x: torch.Tensor) -> None:
    torch.cuda.set_sync_debug_mode("error")
    try:
        x.sum().item()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def raise_in_program(_: torch.Tensor) -> None:
    raise ValueError("not about CUDA at all")


def leave_unjoined(x: torch.Tensor) -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.mul_(2)


def work_on_default_stream(x: torch.Tensor) -> None:
    with torch.cuda.stream(torch.cuda.default_stream()):
        torch.ones_like(x)


def multiply_on_default_stream(x: torch.Tensor) -> None:
    with torch.cuda.stream(torch.cuda.default_stream()):
        torch.mm(x.view(2, 2), x.view(2, 2))


def wait_for_default_stream(_: torch.Tensor) -> None:
    torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())


def capture_again(x: torch.Tensor) -> None:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.mul_(2)


def allocate_in_thread(_: torch.Tensor) -> None:
    def allocate() -> None:
        with contextlib.suppress(RuntimeError):
            torch.empty(1 << 28, dtype=torch.uint8, device="cuda")

    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()


def draw_and_read_back(_: torch.Tensor) -> None:
    torch.rand(4, device="cuda").sum().item()


def assert_in_warmup(attempt: Attempt) -> None:
    attempt.x.index_select(0, torch.tensor([9], device="cuda"))
    inside(lambda x: x)(attempt)


def backward_with_stale_leaf(attempt: Attempt) -> None:
    """What is kept of the warm-up holds a gradient node of the default stream."""
    weight = torch.ones(4, device="cuda", requires_grad=True)
    attempt.kept.append((weight * attempt.x).sum())
    attempt.kept[-1].backward()
    with attempt.capture():
        (weight * attempt.x).sum().backward()


def begin_and_never_end(attempt: Attempt) -> None:
    torch.cuda.synchronize()
    with torch.cuda.stream(attempt.stream):
        attempt.graph.capture_begin(pool=attempt.pool)
        attempt.x.mul_(2)


def capture_nothing(attempt: Attempt) -> None:
    with attempt.capture():
        pass


def forget_graph(attempt: Attempt) -> bool:
    attempt.graph = torch.cuda.CUDAGraph()
    gc.collect()
    return is_healthy(attempt.stream)


def use_pool_again(attempt: Attempt) -> bool:
    attempt.kept.append(attempt.graph)
    attempt.graph = torch.cuda.CUDAGraph()
    with contextlib.suppress(RuntimeError):
        inside(lambda x: x)(attempt)
    return attempt.recover()


WAYS: dict[str, Way] = {
    "item": Way(inside(read_back)),
    "synchronize": Way(inside(lambda _: torch.cuda.synchronize())),
    "event synchronize": Way(inside(synchronize_event)),
    "stream query": Way(inside(lambda _: torch.cuda.current_stream().query())),
    "pageable copy": Way(inside(lambda x: x.copy_(torch.zeros(4)))),
    "pageable copy without blocking": Way(inside(lambda x: x.copy_(torch.zeros(4), non_blocking=True))),
    "sync debug error": Way(inside(read_back_debugged)),
    "exception of the program": Way(inside(raise_in_program)),
    "unjoined side stream": Way(inside(leave_unjoined)),
    "work on the default stream": Way(inside(work_on_default_stream), raises=False),
    "waiting for the default stream": Way(inside(wait_for_default_stream)),
    "nested capture": Way(inside(capture_again)),
    "out of memory": Way(inside(lambda _: torch.empty(1 << 50, dtype=torch.uint8, device="cuda"))),
    "other seed": Way(inside(lambda _: torch.cuda.manual_seed(7)), raises=False),
    "state of the generator": Way(inside(lambda _: torch.cuda.get_rng_state()), raises=False),
    "random numbers, then item": Way(inside(draw_and_read_back)),
    "device assert in warm-up": Way(assert_in_warmup),
    "cold cuBLAS on the default stream": Way(inside(multiply_on_default_stream), raises=False),
    "allocation in another thread": Way(inside(allocate_in_thread)),
    "backward with a stale leaf": Way(backward_with_stale_leaf),
    "never ended": Way(begin_and_never_end, raises=False),
    "shapes that do not fit": Way(inside(lambda x: torch.mm(x.view(2, 2), x.view(1, 4)))),
    "nothing captured": Way(capture_nothing, raises=False),
    "graph forgotten": Way(inside(read_back), afterwards=forget_graph),
    "pool used again": Way(inside(read_back), afterwards=use_pool_again),
}


def computes() -> bool:
    x = torch.arange(6.0, device="cuda").view(2, 3)
    return (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]


def draws() -> bool:
    """Random numbers differ from each other, and are the same again from the same seed."""
    drawn = []
    for _ in range(2):
        torch.manual_seed(3)
        drawn.append((torch.rand(8, device="cuda").tolist(), torch.randn(8, device="cuda").tolist()))
    return drawn[0] == drawn[1] and all(len(set(numbers)) > 1 for numbers in drawn[0])


def captures() -> bool:
    """A replay computes with new values, and draws new random numbers."""
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, noise = x * 2 + 1, torch.rand(4, device="cuda")
    x.fill_(5)
    replayed = []
    for _ in range(2):
        graph.replay()
        replayed.append((y.tolist(), noise.tolist()))
    (first, drawn), (second, drawn_later) = replayed
    return first == second == [11.0] * 4 and drawn != drawn_later


def goes_on() -> bool:
    """Memory is taken and given back all the while, on the default stream."""
    for size in range(1, OPERATIONS + 1):
        x = torch.randn(size << 10, device="cuda")
        x.square().sum()
        if size % 50 == 0:
            gc.collect()
            torch.cuda.empty_cache()
    torch.cuda.synchronize()
    return torch.cuda.current_stream() == torch.cuda.default_stream()


CHECKS: tuple[Callable[[], bool], ...] = (computes, draws, captures, goes_on)
