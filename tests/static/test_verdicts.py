"""What was found in, what the user is told out: selection, suppression, confidence, order, and unreadable files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from analysis import RULEBOOK, analyse, in_region, write

from graphlint import static
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Confidence
from graphlint.reading import reads

REGION = """\
import torch
def main(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.item()
"""
FOUND = ("GL101", 4)


def codes(folder: Path, program: str = "", **options: Any) -> list[tuple[str, int]]:
    """(code, line) of every finding."""
    return [(code, line) for _, line, code in analyse(folder, program, **options).found]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"select": ("GL504",)}, []),
        ({"select": ("GL5",)}, []),
        ({"allocations": "strict"}, ["GL504"]),
        ({"allocations": "strict", "select": ("GL504",)}, ["GL504"]),
        ({"allocations": "strict", "ignore": ("GL504",)}, []),
        ({"allocations": "strict", "select": ("GL1",)}, []),
    ],
)
def test_allocations_are_reported_on_request(tmp_path: Path, options: dict[str, Any], expected: list[str]) -> None:
    """A temporary in the region is legal; only the strict profile speaks of it."""
    program = in_region("return torch.empty(4, device='cuda')")
    assert expected == [code for code, _ in codes(tmp_path, program, **options)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["GL101", "GL201", "GL301"]),
        ({"select": ("GL1",)}, ["GL101"]),
        ({"select": ("GL101", "GL3")}, ["GL101", "GL301"]),
        ({"ignore": ("GL1",)}, ["GL201", "GL301"]),
        ({"select": ("GL101",), "ignore": ("GL1",)}, ["GL101"]),
        ({"select": ("GL1", "GL2"), "ignore": ("GL101",)}, ["GL201"]),
        ({"select": ("ALL",), "ignore": ("GL3",)}, ["GL101", "GL201"]),
    ],
)
def test_selection_decides_what_is_reported(tmp_path: Path, options: dict[str, Any], expected: list[str]) -> None:
    """Codes and prefixes; where both speak of a code, the longer one decides."""
    program = in_region("x.item()\nx.cpu()\nif x.any():\n    pass")
    assert expected == [code for code, _ in codes(tmp_path, program, **options)]


def test_an_unknown_code_is_refused(tmp_path: Path) -> None:
    """A misspelt selection is an error and not silence."""
    with pytest.raises(UsageError, match="unknown code `GL9999` in `select`"):
        analyse(tmp_path, REGION, select=("GL9999",))


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        (Confidence.LOW, ["GL101", "GL101"]),
        (Confidence.MEDIUM, ["GL101", "GL101"]),
        (Confidence.HIGH, ["GL101"]),
    ],
)
def test_the_lowest_confidence_is_the_users_choice(tmp_path: Path, confidence: Confidence, expected: list[str]) -> None:
    """What is less sure is left out."""
    program = in_region("x.item()\nunknown.item()")
    assert expected == [code for code, _ in codes(tmp_path, program, confidence=confidence)]


def test_a_comment_suppresses_a_finding(tmp_path: Path) -> None:
    """It is counted and not reported."""
    report = analyse(tmp_path, REGION.replace("x.item()", "x.item()  # graphlint: ignore[GL101] once")).report
    assert ((), 1) == (report.findings, report.summary.suppressed)


def test_a_comment_is_used_by_what_the_confidence_hides(tmp_path: Path) -> None:
    """Suppression comes first: a comment is not called unused because less is shown today."""
    program = in_region("unknown.item()  # graphlint: ignore[GL101]")
    report = analyse(tmp_path, program, confidence=Confidence.HIGH).report
    assert ((), 1) == (report.findings, report.summary.suppressed)


def test_a_comment_that_is_not_used_is_reported_where_a_region_reaches(tmp_path: Path) -> None:
    """In the files that no region reaches, nothing was judged, and nothing is said."""
    program = f"""\
{REGION.replace("x.item()", "helper(x)").replace("import torch", "import torch; from helpers import helper")}
# file: helpers.py
def helper(x):
    return x  # graphlint: ignore[GL101]
# file: unreached.py
def other(x):
    return x  # graphlint: ignore[GL101]
"""
    assert [("helpers.py", 2, "GL002")] == analyse(tmp_path, program).found
    assert [] == analyse(tmp_path, ignore=("GL002",)).found


def test_a_comment_in_a_reached_file_is_used_by_any_region(tmp_path: Path) -> None:
    """Two regions that reach one suppressed line are one finding, suppressed once."""
    program = """
        import torch
        def helper(x):
            return x.item()  # graphlint: ignore[GL101]
        def main(x: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                helper(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                helper(x)
        """
    report = analyse(tmp_path, program).report
    assert ((), 1) == (report.findings, report.summary.suppressed)


def test_codes_are_ignored_by_file(tmp_path: Path) -> None:
    """Globs are relative to the root, and prefixes count."""
    body = REGION.replace("x.item()", "x.item(); x.cpu()")
    program = f"# file: tests/a.py\n{body}# file: src/b.py\n{body}"
    options = {"per_file_ignores": (("tests/", ("GL1",)), ("*.py", ("GL201",)))}
    assert [("src/b.py", 4, "GL101")] == analyse(tmp_path, program, **options).found


def test_findings_are_sorted_and_stand_once(tmp_path: Path) -> None:
    """By file, line and column, then by code; the same path given twice changes nothing."""
    body = REGION.replace("x.item()", "x.tolist(); print(x.item(), x)\n        x.item()")
    program = f"# file: b.py\n{body}# file: a.py\n{body}"
    once = analyse(tmp_path, program)
    spans = [(f.span, f.code) for f in once.report.findings]
    assert sorted(set(spans)) == spans
    assert 8 == len(spans)
    again = analyse(tmp_path, paths=("a.py", "b.py", "a.py", "../" + tmp_path.name, "."))
    assert once.report.findings == again.report.findings


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """A link to a folder is not followed; one to a file is a file of its own."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert [("main.py", 4, "GL101")] == analyse(tmp_path, REGION).found


def test_nothing_to_look_at_is_no_finding(tmp_path: Path) -> None:
    """An empty folder and an empty file are fine."""
    assert (0, 0) == ((s := analyse(tmp_path).report.summary).files, s.regions)
    (tmp_path / "empty.py").touch()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    report = analyse(tmp_path, paths=("empty.py", "pkg")).report
    assert ((), 2) == (report.findings, report.summary.files)


READABLE = {
    "plain": REGION.encode(),
    "a byte order mark": b"\xef\xbb\xbf" + REGION.encode(),
    "carriage returns and newlines": REGION.replace("\n", "\r\n").encode(),
    "carriage returns": REGION.replace("\n", "\r").encode(),
    "another encoding": b"# -*- coding: latin-1 -*-\n"
    + REGION.replace("import torch\n", "import torch; n = 'é'\n").encode("latin-1"),
    "an encoding of the second line": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n"
    + REGION.replace("import torch\n", "import torch; n = '€'\n").encode("cp1252"),
    "tabs": REGION.replace("    ", "\t").encode(),
    "form feeds": REGION.replace("def main", "\f\ndef main").encode(),
    "a form feed before a word": REGION.replace("def main", "\fdef main").encode(),
    "no last newline": REGION.rstrip("\n").encode(),
    "spaces at the end": REGION.replace("\n", "  \n").encode(),
    "a separator of lines that is none": REGION.replace("import torch", "import torch; n = '\u2028\x0b\x1c'").encode(),
    "another script": REGION.replace("main", "größe").replace("x", "ⅹ变").encode(),
    "a line joined by a backslash": REGION.replace("with ", "with \\\n").encode(),
    "a very long line": REGION.replace("x.item()", f"y = [{', '.join(['1'] * 30_000)}]; x.item()").encode(),
    "deep nesting": REGION.replace("x.item()", f"y = {'(' * 90}x{')' * 90}; x.item()").encode(),
    "a long chain": REGION.replace("x.item()", f"y = x{'.abs()' * 300}; x.item()").encode(),
    "a long sum": REGION.replace("x.item()", f"y = {' + '.join(['x'] * 600)}; x.item()").encode(),
    "many branches": REGION.replace(
        "x.item()",
        "if 1 > y: pass\n" + "".join(f"        elif y == {i}: pass\n" for i in range(150)) + "        x.item()",
    ).encode(),
}


@pytest.mark.parametrize("raw", READABLE.values(), ids=READABLE)
def test_a_file_is_read_as_python_reads_it(tmp_path: Path, raw: bytes) -> None:
    """The finding stands where the call stands, whatever the file looks like."""
    (tmp_path / "main.py").write_bytes(raw)
    (finding,) = analyse(tmp_path).report.findings
    text = raw.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
    assert 1 + text[: text.index(".item()")].count("\n") == finding.span.line
    assert "GL101" == finding.code
    assert "x.item()" in finding.message or "ⅹ变.item()" in finding.message


REFUSED = "cannot be parsed by Python {}.{}: ".format(*sys.version_info)
UNREADABLE = {
    "a null byte": (REGION.encode() + b"\0", f"{REFUSED}source code string cannot contain null bytes"),
    "a syntax error": (REGION.encode() + b"def (:\n", REFUSED),
    "old Python": (REGION.encode() + b"print 'x'\n", REFUSED),
    "a half": (REGION.encode() + b"y = (\n", REFUSED),
    "wrong indentation": (REGION.encode() + b"   y = 1\n", REFUSED),
    "bytes that are no text": (REGION.encode() + b"# \xff\xfe\n", "cannot be decoded: "),
    "an unknown encoding": (b"# coding: klingon\n" + REGION.encode(), "cannot be decoded: "),
    "nesting beyond Python": (REGION.encode() + b"y = " + b"(" * 500 + b")" * 500, REFUSED),
}


@pytest.mark.parametrize("given", [(), ("main.py", "other.py")], ids=["in a folder", "given"])
@pytest.mark.parametrize(("raw", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_a_finding(
    tmp_path: Path, raw: bytes, message: str, given: tuple[str, ...]
) -> None:
    """GL001 says why, and the other files are looked at nevertheless."""
    (tmp_path / "main.py").write_bytes(raw)
    (tmp_path / "other.py").write_text(REGION, encoding="utf-8")
    broken, other = analyse(tmp_path, paths=given).report.findings
    assert ("main.py", "GL001", "error") == (Path(broken.span.path).name, broken.code, str(broken.severity))
    assert broken.message.startswith(f"this file {message}")
    assert ("other.py", *FOUND) == (Path(other.span.path).name, other.code, other.span.line)


def test_the_line_of_a_syntax_error_is_told(tmp_path: Path) -> None:
    """The finding stands where Python stopped reading."""
    assert [("GL001", 5)] == codes(tmp_path, REGION + "y = = 1\n")


def test_a_broken_function_beside_a_region_is_a_finding(tmp_path: Path) -> None:
    """It is told although nothing leads to it, and the other functions of the file are looked at nevertheless."""
    program = REGION + "\ndef broken(x):\n    y = = 1\n"
    assert [("main.py", 4, "GL101"), ("main.py", 7, "GL001")] == analyse(tmp_path, program).found


def test_a_file_that_may_not_be_opened_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of the system is passed on."""
    read = reads.content

    def refuse(path: Path) -> bytes:
        if path.name == "locked.py":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(reads, "content", refuse)
    analysis = analyse(tmp_path, f"{REGION}# file: locked.py\n{REGION}")
    assert [("locked.py", 1, "GL001"), ("main.py", 4, "GL101")] == analysis.found
    assert "this file cannot be read: Permission denied" == analysis.report.findings[0].message


def test_a_helper_that_cannot_be_parsed_is_a_finding(tmp_path: Path) -> None:
    """A file that a region leads to is needed; one that nothing leads to is not."""
    program = REGION.replace("x.item()", "helpers.run(x)").replace("import torch", "import torch, helpers")
    program += "# file: helpers.py\ndef run(:\n# file: unreached.py\ndef run(:\n"
    assert [("helpers.py", 1, "GL001")] == analyse(tmp_path, program).found


def test_unreadable_files_obey_the_selection(tmp_path: Path) -> None:
    """GL001 is a rule like the others."""
    program = f"{REGION}# file: broken.py\n{REGION}def (:\n"
    assert [FOUND] == codes(tmp_path, program, ignore=("GL001",))
    assert [("GL001", 5)] == codes(tmp_path, select=("GL001",))
    assert [FOUND] == codes(tmp_path, per_file_ignores=(("broken.py", ("GL001",)),))


def test_warnings_of_the_checked_source_are_not_ours(tmp_path: Path) -> None:
    """An invalid escape or a comparison by `is` is none of our business; warnings are errors in this run."""
    program = REGION.replace("import torch", "import torch; n = '\\d'; m = n is 'x'; k = 1if n else 2")
    assert [FOUND] == codes(tmp_path, program)


def test_a_broken_file_is_reported_where_it_is_named(tmp_path: Path) -> None:
    """In a folder it is of no interest before a region reaches it; named, it is what the user asked about."""
    program = "# file: fine.py\nx = 1\n# file: broken.py\ndef (:\n"
    assert [] == analyse(tmp_path, program).found
    assert [("broken.py", 1, "GL001")] == analyse(tmp_path, program, paths=("fine.py", "broken.py")).found


@pytest.mark.xfail(
    sys.version_info < (3, 12), strict=True, reason="files are indexed with the running Python's grammar"
)
@pytest.mark.parametrize(
    "line", ["type Pair = tuple[int, int]", "def first[T](x: T) -> T: ...", "class Box[T]: ...", "f'{d['key']}'"]
)
def test_syntax_newer_than_the_running_python_is_read(tmp_path: Path, line: str) -> None:
    """libcst knows this grammar; the index of a file does not yet."""
    assert [FOUND] == codes(tmp_path, f"{REGION}{line}\n")


def test_an_effect_without_a_rule_is_an_error(tmp_path: Path) -> None:
    """What the analysis sees and no rule reports does not pass for silence."""
    write(tmp_path, REGION)
    others = replace(RULEBOOK, rules=tuple(rule for rule in RULEBOOK.rules if rule.slug != "scalar-readback"))
    with pytest.raises(LookupError, match="no rule reports the effect `scalar-readback`"):
        static.check([tmp_path], Config(root=tmp_path), others)
