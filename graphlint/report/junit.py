"""A report in, a JUnit document out: a suite for each file with findings, and a failed test for each finding."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

from graphlint.finding import Finding, Report
from graphlint.report.escaping import escaped
from graphlint.report.place import finding_in_file, shown_path, told_below


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """The document; without findings, it has one test that passes."""
    count = str(len(report.findings))
    root = ElementTree.Element("testsuites", name="graphlint", tests=count, failures=count)
    by_path = sorted(report.findings, key=lambda one: one.span)
    for path, found in itertools.groupby(by_path, key=lambda one: shown_path(one.span.path, base)):
        findings = list(found)
        number = str(len(findings))
        suite = ElementTree.SubElement(root, "testsuite", name=escaped(path), tests=number, failures=number)
        for finding in findings:
            add_case(suite, finding_in_file(finding, base), escaped(path), base)
    if not report.findings:
        root.set("tests", "1")
        suite = ElementTree.SubElement(root, "testsuite", name="graphlint", tests="1", failures="0")
        ElementTree.SubElement(suite, "testcase", name="nothing found", classname="graphlint")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def add_case(suite: ElementTree.Element, finding: Finding, path: str, base: Path) -> None:
    name, place = f"{finding.code} {finding.rule}", f"{finding.span.line}"
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=escaped(path), file=escaped(path), line=place)
    failure = ElementTree.SubElement(case, "failure", message=escaped(finding.message), type=str(finding.severity))
    failure.text = "\n".join(escaped(line) for line in (f"{path}:{place}", *told_below(finding, base)))
