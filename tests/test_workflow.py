"""The workflows: what other projects call does what it is for, and the project runs its own tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parent.parent
FILE = CHECKOUT / ".github" / "workflows" / "graphlint.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text("utf-8"))
STEPS = {step["name"]: step for step in WORKFLOW["jobs"]["check"]["steps"] if "name" in step}
PROGRAM = """import torch

def main(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x{}
"""


def run(step: str, folder: Path, paths: str = ".") -> subprocess.CompletedProcess[str]:
    """A step's command in the shell that the service runs it in."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATHS": paths, "PATH": path, "PYTHONPATH": str(CHECKOUT)}
    command = STEPS[step]["run"].replace("graphlint check", f"{sys.executable} -m graphlint check")
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_findings_are_uploaded_and_annotated(tmp_path: Path) -> None:
    """The report is written although there are findings, and the last step fails because of them."""
    (tmp_path / "serve.py").write_text(PROGRAM.format(".item()"))
    assert 0 == run("Report", tmp_path).returncode
    (result,) = json.loads((tmp_path / STEPS["Upload"]["with"]["sarif_file"]).read_text())["runs"][0]["results"]
    assert "GL101" == result["ruleId"]
    annotated = run("Annotate", tmp_path)
    assert 1 == annotated.returncode and annotated.stdout.startswith("::error file=serve.py,line=5,")
    assert "Annotate" == list(STEPS)[-1]


def test_clean_code_passes(tmp_path: Path) -> None:
    """Both steps end well."""
    (tmp_path / "serve.py").write_text(PROGRAM.format(" + 1"))
    assert [0, 0] == [run(step, tmp_path).returncode for step in ("Report", "Annotate")]


def test_a_wrong_path_fails_the_report(tmp_path: Path) -> None:
    """Only findings are let through."""
    assert run("Report", tmp_path, "nowhere/").returncode != 0


def test_paths_are_no_part_of_a_command() -> None:
    """What a caller gives reaches the shell as a variable."""
    assert all("${{" not in step.get("run", "") for step in STEPS.values())


def test_the_reference_calls_it() -> None:
    """The call asks for the permission that the upload needs, and gives inputs that there are."""
    text = (CHECKOUT / ".github" / "REFERENCE.md").read_text("utf-8")
    (block,) = [b for b in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "workflows" in b]
    called = yaml.safe_load(block)
    (job,) = called["jobs"].values()
    assert job["uses"] == f"./{FILE.relative_to(CHECKOUT).as_posix()}"
    assert set(job["with"]) == set(WORKFLOW[True]["workflow_call"]["inputs"])
    assert WORKFLOW["jobs"]["check"]["permissions"] == called["permissions"]


def test_the_hook_that_is_shown_is_the_one_that_ships() -> None:
    """It takes what is installed, and not an environment of its own."""
    text = (CHECKOUT / ".github" / "REFERENCE.md").read_text("utf-8")
    (block,) = [b for b in re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "repos" in b]
    ((repository,),) = yaml.safe_load(block).values()
    (ours,) = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert ("local", [ours | {"language": "system"}]) == (repository["repo"], repository["hooks"])


def test_nothing_names_an_owner_or_a_release_that_is_not_there() -> None:
    """Whoever copies a line can run it today."""
    pages = [CHECKOUT / "README.md", *(CHECKOUT / ".github").rglob("*.*")]
    assert [] == [page.name for page in pages if re.search(r"OWNER|@v0|rev: v", page.read_text("utf-8"))]


def test_the_project_runs_its_own_tests() -> None:
    """On each pull request, with what a contributor runs."""
    workflow = yaml.safe_load(FILE.with_name("tests.yml").read_text("utf-8"))
    assert "pull_request" in workflow[True]  # YAML reads `on` as a truth
    commands = [step["run"] for step in workflow["jobs"]["tests"]["steps"] if "run" in step]
    assert [".ci/run"] == commands
    assert all(os.access(CHECKOUT / command, os.X_OK) for command in commands)


def test_laptops_are_tested() -> None:
    """What is said to run on macOS and Windows does so there; the emulator needs PyTorch, and fork."""
    job = yaml.safe_load(FILE.with_name("tests.yml").read_text("utf-8"))["jobs"]["laptops"]
    systems = job["strategy"]["matrix"]["include"]
    assert {"macos-latest", "windows-latest"} == {one["system"] for one in systems}
    assert all(("torch" in one["packages"]) == one["system"].startswith("macos") for one in systems)
    (command,) = [step["run"] for step in job["steps"] if step.get("name") == "Test"]
    named = [word for word in command.split() if word.startswith("tests/")]
    assert named and all((CHECKOUT / name).exists() for name in named)
