"""What the static half reports depends on what a program means, not on how it is written."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from metamorphic.edits import EDITS, Edit
from metamorphic.runs import differences, variants
from metamorphic.sources import Source, edited
from proof.programs import all_programs

EXCEPTIONS = tomllib.loads((Path(__file__).parent / "metamorphic" / "exceptions.toml").read_text("utf-8"))["exception"]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_an_edit_that_changes_no_meaning_changes_no_finding(edit: Edit, tmp_path: Path) -> None:
    """Bad programs keep code and statement, clean ones stay clean, but for the exceptions that are named."""
    chosen = variants(edit.apply)
    changed = differences(chosen, tmp_path)
    count = len(all_programs())
    print(f"{edit}: applied to {len(chosen)} of {count} programs, kept {len(chosen) - len(changed)}")
    excepted = {one["program"] for one in EXCEPTIONS if one["edit"] == edit.name}
    assert [] == [f"{name}: {what}" for name, what in changed.items() if name not in excepted]
    assert [] == sorted(excepted - set(changed)), "exceptions that no longer occur"
    assert len(chosen) >= edit.applies * count
    assert not edit.is_layout or all(variant.has_same_tree for variant in chosen)
    undefined = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--select", "F821", str(tmp_path)]
    done = subprocess.run(undefined, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert 0 == done.returncode, f"an edit that breaks programs: {done.stdout}"


def test_exceptions_name_an_edit_and_a_program_and_say_why() -> None:
    """Nothing is excepted without a reason, or twice."""
    named = [(one["edit"], one["program"]) for one in EXCEPTIONS]
    assert len(set(named)) == len(named)
    assert {edit for edit, _ in named} <= {edit.name for edit in EDITS}
    assert {program for _, program in named} <= {program.name for program in all_programs()}
    assert all(len(one["reason"].split()) > 5 for one in EXCEPTIONS)


def test_a_line_is_traced_to_where_it_comes_from() -> None:
    """Text that is moved keeps its lines; text that is put in has that of its place."""
    source = Source("a.py", "x = 1\ny = (2 +\n     3)\nz = 4\n")
    value = source.tree.body[1].value
    changes = [
        source.before(source.tree.body[0], source.piece("given = (", value), source.moved(value), ")\n"),
        source.change(*source.span(value), "given"),
    ]
    after = edited((source,), changes)["a.py"]
    assert "given = (2 +\n     3)\nx = 1\ny = (given)\nz = 4\n" == after.text
    assert [("a.py", line) for line in (2, 3, 1, 2, 4, 5)] == list(after.origins)
