"""Releases of torch in, what the tests of the runtime half say of each without a GPU out.

    python -m tests.versions [--keep FOLDER] VERSION...

Each release is installed from the package index in a virtual environment of its own, with graphlint and its tests
beside it; a build for CUDA takes gigabytes. With `--keep`, the environments stay in a folder and are used again.
What came of the last run of a release is a line of `fixtures/evidence/emulator-torch.jsonl`. Ends with an error if any
test failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "fixtures" / "evidence" / "emulator-torch.jsonl"
TESTS = ("tests/runtime", "tests/plugin", "tests/test_emulated.py")
_COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed)\b")
_SHARE = re.compile(r"the emulator decides (\d+) of (\d+) programs.*\nleft out, .*: (\d+)")


def environment(version: str, folder: Path) -> Path:
    """The interpreter of an environment with this release of torch."""
    python = folder / f"torch-{version}" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"torch=={version}", "numpy"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "-e", f"{ROOT}[dev]"], check=True)
    return python


def run(python: Path) -> tuple[dict[str, object], bool]:
    """What the tests say, and whether all of them passed."""
    build = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    print(done.stdout, end="")
    *_, last = done.stdout.strip().splitlines() or [""]
    share = _SHARE.search(done.stdout)
    return {
        "build": build.stdout.strip(),
        "python": platform.python_version(),
        "tests": {name: int(number) for number, name in _COUNTS.findall(last)},
        "programs": dict(zip(("decided", "of", "left_out"), map(int, share.groups()), strict=True)) if share else {},
    }, done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    lines = RECORD.read_text("utf-8").splitlines() if RECORD.exists() else []
    records = {record["torch"]: record for record in map(json.loads, lines)}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for version in arguments.versions:
            record, passed = run(environment(version, arguments.keep or Path(folder)))
            records[version] = {"torch": version, **record}
            RECORD.write_text("".join(json.dumps(records[one]) + "\n" for one in sorted(records)), "utf-8")
            if not passed:
                failed.append(version)
    if failed:
        sys.exit(f"tests failed beside torch {', '.join(failed)}")


if __name__ == "__main__":
    main()
