"""A process in, its captures and replays as they happen out."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import _disable_current_modes

from graphlint.finding import Region
from graphlint.runtime.device.backend import ACTIVE, Backend, Refused
from graphlint.runtime.trace.capture import Capture, Refusal
from graphlint.runtime.trace.places import Stack, caller_stack, user_stack, waiting_frame
from graphlint.runtime.watch.autocasts import Autocasts
from graphlint.runtime.watch.bindings import RecordedBindings
from graphlint.runtime.watch.calls import Calls
from graphlint.runtime.watch.clocks import Clocks
from graphlint.runtime.watch.compiled import Compiled
from graphlint.runtime.watch.failures import is_own, raised, unmodelled
from graphlint.runtime.watch.hooks import Hooks
from graphlint.runtime.watch.launches import Launches
from graphlint.runtime.watch.openings import COMPILED, GRAPH, GRAPHED, Openings
from graphlint.runtime.watch.process import Process
from graphlint.runtime.watch.recorder import Recorder, first_line
from graphlint.runtime.watch.standins import Standins, patched
from graphlint.runtime.watch.trees import outside

_ABOUT_CAPTURE = re.compile(r"captur|legacy|memory", re.I)  # the driver speaks of much else


class Watch:
    """Every capture of this process, in order.

    `began` and `ended` are told of captures, `replaying` and `replayed` of replays before and after they run.
    """

    def __init__(self, device: Callable[[Refused], Backend]) -> None:
        self.captures: list[Capture] = []
        self.refusals: list[tuple[Region, Refusal]] = []  # of captures that could not begin
        self.replaying: list[Callable[[Capture], None]] = []
        self.replayed: list[Callable[[Capture], None]] = []
        self.began: list[Callable[[Capture], None]] = []
        self.ended: list[Callable[[Capture], None]] = []
        self.awaits_failure = False  # a program may catch what its own code raises in a region, which then harms nobody
        self.failures: list[tuple[BaseException, Capture, Refusal]] = []
        self.opening: Stack = ()  # what a region is called by that no line of user code opens
        self.roots: tuple[tuple[str, object], ...] = ()  # and what it is, with what it is given, by name
        self.openings = Openings()
        self.driver = device(self._read_log)
        self.recorder = Recorder(self.driver)
        self.standins = Standins(self.recorder, self.openings)
        self.clocks = Clocks(lambda: self.recorder.capture is not None)
        self.recorder.waited.append(self.clocks.waited)
        self.hooks = Hooks()
        self.autocasts = Autocasts()
        self.calls = Calls(self.recorder)
        self.compiled = Compiled(self.driver, self.openings)
        self.compiled.allocated.append(self.recorder.allocated)
        self.recorder.before.append(self.compiled.trees.uses)
        self.compiled.beginning.append(lambda _stack: self._while_compiling(RecordedBindings.pause))
        self.compiled.ended.append(lambda: self._while_compiling(RecordedBindings.resume))
        self.compiled.trees.replayed.append(self._replayed_tree)
        self.process = Process(lambda: self.recorder.capture is not None)
        self.gave: list[Callable[[Capture, list[torch.Tensor]], None]] = []  # told of what trees give in a replay
        self.graphed: list[Callable[[list[Capture], Sequence[object]], None]] = []  # told of graphed callables
        self._switches: list[tuple[int, Stack]] = []  # of modes of modules, each behind so many captures
        self._by_graph: weakref.WeakKeyDictionary[Any, Capture] = weakref.WeakKeyDictionary()
        self._hearing = contextlib.ExitStack()  # the driver, until a capture has ended
        self._is_ignoring = False
        self._broken: list[Any] = []  # after a failed capture, the allocator may still point to the graph

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what runs inside."""
        torch.cuda.init()
        _device_constructors()  # remembers the constructors by identity, so before the patches
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch._C._cuda_set_sync_debug_mode(0)  # warns once that it is a prototype
        graph, graphed = torch.cuda.CUDAGraph, self._around_graphed(torch.cuda.make_graphed_callables)
        patches = [
            *self.process.patches(),
            *self.hooks.patches(),
            *self.autocasts.patches(),
            *self.clocks.patches(),
            (torch.cuda.graph, "__enter__", self.openings.noting(GRAPH, torch.cuda.graph.__enter__)),
            (torch.cuda, "make_graphed_callables", self.openings.noting(GRAPHED, graphed)),
            (graph, "capture_begin", self._around_begin(graph.capture_begin)),
            (graph, "capture_end", self._around_end(graph.capture_end)),
            (graph, "replay", self._around_replay(graph.replay)),
            (graph, "reset", self._around_reset(graph.reset)),
            (torch.nn.Module, "train", self._around_train(torch.nn.Module.train)),
        ]
        kernels = Launches().watching() if self.driver.is_real else contextlib.nullcontext()
        with patched(patches), kernels, self.compiled.watching(), self.recorder, self.calls.following():
            yield

    def _region(self, stack: Stack) -> Region:
        """The region that begins now, at the innermost line of a stack."""
        path, line = (stack[0].path, stack[0].line) if stack else ("?", 0)
        return Region(self.openings.kind, path, line)

    def _around_begin(self, begin: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(begin)
        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> None:
            if not self._is_ignoring:
                self.compiled.follow_trees()
            if self._is_ignoring or self.compiled.trees.is_making_pool:
                begin(graph, *args, **kwargs)
                return
            stack = caller_stack()
            stack = (outside(stack) if COMPILED in self.openings.running else stack) or self.opening
            region = self._region(stack)
            try:
                begin(graph, *args, **kwargs)
            except RuntimeError as error:
                refusal = Refusal("capture_begin", first_line(error), stack, effect="capture-protocol")
                self.refusals.append((self.recorder.capture.region if self.recorder.capture else region, refusal))
                raise
            stream = torch.cuda.current_stream().cuda_stream
            mode = kwargs.get("capture_error_mode", args[1] if len(args) > 1 else "global")
            bindings = RecordedBindings(stack[0].code if stack else None)
            capture = Capture(region, stack, stream, self.driver.capture_graph(stream), mode, bindings)
            self.captures.append(capture)
            self._by_graph[graph] = capture
            for told in self.began:
                told(capture)
            self._handled = sys.exception()
            self.recorder.capture = capture
            self._hearing.enter_context(self.driver.listening())
            torch._C._cuda_set_sync_debug_mode(2)
            self._capturing = contextlib.ExitStack()
            self._capturing.callback(lambda: torch._C._cuda_set_sync_debug_mode(self.process.sync_mode))
            self._capturing.enter_context(patched(self.calls.patches()))
            self._capturing.enter_context(patched(self.standins.patches(is_compiling=self.compiled.is_followed)))
            self._capturing.enter_context(self.driver.launches(self.recorder.launched))
            self._capturing.callback(bindings.stop)
            bindings.start()

        return capture_begin

    def _around_end(self, end: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(end)
        def capture_end(graph: Any) -> None:
            capture = self._by_graph.get(graph)
            if capture is None or capture is not self.recorder.capture:
                end(graph)
                return
            self._capturing.close()
            failing = sys.exception() if sys.exception() is not self._handled else None
            if unmodelled(failing) is not None:  # it is not the capture that fails
                capture.is_healthy = False
            elif failing is not None and not capture.refusals:
                refusal = raised(failing, capture.stack)
                if self.awaits_failure and is_own(failing):
                    capture.is_healthy = False
                    self.failures.append((failing, capture, refusal))
                else:
                    capture.refusals.append(refusal)
            capture.is_healthy &= self.driver.capture(capture.stream)[0] == ACTIVE
            if capture.is_healthy and capture.graph:
                capture.nodes = self.driver.nodes(capture.graph)
            try:
                end(graph)
                capture.pool = graph.pool()
            except RuntimeError as error:
                self._broken.append(graph)
                capture.is_healthy = False
                if not capture.refusals:
                    self.recorder.refuse(first_line(error), sys._getframe(), operator="capture_end")
                raise
            finally:
                self._hearing.close()
                self.recorder.capture = None
                capture.relocate(self.compiled.trees.inputs)
                for told in self.ended:
                    told(capture)

        return capture_end

    def _around_graphed(self, graphed: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(graphed)
        def make_graphed_callables(*args: Any, **kwargs: Any) -> Any:
            number, stack = len(self.captures), caller_stack()
            try:
                result = graphed(*args, **kwargs)
            except Exception as error:
                made = self.captures[number:]
                if not any(capture.refusals for capture in made):
                    refusal = Refusal("", first_line(error), stack, effect="graphed-callable-contract")
                    self.refusals.append((self._region(stack), refusal))
                raise
            (callables, *_) = (*args, *kwargs.values())
            for told in self.graphed:
                told(self.captures[number:], callables if isinstance(callables, tuple) else (callables,))
            return result

        return make_graphed_callables

    def _around_replay(self, replay: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(replay)
        def replay_and_tell(graph: Any) -> None:
            capture = None if self._is_ignoring else self._by_graph.get(graph)
            if capture is None:
                replay(graph)
                return
            for told in self.replaying:
                told(capture)
            capture.replays += 1
            replay(graph)
            for told in self.replayed:
                told(capture)

        return replay_and_tell

    def _around_reset(self, reset: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(reset)
        def reset_and_forget(graph: Any) -> None:
            self._by_graph.pop(graph, None)
            reset(graph)

        return reset_and_forget

    def _while_compiling(self, change: Callable[[RecordedBindings], None]) -> None:
        """What the compiler does to the host is none of what a region does."""
        capture = self.recorder.capture
        if capture is not None and isinstance(capture.bindings, RecordedBindings):
            change(capture.bindings)

    def _replayed_tree(self, graph: Any, outputs: list[torch.Tensor]) -> None:
        if (capture := self._by_graph.get(graph)) is not None:
            for told in self.gave:
                told(capture, outputs)

    def is_alive(self, capture: Capture) -> bool:
        """Whether somebody holds its graph, and has not reset it."""
        return any(one is capture for one in self._by_graph.values())

    def living_pools(self) -> set[object]:
        """The private pools that graphs hold; the emulator's own memory lies in none."""
        return {capture.pool for capture in self._by_graph.values()} if self.driver.is_real else set()

    def switched_since(self, capture: Capture) -> Stack:
        """The last line that put a module into another mode after a capture."""
        number = self.captures.index(capture)
        return next((stack for before, stack in reversed(self._switches) if before > number), ())

    def _around_train(self, train: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(train)
        def noted(module: torch.nn.Module, mode: bool = True) -> Any:
            if module.training is not mode and not self._is_ignoring:
                self._switches.append((len(self.captures), caller_stack()))
            return train(module, mode)

        return noted

    @contextlib.contextmanager
    def ignoring(self) -> Iterator[None]:
        """Inside, captures and replays are not observed either, and everybody may wait."""
        mode = torch._C._cuda_get_sync_debug_mode()
        self._is_ignoring = self.clocks.is_paused = True
        torch._C._cuda_set_sync_debug_mode(0)
        try:
            with self.paused():
                yield
        finally:
            torch._C._cuda_set_sync_debug_mode(mode)
            self._is_ignoring = self.clocks.is_paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, operators are not followed."""
        with _disable_current_modes(), self.driver.modes():
            yield

    def _read_log(self, text: str) -> None:
        """The driver speaks in the thread that made the call."""
        capture = self.recorder.capture
        if capture is None or not _ABOUT_CAPTURE.search(text):
            return
        own = sys._getframe(1)
        if user_stack(own) and threading.get_ident() != capture.thread:
            self.recorder.refuse(text, own, is_from_driver=True, effect="concurrent-call")
        else:
            self.recorder.refuse(text, waiting_frame(own, capture.thread), is_from_driver=True)
