"""A program that captures and replays in; whether each replay gives what the captured block gives without a graph out.

The block runs again from the state that a replay finds, and all that it does to the program is undone.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections import Counter
from collections.abc import Iterator

import torch

from graphlint.runtime.compare.ambient import Ambient
from graphlint.runtime.compare.reach import Walk
from graphlint.runtime.compare.remembered import GoneError, remembered
from graphlint.runtime.compare.state import LIMIT
from graphlint.runtime.examine.beside import Beside
from graphlint.runtime.examine.graphed import reruns_of
from graphlint.runtime.examine.refused import capture_past
from graphlint.runtime.examine.rerun import BlockRerun, Rerun
from graphlint.runtime.judge import host
from graphlint.runtime.judge.collectives import need_all_ranks
from graphlint.runtime.judge.findings import SURE, UNSURE
from graphlint.runtime.judge.reporting import Reporting
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.watch.blocks import block_of
from graphlint.runtime.watch.failures import told
from graphlint.runtime.watch.openings import COMPILED, GRAPHED
from graphlint.runtime.watch.watch import Watch

_FIRST = 3  # replays of a graph that are compared in any case; of later ones those whose number is a power of two
_DOUBTS = 8  # replays in which a value that changes is tried, before it is taken for one that does not matter


class Reruns:
    """Compares the replays of a program with its own code; `unseen` says of which blocks it did not, and why."""

    def __init__(self, watch: Watch, reporting: Reporting) -> None:
        self.watch = watch
        self.reporting = reporting
        self.compared = 0
        self._stream: torch.cuda.Stream | None = None
        self._blocks: dict[int, BlockRerun] = {}  # while they are captured
        self._known: dict[int, Rerun] = {}
        self._beside: dict[int, Beside] = {}  # while they are replayed
        self._failing: set[int] = set()  # captures whose blocks cannot run again
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
        if COMPILED in self.watch.openings.running:
            self._skip(capture, "torch.compile captures it")
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
        if need_all_ranks(capture):
            self._skip(capture, "other ranks would have to run it at the same time")
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
            self._tell_doubts(capture)
            return
        if threading.get_ident() != capture.thread and torch._C._current_autograd_node() is None:
            self._skip(capture, "another thread replays it, and what threads do meanwhile would be undone as well")
            return
        has_doubts = self.reporting.has_doubts(capture)
        is_tried = has_doubts and self._settled[id(capture)] < _DOUBTS
        if capture.replays >= _FIRST and capture.replays & (capture.replays - 1) and not is_tried:
            self.reporting.dismiss_doubts(capture)
            return
        with self._skipping(capture), self.watch.ignoring():
            self._stream = self._stream or torch.cuda.Stream()
            forget = functools.partial(self.reporting.training.forget, capture)
            own = self._of_graphs(capture)
            beside = Beside(rerun, capture, self._stream, forget, of_graphs=own, has_doubts=has_doubts)
            self._beside[id(capture)] = beside
            if beside.matters:
                self.reporting.tell_doubts(capture)
            if beside.ignores_autocast:
                self.reporting.autocast_ignored(capture)

    def _of_graphs(self, capture: Capture) -> set[int]:
        """Memory in which graphs alone have a say: what those of a pool have made, over which each of them may write.

        So is what other graphs read and make, where the block asks for a capture: if there is none, it may replay them.
        """
        others = [one for one in self.watch.captures if one is not capture and capture.asked]
        read = {key for one in others for key, external in one.externals.items() if not external.is_written}
        made = {
            key for one in self.watch.captures if one in others or one.pool == capture.pool for key in one.internals
        }
        return made | read - capture.externals.keys()

    def _replayed(self, capture: Capture) -> None:
        beside = self._beside.pop(id(capture), None)
        if beside is None:
            return
        difference = None
        with self._skipping(capture), self.watch.ignoring():
            difference = beside.difference()
            self.compared += 1
            for rest in self.reporting.outside.inputs.rests(capture):
                if beside.needs_numbers_in(rest):
                    self.reporting.rest_leaks(capture, rest)
        if difference is None:
            self._settled[id(capture)] += bool(self.reporting.dismiss_doubts(capture))
        else:
            self.reporting.replay_differs(capture, beside.divergence(), difference)

    def _tell_doubts(self, capture: Capture) -> None:
        """Nothing decides them; where the block cannot run again, hardly anything speaks for them."""
        self.reporting.tell_doubts(capture, UNSURE if id(capture) in self._failing else SURE)

    def _skip(self, capture: Capture, why: str) -> None:
        self._known.pop(id(capture), None)
        self._unseen[f"{capture.region.path}:{capture.region.line}"] = why
        self._tell_doubts(capture)

    @contextlib.contextmanager
    def _skipping(self, capture: Capture) -> Iterator[None]:
        """Inside, what goes wrong is no failure of the program: it is not compared from here on."""
        try:
            yield
        except GoneError as error:
            self._skip(capture, "what it was captured on, or gives, is not there any more")
            error.__traceback__ = None
        except Exception as error:
            self._failing.add(id(capture))
            self._skip(capture, f"it fails when it runs again: {told(error)}")
            error.__traceback__ = None  # its frames hold the graph, and itself, until a collection, be it in a capture
