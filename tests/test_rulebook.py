"""Pages in, a Rulebook out: what is read, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from examples import page, write_page, write_rules
from expectations import parse_expectations

from graphlint import static
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Severity
from graphlint.rulebook import Rule, builtin_rules, load_rulebook

CEILING = {"capture-error": 3, "replay-divergence": 3, "replay-fault": 3, "lost-effect": 2, "slow": 1}
NAMES = {"CuPy", "NumPy", "Python", "PyTorch", "Warp"}
BUILTIN = load_rulebook(builtin_rules())


def test_a_page_is_read_into_a_rule(tmp_path: Path) -> None:
    """Code and name come from the title, the rest from the declaration."""
    programs = "```python bad\nx.item()  # expect: GL101\n```\n\n```python good\nx = 1\n```\n"
    file = write_page(tmp_path, "GL101", "scalar-readback", programs=programs)
    (rule,) = load_rulebook(tmp_path).rules
    assert ("GL101", "scalar-readback", Severity.ERROR) == (rule.code, rule.slug, rule.severity)
    assert file.read_text() == rule.text
    assert ["bad", "good"] == [program.label for program in rule.programs]
    assert "x.item()  # expect: GL101\n" == rule.programs[0].source
    assert "x.item()  # expect: GL101" == rule.text.split("\n")[rule.programs[0].line - 1]


def test_a_heading_inside_a_program_is_no_heading(tmp_path: Path) -> None:
    """A comment of two hashes in a fenced block does not end the section."""
    programs = "```python bad\n## What it finds\n```\n\n```python good\nx = 1\n```\n"
    write_page(tmp_path, "GL101", "scalar-readback", programs=programs)
    assert 2 == len(load_rulebook(tmp_path).rules[0].programs)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"severity": "fatal"}, "key `severity`: `fatal` is not one of note, warning, error", id="severity"
        ),
        pytest.param({"outcome": "boom"}, "key `outcome`", id="outcome"),
        pytest.param({"summary": None}, "key `summary` is missing", id="missing key"),
        pytest.param({"witness": None}, "key `witness` is missing", id="no witness"),
        pytest.param({"witness": []}, "key `witness`: expected a list of one or more of check, verify", id="no one"),
        pytest.param({"witness": ["capture"]}, "key `witness`: expected a list", id="nobody's witness"),
        pytest.param({"witness": "check"}, "key `witness`: expected a list", id="witness as string"),
        pytest.param({"summary": "x" * 73}, "key `summary`: 73 characters", id="long summary"),
        pytest.param({"help": " "}, "key `help`: expected a string that is not empty", id="empty string"),
        pytest.param({"since": 1}, "key `since`: expected a string", id="number"),
        pytest.param({"effects": "x"}, "unknown key `effects`", id="unknown key"),
        pytest.param({"sumary": "x"}, "unknown key `sumary`; did you mean `summary`?", id="misspelt key"),
        pytest.param({"profile": "loose"}, "key `profile`", id="profile"),
        pytest.param({"message": "{source} waits"}, "key `message`: the only placeholder", id="placeholder"),
        pytest.param({"message": "dict {"}, "key `message`", id="open brace"),
        pytest.param({"programs": "```python bad\n```\n"}, "no ```python good program", id="no good program"),
        pytest.param({"programs": "```python\n```\n"}, "a program is labelled `bad` or `good`", id="no label"),
    ],
)
def test_an_invalid_page_is_refused_by_page_and_key(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    """The error names the file and the key."""
    file = write_page(tmp_path, "GL101", "scalar-readback", **changes)
    with pytest.raises(UsageError) as error:
        load_rulebook(tmp_path)
    assert re.match(rf"{re.escape(str(file))}:\d+: |{re.escape(str(file))}: no ```python", str(error.value))
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("notes.md", "", "is named like", id="name"),
        pytest.param("gl101_other_name.md", page("GL101", "scalar-readback"), "first line", id="title"),
        pytest.param("gl101_a.md", "# GL101 a\n", "the headings are not", id="no headings"),
        pytest.param("gl101_a.md", page("GL101", "a").replace("```toml", "```text"), "no ```toml", id="no declaration"),
        pytest.param("gl101_a.md", page("GL101", "a").replace("fix = ", "fix : "), "not valid TOML", id="toml"),
    ],
)
def test_a_page_of_another_form_is_refused(tmp_path: Path, name: str, text: str, expected: str) -> None:
    """File name, title, headings and declaration have one form."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=expected):
        load_rulebook(tmp_path)


def test_bytes_that_do_not_decode_are_one_error(tmp_path: Path) -> None:
    """A page that is not UTF-8 is refused by its name."""
    (tmp_path / "gl101_a.md").write_bytes(b"# GL101 a\xff\n")
    with pytest.raises(UsageError, match=r"gl101_a\.md: cannot be read"):
        load_rulebook(tmp_path)


