"""A program that captures and replays in; whether each replay gives what the captured block gives without a graph out.

The block runs again from the state that a replay finds, and all that it does to the program is undone.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from graphlint.runtime.compare.ambient import Ambient, Autocast
from graphlint.runtime.compare.comparison import Difference, first_mismatch, noise_floor
from graphlint.runtime.compare.divergence import Divergence
from graphlint.runtime.compare.generators import default_sources
from graphlint.runtime.compare.reach import Walk
from graphlint.runtime.compare.remembered import GoneError, remembered
from graphlint.runtime.compare.state import LIMIT, Snapshot, State, kept, reachable_from
from graphlint.runtime.examine.arguments import Values, nudge
from graphlint.runtime.examine.graphed import reruns_of
from graphlint.runtime.examine.refused import capture_past
from graphlint.runtime.examine.rerun import BlockRerun, Rerun, Roots, Variables, quiet
from graphlint.runtime.judge import host
from graphlint.runtime.judge.reporting import Reporting
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.operators import Traced, storage_key
from graphlint.runtime.watch.blocks import block_of
from graphlint.runtime.watch.decisions import Decisions
from graphlint.runtime.watch.failures import told
from graphlint.runtime.watch.openings import GRAPHED
from graphlint.runtime.watch.watch import Watch

_FIRST = 3  # replays of a graph that are compared in any case; of later ones those whose number is a power of two
_DOUBTS = 8  # replays in which a value that changes is tried, before it is taken for one that does not matter
_STEPS = 2  # of eager, one after the other, in which a value may come to matter


@dataclass
class Run:
    """What the block gave from one state, and what the host decided on the way."""

    values: Values
    decisions: list[Traced]

    def differs(self, other: Run) -> bool:
        """Whether the host decides otherwise, or results are others."""
        is_other_way = _way(self.decisions) != _way(other.decisions)
        return is_other_way or first_mismatch([self.values], [other.values], [{}]) is not None


@dataclass
class Expected:
    """The state before a replay, and what the block gave from there."""

    given: Variables
    state: State
    before: Snapshot
    run: Run


class Reruns:
    """Compares the replays of a program with its own code; `unseen` says of which blocks it did not, and why."""

    def __init__(self, watch: Watch, reporting: Reporting) -> None:
        self.watch = watch
        self.reporting = reporting
        self.compared = 0
        self._stream: torch.cuda.Stream | None = None
        self._blocks: dict[int, BlockRerun] = {}  # while they are captured
        self._known: dict[int, Rerun] = {}
        self._expected: dict[int, Expected] = {}
        self._settled: Counter[int] = Counter()  # by capture, how often its doubts were dismissed
        self._unseen: dict[str, str] = {}
        if not watch.driver.has_numbers:
            return
        reporting.undecided = frozenset({"frozen-host-value"})
        watch.began.append(self._begins)
        watch.ended.append(self._ends)
        watch.graphed.append(lambda captures, callables: self._known.update(reruns_of(callables, captures)))
        watch.replaying.append(self._replaying)
        watch.replayed.append(self._replayed)

    @property
    def unseen(self) -> str:
        return "; ".join(f"{place} is not compared with eager, since {why}" for place, why in self._unseen.items())

    def _begins(self, capture: Capture) -> None:
        if GRAPHED in self.watch.openings.running:
            return
        found = block_of(running())
        if found is None:
            self._skip(capture, "the source does not show what is captured")
            return
        block, frame = found
        function = block.function(frame.f_globals, local(frame, "__class__"))
        recall = {name: remembered(value) for name, value in block.given(frame).items()}
        self._blocks[id(capture)] = BlockRerun(block, function, recall, Ambient())

    def _ends(self, capture: Capture) -> None:
        rerun = self._blocks.pop(id(capture), None)
        frame = next((frame for frame in running() if rerun is not None and id(frame) == rerun.block.frame), None)
        if rerun is None or frame is None or not capture.is_healthy or capture.refusals:
            if rerun is not None and sys.exception() is not None:
                self._capture_past_refusals(rerun, capture)
            return
        if any(host.consumed(capture)):
            self._skip(capture, "it takes from an iterator, which nothing sets back")
            return
        walk = Walk(rerun.roots(rerun.block.given(frame), rerun.block.made(frame)), LIMIT)
        made = [one for one in walk.tensors if storage_key(one) in capture.internals]
        self._known[id(capture)] = rerun
        rerun.results = {walk.names[id(one)]: remembered(one) for one in made}

    def _capture_past_refusals(self, rerun: BlockRerun, capture: Capture) -> None:
        """The program goes no further than the first refusal, and its block does."""
        self.watch.began.remove(self._begins)
        self.watch.ended.remove(self._ends)
        self.reporting.is_trying = True
        try:
            capture_past(self.watch, rerun, capture)
        finally:
            self.reporting.is_trying = False
            self.watch.began.append(self._begins)
            self.watch.ended.append(self._ends)

    def _replaying(self, capture: Capture) -> None:
        """A replay begins: what the block gives from the state that it finds."""
        rerun = self._known.get(id(capture))
        if rerun is None or self.watch.recorder.capture is not None:
            self.reporting.tell_doubts(capture)
            return
        has_doubts = self.reporting.has_doubts(capture) and self._settled[id(capture)] < _DOUBTS
        if capture.replays >= _FIRST and capture.replays & (capture.replays - 1) and not has_doubts:
            self.reporting.dismiss_doubts(capture)
            return
        with self._skipping(capture), self.watch.ignoring():
            self._expected[id(capture)] = self._expect(rerun, capture)

    def _replayed(self, capture: Capture) -> None:
        expected = self._expected.pop(id(capture), None)
        if expected is None:
            return
        difference = None
        with self._skipping(capture), self.watch.ignoring():
            found = self._found(capture, expected)
            if not (self._known[id(capture)].results.keys() & found.keys()) and not _written(capture):
                raise GoneError
            difference = self._difference(capture, expected, found)
            self.compared += 1
        if difference is None:
            self._settled[id(capture)] += bool(self.reporting.dismiss_doubts(capture))
        else:
            divergence = Divergence(capture.decisions, expected.run.decisions, expected.run.decisions)
            self.reporting.replay_differs(capture, divergence, difference)

    def _expect(self, rerun: Rerun, capture: Capture) -> Expected:
        given = rerun.given()
        torch.cuda.synchronize()
        state = reachable_from((*rerun.roots(given, {}), *_written(capture)))
        before = state.snapshot()
        try:
            run = self._run(rerun, capture, given, before)
            if self.reporting.has_doubts(capture) and self._matters(rerun, capture, before, run):
                self.reporting.tell_doubts(capture)
            if (autocast := Autocast()).enabled and autocast != rerun.ambient.autocast:
                before.restore()
                if self._run(rerun, capture, given, before, autocast=autocast).differs(run):
                    self.reporting.autocast_ignored(capture)
        finally:
            before.restore()
        return Expected(given, state, before, run)

    def _matters(self, rerun: Rerun, capture: Capture, before: Snapshot, run: Run) -> bool:
        """Whether another value changes what the block does: the one of now, or the one that a run of it leaves."""
        for _ in range(_STEPS):
            if _way(self._run(rerun, capture, rerun.given(), before).decisions) != _way(run.decisions):
                return True
        before.restore()
        return self._run(rerun, capture, rerun.given_now(), before).differs(run)

    def _run(
        self, rerun: Rerun, capture: Capture, given: Variables, before: Snapshot, *, autocast: Autocast | None = None
    ) -> Run:
        """Run the block from here on; gradients that the graph has made are not there before it runs, as at capture."""
        for parameter in self.reporting.training.made_by(capture):
            parameter.grad = None
        self._stream = self._stream or torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        ambient = rerun.ambient if autocast is None else rerun.ambient.with_autocast(autocast)
        with quiet(), ambient.entered(), torch.cuda.stream(self._stream), Decisions(located=True) as decisions:
            made = rerun.run(given)
        torch.cuda.synchronize()
        state = reachable_from((*rerun.roots(given, made), *_written(capture)))
        return Run(kept(state, before.held()), decisions.made)

    def _found(self, capture: Capture, expected: Expected) -> Values:
        """What the replay has given, by the same names: memory of the graph by those that it had at capture."""
        torch.cuda.synchronize()
        rerun = self._known[id(capture)]
        found: Values = {}
        if not rerun.does_more:
            state = reachable_from(rerun.roots(expected.given, {}))
            own = {name for name, one in state.tensors.items() if storage_key(one) in capture.internals}
            found = {name: one for name, one in kept(state, expected.before.held()).items() if name not in own}
        for name, recall in rerun.results.items():
            with contextlib.suppress(GoneError):
                found[name] = recall().detach().clone()
        return {name: value for name, value in found.items() if name in expected.run.values}

    def _difference(self, capture: Capture, expected: Expected, found: Values) -> Difference | None:
        """What the replay gives otherwise, by more than eager differs from itself."""
        wanted = {name: expected.run.values[name] for name in found}
        if first_mismatch([found], [wanted], [{}]) is None:
            return None
        mismatch = first_mismatch([found], [wanted], [self._floor(capture, expected, wanted)])
        return mismatch[1] if mismatch is not None else None

    def _floor(self, capture: Capture, expected: Expected, wanted: Values) -> dict[str, float]:
        """How far eager is from itself; with other roundings and other draws, where the graph took another way."""
        rerun, after, runs = self._known[id(capture)], expected.state.snapshot(), []
        is_other_way = _way(capture.decisions) != _way(expected.run.decisions)
        try:
            for change in (False, True) if is_other_way else (False,):
                expected.before.restore()
                if _way(capture.decisions, draws=True) != _way(expected.run.decisions, draws=True):
                    _reseed()
                if change:
                    nudge(reachable_from(rerun.roots(expected.given, {})).tensors.values())
                runs.append(self._run(rerun, capture, expected.given, expected.before).values)
        finally:
            after.restore()
        found = [noise_floor([wanted, {name: run.get(name) for name in wanted}], "") for run in runs]
        return {name: max(one.get(name, 0.0) for one in found) for name in {*found[0], *found[-1]}}

    def _skip(self, capture: Capture, why: str) -> None:
        self._known.pop(id(capture), None)
        self._unseen[f"{capture.region.path}:{capture.region.line}"] = why
        self.reporting.tell_doubts(capture)

    @contextlib.contextmanager
    def _skipping(self, capture: Capture) -> Iterator[None]:
        """Inside, what goes wrong is no failure of the program: it is not compared from here on."""
        try:
            yield
        except GoneError:
            self._skip(capture, "what it was captured on, or gives, is not there any more")
        except Exception as error:
            self._skip(capture, f"it fails when it runs again: {told(error)}")


def _way(decisions: list[Traced], *, draws: bool = False) -> list[tuple[str, tuple[object, ...]]]:
    """What the host decided, or only what it `draws`."""
    return [(one.operator, one.numbers) for one in decisions if one.draws or not draws]


def _written(capture: Capture) -> Roots:
    """Memory that the graph writes and did not make, whether or not a name leads to it."""
    found = []
    for external in capture.externals.values():
        storage = torch.UntypedStorage._new_with_weak_ptr(external.storage.cdata)
        if external.is_written and not external.is_host and storage is not None:
            tensor = torch.empty(0, dtype=external.dtype, device="cuda").set_(storage)
            found.append((f"{external.dtype}{list(external.shape)}", tensor))
    return tuple(found)


def _reseed() -> None:
    """Let generators of torch draw other numbers."""
    for source in default_sources().values():
        if isinstance(source, torch.Generator):
            source.manual_seed(source.initial_seed() + 1)
