"""What regions reach of the checked files in, what a run did not judge out: nobody takes that for a clean program."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from graphlint.finding import NO_FILE, Notice, Span
from graphlint.reading.questions import Holds, SyntaxMistake
from graphlint.rulebook.entries import Entries
from graphlint.static.findings.collect import Reached
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.survey import look_around
from graphlint.suppression import MARKER, parse

MOST_PARSED = 300  # files; to parse those that no region reaches takes longer than all else where there are many
NAMED = 3  # names in a notice


def tell_unjudged(
    interpreter: Interpreter, files: Sequence[Path], reached: Reached, known: Container[Path]
) -> Iterator[Notice]:
    """What nobody would see in a report without findings; what is wrong with the `known` files stands there."""
    others = [path for path in files if str(path) not in reached.paths and path not in known]
    if broken := list(_broken(interpreter, others)):
        yield Notice("what cannot be parsed was not looked at, and no region is known to reach it", tuple(broken))
    if idle := list(_comments(interpreter, others)):
        yield Notice("ignore comments were not judged, since no region reaches their files", tuple(idle))
    if not files:
        yield NO_FILE
    elif not reached.regions:
        yield Notice(_no_region(interpreter, files))


def _broken(interpreter: Interpreter, paths: Sequence[Path]) -> Iterator[Span]:
    for path in paths if len(paths) <= MOST_PARSED else ():
        for line in interpreter.project.ask(path, SyntaxMistake()):
            yield Span(str(path), line)


def _comments(interpreter: Interpreter, paths: Sequence[Path]) -> Iterator[Span]:
    for path in paths:
        if interpreter.project.ask(path, Holds([MARKER])):
            for comment in interpreter.project.module_at(path).ask(parse):
                yield Span(str(path), comment.line, comment.column)


def _no_region(interpreter: Interpreter, files: Sequence[Path]) -> str:
    """What was looked for, how to say what is captured, and what there is to say it of."""
    survey = look_around(interpreter, files)
    offered = [*survey.models, *survey.compiled, *survey.exports]
    proposed = f"; `graphlint init` would propose {first_of(offered)}" if offered else ""
    return (
        f"no capture region was found, so nothing was judged; looked for {_spellings(interpreter.entries)}; "
        f"name what is captured elsewhere with `--region module:qualname`{proposed}"
    )


def first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    named = ", ".join(f"`{name}`" for name in names[:NAMED])
    return f"{named} and {len(names) - NAMED} more" if len(names) > NAMED else named


def _spellings(entries: Entries) -> str:
    """One spelling of each form, and how many there are."""
    opening = {name: entry.form for name, entry in entries.by_name.items() if entry.form != "end"}
    first = {form: name for name, form in reversed(opening.items())}
    named = ", ".join(f"`{name}`" for name in opening if name in first.values())
    return f"{named} and {len(opening) - len(first)} more spellings"
