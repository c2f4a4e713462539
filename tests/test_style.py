"""The tools that watch over types, style and form, run as tests."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
MODULES = sorted((CHECKOUT / "graphlint").rglob("*.py"))
LONGEST_MODULE = 300  # that opens with one sentence alone
MOST_LINES = {"module": 400, "function": 50}


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


def too_long(name: str, text: str) -> set[str]:
    """A module and its functions, as far as they have more lines than they may."""
    found = {name} if text.count("\n") > MOST_LINES["module"] else set()
    functions = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return found | {
        f"{name}:{one.name}" for one in functions if (one.end_lineno or 0) - one.lineno >= MOST_LINES["function"]
    }


def test_modules_and_functions_are_short() -> None:
    """A module has at most 400 lines, a function 50."""
    names = {module.relative_to(CHECKOUT).as_posix(): module.read_text(encoding="utf-8") for module in MODULES}
    assert set() == {one for name, text in names.items() for one in too_long(name, text)}


@pytest.mark.parametrize(
    ("lines", "expected"), [(399, set()), (400, {"x.py"})], ids=["as long as it may be", "one line longer"]
)
def test_a_long_module_is_seen(lines: int, expected: set[str]) -> None:
    """Every line counts, an empty one too."""
    assert expected == too_long("x.py", "\n" * lines + "x = 1\n")


@pytest.mark.parametrize("keyword", ["def", "async def"])
@pytest.mark.parametrize(
    ("lines", "expected"), [(49, set()), (50, {"x.py:f"})], ids=["as long as it may be", "one line longer"]
)
def test_a_long_function_is_seen(keyword: str, lines: int, expected: set[str]) -> None:
    """A method too; the line of its name counts, its decorators do not."""
    body = "        x = 1\n" * lines
    assert expected == too_long("x.py", f"class C:\n    @property\n    {keyword} f():\n{body}")


def test_nothing_else_stands_at_the_top() -> None:
    """Git knows of no other name in the root of the checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        pytest.skip("not a git checkout")
    visible = {line.split("/")[0] for line in done.stdout.splitlines() if not line.startswith(".")}
    assert visible <= {"LICENSE", "README.md", "fixtures", "graphlint", "pyproject.toml", "rules", "tests"}
