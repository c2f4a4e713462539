"""One worker: tasks as JSON lines on standard input in, samples as they begin and end as JSON lines out.

    python -m tests.sweep.worker [emulator]

A task is `{"opinfo": NAME, "samples": COUNT, "skip": [KEY...]}` or `{"statements": [TEXT...], "skip": [KEY...]}`; the
emulator is asked for statements alone. Lines out are `{"ready": HEADER, "opinfos": [NAME...]}` once, and for each task
`{"begin": SAMPLE}` and `{"end": RECORD}` in turn, then `{"done": true}`. `{"again": KEY}` in the place of a record asks
for another worker.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tests.proof.device import present_device

if TYPE_CHECKING:
    from graphlint.runtime.device.backend import Backend, Refused
    from graphlint.runtime.device.emulator.backend import EmulatedDriver
    from tests.sweep.observe import Observer
    from tests.sweep.sample import Sample

UNHEALTHY = 3  # the exit status of a worker that ended by itself after its last record


def main() -> None:
    report = quiet()
    is_emulated = sys.argv[1:] == ["emulator"]
    backend = emulated() if is_emulated else real()  # first, since it decides what torch finds

    import torch

    from tests.sweep.observe import Observer

    torch.set_num_threads(1)  # the workers share the processor
    observer = Observer(backend)
    say(report, {"ready": present_device(), "opinfos": [] if is_emulated else opinfos_here()})
    serve(sys.stdin, report, observer)
    os._exit(0)  # abandoned graphs must not be destroyed


def quiet() -> TextIO:
    """Where to report: what statements print goes nowhere, what is reported has a descriptor of its own."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return report


def real() -> Callable[[Refused], Backend]:
    from graphlint.runtime.device.cuda.backend import CudaDriver

    return CudaDriver


def emulated() -> Callable[[Refused], EmulatedDriver]:
    from graphlint.runtime.device.emulator.backend import EmulatedDriver
    from graphlint.runtime.session.session import emulate

    return functools.partial(EmulatedDriver, emulate())


def opinfos_here() -> list[str]:
    from tests.sweep import opinfos

    return list(opinfos.entries())


def serve(tasks: TextIO, report: TextIO, observer: Observer) -> None:
    for line in tasks:
        task = json.loads(line)
        skipped = set(task["skip"])
        for sample in samples_of(task):
            if sample.key in skipped:
                continue
            say(report, {"begin": {"key": sample.key, **sample.facts}})
            record = observer.observe(sample)
            if observer.is_doubtful(record):  # a new worker shall say
                say(report, {"again": sample.key})
                os._exit(UNHEALTHY)
            say(report, {"end": {"key": sample.key, **record}})
            if not observer.healthy:
                os._exit(UNHEALTHY)
        say(report, {"done": True})


def samples_of(task: Mapping[str, Any]) -> Iterator[Sample]:
    if "opinfo" in task:
        from tests.sweep import opinfos

        yield from opinfos.samples(opinfos.entries()[task["opinfo"]], "cuda", task["samples"])
    else:
        from tests.sweep import listed

        yield from map(listed.sample, task["statements"])


def say(report: TextIO, message: object) -> None:
    report.write(json.dumps(message) + "\n")
    report.flush()


if __name__ == "__main__":
    main()
