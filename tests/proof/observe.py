"""A program in, what it did on the device out as JSON: `python -m tests.proof.observe PROGRAM RESULT`.

An exception that leaves a broken capture often hides the one that broke it. So the first refusal is taken where it
happens, from the driver's log (CUDA 12.9), which speaks in the thread that made the call. What torch refuses before it
asks the driver is the first exception of the chain. torch's own trace of synchronisations is not used: it loses an
exception that is under way, and with it breaks what checkpointing does.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from graphlint.runtime.device.cuda.driver import Driver

_WIDTH = 200  # of a cause, in characters


class Observer:
    """Watches one program; `save` writes what is known so far, since a broken process may end at any call."""

    def __init__(self, program: Path, result: Path) -> None:
        self.folder = program.parent.resolve()
        self.result = result
        self.started = time.perf_counter()
        self.capturing = False
        self.broke = False
        self.nodes: int | None = None
        self.cause: str | None = None
        self.place: str | None = None
        self.outcome = "died"
        self.driver = Driver(self.read_log)
        self.hearing = ExitStack()  # the driver, to the end of the process

    def watch(self) -> None:
        """Listen to the driver, and learn when a capture begins and ends."""
        torch.cuda.init()
        self.hearing.enter_context(self.driver.listening())
        graph: Any = torch.cuda.CUDAGraph
        graph.capture_begin = self.around_begin(graph.capture_begin)
        graph.capture_end = self.around_end(graph.capture_end)
        torch.cuda.make_graphed_callables = self.around_graphed(torch.cuda.make_graphed_callables)

    def around_begin(self, begin: Callable[..., None]) -> Callable[..., None]:
        def capture_begin(*arguments: Any, **keywords: Any) -> None:
            begin(*arguments, **keywords)
            self.capturing = True

        return capture_begin

    def around_end(self, end: Callable[..., None]) -> Callable[..., None]:
        def capture_end(graph: Any) -> None:
            self.broke |= sys.exception() is not None
            _, nodes = self.driver.capture(torch.cuda.current_stream().cuda_stream)
            end(graph)
            self.capturing = False
            self.nodes = nodes

        return capture_end

    def around_graphed(self, graphed: Callable[..., Any]) -> Callable[..., Any]:
        """What it refuses before it captures is a capture that failed all the same."""

        def make_graphed_callables(*arguments: Any, **keywords: Any) -> Any:
            try:
                return graphed(*arguments, **keywords)
            except BaseException:
                self.broke = True
                raise

        return make_graphed_callables

    def read_log(self, text: str) -> None:
        if self.capturing or "STREAM_CAPTURE" in text:
            self.refuse(text, sys._getframe())

    def refuse(self, cause: str, frame: FrameType | None) -> None:
        """Take note of the first thing that the capture does not allow."""
        if self.cause is None:
            self.cause = cause.split("\n")[0][:_WIDTH]
            self.place = self.innermost(traceback.walk_stack(frame) if frame is not None else ())
            self.save()

    def innermost(self, frames: Iterable[tuple[FrameType, int]]) -> str | None:
        """The first place that lies in the program's own files, as `file:line`."""
        for frame, line in frames:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(self.folder):
                return f"{path.relative_to(self.folder).as_posix()}:{line}"
        return None

    def run(self, program: Path) -> None:
        """Run the program and tell its end."""
        try:
            runpy.run_path(str(program), run_name="__main__")
        except BaseException as error:
            traceback.print_exc()
            self.outcome = self.judge(error)
        else:
            self.outcome = "clean"
        self.save()

    def judge(self, error: BaseException) -> str:
        while (earlier := error.__cause__ or error.__context__) is not None:
            error = earlier
        is_capture = self.capturing or self.broke or self.cause is not None
        self.refuse(f"{type(error).__name__}: {error}", None)
        if self.place is None:
            self.place = self.innermost(reversed(list(traceback.walk_tb(error.__traceback__))))
        if is_capture:
            return "capture-error"
        if isinstance(error, AssertionError):
            return "check-failed"
        return "fault" if isinstance(error, RuntimeError) and "CUDA error" in str(error) else "error"

    def save(self) -> None:
        seconds = round(time.perf_counter() - self.started, 1)
        known = {"outcome": self.outcome, "cause": self.cause, "place": self.place, "nodes": self.nodes}
        self.result.write_text(json.dumps({**known, "seconds": seconds}), "utf-8")


if __name__ == "__main__":
    program, result = map(Path, sys.argv[1:])
    sys.argv = [str(program)]
    sys.path[0] = str(program.parent)
    observer = Observer(program, result)
    observer.watch()
    observer.run(program.resolve())
