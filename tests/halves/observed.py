"""The name of a target in, what a capture of it refuses and which lines ran in it out; each in a process of its own."""

from __future__ import annotations

import itertools
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path
from types import FrameType

from graphlint import runtime
from graphlint.config import Config
from graphlint.finding import Finding, Severity
from graphlint.rulebook import builtin_rulebook
from graphlint.rulebook.page import TOOL_FAMILY
from graphlint.runtime.examine.target import DEFAULT_RUNS, Spec, load, parse
from graphlint.runtime.session.isolation import run_isolated, server
from graphlint.runtime.session.session import EMULATOR, Send, emulate, witness

# Loaded once, before the processes of the targets part.
LOADED = (
    "torch",
    "graphlint.runtime.session.isolation",
    "graphlint.runtime.session.preloaded",
    "tests.runtime.torchvision_operators",
    "torch._dynamo",
    "torch.distributed.optim",  # compiles by TorchScript when it is imported, which fails where torch is emulated
)


@dataclass(frozen=True, slots=True)
class Ran:
    """The lines that one call of a target runs, by the path of their file."""

    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.lines.values()))

    def any_of(self, path: str, lines: range) -> bool:
        return not self.lines.get(path, frozenset()).isdisjoint(lines)

    def packages(self) -> tuple[str, ...]:
        """The installed packages in which lines ran."""
        found = set()
        for path, folder in itertools.product(map(Path, self.lines), map(Path, filter(None, sys.path))):
            if path.is_relative_to(folder) and path.parent != folder and not folder.is_relative_to(Path.cwd()):
                found.add(path.relative_to(folder).parts[0])
        return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Observed:
    """What came of one target: errors at capture or replay, and the lines that ran.

    It is whole if a capture came to its end, past what was refused. `problem` says why nothing was judged.
    """

    errors: tuple[Finding, ...] = ()
    ran: Ran = field(default_factory=Ran)
    is_whole: bool = True
    problem: str = ""


@dataclass(frozen=True)
class Tracing:
    """Runs a target eagerly until it is warm, and once more to see which lines run."""

    spec: Spec
    on: str

    def __call__(self, send: Send) -> None:
        if witness(self.on) == EMULATOR:
            emulate().consult(builtin_rulebook().catalogue)

        from graphlint.runtime.watch.lines import Lines

        seen: dict[str, set[int]] = defaultdict(set)

        def told(frame: FrameType, line: int) -> None:
            seen[frame.f_code.co_filename].add(line)

        target = load(self.spec)
        for _ in range(DEFAULT_RUNS.warm_ups):
            target.call(*target.args, **target.kwargs)
        lines = Lines(told)
        lines.start()
        try:
            target.call(*target.args, **target.kwargs)
        finally:
            lines.stop()
            seen.pop(__file__, None)
            send(Ran({path: frozenset(lines) for path, lines in seen.items()}))


def observe(name: str, on: str, deadline: float) -> Observed:
    """Capture a target and run it under a tracer; both end after so many seconds."""
    report = runtime.verify([name], Config(root=Path.cwd()), builtin_rulebook(), on=on, deadline=deadline)
    errors = tuple(one for one in report.findings if one.severity is Severity.ERROR)
    failed = next((one for one in errors if one.code.startswith(TOOL_FAMILY)), None)
    target = report.targets[0]
    problem = target.problem or (failed.why if failed is not None else "")
    if problem:
        return Observed(problem=problem)
    heard: list[Ran] = []
    ending = run_isolated(server(), Tracing(parse(name), on), deadline, heard.append)
    if not heard:
        return Observed(problem=f"not traced: {ending.how}")
    return Observed(errors, heard[0], is_whole=bool(target.measured.get("replays")))


def begin(modules: Iterable[str]) -> None:
    """Start the process from which those of the targets come, with these modules loaded."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a module that asks for a GPU otherwise, spoils it for all
    forkserver.set_forkserver_preload([*LOADED, *modules])
    forkserver.ensure_running()
