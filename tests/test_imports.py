"""Who may import whom, read from the import statements; and what is loaded when."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = CHECKOUT / "graphlint"
MODULES = sorted([*PACKAGE.rglob("*.py"), *(CHECKOUT / "rules").glob("*.py")])


def imports(module: Path) -> Iterator[str]:
    """The absolute names of the modules and members that a module imports, at any depth."""
    package = module.relative_to(CHECKOUT).parent.as_posix().replace("/", ".")
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{source}.{name.name}" for name in node.names)


def within(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def forbidden(module: Path) -> list[str]:
    """The imports of a module that the design does not allow."""
    place = module.relative_to(CHECKOUT).as_posix()
    names = list(imports(module))
    if place != "graphlint/__main__.py" and any(within(name, "graphlint.cli") for name in names):
        return ["graphlint.cli"]
    if place.startswith("graphlint/static/"):
        return [name for name in names if within(name, "torch", "graphlint.runtime", "graphlint.report")]
    if place.startswith("graphlint/runtime/"):
        return [name for name in names if within(name, "libcst", "graphlint.static", "graphlint.report")]
    if place.startswith("graphlint/report/"):
        allowed = ("graphlint.finding", "graphlint.report")
        return [name for name in names if not within(name, *allowed, *sys.stdlib_module_names)]
    if place.startswith("rules/"):
        allowed = ("graphlint.rule", "graphlint.finding")
        return [name for name in names if not within(name, *allowed, *sys.stdlib_module_names)]
    return [name for name in names if within(name, "torch", "libcst")]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(CHECKOUT).as_posix())
def test_a_module_imports_only_what_it_may(module: Path) -> None:
    """The flow is one-way: static without torch, runtime without libcst, reports from findings alone."""
    assert [] == forbidden(module)


@pytest.mark.parametrize(
    ("place", "statement", "expected"),
    [
        ("graphlint/static/x.py", "import torch.cuda", ["torch.cuda"]),
        ("graphlint/static/x.py", "def f():\n    from torch import cuda", ["torch.cuda"]),
        ("graphlint/static/x.py", "import torchlike, libcst", []),
        ("graphlint/report/x.py", "from graphlint import config", ["graphlint.config"]),
        ("graphlint/report/x.py", "from ..config import Config", ["graphlint.config.Config"]),
        ("graphlint/report/x.py", "from .place import counted\nfrom graphlint.finding import Finding", []),
        ("graphlint/rulebook.py", "from . import cli", ["graphlint.cli"]),
    ],
)
def test_a_forbidden_import_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, statement: str, expected: list[str]
) -> None:
    """The test of the imports finds what it is there for."""
    module = tmp_path / place
    module.parent.mkdir(parents=True)
    module.write_text(statement, encoding="utf-8")
    monkeypatch.setattr(sys.modules[__name__], "CHECKOUT", tmp_path)
    assert expected == forbidden(module)


@pytest.mark.parametrize(
    "module",
    ["graphlint", "graphlint.cli", "graphlint.rulebook", "graphlint.report", "graphlint.testing.plugin"],
)
def test_nothing_heavy_is_loaded_before_it_is_used(module: str) -> None:
    """Neither torch nor libcst: asking for help costs nothing."""
    program = f"import sys, {module}; print([name for name in ('torch', 'libcst') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert "[]\n" == done.stdout, done.stderr
