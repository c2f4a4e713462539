"""The command as it is typed: exit statuses, streams, options, and every way of failing."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from examples import finding, report, write_page, write_project

from graphlint import __version__, cli, static, verify
from graphlint.config import Config, load_config
from graphlint.errors import UsageError
from graphlint.finding import Confidence, Report
from graphlint.rulebook import Rulebook

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass
class Outcome:
    """What a run left behind."""

    status: int
    out: str
    err: str


@dataclass
class Call:
    """What the static half was asked."""

    paths: Sequence[Path]
    config: Config
    rulebook: Rulebook


Run = Callable[..., Outcome]


@pytest.fixture
def calls() -> list[Call]:
    """The calls of the static half."""
    return []


@pytest.fixture
def answer() -> list[Report | Exception]:
    """What the static half answers."""
    return [report(finding(), statistics=[("np.load", 12), ("self.hook", 1)])]


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    calls: list[Call],
    answer: list[Report | Exception],
) -> Run:
    """Run the command in a project of its own, with a static half that answers as it is told."""

    def check(
        paths: Sequence[Path], config: Config, rulebook: Rulebook, progress: object = None, memory: object = None
    ) -> Report:
        calls.append(Call(paths, config, rulebook))
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]

    def command(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["graphlint", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        out, err = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), out, err)

    monkeypatch.setattr(static, "check", check, raising=False)
    monkeypatch.chdir(write_project(tmp_path))
    return command


def test_findings_are_status_one(run: Run) -> None:
    """The report stands on stdout, nothing on stderr."""
    outcome = run("check")
    assert (1, "") == (outcome.status, outcome.err)
    assert "error[GL101] scalar-readback" in outcome.out
    assert "\x1b" not in outcome.out


def test_nothing_found_is_status_zero(run: Run, answer: list[Report | Exception]) -> None:
    """The summary is printed nevertheless."""
    answer[0] = report()
    outcome = run("check", "serve")
    assert 0 == outcome.status
    assert outcome.out.startswith("nothing found: 3 files")


def test_options_arrive_in_the_configuration(run: Run, calls: list[Call], tmp_path: Path) -> None:
    """Each option has its place; codes may be separated by commas."""
    write_page(tmp_path / "lint", "XX901", "house-rule")
    run(
        *("check", "serve", "serve/run.py", "--region", "a:b", "--region", "c:d", "--select", "GL1,GL2,XX"),
        *("--select", "GL3", "--ignore", "GL102", "--follow-installed", "timm", "--confidence", "low"),
        *("--allocations", "strict", "--rules", "lint", "--exclude", "old/", "--exclude", "*_pb2.py"),
    )
    (call,) = calls
    expected = Config(
        root=tmp_path / "serve",
        regions=("a:b", "c:d"),
        select=("GL1", "GL2", "XX", "GL3"),
        ignore=("GL102",),
        exclude=("old/", "*_pb2.py"),
        follow_installed=("timm",),
        allocations="strict",
        confidence=Confidence.LOW,
        rules=(Path("lint"),),
    )
    assert expected == call.config
    assert [Path("serve"), Path("serve/run.py")] == list(call.paths)
    assert "house-rule" == call.rulebook.rule("XX901").slug


def test_the_project_file_is_found_from_the_first_path(run: Run, calls: list[Call], tmp_path: Path) -> None:
    """Without a path it is that of the working directory; `--config` names another."""
    for folder, code in ((tmp_path, "GL1"), (tmp_path / "serve", "GL3")):
        (folder / "pyproject.toml").write_text(f'[tool.graphlint]\nselect = ["{code}"]\n')
    run("check")
    run("check", "serve/run.py")
    run("check", "--config", "serve/pyproject.toml")
    assert [("GL1",), ("GL3",), ("GL3",)] == [call.config.select for call in calls]
    assert [Path()] == list(calls[0].paths)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "--select", "GL87"], "unknown code `GL87` in `select`"),
        (["check", "--select", "scalar-redback"], "`scalar-redback` in `select`; did you mean `scalar-readback`"),
        (["check", "--exclude", "["], "--exclude: `[` is not a valid glob"),
        (["check", "--region", "serve"], "--region: `serve` is not `module:qualname`"),
        (["check", "--rules", "nowhere"], "the rules directory nowhere does not exist"),
        (["check", "--config", "nowhere.toml"], "cannot read nowhere.toml: No such file or directory"),
        (
            ["check", "--format", "xml"],
            "'xml' is not one of 'text', 'concise', 'json', 'sarif', 'junit', 'gitlab', 'github'",
        ),
        (["check", "--colour"], "No such option"),
        (["check", "--output-file", "nowhere/report.txt"], "cannot write the report to nowhere/report.txt"),
        (["check", "--output-file", "serve"], "'serve' is a directory"),
        (["chekc"], "No such command 'chekc'"),
        (["rule", "GL1O1"], "unknown rule `GL1O1`; did you mean"),
        (["verify"], "Missing argument 'TARGET...'"),
        (["verify", "x.py", "--output-file", "nowhere/report.txt"], "cannot write the report to nowhere/report.txt"),
        (["verify", "x.py", "--contract", "nowhere/x.json"], "cannot write the contract to nowhere/x.json: the folder"),
        (["verify", "x.py", "--deadline", "0"], "0.0 is not in the range x>=1"),
    ],
)
def test_a_mistake_of_the_user_is_one_line(run: Run, arguments: list[str], expected: str) -> None:
    """Status 2, nothing on stdout, no traceback."""
    outcome = run(*arguments)
    assert (2, "") == (outcome.status, outcome.out)
    assert re.fullmatch(r"graphlint: error: [^\n]+\n", outcome.err)
    assert expected in outcome.err


def test_a_mistake_found_while_looking_is_one_line(run: Run, answer: list[Report | Exception]) -> None:
    """What the static half refuses is told in the same form."""
    answer[0] = UsageError("`nowhere` does not exist")
    outcome = run("check", "nowhere")
    assert (2, "graphlint: error: `nowhere` does not exist\n") == (outcome.status, outcome.err)


def test_a_broken_project_file_is_one_line(run: Run, tmp_path: Path) -> None:
    """The unknown key is named with its nearest match."""
    (tmp_path / "pyproject.toml").write_text("[tool.graphlint]\nselekt = []\n")
    outcome = run("check")
    assert 2 == outcome.status
    assert "unknown key `selekt` in [tool.graphlint]" in outcome.err
    assert "did you mean `select`?" in outcome.err


def test_an_internal_error_is_one_line_unless_asked(
    run: Run, answer: list[Report | Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback is shown when GRAPHLINT_DEBUG is set."""
    answer[0] = ValueError("boom\nand more")
    outcome = run("check")
    assert (2, "") == (outcome.status, outcome.out)
    assert re.fullmatch(r"graphlint: internal error: ValueError: boom; [^\n]+GRAPHLINT_DEBUG=1\n", outcome.err)
    monkeypatch.setenv("GRAPHLINT_DEBUG", "1")
    assert "Traceback (most recent call last)" in run("check").err


