"""What `check` found before is read back where nothing changed, and found out again where something did."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from projects import PROJECT, write_files

from graphlint import cli, static
from graphlint.cache import entry, folder, outcome
from graphlint.choices import CONFIDENCES, FORMATS
from graphlint.finding import (
    Condition,
    Confidence,
    Finding,
    Fix,
    Hole,
    Hop,
    Notice,
    Region,
    Report,
    Severity,
    Span,
    Summary,
)
from graphlint.reading import record

CACHE = ".graphlint_cache"
STEPS = PROJECT["serve/steps.py"]


@dataclass
class Ran:
    """What a run printed, and whether it has looked at the code."""

    status: int
    out: str
    err: str
    looked: bool

    @property
    def codes(self) -> list[tuple[str, str, int]]:
        found = json.loads(self.out)["findings"]
        return [(one["path"], one["code"], one["line"]) for one in found]

    @property
    def said(self) -> tuple[int, str, str]:
        """All but how long it took."""
        lines = [line for line in self.out.splitlines() if "seconds" not in line and " suppressed, " not in line]
        return self.status, "\n".join(lines), self.err


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `check` in a project of its own."""
    looked: list[bool] = []
    check = static.check

    def looking(*args: object) -> Report:
        looked.append(True)
        return check(*args)  # type: ignore[arg-type]

    def command(*arguments: str, style: str = "json") -> Ran:
        looked.clear()
        monkeypatch.setattr(sys, "argv", ["graphlint", "check", "--format", style, *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        out, err = capsys.readouterr()
        return Ran(int(exit_.value.code or 0), out, err, bool(looked))

    monkeypatch.delenv(folder.OFF)
    monkeypatch.setattr(static, "check", looking)
    monkeypatch.chdir(write_files(tmp_path, PROJECT))
    return command


def edit(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("style", FORMATS)
def test_an_unchanged_project_is_not_looked_at_again(run: Run, style: str) -> None:
    """In every format, with the same status, as a run that keeps nothing."""
    first, second, other = run(style=style), run(style=style), run("--no-cache", style=style)
    assert (True, False, True) == (first.looked, second.looked, other.looked)
    assert first.said == second.said == other.said
    assert 1 == first.status


def test_another_format_is_the_same_answer(run: Run) -> None:
    """What is kept is what was found, and not how it was shown."""
    run()
    assert not run(style="text").looked
    assert not run("--statistics").looked


UNREACHED = {
    "a body": ("serve/others.py", "def unheard_of(x):\n    return x - 1\n"),
    "an import": ("serve/others.py", "import json\n\n\ndef unheard_of(x):\n    return x\n"),
    "a class of its own": ("serve/others.py", "class Another:\n    def walk(self):\n        return 1\n"),
    "a file that is left out": ("left_out/old.py", "import json\n"),
    "a file that git ignores": ("generated/made.py", "import json\n"),
    "a file that is no source": ("serve/notes.md", "# notes\n"),
    "a folder of another tool": ("serve/__pycache__/run.pyc", ""),
}


@pytest.mark.parametrize("change", UNREACHED)
def test_what_no_region_reaches_may_change(run: Run, change: str) -> None:
    """The answer is that of before, and of a run that keeps nothing; and again once more is known."""
    first = run()
    edit(*UNREACHED[change])
    second, third, other = run(), run(), run("--no-cache")
    assert (False, False) == (second.looked, third.looked)
    assert first.said == second.said == third.said == other.said


REACHED = {
    "a body": ("serve/steps.py", STEPS.replace("x * x.sum().item()", "x.cpu()")),
    "a comment that is asked for": ("serve/steps.py", STEPS.replace(".item()", ".item()  # graphlint: ignore[GL101]")),
    "a subclass elsewhere": (
        "serve/others.py",
        "from serve.steps import Step\n\n\nclass Other(Step):\n    def run(self, x):\n        return x.item()\n",
    ),
    "a new file": ("serve/new.py", ""),
    "a region in another file": (
        "serve/others.py",
        "import torch\n\n\ndef f(x, g):\n    with torch.cuda.graph(g):\n        x.item()\n",
    ),
    "a module that is imported": ("serve/steps/__init__.py", "def step(x):\n    return x\n"),
    "the configuration": ("pyproject.toml", '[tool.graphlint]\nselect = ["GL3"]\n'),
    "what git ignores": (".gitignore", "serve/\n"),
    "the baseline": (
        "known.json",
        '{"paths": ["."], "findings": [{"path": "a.py", "code": "GL101", "function": "a:f", "text": "f()"}]}\n',
    ),
    "a nearer configuration": ("serve/pyproject.toml", '[tool.graphlint]\nselect = ["GL3"]\n'),
}


@pytest.mark.parametrize("change", REACHED)
def test_what_an_answer_depends_on_is_seen(run: Run, change: str) -> None:
    """It is found out again, and is the answer of a run that keeps nothing."""
    paths = ["serve"] if "nearer" in change else []
    first = run(*paths)
    edit(*REACHED[change])
    second, other = run(*paths), run("--no-cache", *paths)
    assert second.looked
    assert second.said == other.said
    assert first.said != second.said or change == "a module that is imported"


def test_a_deleted_file_is_seen(run: Run) -> None:
    """One that nothing leads to counts as well: files are counted."""
    run()
    Path("serve/others.py").unlink()
    assert run().looked


@pytest.mark.parametrize(
    "options",
    [["--select", "GL3"], ["--region", "serve.steps:unreached"], ["--confidence", "low"], ["serve"], ["--config", "o"]],
    ids=" ".join,
)
def test_other_options_are_another_question(run: Run, options: list[str]) -> None:
    """And the answer to the one before is kept."""
    edit("o", "[tool.graphlint]\n")
    run()
    assert run(*options).looked
    assert not run(*options).looked
    assert not run().looked


def test_a_rule_of_ones_own_is_seen(run: Run) -> None:
    """Its table as well as that one more is there."""
    edit("rules/regions.toml", "")
    run("--rules", "rules")
    assert not run("--rules", "rules").looked
    edit("rules/lexicon.toml", "")
    assert run("--rules", "rules").looked
    edit("rules/lexicon.toml", "\n")
    assert run("--rules", "rules").looked


def test_the_time_of_a_file_may_be_set_back(run: Run) -> None:
    """Neither does another time make it another file, nor the same time the same one."""
    run()
    before = Path("serve/steps.py").stat()
    edit("serve/steps.py", STEPS.replace("x * x", "x + x"))
    os.utime("serve/steps.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run().looked
    os.utime("serve/steps.py", (1, 1))
    assert not run().looked


def test_stamps_that_are_old_enough_are_trusted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no file is opened."""
    monkeypatch.setattr(record, "MARGIN", -(10**18))
    run()
    monkeypatch.setattr(entry.Entry, "record", property(lambda self: pytest.fail("the details are needed")))
    assert not run().looked
    edit("serve/steps.py", STEPS + "\n")
    monkeypatch.undo()


def test_an_error_is_told_every_time(run: Run) -> None:
    """It is no answer."""
    edit("pyproject.toml", "[tool.graphlint]\nselct = []\n")
    first, second = run(), run()
    assert (2, first.err) == (second.status, second.err)


def test_a_source_that_cannot_be_read_is_looked_at_every_time(run: Run) -> None:
    """Nobody tells when it can be."""
    Path("serve/broken.py").symlink_to("nowhere.py")
    Path("serve/itself.py").mkdir()
    edit("serve/steps.py", "def step(:\n")
    assert run().said == run().said == run("--no-cache").said


def entries() -> list[Path]:
    return sorted(Path(CACHE).glob("*.answer"))


@pytest.mark.parametrize("seed", range(20))
def test_a_broken_entry_is_ignored_and_replaced(run: Run, seed: int) -> None:
    """Whichever bytes of it are others, are missing, or are too many."""
    first = run()
    (kept,) = entries()
    chance, text = random.Random(seed), bytearray(kept.read_bytes())
    for _ in range(chance.randint(1, 4)):
        text[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
    kept.write_bytes(bytes(text[: chance.randrange(len(text))] if seed % 5 == 0 else text))
    assert first.said == run().said
    assert not run().looked


@pytest.mark.parametrize("body", ["", "{}", "[]\n{}\n{}\n{}", "null\nnull\nnull\nnull", "1\n2"])
def test_an_entry_of_another_shape_is_ignored(run: Run, body: str) -> None:
    """Its sum may well be right."""
    first = run()
    (kept,) = entries()
    asked = kept.read_text("utf-8").split("\n")[1]
    for text in (body, body.replace(body.partition("\n")[0], asked, 1)):
        kept.write_text(f"{entry._head(text)}\n{text}", encoding="utf-8")
        assert first.said == run().said


def test_a_folder_that_cannot_be_written_to_is_no_error(run: Run) -> None:
    """Nothing is kept, and nothing is said."""
    Path(CACHE).write_text("", encoding="utf-8")
    first, second = run(), run()
    assert (True, True, "") == (first.looked, second.looked, first.err)
    assert first.said == second.said


def test_processes_share_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They write at the same time, and all say the same."""
    monkeypatch.delenv(folder.OFF)
    write_files(tmp_path, PROJECT)
    command = [sys.executable, "-m", "graphlint", "check", "--format", "github"]
    pair = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {process.communicate()[0] for process in pair}
    assert 1 == len(said)
    assert ["*.answer"] == [f"*{path.suffix}" for path in (tmp_path / CACHE).iterdir() if "answer" in path.name]


def test_what_is_kept_lies_in_a_folder_that_others_leave_out(run: Run) -> None:
    """Git, and programs that make backups."""
    run()
    assert "*\n" == Path(CACHE, ".gitignore").read_text("utf-8")
    assert Path(CACHE, "CACHEDIR.TAG").read_text("utf-8").startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_the_folder_can_be_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an option or the environment, which the option comes before; and switched off."""
    run("--cache-dir", "kept")
    assert Path("kept").is_dir() and not Path(CACHE).exists()
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "kept"))
    assert not run().looked
    assert run("--cache-dir", "other").looked
    monkeypatch.setenv(folder.OFF, "1")
    assert run().looked


def test_a_folder_of_something_else_is_refused(run: Run) -> None:
    """Nothing is mixed into it, and nothing removed."""
    refused = run("--cache-dir", "serve")
    expected = "--cache-dir: serve holds something else; name a folder that is empty or not there yet"
    assert (2, f"graphlint: error: {expected}\n") == (refused.status, refused.err)


def test_clean_removes_what_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only that."""
    run()
    for said in (0, 0):
        monkeypatch.setattr(sys, "argv", ["graphlint", "clean"])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        assert said == (exit_.value.code or 0)
        assert not Path(CACHE).exists()
    Path(CACHE).mkdir()
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert 2 == exit_.value.code
    assert Path(CACHE).exists()


def test_only_the_youngest_entries_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing that was never written to its end."""
    monkeypatch.setattr(folder, "_MOST", 2)
    kept = folder.Folder(tmp_path)
    kept.prepare()
    for number in range(4):
        kept.write(f"{number}.answer", "x")
        os.utime(tmp_path / f"{number}.answer", (time.time() + number,) * 2)
    edit(str(tmp_path / ".9.answer.77"), "x")
    os.utime(tmp_path / ".9.answer.77", (1, 1))
    kept.tidy(".answer")
    assert [".gitignore", "2.answer", "3.answer", "CACHEDIR.TAG"] == sorted(path.name for path in tmp_path.iterdir())


def test_nothing_heavy_is_loaded_to_read_an_answer_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither parser nor interpreter, rules, or patterns of files."""
    monkeypatch.delenv(folder.OFF)
    write_files(tmp_path, PROJECT)
    program = "import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr));"
    program += "sys.argv[1:] = ['check']; from graphlint import cli; cli.main()"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    heavy = {"libcst", "pathspec", "tomllib", "graphlint.static", "graphlint.rulebook", "graphlint.config"}
    assert (1, set()) == (done.returncode, heavy & loaded)


def test_every_part_of_a_report_is_kept() -> None:
    """Two regions that count as equal, and differ, stay two."""
    span, region = Span("a.py", 1, 2, 3, 4), Region("kind", "a.py", 3, None)
    soft = Region("kind", "a.py", 3, None, soft=True)
    when = (Condition("a", "a.py", 1, False, "b"), Condition("a", "a.py", 1, False, "c"))
    one = Finding(
        "GL101", "r", Severity.NOTE, Confidence.LOW, span, "f", "m", "h", "w", (region, soft), (Hop("a.py", 1, "f"),),
        when, Fix(span, "text", True),
    )  # fmt: skip
    hole = Hole(span, "c", "f", soft, 1, 2, 3)
    notices = (Notice("said"), Notice("said of it", (span, Span("b.py", 1))))
    report = Report("static", (one,), Summary(1, 2, 3, 4, 5, 6.5), (("x", 1), ("y", 2)), (), (hole,), notices, "9")
    assert repr(report) == repr(outcome.read(json.loads(json.dumps(outcome.write(report)))))


def test_the_choices_are_those_of_findings() -> None:
    """They stand twice, since one of them is loaded late."""
    assert tuple(map(str, Confidence)) == CONFIDENCES
