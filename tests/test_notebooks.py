"""Notebooks: their cells are one module, and what is found there is told by cell and line."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from graphlint import static
from graphlint.cli import commands
from graphlint.config import Config
from graphlint.finding import Report
from graphlint.reading.notebooks import parse
from graphlint.report import github, sarif, text
from graphlint.report import json as json_report
from graphlint.rulebook import builtin_rules, load_rulebook

STEP = "def step(x):\n    y = x * 2\n    return y.item()"
CAPTURE = "x = torch.ones(4, device='cuda')\nwith torch.cuda.graph(torch.cuda.CUDAGraph()):\n    step(x)"
CELLS = [("markdown", "# A title"), ("code", "%matplotlib inline\nimport torch"), ("code", STEP), ("code", CAPTURE)]


def notebook(cells: list[tuple[str, str]], language: str = "python") -> dict[str, Any]:
    """A notebook as Jupyter writes it."""
    return {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)} for kind, source in cells
        ],
        "metadata": {"kernelspec": {"language": language}, "language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(file: Path, cells: list[tuple[str, str]] = CELLS, **settings: str) -> Path:
    """A notebook on the disk."""
    file.write_text(json.dumps(notebook(cells, **settings)), encoding="utf-8")
    return file


def checked(folder: Path, *regions: str) -> Report:
    """What is found in a folder."""
    return static.check([folder], Config(root=folder, regions=regions), load_rulebook(builtin_rules()))


def source(*cells: str) -> str:
    """What is read of cells of code."""
    return parse(json.dumps(notebook([("code", cell) for cell in cells])).encode()).text


def test_a_finding_is_told_by_its_cell(tmp_path: Path) -> None:
    """In all formats; one that knows files alone points at the top, and says the cell."""
    write(tmp_path / "demo.ipynb")
    report = checked(tmp_path)
    assert ["GL101"] == [finding.code for finding in report.findings]
    shown = text.render(report, base=tmp_path)
    assert " --> demo.ipynb:cell 3:3:12\n" in shown
    assert "2 |     y = x * 2\n3 |     return y.item()\n  |            ^^^^^^^^\n" in shown
    assert "region: torch.cuda.graph at demo.ipynb:cell 4:2\n" in shown
    (entry,) = json.loads(json_report.render(report, base=tmp_path))["findings"]
    assert ("demo.ipynb", 3, 3, 3) == tuple(entry[key] for key in ("path", "cell", "line", "end_line"))
    assert ("demo.ipynb", 4, 2) == tuple(entry["regions"][0][key] for key in ("path", "cell", "line"))
    assert github.render(report, base=tmp_path).startswith("::error file=demo.ipynb,line=1,")
    (result,) = json.loads(sarif.render(report, base=tmp_path))["runs"][0]["results"]
    assert {"startLine": 1, "startColumn": 1} == result["locations"][0]["physicalLocation"]["region"]
    assert result["message"]["text"].startswith("cell 3, line 3: `y.item()` reads")


def test_a_function_of_a_notebook_is_declared(tmp_path: Path) -> None:
    """By the name of its file."""
    (tmp_path / "work").mkdir()
    write(tmp_path / "work" / "demo.ipynb", CELLS[:-1])
    report = checked(tmp_path / "work", "demo.ipynb:step")
    assert ["GL101"] == [finding.code for finding in report.findings]


def test_a_clean_notebook_is_clean(tmp_path: Path) -> None:
    """And it was looked at."""
    write(tmp_path / "demo.ipynb", [(kind, cell.replace(".item()", "")) for kind, cell in CELLS])
    report = checked(tmp_path)
    assert ((), 1) == (report.findings, report.summary.regions)


def test_a_notebook_calls_what_lies_beside_it(tmp_path: Path) -> None:
    """A module of its own name is that module; a notebook is imported by nobody."""
    (tmp_path / "demo.py").write_text(STEP)
    write(tmp_path / "demo.ipynb", [("code", "import torch\nfrom demo import step"), ("code", CAPTURE)])
    (finding,) = checked(tmp_path).findings
    assert str(tmp_path / "demo.py") == finding.span.path


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        pytest.param("%matplotlib inline\nx = 1", "pass\nx = 1\n", id="magic"),
        pytest.param("if x:\n    !pip install \\\n  torch\n    y = 1", "if x:\n    pass\n\n    y = 1\n", id="command"),
        pytest.param("files = !ls\nx", "files = get_ipython()\nx\n", id="what a command gives"),
        pytest.param("?x\nx.y??\nx", "pass\npass\nx\n", id="help"),
        pytest.param("y = (x\n    % 2)", "y = (x\n    % 2)\n", id="an operator in brackets"),
        pytest.param("y = '''\n%d\n''' % x", "y = '''\n%d\n''' % x\n", id="in a text"),
        pytest.param("x = 1  # it's (\n%time x", "x = 1  # it's (\npass\n", id="behind a remark"),
        pytest.param("y = x \\\n  % 2", "y = x \\\n  % 2\n", id="on a line that goes on"),
        pytest.param("%%time\nx = 1\n%who", "\nx = 1\npass\n", id="a cell that is timed"),
        pytest.param("%%bash\nls -la", "\n\n", id="a cell of another language"),
        pytest.param("", "\n", id="nothing"),
    ],
)
def test_magics_are_passed_over(cell: str, expected: str) -> None:
    """What is left is Python, and stands where it stood."""
    assert expected == source(cell)
    ast.parse(expected)


def test_every_line_has_its_cell() -> None:
    """Cells that hold no code count as well."""
    read = parse(json.dumps(notebook([("raw", "x"), ("code", "a\nb"), ("markdown", "x"), ("code", "c")])).encode())
    assert [(2, 1), (2, 2), (4, 1)] == [read.place(line) for line in (1, 2, 3)]
    assert (["a", "b"], ["c"]) == (read.lines(2), [line for line in read.lines(4) if line])


PIECES = (
    "%a",
    "!b",
    "x = ",
    "?",
    "%%",
    "'",
    '"',
    '"""',
    "(",
    ")",
    "#",
    " ",
    "\t",
    "\\",
    "\\\n",
    "\n",
    "\r",
    "def f():",
)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_whatever_a_cell_holds_every_line_keeps_its_place(cell: str) -> None:
    """What is passed over leaves as many lines, and the next cell begins behind them."""
    read = parse(json.dumps(notebook([("code", cell), ("code", "end")])).encode())
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").count("\n") + 1
    assert ((1, 1), (lines + 1, 2)) == read.cells
    assert "end" == read.text.split("\n")[lines]


