"""Effects become findings, once for each place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from examples import write_rules

pytest.importorskip("torch")

from graphlint.finding import Confidence, Finding, Hop, Region, Span
from graphlint.rulebook import Rulebook
from graphlint.runtime.judge.findings import Findings, Key
from graphlint.runtime.trace.places import Stack, user_stack

FIRST = Region("torch.cuda.graph", "run.py", 3)
SECOND = Region("torch.cuda.graph", "run.py", 9)


@pytest.fixture
def rulebook(tmp_path: Path) -> Rulebook:
    return write_rules(tmp_path / "rules")


class Collected(Findings):
    """Findings, and what was told of them in order."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.heard: list[tuple[Key, Finding]] = []
        super().__init__(rulebook, lambda key, finding: self.heard.append((key, finding)))


def innermost() -> Stack:
    return user_stack(sys._getframe())


def middle() -> Stack:
    return innermost()


def region() -> tuple[Stack, Stack]:
    """The stack that opens a region, and the one of a line two calls below."""
    opening = user_stack(sys._getframe())
    return opening, middle()


def test_a_finding_says_what_its_rule_says(rulebook: Rulebook) -> None:
    """At the innermost line, with what the witness saw before the reason of the rule."""
    opening, stack = region()
    findings = Collected(rulebook)
    findings.add("scalar-readback", stack, [FIRST], opening=opening, said="refused")
    ((key, finding),) = findings.heard
    span = stack[0].span
    assert ("GL101", span.path, span.line, span.column) == key
    assert ("GL101", "scalar-readback", span, (FIRST,)) == (finding.code, finding.rule, finding.span, finding.regions)
    assert "`user_stack(sys._getframe())` reads a device value on the host" == finding.message
    assert "capture records work, it does not run it (refused)" == finding.why
    assert finding.function.endswith("test_findings:innermost")
    assert Confidence.HIGH == finding.confidence


def test_the_chain_leads_from_the_region_to_the_line(rulebook: Rulebook) -> None:
    """The calls in between, from the outermost to the innermost; neither what opened the region nor the line itself."""
    opening, stack = region()
    findings = Collected(rulebook)
    findings.add("scalar-readback", stack, [FIRST], opening=opening)
    chain = findings.heard[0][1].chain
    assert (stack[2].hop(), stack[1].hop()) == chain
    assert ["region", "middle"] == [hop.function.rpartition(":")[2] for hop in chain]
    assert all(isinstance(hop, Hop) for hop in chain)


def test_a_line_of_the_region_itself_has_no_chain(rulebook: Rulebook) -> None:
    """And neither has one that does not lie below the region, or whose region is not known."""
    opening, stack = region()
    findings = Collected(rulebook)
    findings.add("scalar-readback", opening, [FIRST], opening=opening)
    findings.add("data-dependent-branch", stack[1:], [FIRST], opening=stack)
    findings.add("tensor-printing", stack, [FIRST])
    assert [(), (), ()] == [finding.chain for _, finding in findings.heard]


def test_a_place_is_found_once_with_every_region(rulebook: Rulebook) -> None:
    """It is told again only when another region reaches it, in order of the regions."""
    _, stack = region()
    findings = Collected(rulebook)
    for one in (SECOND, SECOND, FIRST, FIRST):
        findings.add("scalar-readback", stack, [one])
    assert [(SECOND,), (FIRST, SECOND)] == [finding.regions for _, finding in findings.heard]
    assert 1 == len(findings.by_key)


def test_two_effects_at_a_place_are_two_findings(rulebook: Rulebook) -> None:
    """And so is one effect at two places."""
    opening, stack = region()
    findings = Collected(rulebook)
    findings.add("scalar-readback", stack)
    findings.add("data-dependent-branch", stack)
    findings.add("scalar-readback", opening)
    assert ["GL101", "GL301", "GL101"] == [finding.code for finding in findings.by_key.values()]


def test_a_span_that_is_given_takes_the_place_of_the_line(rulebook: Rulebook) -> None:
    """The operation may be given too; without any line it is the one that opens the region, and else an unknown one."""
    findings = Collected(rulebook)
    findings.add("scalar-readback", innermost(), span=Span("gone.py", 7))
    findings.add("scalar-readback", (), operation="model.py")
    opening, _ = region()
    findings.add("data-dependent-branch", (), opening=opening)
    assert opening[0].span == findings.heard.pop()[1].span
    told = [(finding.span, finding.message.split("`")[1]) for _, finding in findings.heard]
    assert [(Span("gone.py", 7), "this"), (Span("<unknown>", 1), "model.py")] == told


def test_an_effect_that_no_rule_reports_is_an_error(rulebook: Rulebook) -> None:
    """It cannot get lost."""
    with pytest.raises(LookupError, match="no rule reports the effect `unheard-of`"):
        Collected(rulebook).add("unheard-of", innermost())


def test_a_note_explains_no_failure(rulebook: Rulebook) -> None:
    """What costs time alone does not make a check of the program fail."""
    findings = Collected(rulebook)
    findings.add("region-allocation", innermost())
    assert not findings.explain_failure
    findings.add("scalar-readback", innermost())
    assert findings.explain_failure