@pytest.mark.parametrize(
    ("code", "slug", "expected"),
    [
        pytest.param("GL101", "other", "the code `GL101` is taken", id="code"),
        pytest.param("GL999", "scalar-readback", "the name `scalar-readback` is taken", id="name"),
    ],
)
def test_two_rules_never_share(tmp_path: Path, code: str, slug: str, expected: str) -> None:
    """A code and a name, which is an effect as well, belong to one rule, across all directories."""
    write_rules(tmp_path / "ours")
    write_page(tmp_path / "theirs", code, slug)
    with pytest.raises(UsageError, match=expected):
        load_rulebook(tmp_path / "ours", tmp_path / "theirs")


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """A rules directory that is not there is an error and not an empty rulebook."""
    with pytest.raises(UsageError, match="nowhere does not exist"):
        load_rulebook(tmp_path / "nowhere")


def test_a_rule_is_found_by_code_and_by_name(tmp_path: Path) -> None:
    """Both words of the title find the rule; an unknown one names the nearest."""
    rulebook = write_rules(tmp_path)
    assert "GL301" == rulebook.rule("GL301").code == rulebook.rule("gl301").code
    assert "GL301" == rulebook.rule("data-dependent-branch").code
    with pytest.raises(UsageError, match=r"unknown rule `GL11`; did you mean .*`GL101`"):
        rulebook.rule("GL11")
    with pytest.raises(UsageError, match="did you mean `tensor-printing`"):
        rulebook.rule("tensor-print")


def test_an_effect_leads_to_its_rule(tmp_path: Path) -> None:
    """The rule of an effect is the one of that name; a retired rule reports nothing, and no effect goes unnoticed."""
    write_page(tmp_path, "GL998", "old", status="retired")
    rulebook = write_rules(tmp_path)
    assert "GL301" == rulebook.for_effect("data-dependent-branch").code
    for effect in ("nothing", "old"):
        with pytest.raises(LookupError, match=f"no rule reports the effect `{effect}`"):
            rulebook.for_effect(effect)


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        pytest.param([], [], {"GL001", "GL002", "GL101", "GL102", "GL301", "GL504"}, id="all without a selection"),
        pytest.param(["GL1"], [], {"GL101", "GL102"}, id="prefix"),
        pytest.param(["GL1"], ["GL102"], {"GL101"}, id="longer ignore"),
        pytest.param(["GL102"], ["GL1"], {"GL102"}, id="longer select"),
        pytest.param(["GL1"], ["GL1"], set(), id="equal length"),
        pytest.param(["ALL"], ["GL0", "GL5"], {"GL101", "GL102", "GL301"}, id="everything but"),
        pytest.param(["GL301"], ["ALL"], {"GL301"}, id="nothing but"),
    ],
)
def test_the_longer_prefix_decides(tmp_path: Path, select: list[str], ignore: list[str], expected: set[str]) -> None:
    """A selection and an exception may name the same code; the more specific one holds."""
    write_page(tmp_path, "GL999", "retired", status="retired")
    assert expected == write_rules(tmp_path).selected(select, ignore)


@pytest.mark.parametrize("key", ["select", "ignore"])
@pytest.mark.parametrize("code", ["GL9", "GL1011", "gl101", ""])
def test_an_unknown_code_is_named_with_its_key(tmp_path: Path, key: str, code: str) -> None:
    """A code that no rule begins with is an error."""
    arguments = {"select": [], "ignore": [], key: [code]}
    with pytest.raises(UsageError, match=f"unknown code `{code}` in `{key}`"):
        write_rules(tmp_path).selected(**arguments)


@pytest.mark.parametrize("rule", BUILTIN.rules, ids=lambda rule: rule.code)
class TestShippedPage:
    """What holds for every page in rules/."""

    def test_severity_follows_the_consequence(self, rule: Rule) -> None:
        """A page may lower the severity that its outcome implies, never raise it."""
        assert rule.code.startswith("GL0") or rule.severity <= CEILING[rule.outcome]

    def test_programs_are_short_and_compile(self, rule: Rule) -> None:
        """A program has at most twenty lines; only that of GL001 is no Python."""
        for program in rule.programs:
            assert len(program.source.splitlines()) <= 20
            if rule.code != "GL001":
                compile(program.source, str(rule.page), "exec")

    def test_a_bad_program_expects_its_own_code_and_a_good_one_nothing(self, rule: Rule) -> None:
        """The expectation stands on a line of the program; where only a run sees it, as one that is missed.

        Where the two name other lines of it, both stand there.
        """
        word = "expect" if "check" in rule.witness else "missed"
        for program in rule.programs:
            marks = sorted(mark.word for mark in parse_expectations(program.source) if mark.code == rule.code)
            both = ["expect", "missed", "unseen"]
            assert marks in ([[word], both] if program.label == "bad" else [[]])

    def test_texts_are_written_as_parts_of_a_sentence(self, rule: Rule) -> None:
        """No full stop, and no capital letter in front of a word."""
        for text in (rule.summary, rule.message, rule.help, rule.why):
            assert not text.endswith(".")
            word = text.split()[0]
            assert word[0].islower() or not word[0].isalpha() or word.isupper() or word in NAMES

    def test_nothing_is_left_to_be_filled(self, rule: Rule) -> None:
        """Neither in the page and the detector nor in the fixtures."""
        fixtures = (builtin_rules().parent / "fixtures" / rule.page.stem).glob("*.py")
        for file in filter(None, (rule.page, rule.detector, *fixtures)):
            assert "TODO" not in file.read_text(encoding="utf-8"), file

    def test_the_page_fits_on_two_screens(self, rule: Rule) -> None:
        """A page has at most 120 lines."""
        assert len(rule.text.splitlines()) <= 120


