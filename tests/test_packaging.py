"""The wheel: what is in it, and that it works by itself."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def python(arguments: Sequence[str], cwd: Path, path: Path) -> str:
    """The output of an interpreter that finds graphlint at `path`."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    python(["-m", "pip", "wheel", "-q", "--no-deps", *isolation, "-w", str(folder), str(CHECKOUT)], folder, folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_holds_the_package_and_the_rules(wheel: Path) -> None:
    """Pages, catalogue, licence and type marker ship; fixtures and tests do not."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    shipped = {f"graphlint/rules/{file.name}" for file in (CHECKOUT / "rules").iterdir() if file.is_file()}
    modules = {file.relative_to(CHECKOUT).as_posix() for file in (CHECKOUT / "graphlint").rglob("*.py")}
    assert shipped | modules | {"graphlint/py.typed", "graphlint/schema.json"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {"graphlint"} == {name.split("/")[0] for name in names if ".dist-info" not in name}


def test_the_distribution_has_its_own_name(wheel: Path) -> None:
    """The name graphlint is another project's on the package index."""
    assert wheel.name.startswith("torch_graphlint-")


def test_the_installed_command_knows_the_same_rules(installed: Path, tmp_path: Path) -> None:
    """A wheel and a checkout print the same pages."""
    arguments = ["-m", "graphlint", "rule", "--all"]
    pages = python(arguments, tmp_path, installed)
    assert "# GL101 scalar-readback" in pages
    assert pages == python(arguments, tmp_path, CHECKOUT)
    where = "import graphlint.rulebook as r; print(r.builtin_rules())"
    assert f"{installed / 'graphlint' / 'rules'}\n" == python(["-c", where], tmp_path, installed)
    assert f"{CHECKOUT / 'rules'}\n" == python(["-c", where], tmp_path, CHECKOUT)


TYPED = """import graphlint
from graphlint.finding import Report, Severity
from graphlint.rule import Confidence, Hit, OperationCall


@graphlint.graph_safe
def step(x: float) -> float:
    return x


def detect(event: OperationCall) -> Hit:
    return Hit(Confidence.HIGH)


report: Report = graphlint.verify(step, (1.0,), on="emulator", deadline=2)
worst: Severity = max(finding.severity for finding in report.findings)
result: float = step(1.0)
"""


def test_its_types_are_seen_from_outside(wheel: Path, tmp_path: Path) -> None:
    """A strict program that uses the interface in Python has no complaint, and a mistake is one."""
    pytest.importorskip("mypy")
    python(["-m", "venv", "--without-pip", "venv"], tmp_path, tmp_path)
    (packages,) = tmp_path.glob("venv/lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    command = ["-m", "mypy", "--strict", "--python-executable", str(tmp_path / "venv" / "bin" / "python"), "typed.py"]
    (tmp_path / "typed.py").write_text(TYPED)
    assert "Success: no issues found" in python(command, tmp_path, tmp_path)
    (tmp_path / "typed.py").write_text(TYPED.replace("step(1.0)", 'step("1")').replace("deadline=2", 'deadline="2"'))
    wrong = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 2 == wrong.stdout.count("[arg-type]"), wrong.stdout


def test_the_rules_are_no_package() -> None:
    """A folder of files cannot be imported under two names."""
    assert not (CHECKOUT / "rules" / "__init__.py").exists()


def test_the_check_of_the_project_can_be_started() -> None:
    """`.ci/run` is executable and parses."""
    script = CHECKOUT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    subprocess.run(["bash", "-n", str(script)], check=True, stdin=subprocess.DEVNULL)
