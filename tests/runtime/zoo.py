"""What `graphlint verify` says about models that were really captured: their records in, a table and one row each out.

    python -m tests.runtime.zoo ZOO_FOLDER FILE [--on cuda|emulator] [--deadline S] [--limit N] [--workers N]

ZOO_FOLDER holds `models.jsonl` (one model a line: `zoo`, `model`, `entry`, `captured`, `site` as file:line:function of
the failure, `replay_equal_eager`) and `zoo.py`, whose `build` makes them. FILE gets JSON lines as they come: first what
the run depends on, then what came of each model.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from graphlint import runtime
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Finding, Severity
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.rulebook.page import TOOL_FAMILY
from graphlint.runtime.session.session import CUDA, EMULATOR
from tests.proof.device import gpu_count, present_device
from tests.runtime.zoo_target import FOLDER, PREFIX, models

LIBRARIES = ("transformers", "timm")
# Loaded once, before the processes of the models part.
LOADED = (
    "torch",
    "graphlint.runtime.session.isolation",
    "graphlint.runtime.session.preloaded",
    "tests.runtime.zoo_libraries",
)

Row = dict[str, Any]
RULEBOOK = load_rulebook(builtin_rules())


def look(on: str, deadline: float, number: int, model: Row) -> Row:
    """What is found in one model, captured where `on` says, in so many seconds."""
    started = time.perf_counter()
    target = f"tests.runtime.zoo_target:{PREFIX}{number}"
    try:
        report = runtime.verify([target], Config(root=Path.cwd()), RULEBOOK, on=on, deadline=deadline)
    except UsageError as error:
        return {"model": name_of(model), "verdict": f"unusable: {error}", "errors": [], "others": []}
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    return {
        "model": name_of(model),
        "verdict": verdict(errors),
        "errors": [shown(finding) for finding in errors],
        "others": [shown(finding) for finding in report.findings if finding not in errors],
        "measured": dict(report.targets[0].measured),
        "seconds": round(time.perf_counter() - started, 1),
    }


def verdict(errors: list[Finding]) -> str:
    """`captured`, `refused`, or how the model failed by itself."""
    failed = next((one for one in errors if one.code.startswith(TOOL_FAMILY)), None)
    if failed is not None:
        return f"failed: {failed.why}"
    outcomes = {rule.code: rule.outcome for rule in RULEBOOK.rules}
    return "refused" if any(outcomes[one.code] == "capture-error" for one in errors) else "captured"


def shown(finding: Finding) -> Row:
    span = finding.span
    return {
        "code": finding.code,
        "path": span.path.rpartition("-packages/")[2],
        "line": span.line,
        "end_line": max(span.line, span.end_line),
        "message": finding.message,
    }


def name_of(model: Row) -> str:
    return f"{model['zoo']}/{model['model']}"


def is_found(model: Row, row: Row) -> bool:
    """Whether an error stands at the line that stopped the recorded capture."""
    file, line, _ = str(model["site"]).split(":")
    return any(one["path"] == file and one["line"] <= int(line) <= one["end_line"] for one in row["errors"])


def differences(models: list[Row], rows: dict[str, Row]) -> Iterator[tuple[str, str]]:
    """Where a run says something else than the record: of which kind, and a line about it."""
    for model in models:
        name = name_of(model)
        row = rows[name]
        recorded = "captured" if model["captured"] else "refused"
        found = ", ".join(f"{one['path']}:{one['line']} {one['code']}" for one in row["errors"])
        if row["verdict"] != recorded:
            yield "verdict", f"{name}: {row['verdict']}, and was {recorded} {model['site'] or ''}; found: {found}"
        elif not model["captured"] and not is_found(model, row):
            yield "line", f"{name}: {model['site']} is not among {found}"
        if model["replay_equal_eager"] and row["errors"]:
            yield "alarm", f"{name}: {found}"


def table(models: list[Row], rows: dict[str, Row]) -> str:
    """The numbers, and each difference by name."""
    found = list(differences(models, rows))
    count = {kind: sum(one == kind for one, _ in found) for kind in ("verdict", "line", "alarm")}
    refused = sum(not model["captured"] and rows[name_of(model)]["verdict"] == "refused" for model in models)
    clean = sum(bool(model["replay_equal_eager"]) for model in models)
    return "\n".join(
        [
            f"models                                         {len(models):5}",
            f"equal verdicts                                 {len(models) - count['verdict']:5} of {len(models)}",
            f"equal lines where both were refused            {refused - count['line']:5} of {refused}",
            f"errors on models whose replay was like eager   {count['alarm']:5} of {clean}",
            *(f"  {kind:7} {line}" for kind, line in found),
        ]
    )


def dependencies(on: str) -> dict[str, str]:
    """What the results of a run depend on."""
    here = {"on": on, "torch": importlib.metadata.version("torch"), "python": platform.python_version()}
    device = here if on == EMULATOR else present_device()
    return device | {name: importlib.metadata.version(name) for name in LIBRARIES}


def begin(folder: Path) -> None:
    """Start the process from which those of the models come."""
    os.environ |= {FOLDER: str(folder.resolve()), "OMP_NUM_THREADS": "1"}
    forkserver.set_forkserver_preload(list(LOADED))
    forkserver.ensure_running()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="ZOO_FOLDER")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--on", choices=[CUDA, EMULATOR], default=CUDA, help="where to capture")
    parser.add_argument("--deadline", type=float, default=120, metavar="S", help="the seconds that each model has")
    parser.add_argument("--limit", type=int, help="look at the first N models")
    parser.add_argument("--workers", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.on == CUDA and not gpu_count():
        sys.exit("this needs a GPU that torch can use, or --on emulator")
    started = time.perf_counter()
    begin(arguments.folder)
    recorded = models()[: arguments.limit]
    looking = functools.partial(look, arguments.on, arguments.deadline)
    rows: dict[str, Row] = {}
    with arguments.file.open("w", encoding="utf-8") as file, ThreadPoolExecutor(arguments.workers) as pool:
        print(json.dumps(dependencies(arguments.on)), file=file, flush=True)
        for done in as_completed([pool.submit(looking, *model) for model in enumerate(recorded)]):
            row = done.result()
            rows[row["model"]] = row
            print(json.dumps(row), file=file, flush=True)
    print(table(recorded, rows))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
