"""A target in; an eager reference, a real capture, and replays that are compared with it out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import torch

from graphlint.runtime.compare.comparison import Difference, leaves
from graphlint.runtime.compare.digests import alike, digests
from graphlint.runtime.compare.divergence import Divergence
from graphlint.runtime.compare.state import Snapshot, State, kept, reachable
from graphlint.runtime.examine.arguments import (
    Arguments,
    Values,
    cloned,
    copied,
    copy_into,
    renewed,
    require_device,
)
from graphlint.runtime.examine.measure import measure, nodes
from graphlint.runtime.examine.noise import Noise
from graphlint.runtime.examine.recovery import recover
from graphlint.runtime.examine.redecisions import redecided
from graphlint.runtime.examine.refused import go_past
from graphlint.runtime.examine.runner import examine_graphed
from graphlint.runtime.examine.target import Target
from graphlint.runtime.judge.reporting import DECIDED, SUSPECT, Reporting
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.operators import Traced
from graphlint.runtime.watch.hooks import opening_of
from graphlint.runtime.watch.watch import Watch

Progress = Callable[[str], None]
Take = Callable[[object, Arguments], Values]  # of an output, and the arguments as they are left


@dataclass
class CapturedGraph:
    """A graph with what it was captured on and what it gave; `bindings` is what names stood for afterwards."""

    graph: torch.cuda.CUDAGraph
    arguments: Arguments
    output: object
    capture: Capture
    bindings: Snapshot


class Examination:
    """One callable, captured and compared; everything runs on one stream, as the capture does."""

    def __init__(self, target: Target, watch: Watch, reporting: Reporting, step: Progress) -> None:
        self.target = target
        self.watch = watch
        self.reporting = reporting
        self.step = step
        self.stream = torch.cuda.Stream()
        self.examples: Arguments = target.args, dict(target.kwargs)
        require_device(self.examples)
        self.state: State = reachable(target.call, (), {})
        self.inputs: list[Arguments] = []
        self._kept: Values = {}  # the state after the last step
        self._taken: CapturedGraph | None = None
        watch.opening = opening_of(target.call)

    def run(self) -> dict[str, float]:
        """The steps, in order; what was measured."""
        self.step("eager reference")
        self._warm_up()
        if any(capture.replays for capture in self.watch.captures):  # it replays graphs of its own
            return examine_graphed(self.target.call, self.examples, self.reporting)
        with self.watch.paused():
            self.base = self.state.snapshot()
            self._kept = {**self.base.held()}
        self.step("capture")
        self.reporting.undecided = SUSPECT if self.watch.driver.has_numbers else DECIDED
        taken = self._capture_past_refusals()
        if taken is None:
            return {}
        if not self.watch.driver.has_numbers:
            self.step("replay")
            with self.watch.paused():
                self.inputs.append(self.examples)
                list(self._replays(taken))
            self._follow(taken.capture)
            return nodes(taken.capture)
        self.step("eager against replay")
        noise = Noise(self._eager, lambda: self._replays(taken))
        with self.watch.paused():
            mismatch = self._mismatch(taken, noise)
        if mismatch is not None:
            self.step("search for the first difference")
            self._explain(*mismatch, noise)
            return {}
        if noise.wavers:  # it may be more than rounding
            self._follow(taken.capture)
        if not self.watch.driver.is_real:
            return nodes(taken.capture)
        self.step("measurements")
        with self.watch.paused():
            self.base.restore()
            refresh = functools.partial(copy_into, taken.arguments, self.examples)
            return measure(taken.graph, self._call(copied(self.examples)), refresh, taken.capture)

    def _warm_up(self) -> None:
        """On the stream of the capture, so that nothing keeps another one; the first run is watched for waits."""
        for run in range(self.target.runs.warm_ups):
            with self.watch.paused():
                call = self._call(copied(self.examples))
                if run:
                    call()
            if not run:
                call()
        torch.cuda.synchronize()

    def _call(self, arguments: Arguments) -> Callable[[], object]:
        def call() -> object:
            around = torch.cuda.current_stream()
            self.stream.wait_stream(around)
            with torch.cuda.stream(self.stream):
                output = self.target.call(*arguments[0], **arguments[1])
            around.wait_stream(self.stream)
            return output

        return call

    def _capture_past_refusals(self) -> CapturedGraph | None:
        """Capture; where an operator breaks it, capture again with its eager value, so that all causes are found."""
        go_past(self.watch.recorder, self._captures(), lambda capture: capture.is_healthy)
        return self._taken

    def _captures(self) -> Iterator[Capture]:
        while True:
            capture, self._taken = self._capture()
            yield capture
            self._run_watched(self.examples)

    def _run_watched(self, inputs: Arguments) -> None:
        """Run eagerly from the base state, and follow the operators of the target alone."""
        with self.watch.paused():
            self.base.restore()
            call = self._call(copied(inputs))
        call()
        torch.cuda.synchronize()

    def _capture(self) -> tuple[Capture, CapturedGraph | None]:
        """The capture, and its graph if it is one that can be replayed; the process is healthy afterwards."""
        with self.watch.paused():
            self.base.restore()
            arguments, output = copied(self.examples), None
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        self.watch.roots = reachable(self.target.call, *arguments, limit=0).roots
        mode = self.target.runs.capture_error_mode
        torch.cuda.synchronize()
        number = len(self.watch.captures)
        try:
            with torch.cuda.graph(graph, pool=pool, stream=self.stream, capture_error_mode=mode):
                output = self.target.call(*arguments[0], **arguments[1])
        except Exception:
            if not any(capture.refusals for capture in self.watch.captures[number:]):
                raise
        capture = self.watch.captures[number]
        if capture.is_healthy and not capture.refusals:
            with self.watch.paused():
                return capture, CapturedGraph(graph, arguments, output, capture, self.state.snapshot(self.base))
        with self.watch.ignoring():
            if not recover(self.watch.driver, graph, pool, self.stream):
                self.reporting.unhealthy(capture)
        return capture, None

    def _mismatch(self, taken: CapturedGraph, noise: Noise) -> tuple[int, Difference] | None:
        """The first step in which a replay differs; numbers are kept, and eager runs again, only where bits do."""
        if not self.state.unreadable and self._is_equal(taken):
            return None
        return noise.mismatch()

    def _is_equal(self, taken: CapturedGraph) -> bool:
        """Whether each replay gives what eager gives, bit by bit."""
        eager = list(self._eager(take=self._digests))
        return all(map(alike, self._replays(taken, self._digests), eager))

    def _eager(
        self, change: Callable[[Iterable[torch.Tensor]], None] = lambda _: None, take: Take | None = None
    ) -> Iterator[Values]:
        """What each step gives, from the base state on; `change` may alter the state and the inputs before."""
        take = take or self._values
        self.base.restore()
        change(reachable(self.target.call, (), {}).tensors.values())
        for number, level in enumerate(self.target.runs.levels):
            if number < len(self.inputs):
                arguments = copied(self.inputs[number])
                change(one for _, one in leaves(arguments) if isinstance(one, torch.Tensor))
                yield take(self._call(arguments)(), arguments)
                continue
            for easier in range(level, -1, -1):  # a fresh input may be one that the target does not take
                before = self.state.snapshot(self.base) if easier else None
                inputs = renewed(self.examples, easier, seed=number)
                arguments = copied(inputs)
                try:
                    found = take(self._call(arguments)(), arguments)
                    torch.cuda.synchronize()
                except (ValueError, IndexError, RuntimeError):
                    if before is None:
                        raise
                    before.restore()
                else:
                    self.inputs.append(inputs)
                    yield found
                    break

    def _replays(self, taken: CapturedGraph, take: Take | None = None) -> Iterator[Values]:
        """What replay gives on the same inputs, with memory that nobody owns filled with NaN."""
        take = take or self._values
        taken.bindings.restore()
        self.watch.driver.poison()
        for inputs in self.inputs:
            copy_into(taken.arguments, inputs)
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                taken.graph.replay()
            torch.cuda.synchronize()
            yield take(taken.output, taken.arguments)

    def _values(self, output: object, arguments: Arguments) -> Values:
        """The output, the arguments as they are left, gradients and the state in reach, by name."""
        named, state = self._reached(output, arguments)
        self._kept = kept(state, self._kept)
        return cloned(named.items()) | self._kept

    def _digests(self, output: object, arguments: Arguments) -> Values:
        """What stands for these, of which nothing is kept."""
        named, state = self._reached(output, arguments)
        return digests(named | dict(state.tensors))

    def _reached(self, output: object, arguments: Arguments) -> tuple[Values, State]:
        torch.cuda.synchronize()
        state = reachable(self.target.call, (), {})
        named = [*leaves(output, "output"), *leaves(arguments[0], "args"), *leaves(arguments[1], "kwargs")]
        gradients = {f"{name}.grad": one.grad for name, one in state.tensors.items() if one.is_leaf}
        return dict(named) | {name: one for name, one in gradients.items() if one is not None}, state

    def _explain(self, step: int, difference: Difference, noise: Noise) -> None:
        """Capture again with every intermediate result kept, and find the first operator that differs from eager."""
        with self.watch.recorder.tracing() as captured:
            _, taken = self._capture()
        if taken is None:
            return
        with self.watch.paused():
            taken.bindings.restore()
            for inputs in self.inputs[: step + 1]:
                copy_into(taken.arguments, inputs)
                torch.cuda.synchronize()
                taken.graph.replay()
                torch.cuda.synchronize()
        found = [replace(one, results=[tensor.detach().clone() for tensor in one.results]) for one in captured]
        twice = [self._trace(step), self._trace(step)]
        divergence = Divergence(found, *twice)
        with self.watch.paused():
            is_of_draws = divergence.draws_otherwise and noise.is_of_draws()
        if is_of_draws:
            said = "replays draw other random numbers than eager, which would hide any other difference"
            self.reporting.unseen.append(said)
        else:
            self.reporting.diverged(taken.capture, divergence, step, difference)

    def _follow(self, capture: Capture) -> None:
        """Find what eager itself does otherwise in a later step, unless it is the host that reads values."""
        if any(one.refusals for one in self.watch.captures):
            return
        with self.watch.paused():
            found = redecided(self._steps)
        if found is not None:
            self.reporting.redecided(capture, *found)

    def _steps(self) -> Iterator[Callable[[], object]]:
        """Eager steps on the example inputs, one after the other from the base state on."""
        self.base.restore()
        for _ in self.target.runs.levels:
            yield self._call(copied(self.examples))

    def _trace(self, step: int) -> list[Traced]:
        """The operators of one eager step, and their results."""
        with self.watch.paused():
            self.base.restore()
            for inputs in self.inputs[:step]:
                self._call(copied(inputs))()
            call = self._call(copied(self.inputs[step]))
        with self.watch.recorder.tracing() as traced:
            call()
        torch.cuda.synchronize()
        return traced