def test_what_every_install_has_may_be_missing(run: Run, answer: list[Report | Exception]) -> None:
    """Then an install is broken, and not the tool."""
    answer[0] = ModuleNotFoundError("No module named 'libcst'", name="libcst")
    said = "graphlint: error: `libcst` is missing: install torch-graphlint again, with what it needs\n"
    assert (2, said) == (run("check").status, run("check").err)


@pytest.mark.parametrize("style", ["json", "sarif"])
def test_a_format_for_programs_is_all_of_stdout(run: Run, style: str) -> None:
    """The document parses as it stands, and statistics do not disturb it."""
    outcome = run("check", "--format", style, "--statistics")
    json.loads(outcome.out)
    assert "     12  np.load\n" in outcome.err


def test_annotations_are_printed(run: Run) -> None:
    """The format of pull requests is chosen by its name."""
    assert run("check", "--format", "github").out.startswith("::error file=serve/model.py,line=4")


def test_statistics_follow_the_text(run: Run, answer: list[Report | Exception]) -> None:
    """The unresolved callees are listed, most frequent first."""
    expected = "unresolved callees:\n     12  np.load\n      1  self.hook\n"
    assert run("check", "--statistics").out.endswith(expected)
    answer[0] = report()
    assert run("check", "--statistics").out.endswith("every call was resolved\n")


