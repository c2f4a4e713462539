"""One replay of a program in, what the captured block gives from the same state without a graph out.

All that the block does to the program is undone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

import torch

from graphlint.runtime.compare.ambient import Ambient, Autocast
from graphlint.runtime.compare.comparison import Difference, first_mismatch, noise_floor
from graphlint.runtime.compare.divergence import Divergence, way
from graphlint.runtime.compare.generators import reseed
from graphlint.runtime.compare.remembered import GoneError
from graphlint.runtime.compare.state import Snapshot, State, kept, reachable_from
from graphlint.runtime.examine.arguments import Values, nudge
from graphlint.runtime.examine.rerun import Rerun, Roots, Variables, quiet
from graphlint.runtime.judge.inputs import Rest
from graphlint.runtime.trace.capture import Capture, External
from graphlint.runtime.trace.operators import Traced, storage_key
from graphlint.runtime.watch.decisions import Decisions

_STEPS = 2  # of eager, one after the other, in which a value may come to matter


@dataclass
class Run:
    """What the block gave from one state, and what the host decided on the way."""

    values: Values
    decisions: list[Traced]

    def differs(self, other: Run) -> bool:
        """Whether the host decides otherwise, or results are others."""
        is_other_way = way(self.decisions) != way(other.decisions)
        return is_other_way or first_mismatch([self.values], [other.values], [{}]) is not None


class Beside:
    """The block of a capture, run from the state that a replay finds; `forget` lets go of what its graph has made.

    Memory `of_graphs` is what graphs have made, or what is copied to before they are replayed.
    It `matters` whether the host has another value, if it `has_doubts` about one, and `ignores_autocast` says that the
    block would heed another one than it was captured in.
    """

    def __init__(
        self,
        rerun: Rerun,
        capture: Capture,
        stream: torch.cuda.Stream,
        forget: Callable[[], None],
        *,
        of_graphs: Set[int],
        has_doubts: bool,
    ) -> None:
        self.rerun = rerun
        self.capture = capture
        self._stream = stream
        self._forget = forget
        self._of_graphs = of_graphs - {key for key, one in capture.externals.items() if one.is_written}
        self._given = rerun.given()
        torch.cuda.synchronize()
        self._state: State = reachable_from((*rerun.roots(self._given, {}), *_written(capture)))
        self._before: Snapshot = self._state.snapshot()
        with self._undone():
            self.run = self._run(self._given)
            self.matters = has_doubts and self._matters()
            self.ignores_autocast = self._ignores_autocast()

    def difference(self) -> Difference | None:
        """What the replay, which has run, gives otherwise, by more than eager differs from itself. Raises GoneError."""
        found = self._found()
        if not (self.rerun.results.keys() & found.keys()) and not _written(self.capture):
            raise GoneError
        wanted = {name: self.run.values[name] for name in found}
        if first_mismatch([found], [wanted], [{}]) is None:
            return None
        mismatch = first_mismatch([found], [wanted], [self._floor(wanted)])
        return mismatch[1] if mismatch is not None else None

    def needs_numbers_in(self, rest: Rest) -> bool:
        """Whether results are no numbers, and would be if what is left of an input held zeros instead of such ones."""
        memory = _memory(self.capture.externals[rest.key])
        if memory is None or not _has_nan([memory]) or not _has_nan(self._results().values()):
            return False
        size, is_left = memory.element_size(), torch.zeros_like(memory, dtype=torch.bool)
        for first, last in rest.extents:
            is_left[first // size : last // size] = True
        after, before = self._state.snapshot(), memory.clone()
        try:
            self._before.restore()
            memory.masked_fill_(memory.isnan() & is_left, 0.0)
            values = self._run(self._given).values
            return not _has_nan(one for name, one in values.items() if name in self.rerun.results)
        finally:
            memory.copy_(before)
            after.restore()

    def divergence(self) -> Divergence:
        """The way of the capture beside that of the block."""
        return Divergence(self.capture.decisions, self.run.decisions, self.run.decisions)

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._before.restore()

    def _matters(self) -> bool:
        """Whether another value changes what the block does: the one of now, or the one that a run of it leaves."""
        for _ in range(_STEPS):
            if way(self._run(self.rerun.given()).decisions) != way(self.run.decisions):
                return True
        self._before.restore()
        return self._run(self.rerun.given_now()).differs(self.run)

    def _ignores_autocast(self) -> bool:
        """Whether the replay stands in an autocast, another one than its capture, that the block would heed."""
        autocast = Autocast()
        if not autocast.enabled or autocast == self.rerun.ambient.autocast:
            return False
        self._before.restore()
        return self._run(self._given, self.rerun.ambient.with_autocast(autocast)).differs(self.run)

    def _run(self, given: Variables, ambient: Ambient | None = None) -> Run:
        """Run the block from here on; gradients that the graph has made are not there before it runs, as at capture."""
        self._forget()
        self._stream.wait_stream(torch.cuda.current_stream())
        entered = (ambient or self.rerun.ambient).entered()
        with quiet(), entered, torch.cuda.stream(self._stream), Decisions(located=True) as decisions:
            made = self.rerun.run(given)
        torch.cuda.synchronize()
        state = reachable_from((*self.rerun.roots(given, made), *_written(self.capture)))
        return Run(kept(state, self._before.held()), decisions.made)

    def _found(self) -> Values:
        """What the replay has given, by the same names: memory of the graph by those that it had at capture."""
        torch.cuda.synchronize()
        found: Values = {}
        if not self.rerun.does_more:
            state = reachable_from(self.rerun.roots(self._given, {}))
            own = {name for name, one in state.tensors.items() if storage_key(one) in self._of_graphs}
            found = {name: one for name, one in kept(state, self._before.held()).items() if name not in own}
        found |= self._results()
        return {name: value for name, value in found.items() if name in self.run.values}

    def _results(self) -> Values:
        """What the graph has written to memory of its own."""
        found: Values = {}
        for name, recall in self.rerun.results.items():
            with contextlib.suppress(GoneError):
                found[name] = recall().detach().clone()
        return found

    def _floor(self, wanted: Values) -> dict[str, float]:
        """How far eager is from itself; with other roundings and other draws, where the graph took another way."""
        captured, eager, after, runs = self.capture.decisions, self.run.decisions, self._state.snapshot(), []
        try:
            for change in (False, True) if way(captured) != way(eager) else (False,):
                self._before.restore()
                if self.divergence().draws_otherwise:
                    reseed()
                if change:
                    nudge(reachable_from(self.rerun.roots(self._given, {})).tensors.values())
                runs.append(self._run(self._given).values)
        finally:
            after.restore()
        found = [noise_floor([wanted, {name: run.get(name) for name in wanted}], "") for run in runs]
        return {name: max(one.get(name, 0.0) for one in found) for name in {*found[0], *found[-1]}}


def _written(capture: Capture) -> Roots:
    """Memory that the graph writes and did not make, whether or not a name leads to it."""
    written = (one for one in capture.externals.values() if one.is_written and not one.is_host)
    named = ((f"{one.dtype}{list(one.shape)}", _memory(one)) for one in written)
    return tuple((name, memory) for name, memory in named if memory is not None)


def _memory(external: External) -> torch.Tensor | None:
    """All of it, if it is still there."""
    storage = torch.UntypedStorage._new_with_weak_ptr(external.storage.cdata)
    return None if storage is None else torch.empty(0, dtype=external.dtype, device="cuda").set_(storage)


def _has_nan(values: Iterable[object]) -> bool:
    """Whether any is a tensor of a type that knows what is no number, and holds one."""
    tensors = (one for one in values if isinstance(one, torch.Tensor) and one.is_floating_point())
    return any(one.element_size() > 1 and bool(one.isnan().any()) for one in tensors)
