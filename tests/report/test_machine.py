"""The reports for programs: JSON, SARIF, annotations."""

from __future__ import annotations

import dataclasses
import json
import os
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from examples import finding, report
from jsonschema import Draft202012Validator

from graphlint import __version__
from graphlint.finding import Condition, Finding, Fix, Hole, Region, Related, Report, Severity, Span
from graphlint.report import concise, github, gitlab, junit, sarif, text
from graphlint.report import json as json_report

SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.json").read_text(encoding="utf-8"))
FIX = Fix(Span("serve/model.py", 4, 12, 4, 24), "scale", safe=True)
ODD = os.fsdecode(b"caf\xe9, 100%: \xe6\xa8\xa1.py")


def log(report: Report, base: Path) -> dict[str, Any]:
    """The one run of a log that validates."""
    document = json.loads(sarif.render(report, base=base))
    Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(document)
    (run,) = document["runs"]
    return dict(run)


def test_all_conditions_are_in_every_format(tmp_path: Path) -> None:
    """With the place where they are asked."""
    when = tuple(Condition(f"flag_{n}", str(tmp_path / "serve" / "model.py"), n) for n in range(1, 6))
    given = report(finding(when=when))
    listed = [f"flag_{n} (serve/model.py:{n})" for n in range(1, 6)]
    (entry,) = json.loads(json_report.render(given, base=tmp_path))["findings"]
    assert [{"text": f"flag_{n}", "path": "serve/model.py", "line": n} for n in range(1, 6)] == entry["when"]
    (result,) = log(given, tmp_path)["results"]
    assert listed == result["properties"]["when"]
    assert all(f"when: {one}" in github.render(given, base=tmp_path) for one in listed)


def test_other_places_are_in_every_format(tmp_path: Path) -> None:
    """Where a finding is mended, it may be; a finding that has none says nothing of them."""
    related = (Related(str(tmp_path / "serve" / "build.py"), 7, "it is made here"),)
    given = report(finding(related=related), finding(line=9))
    entry, other = json.loads(json_report.render(given, base=tmp_path))["findings"]
    assert [{"text": "it is made here", "path": "serve/build.py", "line": 7}] == entry["related"]
    assert "related" not in other
    result, plain = log(given, tmp_path)["results"]
    _, place = result["relatedLocations"]  # the first one is the region
    assert "it is made here" == place["message"]["text"]
    assert 7 == place["physicalLocation"]["region"]["startLine"]
    assert 1 == len(plain["relatedLocations"])
    assert 1 == github.render(given, base=tmp_path).count("see: it is made here (serve/build.py:7)")
    assert 1 == text.render(given, base=tmp_path).count("see: it is made here (serve/build.py:7)")


def test_json_is_the_document_of_the_design(tmp_path: Path) -> None:
    """Every key in its place; paths below the working directory are relative."""
    inside = finding(path=str(tmp_path / "serve" / "model.py"), regions=(Region("torch.cuda.graph", "/x/run.py", 2),))
    assert {
        "graphlint": __version__,
        "witness": "static",
        "findings": [
            {
                "code": "GL101",
                "rule": "scalar-readback",
                "severity": "error",
                "confidence": "high",
                "path": "serve/model.py",
                "line": 4,
                "column": 12,
                "end_line": 4,
                "end_column": 24,
                "function": "serve.model:Decoder.forward",
                "message": "`scale.item()` reads a device value on the host and waits for it",
                "why": "a captured stream cannot be waited for",
                "help": "keep the value on the device",
                "regions": [{"kind": "torch.cuda.graph", "path": "/x/run.py", "line": 2, "entry": None, "soft": False}],
                "chain": [{"path": "serve/run.py", "line": 3, "function": "serve.run:capture"}],
                "when": [],
                "fix": None,
            }
        ],
        "summary": {
            "files": 3,
            "regions": 1,
            "functions": 17,
            "unresolved_calls": 2,
            "suppressed": 0,
            "seconds": 0.42,
        },
    } == json.loads(json_report.render(report(inside), base=tmp_path))


def test_json_lists_every_hole(tmp_path: Path) -> None:
    """With its place, its region, what fits, and what was run of it; without one there is no such list."""
    region = Region("torch.cuda.graph", str(tmp_path / "serve" / "run.py"), 3)
    span = Span(str(tmp_path / "serve" / "run.py"), 4, 9, 4, 19)
    hole = Hole(span, "self.model", "serve.run:capture", region, fitting=3, followed=2, left_out=1)
    document = json.loads(json_report.render(dataclasses.replace(report(), holes=(hole,)), base=tmp_path))
    assert document["holes"] == [
        {
            "path": "serve/run.py",
            "line": 4,
            "column": 9,
            "end_line": 4,
            "end_column": 19,
            "callee": "self.model",
            "function": "serve.run:capture",
            "region": {"kind": "torch.cuda.graph", "path": "serve/run.py", "line": 3, "entry": None, "soft": False},
            "fitting": 3,
            "followed": 2,
            "left_out": 1,
        }
    ]
    assert "holes" not in json.loads(json_report.render(report(), base=tmp_path))


