"""A report in, text for people out: a code frame, why it matters, the way there, and what to write instead."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from graphlint.finding import Confidence, Finding, Hole, Region, Report, Severity, Span, TargetReport
from graphlint.report.contracts import tables
from graphlint.report.escaping import escaped
from graphlint.report.frame import Row, code_frame, source_lines
from graphlint.report.place import (
    counted,
    notebook,
    page_command,
    shown_condition,
    shown_place,
    shown_region,
    shown_related,
)

NAMED_REGIONS = 3
NAMED_CONDITIONS = 3
NAMED_HOLES = 5
BOLD = "1"
CYAN = "1;36"
COLORS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
EMULATED = (
    "emulated on the CPU; not seen: what streams run at the same time, what the allocator reuses, "
    "kernels without a CPU path, and the libraries of the GPU"
)

HEADS = {
    "emulator": EMULATED,
    "shapes": "shapes only: no numbers are computed, so nothing is compared with eager; " + EMULATED,
}

FILLED = "say what they run in `[[tool.graphlint.targets]]`; `graphlint init` proposes classes that fit"

Paint = Callable[[str, str], str]


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """Every finding as a block of its own, and a line that says what was looked at."""
    paint = colored if color else plain
    read = functools.cache(functools.partial(source_lines, base=base))
    blocks = []
    for finding in ordered(report):
        frame = code_frame(*framed(finding.span, read, base))
        blocks.append("\n".join(finding_lines(finding, frame, paint, base)))
    if quiet:
        return "".join(f"{block}\n\n" for block in blocks)[:-1]
    end = "\n".join(summary_lines(report, paint))
    return "\n\n".join([*heads(report, paint, base), *tables(report, base), *blocks, end]) + "\n"


def heads(report: Report, paint: Paint, base: Path) -> list[str]:
    """What the witness cannot see, and what nobody knows the callee of: it stands before what was found."""
    head = [HEADS[report.witness]] if report.witness in HEADS else []
    head += dict.fromkeys(escaped(one.unseen) for one in report.targets if one.unseen)
    return [*head, "\n".join(hole_lines(report.holes, paint, base))] if report.holes else head


def framed(span: Span, read: Callable[[Path], Sequence[str]], base: Path) -> tuple[Span, Sequence[str]]:
    """The lines that a span is shown in: those of its file, or of its cell in a notebook, where it begins anew."""
    found = notebook(span.path, base)
    if found is None:
        return span, read(base / span.path)
    cell, line = found.place(span.line)
    end = span.end_line and span.end_line - span.line + line
    return dataclasses.replace(span, line=line, end_line=end), found.lines(cell)


def ordered(report: Report) -> list[Finding]:
    """Those of one target together, and those of one condition."""
    places = {target.name: number for number, target in enumerate(report.targets)}
    return sorted(report.findings, key=lambda one: ([places[name] for name in one.targets[:1]], one.when[:1]))


def hole_lines(holes: Sequence[Hole], paint: Paint, base: Path) -> Iterator[str]:
    """What regions call that nobody knows: how little was looked at stands before what was found."""
    for hole in sorted(holes, key=lambda hole: hole.followed > 0)[:NAMED_HOLES]:
        place = escaped(shown_place(hole.span.path, hole.span.line, base))
        call = f"`{one_line(hole.callee)}(...)` at {place}, in {escaped(shown_region(hole.region, base))}"
        if hole.followed:
            ran = f"{hole.followed} of {hole.fitting} functions that it may run"
            yield f"{paint('looked at in part', BOLD)}: {call}: {ran}"
        else:
            fitting = counted(hole.fitting, "class", "classes") if hole.fitting else "no class"
            fit = f"{fitting} here {'fit' if hole.fitting > 1 else 'fits'}"
            said = f"nobody knows what it runs, and none of that was looked at; {fit}"
            yield f"{paint('not looked at', BOLD)}: {call}: {said}"
    if len(holes) > NAMED_HOLES:
        yield f"and {counted(len(holes) - NAMED_HOLES, 'more call')} like these; `--format json` lists them all"
    yield FILLED


def finding_lines(finding: Finding, frame: list[Row], paint: Paint, base: Path) -> Iterator[str]:
    tint = COLORS[finding.severity]
    head = paint(f"{finding.severity}[{finding.code}]", tint)
    yield f"{head} {finding.rule}: {paint(one_line(finding.message), BOLD)}"
    margin = max((len(row.margin) for row in frame), default=1)
    doubt = "" if finding.confidence is Confidence.HIGH else f" ({finding.confidence} confidence)"
    place = f"{escaped(shown_place(finding.span.path, finding.span.line, base))}:{finding.span.column}"
    yield f"{' ' * margin}{paint('-->', CYAN)} {place}{doubt}"
    bar = paint("|", CYAN)
    for row in [Row("", ""), *frame, Row("", "")] if frame else []:
        text = paint(row.text, tint) if row.is_caret else row.text
        yield f"{paint(row.margin.rjust(margin), CYAN)} {bar} {text}".rstrip()
    for label, lines in notes(finding, base):
        first, *rest = lines
        yield f"{' ' * margin} {paint('=', CYAN)} {paint(f'{label}:', BOLD)} {first}"
        yield from (f"{' ' * (margin + len(label) + 5)}{line}" for line in rest)


def notes(finding: Finding, base: Path) -> Iterator[tuple[str, list[str]]]:
    """What stands below the frame: a label and its lines."""
    if finding.why:
        yield "why", [one_line(finding.why)]
    if len(finding.targets) > 1:
        yield "targets", [escaped(name) for name in finding.targets]
    if finding.regions:
        reached, *others = finding.regions
        yield "region", [escaped(shown_region(reached, base)) + softness(reached)]
        if finding.chain:
            hops = [(hop.path, hop.line, hop.function) for hop in finding.chain]
            hops.append((finding.span.path, finding.span.line, finding.function))
            yield "way", [escaped(f"{shown_place(path, line, base)} in {function}") for path, line, function in hops]
        if finding.when:
            yield "when", list(conditions(finding, base))
        if others:
            yield "also", [escaped(other_regions(others, base))]
    for other in finding.related:
        yield "see", [one_line(shown_related(other, base))]
    yield "help", [one_line(finding.help)]


def conditions(finding: Finding, base: Path) -> Iterator[str]:
    """What has to hold for the line to run, as far as it fits."""
    for one in finding.when[:NAMED_CONDITIONS]:
        yield one_line(shown_condition(one, base))
    if len(finding.when) > NAMED_CONDITIONS:
        yield f"and {counted(len(finding.when) - NAMED_CONDITIONS, 'more condition')}"


def softness(region: Region) -> str:
    return ", which falls back to eager where capture cannot go on" if region.soft else ""


def other_regions(regions: Sequence[Region], base: Path) -> str:
    named = [shown_region(region, base) for region in regions[:NAMED_REGIONS]]
    if len(regions) > NAMED_REGIONS:
        named.append(f"{len(regions) - NAMED_REGIONS} more")
    reach = "reaches" if len(regions) == 1 else "reach"
    return f"{counted(len(regions), 'other region')} {reach} this line: {', '.join(named)}"


def summary_lines(report: Report, paint: Paint) -> Iterator[str]:
    found = Counter(finding.severity for finding in report.findings)
    parts = [counted(found[severity], str(severity)) for severity in sorted(found, reverse=True)]
    unseen = sum(not hole.followed for hole in report.holes)
    result = f"found {', '.join(parts)}" if parts else "nothing found"
    conditional = sum(bool(finding.when) for finding in report.findings)
    if conditional:
        result += f" ({len(report.findings) - conditional} whenever a region runs, {conditional} under conditions)"
    if unseen:
        result += f", and {counted(unseen, 'call')} not looked into"
    yield f"{paint(result, BOLD)}: {', '.join(looked_at(report))}"
    width = max((len(target.verdict) for target in report.targets), default=0)
    for target in report.targets:
        said = ", ".join(reasons(target, report.findings))
        if target.verdict:
            yield f"{paint(target.verdict.ljust(width), BOLD)}  {escaped(target.name)}: {said}"
        elif not target.problem:
            yield f"{escaped(target.name)}: {said}"
    if page := next(filter(None, (page_command(finding.code) for finding in report.findings)), ""):
        yield f"why, and what to write instead: `{page}`"


def looked_at(report: Report) -> Iterator[str]:
    summary = report.summary
    if report.targets:
        yield counted(len(report.targets), "target")
        yield counted(summary.regions, "capture")
    else:
        yield counted(summary.files, "file")
        yield counted(summary.regions, "region")
        yield f"{counted(summary.functions, 'function')} followed"
        yield counted(summary.unresolved_calls, "unresolved call")
    yield f"{summary.suppressed} suppressed"
    yield f"{summary.seconds:.1f} s"


def reasons(target: TargetReport, findings: Sequence[Finding]) -> Iterator[str]:
    """Why the verdict is what it is: what is wrong, the worst first, or what was measured."""
    found = sorted((one for one in findings if target.name in one.targets), key=lambda one: -one.severity)
    for code, times in list(Counter(one.code for one in found).items())[:NAMED_REGIONS]:
        yield code if times == 1 else f"{code} at {times} places"
    if target.problem:
        yield one_line(target.problem.removeprefix(f"target `{target.name}`: "))
    measured = list(measurements(target))
    yield from measured
    if not (found or target.problem or measured):
        yield counts(target)


def counts(target: TargetReport) -> str:
    """How often a program that captures by itself did so."""
    captures, replays = (int(target.measured.get(name, 0)) for name in ("captures", "replays"))
    return f"{counted(captures, 'capture')}, {counted(replays, 'replay')}" if captures else "no graph to measure"


def measurements(target: TargetReport) -> Iterator[str]:
    """What a graph of the target costs, and whether it pays."""
    measured = target.measured
    if "compiled" in measured:
        graphs, graphed = int(measured["compiled"]), int(measured["graphed"])
        yield f"{graphed} of {counted(graphs, 'compiled graph')} in CUDA graphs ({graphed / graphs:.0%})"
    nodes = [
        f"{value:.0f} {name.removesuffix('_nodes')}" for name, value in measured.items() if name.endswith("_nodes")
    ]
    if nodes:
        yield f"nodes: {', '.join(nodes)}"
    if "replay_seconds" in measured:
        eager, replay = measured["eager_seconds"], measured["replay_seconds"]
        yield f"eager {eager * 1e3:.3f} ms, replay with its copies {replay * 1e3:.3f} ms"
        yield f"{eager / replay:.1f} times as fast" if eager > replay else "the graph does not pay"
    if "pool_bytes" in measured:
        yield f"{measured['pool_bytes'] / 2**20:.1f} MiB in its pool"


def one_line(text: str) -> str:
    """The text on one line: an operation may have been written over several."""
    return escaped(" ".join(text.split()))


def plain(text: str, style: str) -> str:
    return text


def colored(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else text
