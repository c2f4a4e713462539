"""One worker: tasks as JSON lines on standard input in, samples as they begin and end as JSON lines out.

    python -m tests.sweep.worker

A task is `{"opinfo": NAME, "samples": COUNT, "skip": [KEY...]}` or `{"statements": [TEXT...], "skip": [KEY...]}`.
Lines out are `{"ready": HEADER, "opinfos": [NAME...]}` once, and for each task `{"begin": SAMPLE}` and
`{"end": RECORD}` in turn, then `{"done": true}`. `{"again": KEY}` in the place of a record asks for another worker.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tests.proof.device import present_device

if TYPE_CHECKING:
    from tests.sweep.observe import Observer
    from tests.sweep.sample import Sample

UNHEALTHY = 3  # the exit status of a worker that ended by itself after its last record


def main() -> None:
    # What statements print goes nowhere; what is reported has a descriptor of its own.
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    import torch

    from tests.sweep import opinfos
    from tests.sweep.observe import Observer

    torch.set_num_threads(1)  # the workers share the processor
    observer = Observer()
    say(report, {"ready": present_device(), "opinfos": list(opinfos.entries())})
    serve(sys.stdin, report, observer)
    os._exit(0)  # abandoned graphs must not be destroyed


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
    from tests.sweep import listed, opinfos

    if "opinfo" in task:
        yield from opinfos.samples(opinfos.entries()[task["opinfo"]], "cuda", task["samples"])
    else:
        yield from map(listed.sample, task["statements"])


def say(report: TextIO, message: object) -> None:
    report.write(json.dumps(message) + "\n")
    report.flush()


if __name__ == "__main__":
    main()
