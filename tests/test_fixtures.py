"""What the static half says about every fixture and every page program is what their comments say."""

from __future__ import annotations

from pathlib import Path

import pytest
from expectations import fixture_programs, parse_expectations, parse_header

from graphlint import static
from graphlint.config import Config
from graphlint.rulebook import builtin_rules, load_rulebook

ROOT = Path(__file__).parent.parent
RULEBOOK = load_rulebook(builtin_rules())
PAGE_PROGRAMS = [(rule, program) for rule in RULEBOOK.rules for program in rule.programs]


def reported(paths, config):
    """The (file, line, code) of every finding in these files."""
    report = static.check(paths, config, RULEBOOK)
    return sorted((Path(f.span.path), f.span.line, f.code) for f in report.findings)


def expected(paths):
    return sorted(
        (path.resolve(), e.line, e.code)
        for path in paths
        for e in parse_expectations(path.read_text("utf-8"))
        if e.word != "missed"
    )


@pytest.mark.parametrize(
    "paths",
    fixture_programs(ROOT / "fixtures"),
    ids=lambda paths: str(paths[0].relative_to(ROOT / "fixtures")),
)
def test_fixture_is_reported_exactly_as_its_comments_say(paths):
    """Exact line, exact code, both directions."""
    rules = [r for path in paths for r in [parse_header(path.read_text("utf-8")).get("rules")] if r]
    select = tuple(rules[0].replace(",", " ").split()) if rules else ()
    config = Config(root=ROOT, select=select, allocations="strict" if select else "default")
    assert expected(paths) == reported(paths, config)


@pytest.mark.parametrize(
    ("rule", "program"), PAGE_PROGRAMS, ids=[f"{r.code}-{p.label}-{p.line}" for r, p in PAGE_PROGRAMS]
)
def test_page_program_is_reported_exactly_as_its_comments_say(rule, program, tmp_path):
    """A bad program yields its own code once, on the marked line; a good one yields nothing."""
    path = tmp_path / "program.py"
    path.write_text(program.source, "utf-8")
    strict = rule.profile == "strict"
    config = Config(root=tmp_path, select=(rule.code,) if strict else (), allocations="strict" if strict else "default")
    found = reported([path], config)
    assert expected([path]) == found
    assert [rule.code] * (program.label == "bad") == [code for _, _, code in found]
