"""The README and the pages that it leads to: their tables, commands and configuration are those of the program."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from generated import assert_section

from graphlint import __version__
from graphlint.cli import check, commands, init, verify
from graphlint.config import READERS, check_codes, load_config
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.testing.options import SETTINGS

CHECKOUT = Path(__file__).resolve().parent.parent
README = CHECKOUT / "README.md"
RULES = CHECKOUT / "rules" / "README.md"
REFERENCE = CHECKOUT / ".github" / "REFERENCE.md"
PAGES = [README, RULES, *(CHECKOUT / ".github").glob("*.md")]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
TEXT = "".join(TEXTS[page] for page in (README, REFERENCE))


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def commands_shown() -> list[str]:
    """Every line of a shell block, without its remark."""
    return [line.split("  #")[0].strip() for block in blocks("bash") for line in block.splitlines()]


def rule_table() -> str:
    """The rules as a table that links to their pages."""
    rows = ["| Code | Name | Severity | Reported by | Finds |", "| --- | --- | --- | --- | --- |"]
    for rule in load_rulebook(builtin_rules()).rules:
        if rule.status != "retired":
            link = f"[{rule.code}]({rule.page.name})"
            witness = ", ".join(rule.witness)
            rows.append(f"| {link} | {rule.slug} | {rule.severity} | {witness} | {rule.summary} |")
    return "\n".join([*rows, ""])


def test_the_table_of_rules_is_that_of_the_pages(bless: bool) -> None:
    """`pytest --bless` writes it anew."""
    assert_section(RULES, "rules", rule_table(), bless)


def test_every_command_shown_is_understood() -> None:
    """The options and arguments of each `graphlint` line are parsed, not run."""
    lines = [line for line in commands_shown() if line.startswith("graphlint ")]
    assert lines
    for line in lines:
        name, *arguments = shlex.split(line)[1:]
        command = commands.get_command(click.Context(commands), name)
        assert command is not None
        command.make_context(name, arguments, parent=click.Context(commands, **commands.context_settings))


def test_every_option_is_told() -> None:
    """The table of options is complete, and names no other."""
    params = [*check.params, *verify.params, *init.params]
    options = {name for option in params for name in option.opts if name.startswith("--")}
    options |= {f"--graphlint-{name}" for name in SETTINGS}
    told = set(re.findall(r"`(--[a-z-]+)", TEXT)) - {"--bless"}
    assert options == told


def test_the_development_command_is_the_one_that_ci_runs() -> None:
    """`.ci/run` makes its environment elsewhere and then runs the same line."""
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    activate = ". .venv/bin/activate && "
    (line,) = [line for line in commands_shown() if activate in line]
    assert line.split(activate)[1] in script


def test_the_configuration_shown_is_valid(tmp_path: Path) -> None:
    """Every key is shown, with a value that is accepted."""
    (block,) = blocks("toml")
    assert set(READERS) == set(tomllib.loads(block)["tool"]["graphlint"])
    (tmp_path / "lint" / "rules").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(block, encoding="utf-8")
    check_codes(load_config(tmp_path), load_rulebook(builtin_rules()))


A_PATH = re.compile(r"`((?:fixtures|rules|tests|graphlint|\.ci)/[^`\s]*)`")
NAMED = {name for text in TEXTS.values() for name in A_PATH.findall(text)}


@pytest.mark.parametrize("target", sorted(NAMED))
def test_every_path_named_exists(target: str) -> None:
    """No page points into the void."""
    assert (CHECKOUT / target).exists()


def heading(line: str) -> str:
    """What a link to a heading is spelt like."""
    return re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file, and to a heading in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]):
        name, _, place = target.partition("#")
        file = page.parent / name if name else page
        assert file.is_file(), target
        headings = {heading(line) for line in file.read_text("utf-8").splitlines() if line.startswith("#")}
        assert not place or place in headings, target


def test_the_changes_begin_with_this_version() -> None:
    """The page that says what is new."""
    (first, *_) = re.findall(r"^## (.*)$", TEXTS[CHECKOUT / ".github" / "CHANGELOG.md"], re.MULTILINE)
    assert first.startswith(__version__)
