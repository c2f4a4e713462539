"""What the pytest plugin costs a session that does not use it: sessions with and without it in, milliseconds out.

    python tests/benchmarks/plugin_start.py [ROUNDS]

The sessions run in one process and take turns; the shortest are compared, since longer ones tell of what else runs. The
first import, which only the first session pays for, is added to their difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time

import pytest

ROUNDS = 100
ALONE = ("-q", "--collect-only", "-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:xdist.looponfail")


def milliseconds(*arguments: str) -> float:
    """The time of a session."""
    with contextlib.redirect_stdout(io.StringIO()):
        started = time.perf_counter()
        pytest.main([*ALONE, *arguments])
        return (time.perf_counter() - started) * 1e3


def imported() -> float:
    """The time of the plugin's import, from the compiled files that an installation has."""
    started = time.perf_counter()
    import graphlint.testing.plugin  # noqa: F401

    return (time.perf_counter() - started) * 1e3


def main(rounds: int) -> None:
    """Sessions with and without the plugin, in an empty folder."""
    first = imported()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pairs = [(milliseconds("-p", "no:graphlint"), milliseconds()) for _ in range(rounds)]
    without, used = (min(times) for times in zip(*pairs, strict=True))
    print(f"a session without the plugin: {without:.1f} ms")
    print(f"the plugin adds (shortest of {rounds}): {used - without + first:.1f} ms")
    print(f"of which importing it: {first:.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