def test_older_notebooks_are_read() -> None:
    """Their cells lie in worksheets."""
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", "b"]}]}], "nbformat": 3}
    assert "a = 1\nb\n" == parse(json.dumps(old).encode()).text


def test_another_language_has_no_source(tmp_path: Path) -> None:
    """Nothing of it is judged, and it is no mistake."""
    write(tmp_path / "demo.ipynb", [("code", "x <- 1")], language="R")
    assert () == checked(tmp_path).findings


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 100_000],
)
def test_what_is_no_notebook_is_told(tmp_path: Path, data: str) -> None:
    """One finding, and the other files are judged."""
    (tmp_path / "demo.ipynb").write_text(data)
    write(tmp_path / "good.ipynb")
    findings = checked(tmp_path).findings
    assert ["GL001", "GL101"] == [finding.code for finding in findings]
    assert "cannot be read: it is no notebook: " in findings[0].message


def test_a_cell_that_is_no_python_is_told_by_its_line(tmp_path: Path) -> None:
    """Where a region would be."""
    write(tmp_path / "demo.ipynb", [*CELLS, ("code", "x = 1\nprint x")])
    findings = checked(tmp_path).findings
    assert "GL001" in {finding.code for finding in findings}
    assert "demo.ipynb:cell 5:2" in text.render(checked(tmp_path), base=tmp_path)


def test_comments_and_baselines_hold_in_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is recognised when a cell is put before it."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "demo.ipynb")
    run = CliRunner().invoke
    run(commands, ["check", "--write-baseline", "known.json"])
    assert "return y.item()" in (tmp_path / "known.json").read_text()
    write(tmp_path / "demo.ipynb", [("code", "z = 1"), *CELLS])
    assert "nothing found" in run(commands, ["check", "--baseline", "known.json"]).output
    quiet = [(kind, cell.replace(".item()", ".item()  # graphlint: ignore[GL101] here")) for kind, cell in CELLS]
    write(tmp_path / "demo.ipynb", quiet)
    assert "nothing found" in run(commands, ["check"]).output


def test_what_is_kept_knows_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that is new changes nothing that is read; another cell does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHLINT_NO_CACHE", raising=False)
    write(tmp_path / "demo.ipynb")
    run = CliRunner().invoke
    assert "GL101" in run(commands, ["check"]).output
    write(tmp_path / "demo.ipynb", [(kind, cell.replace(".item()", "")) for kind, cell in CELLS])
    assert "nothing found" in run(commands, ["check"]).output
    write(tmp_path / "other.ipynb")
    assert "other.ipynb:cell 3:3" in run(commands, ["check"]).output
