"""What somebody has written into a file reaches no terminal and no log as more than text."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from graphlint.cli import main
from graphlint.finding import (
    Condition,
    Confidence,
    Finding,
    Hole,
    Hop,
    Region,
    Report,
    Severity,
    Span,
    Summary,
    TargetReport,
)
from graphlint.report import reporter
from graphlint.report.escaping import escaped

ODD = "\x1b[31m\x07\x9b1m\u202e\u2066\r\x7f\u2028::error::x ##vso[task.x]y ##[group]z"
RAW = set("\x1b\x07\x9b\u202e\u2066\r\x7f\u2028")
FORMATS = ("text", "concise", "github", "json", "sarif", "junit", "gitlab")

PROGRAM = """\
import torch

x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.sum().item()
"""


def odd_report() -> Report:
    """A report in which every text is odd."""
    region = Region(ODD, f"::r{ODD}.py", 1, ODD)
    hops = (Hop(f"::h{ODD}.py", 2, ODD), Hop(f"::error::{ODD}.py", 3, ODD))
    when = (Condition(f"::w{ODD}", "c.py", 1), Condition(f"::error::{ODD}", f"{ODD}.py", 1))
    said = (Confidence.HIGH, Span(f"::p{ODD}.py", 1), f"::f{ODD}", f"::m{ODD}", f"::e{ODD}", f"::y{ODD}")
    finding = Finding(
        "GL101", "scalar-readback", Severity.ERROR, *said, (region, region), hops, when, targets=(ODD, "::t")
    )
    hole = Hole(Span(f"{ODD}.py", 1), ODD, ODD, region)
    targets = (
        TargetReport(ODD, unseen=f"::{ODD}", verdict="safe"),
        TargetReport("::t", problem=ODD, verdict="differs"),
    )
    return Report("static", (finding,), Summary(files=1, regions=1), targets=targets, holes=(hole,))


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("style", FORMATS)
def test_no_format_writes_what_steers_a_terminal(tmp_path: Path, style: str, color: bool) -> None:
    """Colours are ours."""
    said = reporter(style)(odd_report(), color=color, base=tmp_path)
    for own in ("\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;36m"):
        said = said.replace(own, "") if color and style in ("text", "concise") else said
    assert RAW.isdisjoint(said)
    assert "�[31m" in said or "\\u001b[31m" in said


@pytest.mark.parametrize("style", FORMATS)
def test_no_line_is_a_command_unless_it_is_an_annotation(tmp_path: Path, style: str) -> None:
    """Neither of GitHub, which looks at how a line begins, nor of those that look anywhere in it."""
    said = reporter(style)(odd_report(), base=tmp_path)
    commands = [line for line in said.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == (style == "github")
    assert style != "text" or ("##[" not in said and "##vso[" not in said)


def test_a_frame_shows_no_command(tmp_path: Path) -> None:
    """The line stays as long as it was, so that carets stand where they should."""
    (tmp_path / "odd.py").write_text(PROGRAM.replace(".item()", '.item()  # ##vso[task.setvariable] \x1b[31m "::x"'))
    finding = Finding("GL101", "a-rule", Severity.ERROR, Confidence.HIGH, Span("odd.py", 6, 9, 6, 23), "odd", "m", "h")
    said = reporter("text")(Report("static", (finding,), Summary()), base=tmp_path)
    assert "y = x.sum().item()  # �#vso[task" in said
    assert "\x1b" not in said


def test_usual_text_stays_as_it_is() -> None:
    """Words of any language, paths, slices and comments among it."""
    for text in ("naïve Größe 変数", "x[::2]", "a/b.py:3 in C.m", "## heading", "a::b", "#[x]"):
        assert text == escaped(text)
    assert escaped("a\nb\tc", kept="\n\t") == "a\nb\tc"
    assert escaped("a\nb") == "a�b"


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The status of a command."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["graphlint", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    "table",
    [
        '"\\u001b[31m" = 1',
        'regions = ["\\u001b[31m::error::\\u202e"]',
        'regions = ["odd\\u001b:\\u009b"]',
        'select = ["\\u001b[31m"]',
        'exclude = ["[\\u001b"]',
        'per-file-ignores = { "[\\u001b" = [] }',
        'assume = ["\\u001b"]',
        'follow-installed = ["\\u001b"]',
        'rules = ["\\n::error::x"]',
        'targets = [{ at = "\\u001b:\\u202e", runs = "x" }]',
        'confidence = "\\u001b\\n::error::x"',
    ],
)
def test_an_error_about_a_configuration_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    """Its keys and texts may be anything."""
    (tmp_path / "odd.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphlint]\n{table}\n")
    assert in_folder(tmp_path, monkeypatch, "check") == 2
    said = capsys.readouterr().err
    assert said.startswith("graphlint: error: ")
    assert len(said.splitlines()) == 1
    assert RAW.isdisjoint(said)


@pytest.mark.parametrize(
    "document",
    [
        {"paths": [], "findings": [{"path": 1, "code": 2, "function": 3, "text": 4}]},
        {"paths": [], "findings": [{"path": "a", "code": [], "function": "", "text": ""}]},
        {"paths": [], "findings": [{"path": "a"}]},
        {"paths": [], "findings": {"a": 1}},
        {"paths": [1], "findings": []},
        {"paths": None, "findings": []},
        [],
        "x",
        None,
    ],
)
def test_a_baseline_of_wrong_types_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], document: object
) -> None:
    """It says what it should be, and how to write one."""
    (tmp_path / "odd.py").write_text(PROGRAM)
    (tmp_path / "known.json").write_text(json.dumps(document))
    assert in_folder(tmp_path, monkeypatch, "check", "--baseline", "known.json") == 2
    assert capsys.readouterr().err.startswith("graphlint: error: known.json is not a baseline; write it with")


def test_entries_of_a_baseline_steer_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are gone are told."""
    entry = {"path": f"::error::{ODD}", "code": ODD, "function": ODD, "text": f"\n::error::{ODD}"}
    (tmp_path / "odd.py").write_text(PROGRAM)
    (tmp_path / "known.json").write_text(json.dumps({"paths": [], "findings": [entry]}))
    assert in_folder(tmp_path, monkeypatch, "check", "--baseline", "known.json") == 1
    told = capsys.readouterr().err
    assert "fixed, and can be removed" in told
    assert len(told.splitlines()) == 1
    assert RAW.isdisjoint(told)