def test_the_report_is_written_to_a_file(run: Run, tmp_path: Path) -> None:
    """Stdout stays empty, and the status tells the same."""
    outcome = run("check", "--format", "json", "--output-file", "größe 1.json")
    assert (1, "", "") == (outcome.status, outcome.out, outcome.err)
    assert "findings" in json.loads((tmp_path / "größe 1.json").read_text(encoding="utf-8"))


def test_findings_need_not_fail(run: Run, answer: list[Report | Exception]) -> None:
    """They are reported all the same; a mistake fails as ever."""
    outcome = run("check", "--exit-zero")
    assert 0 == outcome.status and "error[GL101]" in outcome.out
    answer[0] = UsageError("`nowhere` does not exist")
    assert 2 == run("check", "--exit-zero").status


@pytest.mark.parametrize("style", ["text", "concise"])
def test_quiet_is_findings_alone(run: Run, answer: list[Report | Exception], style: str) -> None:
    """Without any, nothing is printed."""
    loud, quiet = (run("check", "--format", style, *option) for option in ([], ["--quiet"]))
    assert quiet.out and loud.out.startswith(quiet.out) and "found 1 error" in loud.out.removeprefix(quiet.out)
    assert "found 1 error" not in quiet.out and 1 == quiet.status
    answer[0] = report()
    assert (0, "", "") == (lambda one: (one.status, one.out, one.err))(run("check", "--format", style, "-q"))


def test_a_rule_is_selected_by_its_name(run: Run, calls: list[Call], tmp_path: Path) -> None:
    """On the command line and in the configuration, in files as well."""
    run("check", "--select", "scalar-readback,GL2", "--ignore", "device-to-host-copy")
    selected = calls[0].rulebook.selected(calls[0].config.select, ("device-to-host-copy",))
    assert {"GL101", "GL202"} <= selected and not {"GL102", "GL201"} & selected
    (tmp_path / "pyproject.toml").write_text('[tool.graphlint.per-file-ignores]\n"serve/" = ["scalar-readback"]\n')
    run("check")
    assert not calls[1].config.shows(finding(path=str(tmp_path / "serve" / "model.py")))
    assert calls[1].config.shows(finding(path=str(tmp_path / "model.py")))


def test_files_are_named(run: Run, calls: list[Call], tmp_path: Path) -> None:
    """Those that a run would look at, which does not begin."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "model.py").write_text("")
    (tmp_path / "demo.ipynb").write_text("")
    outcome = run("check", "--show-files", "--exclude", "old/")
    assert (0, "demo.ipynb\nserve/model.py\nserve/run.py\n") == (outcome.status, outcome.out)
    assert [] == calls


def test_settings_are_shown(run: Run, calls: list[Call], tmp_path: Path) -> None:
    """As a table that says the same, with the file that they were read from."""
    text = """[tool.graphlint]