def test_json_holds_the_fix(tmp_path: Path) -> None:
    """A fix says where, what, and whether it is safe."""
    (entry,) = json.loads(json_report.render(report(finding(fix=FIX)), base=tmp_path))["findings"]
    place = {"path": "serve/model.py", "line": 4, "column": 12, "end_line": 4, "end_column": 24}
    assert {**place, "text": "scale", "safe": True} == entry["fix"]


@pytest.mark.parametrize(
    "findings",
    [
        pytest.param([], id="nothing"),
        pytest.param([finding()], id="one"),
        pytest.param([finding(), finding(severity=Severity.NOTE, code="GL504"), finding()], id="several"),
        pytest.param([finding(fix=FIX)], id="fix"),
        pytest.param([finding(regions=(), chain=(), function="", why="")], id="the tool's own"),
        pytest.param([finding(path=ODD), finding(path="/elsewhere/a b.py")], id="odd paths"),
        pytest.param([finding(span=Span("a.py", 3))], id="no end"),
        pytest.param([finding(regions=(Region("declared", "a.py", 1, "a:f"), Region("x", "b.py", 1)))], id="regions"),
    ],
)
def test_sarif_validates(tmp_path: Path, findings: list[Finding]) -> None:
    """Every log is valid by the published schema, and has a result for each finding."""
    assert len(findings) == len(log(report(*findings), tmp_path)["results"])


def test_the_schema_refuses_a_wrong_log(tmp_path: Path) -> None:
    """The validation is not empty."""
    document = json.loads(sarif.render(report(finding()), base=tmp_path))
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_sarif_tells_the_way_as_a_code_flow(tmp_path: Path) -> None:
    """Region, calls, operation: in this order."""
    (result,) = log(report(finding()), tmp_path)["results"]
    ((flow,),) = [flow["threadFlows"] for flow in result["codeFlows"]]
    steps = [step["location"] for step in flow["locations"]]
    places = [
        (step["physicalLocation"]["artifactLocation"]["uri"], step["physicalLocation"]["region"]["startLine"])
        for step in steps
    ]
    assert [("serve/run.py", 2), ("serve/run.py", 3), ("serve/model.py", 4)] == places
    assert "serve.run:capture" == steps[1]["logicalLocations"][0]["fullyQualifiedName"]
    assert {"startLine": 4, "startColumn": 12, "endLine": 4, "endColumn": 24} == result["locations"][0][
        "physicalLocation"
    ]["region"]


def test_sarif_describes_each_rule_once(tmp_path: Path) -> None:
    """Results point at their rule by its index."""
    run = log(report(finding(code="GL301", rule="branch"), finding(), finding(line=9)), tmp_path)
    rules = run["tool"]["driver"]["rules"]
    assert ["GL101", "GL301"] == [rule["id"] for rule in rules]
    assert ["GL301", "GL101", "GL101"] == [rules[result["ruleIndex"]]["id"] for result in run["results"]]


def test_sarif_links_to_the_page_of_a_rule(tmp_path: Path) -> None:
    """It lies where graphlint is installed; a rule of somebody else has none there."""
    run = log(report(finding(), finding(code="ACME1", rule="growing-doubt")), tmp_path)
    theirs, ours = run["tool"]["driver"]["rules"]
    page = Path(urllib.request.url2pathname(urllib.parse.urlsplit(ours["helpUri"]).path))
    assert page.read_text(encoding="utf-8").startswith("# GL101 ")
    assert "helpUri" not in theirs


def test_every_region_is_a_related_location(tmp_path: Path) -> None:
    """What reaches the line is listed with what opens it."""
    regions = tuple(Region("torch.cuda.graph", "serve/run.py", line) for line in (2, 8))
    (result,) = log(report(finding(regions=regions)), tmp_path)["results"]
    texts = [place["message"]["text"] for place in result["relatedLocations"]]
    expected = [f"capture region: torch.cuda.graph at serve/run.py:{line}" for line in (2, 8)]
    assert expected == texts


def test_fingerprints_stay_when_lines_move(tmp_path: Path) -> None:
    """Two alike are told apart by their order; the line does not count."""

    def prints(*findings: Finding) -> list[str]:
        return [result["partialFingerprints"]["graphlint/v1"] for result in log(report(*findings), tmp_path)["results"]]

    assert prints(finding(line=4), finding(line=8)) == prints(finding(line=14), finding(line=18))
    assert 2 == len(set(prints(finding(line=4), finding(line=8))))
    assert prints(finding()) != prints(finding(function="serve.model:Decoder.step"))


def test_sarif_paths_are_uris(tmp_path: Path) -> None:
    """Below the base they are relative to it, elsewhere absolute; odd bytes are escaped."""
    run = log(report(finding(path=ODD), finding(path="/elsewhere/a b.py")), tmp_path)
    files = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert {"uri": "caf%E9%2C%20100%25%3A%20%E6%A8%A1.py", "uriBaseId": "SRCROOT"} == files[0]
    assert {"uri": "file:///elsewhere/a%20b.py"} == files[1]
    assert f"{tmp_path.as_uri()}/" == run["originalUriBaseIds"]["SRCROOT"]["uri"]


