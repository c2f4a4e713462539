"""What a process remembers of a run changes nothing that the next one finds."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from graphlint import static
from graphlint.cache.folder import Folder
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Finding
from graphlint.reading import reads
from graphlint.reporting import look
from graphlint.rulebook import builtin_rulebook
from graphlint.static.index import parallel
from graphlint.static.index.memory import Memory
from tests.keystrokes import keystrokes

PROJECT = {
    "declared.py": "from helper import shape\n\ndef forward(x):\n    return shape(x.cuda())\n",
    "helper.py": "def shape(x):\n    return x.sum()\n",
    "opened.py": (
        "import torch\nfrom step import step\n\nx = torch.zeros(4, device='cuda')\n"
        "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n    step(x)\n"
    ),
    "step.py": "def step(x):\n    return x + 1\n",
    "other.py": "def other(x):\n    return x.item()\n",
}
READING = {"helper.py": "def shape(x):\n    return x.sum().item()\n", "step.py": "def step(x):\n    return x.item()\n"}
EDITS: list[Mapping[str, str]] = [
    {},
    {"other.py": "def other(x):\n    return x.tolist()\n"},
    {"helper.py": READING["helper.py"]},
    {"helper.py": "\n\n" + READING["helper.py"]},
    {"step.py": READING["step.py"]},
    {"helper.py": READING["helper.py"], "step.py": "\n" + READING["step.py"]},
    {"declared.py": "from step import step\n\ndef forward(x):\n    return step(x)\n", "step.py": READING["step.py"]},
    {"step.py": "def step(x:\n"},
    {"other.py": "import torch\nwith torch.cuda.graph(g):\n    torch.zeros(1, device='cuda').item()\n"},
    {},
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parallel, "can_fork", lambda: False)
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def check(project: Path, edit: Mapping[str, str], memory: Memory | None) -> tuple[Finding, ...]:
    with reads.unsaved({project / name: text.encode() for name, text in edit.items()}), reads.recorded():
        return run(project, memory)


def run(project: Path, memory: Memory | None) -> tuple[Finding, ...]:
    config = Config(root=project, regions=("declared:forward",))
    return static.check([project], config, builtin_rulebook(), memory=memory).findings


def test_edit_after_edit_is_found_as_without_a_memory(project: Path) -> None:
    """In files that regions reach and in others, broken ones and such that open a region."""
    memory = Memory()
    found = [check(project, edit, memory) for edit in EDITS]
    assert [check(project, edit, None) for edit in EDITS] == found
    assert [0, 0, 1, 1, 1, 2, 1] == [len(one) for one in found[:7]]


def test_a_configuration_that_was_not_there_is_noticed(project: Path) -> None:
    """Nothing of an earlier run is found again once it says something else."""
    memory, options = Memory(), {"config_file": None, "confidence": None, "rules": (), "select": (), "ignore": ()}

    def found() -> list[str]:
        with reads.recorded():
            return [one.code for one in look((project,), None, dict(options), memory).findings]

    (project / "step.py").write_text(READING["step.py"], "utf-8")
    assert ["GL101"] == found()
    (project / "pyproject.toml").write_text('[tool.graphlint]\nassume = ["step:nothing == 1"]\n', "utf-8")
    with pytest.raises(UsageError, match="nothing"):
        found()
    (project / "pyproject.toml").write_text('[tool.graphlint]\nregions = ["other:other"]\n', "utf-8")
    assert ["GL101", "GL101"] == found()
    (project / "pyproject.toml").unlink()
    assert ["GL101"] == found()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts of runs that were not found again, as they begin."""
    found: list[str] = []
    declared, search = static._declared, static.Search

    def noted(*arguments: object) -> object:
        if len(found) == 0 or found[-1] != "opened":  # which declares what is left, too
            found.append("declared")
        return declared(*arguments)  # type: ignore[arg-type]

    def opened(*arguments: object) -> object:
        found.append("opened")
        return search(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(static, "_declared", noted)
    monkeypatch.setattr(static, "Search", opened)
    return found


@pytest.mark.parametrize(
    ("name", "runs"),
    [("other.py", []), ("helper.py", ["declared"]), ("step.py", ["opened"]), ("opened.py", ["opened"])],
)
def test_only_what_an_edit_can_change_is_run_again(project: Path, name: str, runs: list[str], ran: list[str]) -> None:
    """A file that was searched and not read may have any text that answers the same."""
    memory = Memory()
    check(project, {}, memory)
    ran.clear()
    check(project, {name: PROJECT[name] + "\n\nZ = 1\n"}, memory)
    assert runs == ran


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n\n" + READING["step.py"], id="a line above"),
        pytest.param(READING["step.py"].replace("    return", "    # why\n\n    return"), id="a comment"),
        pytest.param("# why\n" + READING["step.py"].replace("item()", "item()  # why"), id="comments"),
    ],
)
def test_what_says_the_same_elsewhere_is_found_with_other_lines(project: Path, text: str, ran: list[str]) -> None:
    """And nothing is run for it."""
    memory = Memory()
    check(project, READING, memory)
    ran.clear()
    found = check(project, {**READING, "step.py": text}, memory)
    assert [] == ran
    assert check(project, {**READING, "step.py": text}, None) == found
    assert len(found) == 2


