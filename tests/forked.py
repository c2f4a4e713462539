"""Commands of graphlint in, their status and output out; they come out of one process, which has loaded graphlint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

MEMORY = 3 << 30
SECONDS = 120

# Each line names a folder, a file for what is said and the arguments; the answer is the exit status.
_SERVER = f"""
import json, os, resource, signal, sys
from graphlint import checking, cli
from graphlint.report import text
from graphlint.static import regions

for line in sys.stdin:
    folder, said, *sys.argv[1:] = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        for stream, name, how in ((0, os.devnull, os.O_RDONLY), (1, said, os.O_WRONLY), (2, said, os.O_WRONLY)):
            os.dup2(os.open(name, how | os.O_APPEND), stream)
        resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
        signal.alarm({SECONDS})
        cli.main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    path = str(Path(__file__).resolve().parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER], env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of a command in a folder, and what it says."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
        print(json.dumps([str(folder), said.name, *arguments]), file=server.stdin, flush=True)
        return int(server.stdout.readline()), said.read()
