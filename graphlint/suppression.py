"""Findings and the texts they stand in: in; findings that no ignore comment covers, and unused comments: out."""

from __future__ import annotations

import contextlib
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from graphlint.errors import nearest
from graphlint.finding import Finding, Span
from graphlint.reading.tokens import tokens_of
from graphlint.rulebook import Rulebook

MARKER = "graphlint:"
DIRECTIVE = re.compile(r"#\s*graphlint:\s*(?P<word>[\w-]*)(?P<brackets>\[[^]#]*]?)?(?P<reason>[^#]*)")
UNUSED = "GL002"
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One ignore comment: where it stands, the lines it covers, and its codes (none: every code).

    A comment behind code meets every finding whose span touches its line. A comment on a line of its own meets the
    findings that begin in the statement below it.
    """

    line: int
    column: int
    end_column: int
    first: int
    last: int
    codes: tuple[str, ...]
    flaw: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether the finding stands on the lines and has one of the codes."""
        if self.flaw or (self.codes and finding.code not in self.codes):
            return False
        begins, ends = finding.span.line, finding.span.line
        if self.first == self.last == self.line:
            ends = max(begins, finding.span.end_line)
        return begins <= self.last and self.first <= ends

    @property
    def source(self) -> str:
        """The comment's directive as it is written."""
        return f"ignore[{', '.join(self.codes)}]" if self.codes else "ignore"


def parse(text: str) -> tuple[Suppression, ...]:
    """The ignore comments of a source text; a text that is not Python has none."""
    if MARKER not in text:
        return ()
    return tuple(read_comments(tokens_of(text) or []))


def apply(
    findings: Iterable[Finding],
    comments: Mapping[str, Sequence[Suppression]],
    rulebook: Rulebook,
    selected: Set[str],
) -> tuple[tuple[Finding, ...], int, tuple[Finding, ...]]:
    """The findings that stay, the number of those suppressed, and the findings about unused and malformed comments.

    `comments` are those that are judged, by the paths of the findings' spans.
    """
    kept: list[Finding] = []
    used: dict[tuple[str, int], set[str]] = {}
    suppressed = 0
    for finding in findings:
        covering = [comment for comment in comments.get(finding.span.path, ()) if comment.covers(finding)]
        for comment in covering:
            used.setdefault((finding.span.path, comment.line), set()).add(finding.code)
        suppressed += bool(covering)
        if not covering:
            kept.append(finding)
    if UNUSED not in selected:
        return tuple(kept), suppressed, ()
    unused = (
        complain(path, comment, message, rulebook)
        for path, found in comments.items()
        for comment in found
        for message in complaints(comment, used.get((path, comment.line), set()), rulebook, selected)
    )
    return tuple(kept), suppressed, tuple(unused)


def apply_to_files(
    findings: Sequence[Finding], rulebook: Rulebook, selected: Set[str]
) -> tuple[tuple[Finding, ...], int]:
    """The findings of a run that stay, and the number of those suppressed; comments that it did not need are left."""
    comments: dict[str, Sequence[Suppression]] = {}
    for path in {one.span.path for one in findings}:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            comments[path] = parse(Path(path).read_text("utf-8"))
    kept, suppressed, _ = apply(findings, comments, rulebook, selected - {UNUSED})
    return kept, suppressed


def read_comments(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[Suppression]:
    for index, token in enumerate(tokens):
        if token.type == tokenize.COMMENT and (directive := DIRECTIVE.search(token.string)):
            line, column = token.start[0], token.start[1] + directive.start() + 1
            first, last = covered_lines(tokens, index)
            codes, flaw = read_directive(directive)
            end_column = column + len(directive[0].rstrip())
            yield Suppression(line, column, end_column, first, last, codes, flaw)


def covered_lines(tokens: Sequence[tokenize.TokenInfo], index: int) -> tuple[int, int]:
    """The comment's own line, or the code directly below where the comment stands alone; (0, 0) is no line."""
    line = tokens[index].start[0]
    before = next((token for token in reversed(tokens[:index]) if token.type not in LAYOUT), None)
    if before is not None and before.end[0] == line and before.type != tokenize.NEWLINE:
        return line, line
    below = index
    while tokens[below].type in LAYOUT:
        below += 1
    first = tokens[below].start[0]
    comments = {token.start[0] for token in tokens[index:below] if token.type == tokenize.COMMENT}
    if tokens[below].type == tokenize.ENDMARKER or first - line != len(comments):
        return 0, 0
    if before is not None and before.type != tokenize.NEWLINE:
        return first, first
    return first, next(token.start[0] for token in tokens[below:] if token.type == tokenize.NEWLINE)


def read_directive(directive: re.Match[str]) -> tuple[tuple[str, ...], str]:
    """The codes of a directive, and what is wrong with its form."""
    word, brackets, reason = directive["word"], directive["brackets"], directive["reason"].strip()
    if word != "ignore":
        return (), f"unknown comment `graphlint: {word}`{nearest(word, ['ignore'])}"
    if brackets is None:
        bare = re.match(r"[A-Z]{2,}[0-9]{3}\b", reason)
        return (), f"the code stands outside of brackets; write `ignore[{bare[0]}]`" if bare else ""
    codes = tuple(code.strip() for code in brackets.strip("[]").split(","))
    if not brackets.endswith("]") or not all(codes):
        return (), "the codes in an ignore comment are written as `ignore[GL101, GL102]`"
    return codes, ""


def complaints(comment: Suppression, used: Set[str], rulebook: Rulebook, selected: Set[str]) -> Iterator[str]:
    """What is wrong with a comment; only rules that ran can say that a comment is unused."""
    unused = rulebook.rule(UNUSED).message
    known = {rule.code: rule for rule in rulebook.rules}
    if comment.flaw:
        yield comment.flaw
    elif not comment.codes:
        ran = all(code in selected for code, rule in known.items() if rule.status != "retired" and not rule.profile)
        if ran and not used:
            yield unused.format(operation=comment.source)
    for code in comment.codes:
        if code not in known:
            yield f"unknown code `{code}` in an ignore comment{nearest(code.upper(), known)}"
        elif code in selected and code not in used and UNUSED not in comment.codes:
            yield unused.format(operation=f"ignore[{code}]")


def complain(path: str, comment: Suppression, message: str, rulebook: Rulebook) -> Finding:
    span = Span(path, comment.line, comment.column, comment.line, comment.end_column)
    return rulebook.rule(UNUSED).finding(span, message)
