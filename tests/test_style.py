"""The tools that watch over types, style and form, run as tests."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
MODULES = sorted((CHECKOUT / "graphlint").rglob("*.py"))
LONGEST_MODULE = 300


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["mypy", "--strict"], id="mypy"),
        pytest.param(["ruff", "check"], id="ruff check"),
        pytest.param(["ruff", "format", "--check"], id="ruff format"),
    ],
)
def test_a_tool_has_no_complaint(command: list[str]) -> None:
    """The tool ends with status 0, configured by pyproject.toml alone."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(CHECKOUT).as_posix())
def test_a_module_opens_with_one_sentence(module: Path) -> None:
    """The docstring says what comes in and what goes out; a module beyond 300 lines says more."""
    text = module.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring is not None
    assert docstring.split("\n")[0].endswith((".", "?"))
    lines = text.count("\n")
    assert lines <= LONGEST_MODULE or "\n" in docstring, "a long module says at its top why it is long"


def test_nothing_else_stands_at_the_top() -> None:
    """Git knows of no other name in the root of the checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        pytest.skip("not a git checkout")
    visible = {line.split("/")[0] for line in done.stdout.splitlines() if not line.startswith(".")}
    assert visible <= {"LICENSE", "README.md", "fixtures", "graphlint", "pyproject.toml", "rules", "tests"}
