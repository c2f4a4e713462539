"""One rule page in, the Rule that it declares out."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphlint.errors import UsageError, nearest
from graphlint.finding import Confidence, Finding, Severity, Span
from graphlint.reading import reads
from graphlint.rulebook.tables import Table, read_text

OUTCOMES = ("capture-error", "replay-divergence", "replay-fault", "lost-effect", "slow")
FIXES = ("none", "safe", "unsafe", "display-only")
STATUSES = ("stable", "preview", "retired")
SEVERITIES = tuple(str(severity) for severity in Severity)
CHOICES = {
    "severity": SEVERITIES,
    "outcome": OUTCOMES,
    "fix": FIXES,
    "status": STATUSES,
    "profile": ("strict",),
}
WITNESSES = ("check", "verify")
REQUIRED = ("summary", "severity", "outcome", "witness", "message", "help", "why", "fix", "since", "status")
KEYS = (*REQUIRED, "profile")
HEADINGS = (
    "What it finds",
    "Why capture cannot do this",
    "What to write instead",
    "When it is silent, and when it is wrong",
    "Programs",
)
SUMMARY_WIDTH = 72
TOOL_FAMILY = "GL0"
STEM = re.compile(r"(?P<code>[a-z]{2,}[0-9]{3})_(?P<slug>[a-z0-9]+(?:_[a-z0-9]+)*)")


@dataclass(frozen=True)
class Program:
    """A runnable example of a page; `line` is the line of the page where its first line stands."""

    label: str
    line: int
    source: str


@dataclass(frozen=True)
class Rule:
    """What a page declares; `slug` is its name and that of the effect that it reports.

    `message` has the operation's source text in place of `{operation}`. `witness` names the commands that can report
    it: `check`, which reads the source, and `verify`, which runs it. `detector` is the file beside the page that finds
    what no table can tell, if there is one.
    """

    code: str
    slug: str
    summary: str
    severity: Severity
    outcome: str
    witness: tuple[str, ...]
    message: str
    help: str
    why: str
    fix: str
    since: str
    status: str
    page: Path
    programs: tuple[Program, ...]
    text: str
    profile: str | None = None
    detector: Path | None = None

    def finding(self, span: Span, message: str, function: str = "", said: str = "") -> Finding:
        """A finding that is sure; `said` goes behind the reason."""
        return Finding(
            code=self.code,
            rule=self.slug,
            severity=self.severity,
            confidence=Confidence.HIGH,
            span=span,
            function=function,
            message=message,
            help=self.help,
            why=f"{self.why} ({said})" if said else self.why,
        )


@dataclass(frozen=True)
class Block:
    """A fenced block: the words behind the fence, the line of its first line, its text, and the heading it is under."""

    info: tuple[str, ...]
    line: int
    source: str
    heading: str | None


def read_page(page: Path) -> Rule:
    """The rule of one page; what the page lacks is an error that names the page and the key."""
    detector = page.with_suffix(".py")
    return replace(_parse(page, read_text(page)), detector=detector if reads.is_file(detector) else None)


@functools.cache
def _parse(page: Path, text: str) -> Rule:
    """The rule of a page's text; a process that asks for the rules again reads the files, and parses what is new."""
    stem = STEM.fullmatch(page.stem)
    if stem is None:
        raise UsageError(f"{page}: a rule page is named like gl101_scalar_readback.md: the code, then the name")
    code, slug = stem["code"].upper(), stem["slug"].replace("_", "-")
    lines = text.split("\n")
    title = f"# {code} {slug}"
    if lines[0].rstrip() != title:
        raise UsageError(f"{page}:1: the first line is not `{title}`")
    headings, blocks = outline(lines)
    if headings != HEADINGS:
        raise UsageError(f"{page}: the headings are not {', '.join(f'`## {name}`' for name in HEADINGS)} in this order")
    declaration = read_declaration(page, blocks)
    declaration["severity"] = Severity[declaration["severity"].upper()]
    declaration["witness"] = tuple(declaration["witness"])
    programs = tuple(read_programs(page, blocks))
    if not code.startswith(TOOL_FAMILY):
        check_proof(page, programs)
    return Rule(code=code, slug=slug, page=page, programs=programs, text=text, **declaration)


def check_proof(page: Path, programs: tuple[Program, ...]) -> None:
    for label in ("bad", "good"):
        if not any(program.label == label for program in programs):
            raise UsageError(f"{page}: no ```python {label} program under `## Programs`")


def outline(lines: list[str]) -> tuple[tuple[str, ...], tuple[Block, ...]]:
    """The second-level headings and the fenced blocks; what stands inside a fence is no heading."""
    headings: list[str] = []
    blocks: list[Block] = []
    opening: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        if opening is not None:
            start, fence = opening
            if line.rstrip() == fence:
                info = tuple(lines[start - 1].lstrip("`").split())
                source = "".join(f"{inner}\n" for inner in lines[start : number - 1])
                blocks.append(Block(info, start + 1, source, headings[-1] if headings else None))
                opening = None
        elif line.startswith("```"):
            opening = number, "`" * (len(line) - len(line.lstrip("`")))
        elif line.startswith("## "):
            headings.append(line.removeprefix("## ").strip())
    return tuple(headings), tuple(blocks)


def read_declaration(page: Path, blocks: tuple[Block, ...]) -> dict[str, Any]:
    block = next((block for block in blocks if block.info[:1] == ("toml",)), None)
    if block is None or block.heading is not None:
        raise UsageError(f"{page}: no ```toml declaration between the title and the first heading")
    table = Table(page, block.source, block.line)
    for key in REQUIRED:
        if key not in table.data:
            raise table.error(f"key `{key}` is missing from the declaration")
    table.known(table.data, KEYS)
    for key, value in table.data.items():
        if said := mistake(key, value):
            raise table.error(f"key `{key}`: {said}", key)
    return table.data


def mistake(key: str, value: object) -> str:
    """What is wrong with the value of a key, if anything is."""
    if key == "witness":
        is_known = isinstance(value, list) and value and all(one in WITNESSES for one in value)
        return "" if is_known else f"expected a list of one or more of {', '.join(WITNESSES)}"
    if not isinstance(value, str) or not_text(value):
        return not_text(value)
    if key in CHOICES and value not in CHOICES[key]:
        return f"`{value}` is not one of {', '.join(CHOICES[key])}{nearest(value, CHOICES[key])}"
    if key == "summary" and len(value) > SUMMARY_WIDTH:
        return f"{len(value)} characters, of which {SUMMARY_WIDTH} fit into a table"
    if key == "message" and not is_template(value):
        return "the only placeholder is {operation}; double any other brace"
    return ""


def not_text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "expected a string that is not empty"


def is_template(message: str) -> bool:
    try:
        return {field for _, field, _, _ in string.Formatter().parse(message)} <= {None, "operation"}
    except ValueError:
        return False


def read_programs(page: Path, blocks: tuple[Block, ...]) -> Iterator[Program]:
    for block in blocks:
        if block.heading == HEADINGS[-1] and block.info[:1] == ("python",):
            if block.info[1:] not in (("bad",), ("good",)):
                raise UsageError(f"{page}:{block.line - 1}: a program is labelled `bad` or `good`")
            yield Program(block.info[1], block.line, block.source)
