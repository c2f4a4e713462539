"""A folder in, what is wrong about how `check` ended there out."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from unittest import mock

from graphlint.cli import main
from graphlint.static.syntax.remembered import forget

SECONDS = 30  # of the processor
NEIGHBOUR = """\
import torch

x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.sum().item()
"""
SELDOM = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def wrong_in(folder: Path, arguments: Sequence[str], styles: Sequence[str], is_configured: bool) -> list[str]:
    """What is wrong about runs of `check` in a folder: how they end, and what they say.

    What `is_configured` may leave out a file that is put there.
    """
    (folder / "neighbour.py").write_text(NEIGHBOUR)
    found = []
    for style in styles:
        status, said, told = run(folder, ("check", "--format", style, *arguments))
        found += [f"{style}: {problem}" for problem in _wrong(style, status, said, told)]
        if status != 2 and not is_configured and "neighbour.py" not in said:
            found.append(f"{style}: the file beside it was not judged")
    return found


def _wrong(style: str, status: object, said: str, told: str) -> Iterator[str]:
    if status not in (0, 1, 2) or "internal error" in told or "Traceback" in told:
        yield f"ended with {status}: {told}"
    if status == 2 and len(told.splitlines()) != 1:
        yield f"an error is no line: {told!r}"
    for text in (said, told):
        if unseen := SELDOM.search(text):
            yield f"writes {unseen[0]!r} in {text[max(0, unseen.start() - 40) : unseen.end() + 40]!r}"
    if style == "github" and not all(line.startswith("::") for line in said.splitlines()):
        yield "a line is no annotation"
    if style != "github" and any(line.startswith("::") for line in (said + told).splitlines()):
        yield "a line is a command to whoever reads the log"
    if style in ("json", "sarif") and status != 2:
        json.loads(said)


def run(folder: Path, arguments: Sequence[str]) -> tuple[object, str, str]:
    """The status, output and errors of a command, which runs in this process."""
    said, told, status = io.StringIO(), io.StringIO(), None
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", ["graphlint", *arguments]),
        mock.patch.dict("os.environ", {"GRAPHLINT_DEBUG": "1", "GRAPHLINT_NO_CACHE": "1"}),
        mock.patch("graphlint.static.index.parallel.can_fork", return_value=False),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
        processor_time(SECONDS),
    ):
        limit = sys.getrecursionlimit()
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        finally:  # what a process leaves behind when it ends
            sys.setrecursionlimit(limit)
            forget()
            gc.unfreeze()
    return status, said.getvalue(), told.getvalue()


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer; how busy the machine is does not matter."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it was not done after {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
