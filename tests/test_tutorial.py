"""The tutorial: its files are laid out, its commands are run in order, and what it shows of their output is there."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sessions import with_plugin

from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.rulebook.page import outline

CHECKOUT = Path(__file__).resolve().parent.parent
TUTORIAL = CHECKOUT / ".github" / "CONTRIBUTING.md"
BLOCKS = outline(TUTORIAL.read_text(encoding="utf-8").split("\n"))[1]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def lay_out(folder: Path, until: int) -> None:
    """The files of the page before a line."""
    for block in BLOCKS:
        if len(block.info) == 2 and "/" in block.info[1] and block.line < until:
            file = folder / block.info[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.source, encoding="utf-8")


def run(command: list[str], folder: Path, plugin: tuple[str, ...]) -> str:
    """What a command prints in the folder of the project, where `acme` is installed."""
    options = [*plugin, "-p", "no:cacheprovider", "--tb=short"] if command[0] == "pytest" else []
    done = subprocess.run(
        [sys.executable, "-m", command[0], *options, *command[1:]],
        cwd=folder / "project",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(folder / "installed")])},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 1 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.info == ("console",)], ids=lambda block: str(block.line))
def test_a_command_prints_what_stands_there(block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines that are shown, in their order; those that are left out may be anything."""
    prompt, *shown = block.source.splitlines()
    command = shlex.split(prompt.removeprefix("$ "))
    if "check" not in command and not HAS_TORCH:
        pytest.skip("needs PyTorch")
    lay_out(tmp_path, block.line)
    plugin = with_plugin(monkeypatch)
    printed = iter(line.strip() for line in run(command, tmp_path, plugin).splitlines())
    for line in (line.strip() for line in shown):
        assert line == "..." or line in printed, f"not there, or not in this order: {line}"


def test_the_files_of_the_tutorial_are_right(tmp_path: Path) -> None:
    """They load beside the built-in rules, and a program of the page does what it says."""
    lay_out(tmp_path, sys.maxsize)
    rulebook = load_rulebook(builtin_rules(), tmp_path / "our_rules")
    assert "AC101" == rulebook.for_effect("unflushed-queue").code
    assert rulebook.catalogue.find("acme.flush") is not None and rulebook.entries.find("acme.captured") is not None
    for block in BLOCKS:
        if block.info[:1] == ("python",):
            compile(block.source, " ".join(block.info), "exec")


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"`((?:graphlint|rules|tests)/[^`\s]*)`", TUTORIAL.read_text())))
)
def test_every_path_named_exists(target: str) -> None:
    """The tutorial does not point into the void."""
    assert (CHECKOUT / target).exists()