def test_a_key_of_many_parts_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The square of a hundred thousand would take for ever; dots in strings are no parts."""
    (tmp_path / "odd.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(f'[tool.graphlint]\n{".".join(["a"] * 100_000)} = "x"\n')
    assert in_folder(tmp_path, monkeypatch, "check") == 2
    assert "nests too deep to be read as TOML" in capsys.readouterr().err
    names = ", ".join(['"a.b.c.d"'] * 1000)
    (tmp_path / "pyproject.toml").write_text(f"[tool.other]\nnames = [{names}]\n")
    assert in_folder(tmp_path, monkeypatch, "check") == 1


def test_no_frame_shows_a_file_that_a_link_leads_to_outside(tmp_path: Path) -> None:
    """What is told of it is told, but not what stands in it; a link inside of the project is followed."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "secret.py").write_text("def secret(:\n")
    (project / "own.py").write_text("def own(:\n")
    (project / "odd.py").symlink_to(outside / "secret.py")
    (project / "same.py").symlink_to("own.py")
    for name, is_shown in (("odd.py", False), ("same.py", True), ("own.py", True)):
        for base, path in ((project, name), (tmp_path / "elsewhere", str(project / name))):
            finding = Finding("GL001", "a-rule", Severity.ERROR, Confidence.HIGH, Span(path, 1, 5, 1, 8), "f", "m", "h")
            said = reporter("text")(Report("static", (finding,), Summary()), base=base)
            assert ("def " in said) is is_shown


def test_no_baseline_takes_down_what_a_link_leads_to_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A baseline has the lines of findings."""
    outside, project = tmp_path / "outside.py", tmp_path / "project"
    project.mkdir()
    outside.write_text("def secret(:\n")
    (project / "odd.py").symlink_to(outside)
    assert in_folder(project, monkeypatch, "check", "odd.py", "--write-baseline", "known.json") == 0
    written = (project / "known.json").read_text()
    assert "GL001" in written
    assert "secret" not in written


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs what a shell hands over")
def test_what_a_shell_hands_over_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `--config <(...)`; paths are those of the current folder then."""
    (tmp_path / "odd.py").write_text(PROGRAM)
    assert in_folder(tmp_path, monkeypatch, "check", "--write-baseline", "known.json") == 0
    for option, text in (("--baseline", (tmp_path / "known.json").read_bytes()), ("--config", _ONLY_OTHERS)):
        reader, writer = os.pipe()
        os.write(writer, text)
        os.close(writer)
        assert in_folder(tmp_path, monkeypatch, "check", option, f"/dev/fd/{reader}") == 0
        os.close(reader)


_ONLY_OTHERS = b'[tool.graphlint]\nselect = ["GL2"]\n'
