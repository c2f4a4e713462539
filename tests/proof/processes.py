"""Nothing in, the process from which those of targets come out: it has loaded what nearly all of them need."""

from __future__ import annotations

import os
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

LOADED = "proof.loaded"
TESTS = str(Path(__file__).parents[1])


def start_server() -> None:
    """Start it; whoever asks for a process of a target later on, in this process, has one within a moment."""
    path = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])  # all that its first lines find modules by
    with mock.patch.dict(os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1"):
        forkserver.set_forkserver_preload([LOADED])
        forkserver.ensure_running()