def test_annotations_are_one_line_each(tmp_path: Path) -> None:
    """Message, region, way and help are lines of the annotation."""
    expected = (
        "::error file=serve/model.py,line=4,endLine=4,title=GL101 scalar-readback"
        "::`scale.item()` reads a device value on the host and waits for it"
        "%0Aregion: torch.cuda.graph at serve/run.py:2"
        "%0Aby way of serve/run.py:3 in serve.run:capture"
        "%0Ahelp: keep the value on the device\n"
    )
    assert expected == github.render(report(finding()), base=tmp_path)


def test_annotations_escape_what_would_end_them(tmp_path: Path) -> None:
    """Per cent signs and newlines everywhere, colons and commas in properties."""
    odd = finding(path="a,b: 100%.py", message="50 %\r\n::error::no", severity=Severity.NOTE, regions=(), chain=())
    text = github.render(report(odd), base=tmp_path)
    assert "::notice file=a%2Cb%3A 100%25.py,line=4,endLine=4,title=GL101 scalar-readback::50 %25%0D%0A::error" in text
    assert 1 == text.count("\n")


def test_a_report_without_findings_has_no_annotation(tmp_path: Path) -> None:
    """Nothing found is no output."""
    assert "" == github.render(report(), base=tmp_path)


def test_a_finding_is_one_line_where_that_is_asked(tmp_path: Path) -> None:
    """Place, severity, code, message; the last line counts."""
    lines = concise.render(report(finding(), finding(path=ODD)), base=tmp_path).splitlines()
    message = "error[GL101] `scale.item()` reads a device value on the host and waits for it"
    assert f"serve/model.py:4:12: {message}" == lines[0]
    assert lines[1].endswith(message) and "\udce9" not in lines[1]
    assert lines[2].startswith("found 2 errors: 3 files")
    emulated = dataclasses.replace(report(), witness="emulator")
    assert concise.render(emulated, base=tmp_path).startswith("emulated on the CPU; not seen: ")
    assert "" == concise.render(emulated, base=tmp_path, quiet=True)
    assert "\x1b[1;31merror[GL101]\x1b[0m" in concise.render(report(finding()), base=tmp_path, color=True)


def test_junit_has_a_failed_test_for_each_finding(tmp_path: Path) -> None:
    """In a suite for each file; characters that XML has not are replaced."""
    odd = finding(path="a.py", message="50 % <\x1b[31m\x00>", severity=Severity.NOTE)
    root = ElementTree.fromstring(junit.render(report(finding(), odd, finding(line=9)), base=tmp_path))
    assert ("testsuites", "3", "3") == (root.tag, root.get("tests"), root.get("failures"))
    assert [("a.py", "1"), ("serve/model.py", "2")] == [(suite.get("name"), suite.get("tests")) for suite in root]
    assert [["4"], ["4", "9"]] == [[case.get("line") for case in suite] for suite in root]
    failure = root[0][0][0]
    assert "note" == failure.get("type") and "50 % <�[31m�>" == failure.get("message")
    assert "region: torch.cuda.graph at serve/run.py:2" in (root[1][0][0].text or "")


def test_junit_without_findings_has_one_test_that_passes(tmp_path: Path) -> None:
    """A document without tests is a mistake to many who read it."""
    root = ElementTree.fromstring(junit.render(report(), base=tmp_path))
    assert ("1", "0") == (root.get("tests"), root.get("failures"))
    assert [] == list(root[0][0])


def test_gitlab_has_an_issue_for_each_finding(tmp_path: Path) -> None:
    """Known by what SARIF knows it by."""
    given = report(finding(), finding(line=9, severity=Severity.NOTE))
    issues = json.loads(gitlab.render(given, base=tmp_path))
    assert ["major", "info"] == [issue["severity"] for issue in issues]
    assert {
        "description": "GL101 scalar-readback: `scale.item()` reads a device value on the host and waits for it",
        "check_name": "GL101",
        "fingerprint": log(given, tmp_path)["results"][0]["partialFingerprints"]["graphlint/v1"],
        "severity": "major",
        "location": {"path": "serve/model.py", "lines": {"begin": 4, "end": 4}},
    } == issues[0]
    assert 2 == len({issue["fingerprint"] for issue in issues})
    assert "[]\n" == gitlab.render(report(), base=tmp_path)


def test_a_log_belongs_to_its_witness(tmp_path: Path) -> None:
    """Two kinds of runs on one commit do not replace each other, and each rule says what prints its page."""
    run = log(report(finding(), finding(code="XX901")), tmp_path)
    assert "graphlint/static/" == run["automationDetails"]["id"]
    ours, theirs = run["tool"]["driver"]["rules"]
    assert ours["help"]["text"].endswith("; `graphlint rule GL101` says more")
    assert "graphlint rule" not in theirs["help"]["text"]


def test_json_lists_callees_that_nobody_knows(tmp_path: Path) -> None:
    """As `--statistics` does."""
    document = json.loads(json_report.render(report(statistics=[("np.load", 12)]), base=tmp_path))
    assert [{"callee": "np.load", "calls": 12}] == document["unresolved"]