def test_a_function_that_nothing_reaches_may_be_any(project: Path, ran: list[str]) -> None:
    """One that is reached by now may not."""
    memory, text = Memory(), READING["step.py"] + "\n\ndef other(x):\n    return {}\n"
    check(project, {"step.py": text.format("x")}, memory)
    ran.clear()
    assert 1 == len(check(project, {"step.py": text.format("x.item()")}, memory))
    assert [] == ran
    reaching = text.format("x.item()").replace("x.item()", "other(x)", 1)
    assert check(project, {"step.py": reaching}, memory) == check(project, {"step.py": reaching}, None)


def test_a_comment_that_suppresses_counts_from_then_on(project: Path, ran: list[str]) -> None:
    """Nothing is run for it, and where its line moves, it goes along."""
    memory, quiet = Memory(), READING["step.py"].replace("item()", "item()  # graphlint: ignore[GL101] it is small")
    assert 1 == len(check(project, {"step.py": READING["step.py"]}, memory))
    ran.clear()
    texts = (quiet, "\n" + quiet, READING["step.py"], quiet.replace("101", "102"))
    found = [check(project, {"step.py": text}, memory) for text in texts]
    assert [] == ran
    assert [0, 0, 1, 2] == [len(one) for one in found]
    assert [check(project, {"step.py": text}, None) for text in texts] == found


def test_an_edit_that_is_taken_back_is_found_again(project: Path, ran: list[str]) -> None:
    """As it was before, as long as it is one of the last."""
    memory = Memory()
    first, other = check(project, {}, memory), check(project, READING, memory)
    ran.clear()
    assert (first, other) == (check(project, {}, memory), check(project, READING, memory))
    assert [] == ran
    for number in range(10):
        check(project, {"step.py": f"def step(x):\n    return x + {number}\n"}, memory)
    ran.clear()
    assert first == check(project, {}, memory)
    assert ["opened"] == ran


def test_the_disk_is_looked_at_where_somebody_may_have_written_to_it(project: Path) -> None:
    """As long as nobody has, it is not."""
    memory = Memory()
    memory.disk = 1
    before = check(project, {}, memory)
    (project / "step.py").write_text(READING["step.py"], "utf-8")
    (project / "new.py").write_text(PROJECT["opened.py"].replace("step(x)", "x.tolist()"), "utf-8")
    assert before == check(project, {"other.py": ""}, memory)
    memory.disk = 2
    after = check(project, {}, memory)
    assert ["GL101", "GL101"] == [one.code for one in after]
    assert check(project, {}, None) == after


def test_what_was_found_again_counts_for_what_is_made_of_it(project: Path) -> None:
    """A report depends on what its parts have read, also on what they have read in an earlier run; so does an entry."""
    memory, folder = Memory(), Folder(project / ".graphlint_cache")
    options: dict[str, Any] = {"config_file": None, "confidence": None, "rules": (), "select": (), "ignore": ()}
    (project / "pyproject.toml").write_text('[tool.graphlint]\nregions = ["declared:forward"]\n', "utf-8")

    def found(edit: Mapping[str, str]) -> list[str]:
        texts = {project / name: text.encode() for name, text in edit.items()}
        with reads.unsaved(texts), reads.recorded():
            report = memory.find("report", lambda: look((project,), folder, dict(options), memory))
        return [Path(one.span.path).name for one in report.findings]

    assert [] == found({})
    assert ["helper.py"] == found({"helper.py": READING["helper.py"]})
    assert ["helper.py", "step.py"] == found(READING)
    assert ["step.py"] == found({"step.py": "\n" + READING["step.py"]})
    (project / "helper.py").write_text(READING["helper.py"], "utf-8")
    assert ["helper.py"] == found({})
    (project / "step.py").write_text("\n" + READING["step.py"], "utf-8")
    assert 2 == len(look((project,), folder, dict(options)).findings)
    assert ["helper.py", "step.py"] == found({})


def test_every_keystroke_is_found_as_without_a_memory(project: Path) -> None:
    """In files that regions reach, in one that opens one, and in one that nothing reaches; some stay, in several."""
    memory, chance = Memory(), random.Random(0)
    memory.disk = 1
    more = "\n\ndef more(x):\n    y = step(\n        x,\n    )\n    return y\n"
    texts = {name: READING.get(name, PROJECT[name]) + more for name in ("step.py", "helper.py", "other.py")}

    for _ in range(80):
        name = chance.choice(sorted(texts))
        with contextlib.suppress(SyntaxError):  # what is broken stays so until the text is another one
            texts[name] = chance.choice([*keystrokes(texts[name], chance, 2)]).text
        if chance.random() < 0.2:
            texts[name] = READING.get(name, PROJECT[name]) + more
        with reads.unsaved({project / one: text.encode() for one, text in texts.items()}), reads.recorded():
            kept = memory.find("report", lambda: run(project, memory))
        assert check(project, texts, None) == kept, texts