def test_a_directory_may_bring_tables(tmp_path: Path) -> None:
    """The rows of later directories lie on top; an effect of one may be the rule of another."""
    write_rules(tmp_path / "ours")
    write_page(tmp_path / "theirs", "XX901", "house-rule")
    table = '[effects]\n"acme.flush" = [{ effect = "%s" }]\n[operations."acme"]\nnone = "%s"\n'
    (tmp_path / "ours" / "operations.toml").write_text(table % ("scalar-readback", "flush(x)"), encoding="utf-8")
    (tmp_path / "theirs" / "operations.toml").write_text(table % ("house-rule", "flush(y)"), encoding="utf-8")
    entry = '[[entry]]\nkind = "acme"\nform = "context"\nnames = ["acme.captured"]\nmarks = ["acme"]\n'
    (tmp_path / "theirs" / "regions.toml").write_text(entry, encoding="utf-8")
    rulebook = load_rulebook(tmp_path / "ours", tmp_path / "theirs", tmp_path / "theirs")
    flush = rulebook.catalogue.find("acme.flush")
    assert flush is not None and flush.params is not None
    assert (["house-rule"], ["y"]) == ([e.name for e in flush.effects], [p.name for p in flush.params])
    assert rulebook.entries.find("acme.captured") is not None
    assert rulebook.entries.find("torch.cuda.graph") is None


def test_an_effect_needs_a_rule_of_some_directory(tmp_path: Path) -> None:
    """A table that speaks of a rule that is nowhere, or retired, is told by its line."""
    write_page(tmp_path, "XX901", "house-rule", status="retired")
    table = '[effects]\n"acme.flush" = [{ effect = "house-rule" }]\n[operations."acme"]\nnone = "flush(x)"\n'
    (tmp_path / "operations.toml").write_text(table, encoding="utf-8")
    with pytest.raises(UsageError, match=r"operations\.toml:2: no rule is called `house-rule`"):
        load_rulebook(tmp_path)


def test_a_command_tells_what_the_page_lets_it_tell(tmp_path: Path) -> None:
    """A row that has the effect of a rule for `verify` alone says nothing in `check`."""
    (tmp_path / "main.py").write_text("import acme, torch\nwith torch.cuda.graph(0):\n    acme.flush(1)\n", "utf-8")
    table = (
        '[effects]\n"acme.flush" = [{ effect = "house-rule", when = "always" }]\n[operations.acme]\nnone = "flush(x)"\n'
    )
    for witness, expected in (["check", "verify"], ["XX901"]), (["verify"], []):
        write_page(tmp_path / "rules", "XX901", "house-rule", witness=witness)
        (tmp_path / "rules" / "operations.toml").write_text(table, encoding="utf-8")
        report = static.check(
            [tmp_path / "main.py"], Config(tmp_path), load_rulebook(builtin_rules(), tmp_path / "rules")
        )
        assert expected == [finding.code for finding in report.findings]


def test_a_detector_stands_beside_its_page(tmp_path: Path) -> None:
    """The file of the same stem; one without a page is a mistake, and tells the nearest."""
    write_page(tmp_path, "XX901", "other-rule")
    file = write_page(tmp_path, "XX902", "house-rule").with_suffix(".py")
    file.write_text("", encoding="utf-8")
    assert [None, file] == [rule.detector for rule in load_rulebook(tmp_path).rules]
    stray = file.rename(tmp_path / "xx902_house_rules.py")
    with pytest.raises(
        UsageError, match=r"there is no xx902_house_rules\.md; did you mean `xx902_house_rule`"
    ) as error:
        load_rulebook(tmp_path)
    assert str(error.value).startswith(f"{stray}:1: ")


def test_a_directory_of_data_holds_no_python(tmp_path: Path) -> None:
    """Its pages and tables are read; a detector in it is refused, and the way out is told."""
    file = write_page(tmp_path, "XX901", "house-rule")
    assert ["XX901"] == [rule.code for rule in load_rulebook(tmp_path, data_only=[tmp_path]).rules]
    file.with_suffix(".py").write_text("raise AssertionError('it is run')", encoding="utf-8")
    with pytest.raises(UsageError, match=r"xx901_house_rule\.py:1: a configuration .*`--rules "):
        load_rulebook(tmp_path, data_only=[tmp_path])
