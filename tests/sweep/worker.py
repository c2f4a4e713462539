"""One worker: tasks as JSON lines on standard input in, samples as they begin and end as JSON lines out.

    python -m tests.sweep.worker

A task is `{"opinfo": NAME, "samples": COUNT, "skip": [KEY...]}` or `{"statements": [TEXT...], "skip": [KEY...]}`.
Lines out are `{"ready": HEADER, "opinfos": [NAME...]}` once, and for each task `{"begin": SAMPLE}` and
`{"end": RECORD}` in turn, then `{"done": true}`. `{"again": KEY}` in the place of a record asks for another worker.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

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
    say(report, {"ready": header(torch), "opinfos": list(opinfos.entries())})
    serve(sys.stdin, report, observer.observe, lambda: observer.healthy, observer.is_doubtful)
    os._exit(0)  # abandoned graphs must not be destroyed


def header(torch: object) -> dict[str, str]:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = ""
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "driver": driver,
        "python": platform.python_version(),
    }


def serve(
    tasks: TextIO,
    report: TextIO,
    observe: Callable[[object], dict[str, object]],
    healthy: Callable[[], bool] = lambda: True,
    doubtful: Callable[[dict[str, object]], bool] = lambda record: False,
    device: str = "cuda",
) -> None:
    from tests.sweep import listed

    operands = listed.Operands(listed.OPERANDS.read_text("utf-8"))
    for line in tasks:
        task = json.loads(line)
        skipped = set(task["skip"])
        for sample in samples_of(task, operands, device):
            if sample.key in skipped:
                continue
            say(report, {"begin": {"key": sample.key, **sample.facts}})
            record = observe(sample)
            if doubtful(record):  # a new worker shall say
                say(report, {"again": sample.key})
                os._exit(UNHEALTHY)
            say(report, {"end": {"key": sample.key, **record}})
            if not healthy():
                os._exit(UNHEALTHY)
        say(report, {"done": True})


def samples_of(task: Mapping[str, object], operands: object, device: str) -> Iterator[object]:
    if "opinfo" in task:
        from tests.sweep import opinfos

        yield from opinfos.samples(opinfos.entries()[task["opinfo"]], device, task["samples"])
    else:
        from tests.sweep import listed

        for text in task["statements"]:
            yield listed.sample(text, operands)


def say(report: TextIO, message: object) -> None:
    report.write(json.dumps(message) + "\n")
    report.flush()


if __name__ == "__main__":
    main()
