"""One command with many targets, some of which do to their process what they can."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import unruly_targets
from unruly_targets import FAILING, VERDICTS

FILE = Path(unruly_targets.__file__)
JUDGED = 40
SECONDS = 10  # for each target: one of them never ends


def test_targets_that_end_their_process_change_nothing_for_the_others() -> None:
    """Each of the others has its verdict, and each failure is told by its target."""
    others = itertools.islice(itertools.cycle(VERDICTS.items()), JUDGED)
    expected = [(target.__name__, verdict) for target, verdict in others]
    for place, failing in enumerate(FAILING):
        expected.insert(place * (JUDGED // len(FAILING) + 1), (failing.__name__, "cannot tell"))
    names = [f"{FILE.name}:{name}" for name, _ in expected]
    command = [sys.executable, "-m", "graphlint", "verify", "--on", "emulator", "--format", "json"]
    done = subprocess.run(
        [*command, "--deadline", str(SECONDS), *names],
        cwd=FILE.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    said = json.loads(done.stdout)
    assert expected == [(one["name"].rpartition(":")[2], one["verdict"]) for one in said["targets"]]
    failures = [one["targets"] for one in said["findings"] if one["rule"] == "target-failure"]
    assert sorted(failures) == sorted([f"{FILE.name}:{failing.__name__}"] for failing in FAILING)
