"""The scaffold of a rule: what it writes is complete but for what only an author can say, and tests say just that."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from new_rule import next_code

CHECKOUT = Path(__file__).resolve().parent.parent
ABOUT_RULES = ("evidence", "fixtures", "imports", "readme", "rulebook", "verified", "vocabulary")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that one may write into."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in (".github", "graphlint", "rules", "fixtures", "tests"):
        shutil.copytree(CHECKOUT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(CHECKOUT / name, copy)
    return copy


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_what_is_new_fails_for_the_reasons_that_are_named(checkout: Path) -> None:
    """All files are written; of the tests about rules, those of the files that are named fail, and no others."""
    done = run(checkout, "tests.new_rule", "growing-doubt", "--family", "GL5", "--detector")
    assert 0 == done.returncode, done.stderr
    written, named = done.stdout.split("\nfails until it is filled:\n")
    code = written[len("rules/") :][:5].upper()
    stem = f"{code.lower()}_growing_doubt"
    assert written.split() == [
        f"rules/{stem}.md", f"fixtures/{stem}/first.py", f"fixtures/{stem}/first_clean.py", f"rules/{stem}.py"
    ]  # fmt: skip
    told = {line.split(":")[0] for line in named.splitlines()}
    tests = [f"tests/test_{name}.py" for name in ABOUT_RULES]
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "-k", f"{code} or {stem} or rules", *tests)
    failed = re.findall(r"^FAILED (\S+?)::(.*?)( - |$)", done.stdout, re.MULTILINE)
    assert told == {file for file, _, _ in failed}, done.stdout
    assert all(code in name or stem in name or "table_of_rules" in name for _, name, _ in failed), done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Growing_Doubt", "--family", "GL5"], "`Growing_Doubt` is no name of a rule"),
        (["growing-memory", "--family", "GL5"], "there is a rule `growing-memory`"),
        (["growing-fear", "--family", "GL0"], "invalid choice: 'GL0'"),
    ],
)
def test_what_cannot_be_a_rule_is_refused(checkout: Path, arguments: list[str], said: str) -> None:
    """Nothing is written then."""
    before = sorted(checkout.rglob("*.md"))
    done = run(checkout, "tests.new_rule", *arguments)
    assert 2 == done.returncode and said in done.stderr
    assert before == sorted(checkout.rglob("*.md"))


def test_a_code_is_not_used_again() -> None:
    """The next one stands behind the last, also where one is missing before it."""
    pages = [Path("rules") / name for name in ("gl501_a.md", "gl503_b.md", "gl601_c.md")]
    assert ("GL504", "GL602", "GL801") == tuple(next_code(family, pages) for family in ("GL5", "GL6", "GL8"))