regions = ["serve.model:Decoder.step"]
ignore = ["GL506"]
confidence = "low"
per-file-ignores = {"tests/" = ["GL103"]}
targets = [{at = "serve:f", call = "self.model", runs = "serve:g"}, {at = "serve:g", runs = ["serve:f"]}]
"""
    (tmp_path / "pyproject.toml").write_text(text)
    outcome = run("check", "--show-settings", "--select", "GL1", "--exclude", 'a"b')
    assert 0 == outcome.status and [] == calls
    assert outcome.out.startswith(f"# pyproject.toml; globs are relative to {tmp_path.as_posix()}\n[tool.graphlint]\n")
    (tmp_path / "again.toml").write_text(outcome.out)
    again = load_config(tmp_path, tmp_path / "again.toml")
    assert again == replace(load_config(tmp_path), select=("GL1",), ignore=(), exclude=('a"b',))
    (tmp_path / "pyproject.toml").unlink()
    assert run("check", "--show-settings").out.startswith("# no pyproject.toml;")


def test_the_table_of_rules_is_printed(run: Run) -> None:
    """One line a rule: code, name, severity, the commands that report it, summary."""
    outcome = run("rule")
    assert 0 == outcome.status
    assert re.search(r"^GL101  scalar-readback +error +check, verify +\S", outcome.out, re.MULTILINE)
    assert re.search(r"^GL507  freed-memory +error +check, verify +\S", outcome.out, re.MULTILINE)
    codes = [line.split()[0] for line in outcome.out.splitlines()]
    assert sorted(codes) == codes


def test_a_page_is_printed(run: Run, tmp_path: Path) -> None:
    """By code or by name, and from a directory of the user's own."""
    assert run("rule", "GL101").out.startswith("# GL101 scalar-readback\n")
    assert run("rule", "scalar-readback").out == run("rule", "GL101").out
    page = write_page(tmp_path / "lint", "XX901", "house-rule")
    assert page.read_text() == run("rule", "XX901", "--rules", "lint").out


def test_all_pages_are_printed(run: Run) -> None:
    """Every rule of the table has its page."""
    pages = run("rule", "--all").out
    assert [line.split()[0] for line in run("rule").out.splitlines()] == re.findall(r"^# ([A-Z]+\d+) ", pages, re.M)


@pytest.mark.parametrize("arguments", [["--help"], ["check", "-h"], ["rule", "--help"]])
def test_help_is_printed(run: Run, arguments: list[str]) -> None:
    """Asking for help is no mistake."""
    outcome = run(*arguments)
    assert 0 == outcome.status
    assert outcome.out.startswith("Usage: graphlint")


def test_no_command_prints_the_help_and_fails(run: Run) -> None:
    """A script that forgets the command does not pass."""
    outcome = run()
    assert 2 == outcome.status
    assert "check" in outcome.out


def test_the_version_is_printed(run: Run) -> None:
    """It is that of the package."""
    assert f"graphlint, version {__version__}\n" == run("--version").out


@pytest.mark.parametrize(
    ("shell", "expected"), [("bash", "complete -o nosort"), ("zsh", "compdef"), ("fish", "complete")]
)
def test_a_shell_completes_commands_and_options(shell: str, expected: str) -> None:
    """The variable asks for a script, and the script for what fits."""
    command = [sys.executable, "-m", "graphlint"]

    def asked(**variables: str) -> str:
        environment = {**os.environ, **variables}
        done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
        return done.stdout

    assert expected in asked(_GRAPHLINT_COMPLETE=f"{shell}_source")
    assert "--select" in asked(_GRAPHLINT_COMPLETE="bash_complete", COMP_WORDS="graphlint check --sel", COMP_CWORD="2")


def test_the_module_is_the_command() -> None:
    """`python -m graphlint` works from a bare checkout."""
    command = [sys.executable, "-m", "graphlint", "--version"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert f"graphlint, version {__version__}\n" == done.stdout


def test_verify_without_pytorch_is_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "target.py").write_text("")
    result = run("verify", str(tmp_path / "target.py"))
    assert result.err.startswith("graphlint: error: `verify` needs PyTorch, which is not installed")
    assert "install `torch-graphlint[runtime]`" in result.err and result.status == 2


def test_verify_in_python_without_pytorch_is_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sentence, and no import error."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="`verify` needs PyTorch"):
        verify(print)
