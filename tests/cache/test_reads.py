"""Nothing that `check` reads of the disk goes past the record of what it has read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from projects import PROJECT, write_files

WATCHED = Path(__file__).parent / "watched.py"
RULES = Path(__file__).resolve().parents[2] / "rules"


def watch(folder: Path, *below: Path, program: str = "", **options: object) -> dict[str, object]:
    """What a run in a project looks at."""
    given = json.dumps(options, default=str)
    command = [sys.executable, *(["-c", program] if program else [str(WATCHED)]), str(folder), *map(str, below)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder)
    assert 0 == done.returncode, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_nothing_is_read_past_the_record(tmp_path: Path) -> None:
    """Sources, folders, configuration, rules and their detectors, a baseline, followed packages."""
    project, rules = write_files(tmp_path / "project", PROJECT), tmp_path / "rules"
    for name in ("gl204_host_index.md", "gl204_host_index.py"):
        text = (RULES / name).read_text("utf-8").replace("GL204", "XX204").replace("host-index", "a-host-index")
        write_files(rules, {name.replace("gl204_host", "xx204_a_host"): text})
    seen = watch(
        project,
        tmp_path,
        RULES,
        rules=[rules],
        follow_installed=["pathspec"],
        regions=["serve.steps:unreached", "serve.steps:step"],
    )
    assert [] == seen["past"]
    assert seen["looked_at"] > 50


def test_what_is_read_past_the_record_is_seen(tmp_path: Path) -> None:
    """The test of the record finds what it is there for."""
    project = write_files(tmp_path, PROJECT)
    program = f"""
import runpy, sys
from pathlib import Path
from graphlint.static.index.project import Project

ask = Project.ask
Project.ask = lambda self, path, question: (Path(path.parent / "beside").exists(), ask(self, path, question))[1]
sys.argv[0] = {str(WATCHED)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    seen = watch(project, tmp_path, program=program)
    assert [str(project / "serve" / "beside")] == seen["past"]
