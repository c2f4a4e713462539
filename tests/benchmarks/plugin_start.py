"""What the pytest plugin costs a session that does not use it: pytest with and without it in, milliseconds out.

The plugins of the development environment are left out, as the noise of a session grows with them.

python tests/benchmarks/plugin_start.py [ROUNDS]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 20
OTHERS = ("no:hypothesispytest", "no:xdist", "no:xdist.looponfail")
PYTEST = ("-m", "pytest", "-q", "--collect-only", *(part for name in OTHERS for part in ("-p", name)))
IMPORTING = (
    "import pytest, time; started = time.perf_counter(); import graphlint.pytest_plugin; "
    "print(time.perf_counter() - started)"
)


def milliseconds(*arguments: str) -> float:
    """The processor time of one Python process, in an empty folder; the clock tells more of what else is running."""
    with tempfile.TemporaryDirectory() as folder:
        before = _spent()
        subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
        return (_spent() - before) * 1e3


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def imported() -> float:
    """The time of the import alone, where pytest is loaded already."""
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=True)
    return float(done.stdout) * 1e3


def main(rounds: int) -> None:
    """Sessions with and without take turns, so that a busy machine is busy for both."""
    apart, without = [], []
    for _ in range(rounds):
        without.append(milliseconds(*PYTEST, "-p", "no:graphlint"))
        apart.append(milliseconds(*PYTEST) - without[-1])
    print(f"a session without the plugin: {statistics.median(without):.1f} ms")
    print(f"the plugin adds (median of {rounds} pairs): {statistics.median(apart):.1f} ms")
    print(f"of which importing it: {statistics.median(imported() for _ in range(rounds)):.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
