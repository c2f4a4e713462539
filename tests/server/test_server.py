"""An editor shows what `check` finds, in texts that are not saved yet too."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import Editor, with_editor
from lsprotocol import types

CAPTURING = """\
import torch
from step import step

x = torch.zeros(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step(x)
"""
READING = "def step(x):\n    return x.sum().item()\n"
KEEPING = "def step(x):\n    return x.sum()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "serve.py").write_text(CAPTURING, "utf-8")
    (tmp_path / "step.py").write_text(READING, "utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.graphlint]\n", "utf-8")
    return tmp_path


def test_what_check_finds_is_shown_with_the_way_to_it(project: Path) -> None:
    """At its place, with its code, and the region that reaches it."""

    async def story(editor: Editor) -> None:
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        (one,) = editor.shown[editor.uri("step.py")]
        assert types.Range(types.Position(1, 11), types.Position(1, 25)) == one.range
        assert one.message.startswith("scalar-readback: `x.sum().item()` reads a device value")
        related = [(each.location.uri, each.location.range.start.line) for each in one.related_information or ()]
        assert (editor.uri("serve.py"), 5) == related[0]

    with_editor(project, story)


def test_texts_that_are_not_saved_are_looked_at(project: Path) -> None:
    """What is mended is shown no more, and what is broken in another file is shown; the disk stays as it was."""

    async def story(editor: Editor) -> None:
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        editor.open("step.py")
        editor.type("step.py", KEEPING)
        await editor.until(lambda: editor.codes("step.py") == [])
        editor.open("serve.py")
        editor.type("serve.py", CAPTURING + "    print(x.tolist())\n")
        await editor.until(lambda: "GL101" in editor.codes("serve.py"))

    with_editor(project, story)
    assert READING == (project / "step.py").read_text("utf-8")


def test_columns_are_in_the_units_of_the_editor(project: Path) -> None:
    """A character outside of the basic plane counts twice in UTF-16."""
    (project / "step.py").write_text('def step(x):\n    return "\U0001f600", x.sum().item()\n', "utf-8")

    async def story(editor: Editor) -> None:
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        (one,) = editor.shown[editor.uri("step.py")]
        assert (17, 31) == (one.range.start.character, one.range.end.character)

    with_editor(project, story)


def test_hovering_shows_the_page_of_the_rule(project: Path) -> None:
    """Where a rule is reported, and where a comment names it; nowhere else."""
    (project / "step.py").write_text(READING + "# GL301 is another rule, GL999 is none\n", "utf-8")

    async def story(editor: Editor) -> None:
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        editor.open("step.py")
        page = await editor.hover("step.py", 1, 15)
        assert "scalar-readback" in page and "## What to write instead" in page and "toml" not in page
        assert "data-dependent-branch" in await editor.hover("step.py", 2, 4)
        assert "" == await editor.hover("step.py", 2, 26)
        assert "" == await editor.hover("step.py", 0, 5)

    with_editor(project, story)


def test_an_action_suppresses_a_finding(project: Path) -> None:
    """The comment that it writes is the one that `check` reads."""

    async def story(editor: Editor) -> None:
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        editor.open("step.py")
        (action,) = await editor.actions("step.py")
        assert "Suppress GL101 here" == action.title
        assert action.edit is not None and action.edit.changes is not None
        (edit,) = action.edit.changes[editor.uri("step.py")]
        assert types.Position(1, 25) == edit.range.start == edit.range.end
        editor.type("step.py", READING.replace("item()", "item()" + edit.new_text))
        await editor.until(lambda: editor.codes("step.py") == [])

    with_editor(project, story)


def test_a_mistake_in_the_configuration_is_told(project: Path) -> None:
    """Once, in one line; what is mended is looked at again."""
    (project / "pyproject.toml").write_text("[tool.graphlint]\nregion = []\n", "utf-8")

    async def story(editor: Editor) -> None:
        await editor.until(lambda: bool(editor.messages))
        editor.open("step.py")
        editor.type("step.py", READING + "\n")
        (project / "pyproject.toml").write_text("[tool.graphlint]\n", "utf-8")
        editor.type("step.py", READING)
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        (message,) = editor.messages
        assert message.startswith("graphlint: unknown key `region`")
        assert "\n" not in message

    with_editor(project, story)


def test_each_version_of_a_text_is_answered(project: Path) -> None:
    """Also where nothing else is shown than before: whoever types knows what an answer is about."""

    async def story(editor: Editor) -> None:
        editor.open("step.py")
        await editor.answered("step.py")
        assert ["GL101"] == editor.codes("step.py")
        editor.type("step.py", READING + "# more\n")
        await editor.answered("step.py")
        editor.type("step.py", "# more\n" + READING)
        await editor.answered("step.py")
        (one,) = editor.shown[editor.uri("step.py")]
        assert types.Position(2, 11) == one.range.start

    with_editor(project, story)


def test_files_are_looked_at_again_where_nobody_types_any_more(project: Path) -> None:
    """An editor need not tell of what others write."""

    async def story(editor: Editor) -> None:
        editor.open("serve.py")
        await editor.until(lambda: editor.codes("step.py") == ["GL101"])
        editor.type("serve.py", CAPTURING + "# more\n")
        await editor.answered("serve.py")
        (project / "step.py").write_text(KEEPING, "utf-8")
        await editor.until(lambda: editor.codes("step.py") == [])

    with_editor(project, story)
