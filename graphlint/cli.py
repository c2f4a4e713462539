"""Command line in; one pipeline function, one reporter and an exit status out."""

from __future__ import annotations

import dataclasses
import gc
import io
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import click

from graphlint import baseline as baselines
from graphlint import initial
from graphlint.config import (
    ALLOCATIONS,
    CONFIDENCES,
    Config,
    check_codes,
    extend_config,
    load_config,
    load_rules,
)
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Confidence, Report
from graphlint.paths import lies_in
from graphlint.progress import progress_on
from graphlint.report import REPORTERS
from graphlint.rulebook import Rulebook
from graphlint.rulebook.page import Rule
from graphlint.version import __version__

FOUND = 1
FAILED = 2
INTERRUPTED = 130
DEBUG = "GRAPHLINT_DEBUG"

WITNESSES = ("auto", "cuda", "emulator")
MODES = ("global", "thread_local", "relaxed")  # of a capture, as CUDA names them

NEXT = (
    "next: `graphlint check`; `graphlint check --write-baseline F` takes down what is known, to adopt it step by step"
)

DIRECTORY = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)


def main() -> NoReturn:
    """Run the command; every way of failing is one line on stderr and a status of its own."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = commands.main(prog_name="graphlint", standalone_mode=False)
    except UsageError as error:
        status = fail(f"error: {error}")
    except click.ClickException as error:
        status = fail(f"error: {error.format_message().rstrip('.')} (see `graphlint --help`)")
    except (click.Abort, KeyboardInterrupt):
        status = fail("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        about = f"{type(error).__name__}: {error}".splitlines()[0]
        status = fail(f"internal error: {about}; please report it with the output of a run with {DEBUG}=1")
    gc.freeze()  # to look for reference cycles as the process ends would take a fifth of a run
    sys.exit(status)


def fail(message: str, status: int = FAILED) -> int:
    click.echo(f"graphlint: {message}", err=True)
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="graphlint")
@click.pass_context
def commands(context: click.Context) -> None:
    """Is it safe to capture this into a CUDA graph and replay it?"""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(FAILED)


def codes(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Codes are repeated or separated by commas."""
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


@commands.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--region", "regions", multiple=True, metavar="MODULE:QUALNAME", help="Declare a capture region.")
@click.option("--format", "style", type=click.Choice(list(REPORTERS)), default="text", help="How to report.")
@click.option("--select", multiple=True, metavar="CODES", callback=codes, help="Report only these codes or prefixes.")
@click.option("--ignore", multiple=True, metavar="CODES", callback=codes, help="Leave out these codes or prefixes.")
@click.option("--follow-installed", multiple=True, metavar="PACKAGE", help="Follow calls into an installed package.")
@click.option("--output-file", type=FILE, metavar="F", help="Write the report to a file.")
@click.option("--confidence", type=click.Choice(CONFIDENCES), help="The lowest confidence to report.")
@click.option("--allocations", type=click.Choice(ALLOCATIONS), help="Which allocations to report.")
@click.option("--project", type=DIRECTORY, metavar="DIR", help="Look at all of DIR, report only on the paths.")
@click.option("--baseline", type=FILE, metavar="F", help="Leave out the findings that F knows.")
@click.option("--write-baseline", type=FILE, metavar="F", help="Write all findings to F, as known from now on.")
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="Read [tool.graphlint] from this file.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
@click.option("--statistics", is_flag=True, help="List the callees that no call could be resolved to.")
def check(
    paths: tuple[Path, ...],
    style: str,
    output_file: Path | None,
    confidence: str | None,
    project: Path | None,
    baseline: Path | None,
    write_baseline: Path | None,
    config_file: Path | None,
    statistics: bool,
    **options: Any,
) -> int:
    """Look at all code that a capture region can reach."""
    check_output(output_file)
    paths = paths or (project or Path(),)
    lowest = Confidence[confidence.upper()] if confidence else None
    config = extend_config(
        load_config(project or paths[0], config_file), confidence=lowest, baseline=baseline, **options
    )
    rulebook = load_rules(config, options["rules"])
    check_codes(config, rulebook)
    looked_at = (project,) if project else paths
    report = look(looked_at, config, rulebook)
    if write_baseline is not None:
        baselines.write(report, looked_at, write_baseline)
        click.echo(f"{len(report.findings)} findings are known to {write_baseline} from now on")
        return 0
    if config.baseline is not None:
        report, gone = baselines.apply(report, looked_at, config.baseline)
        narrowed = lowest or options["select"] or options["ignore"]
        for known in () if narrowed else gone:
            click.echo(f"graphlint: {config.baseline}: fixed, and can be removed: {known}", err=True)
    if project is not None:
        report = report_on(report, paths)
    color = output_file is None and wants_color()
    write(REPORTERS[style](report, color=color, base=Path.cwd()), output_file)
    if statistics:
        click.echo(unresolved(report), nl=False, err=style != "text")
    return FOUND if report.findings else 0


def check_output(file: Path | None) -> None:
    """A run takes its time, so where it cannot be written down is told before."""
    if file and not file.absolute().parent.is_dir():
        raise UsageError(f"cannot write the report to {file}: the folder does not exist")


def report_on(report: Report, paths: tuple[Path, ...]) -> Report:
    """The report with the findings that lie in or below the paths."""
    kept = tuple(finding for finding in report.findings if lies_in(Path(finding.span.path), paths))
    return dataclasses.replace(report, findings=kept)


def look(paths: tuple[Path, ...], config: Config, rulebook: Rulebook) -> Report:
    from graphlint import static

    with progress_on(sys.stderr) as progress:
        return static.check(paths, config, rulebook, progress)


@commands.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--on", type=click.Choice(WITNESSES), default="auto", help="Where to capture.")
@click.option("--shapes-only", is_flag=True, help="Emulate without memory and numbers, for models that do not fit.")
@click.option("--format", "style", type=click.Choice(list(REPORTERS)), default="text", help="How to report.")
@click.option("--select", multiple=True, metavar="CODES", callback=codes, help="Report only these codes or prefixes.")
@click.option("--ignore", multiple=True, metavar="CODES", callback=codes, help="Leave out these codes or prefixes.")
@click.option("--allocations", type=click.Choice(ALLOCATIONS), help="Which allocations to report.")
@click.option("--warm-ups", type=COUNT, default=3, help="How often a target runs before it is captured.")
@click.option("--replays", type=COUNT, default=3, help="How many replays are compared with eager.")
@click.option(
    "--capture-error-mode", type=click.Choice(MODES), default="global", help="As `torch.cuda.graph` takes it."
)
@click.option("--deadline", type=click.FloatRange(min=1), default=DEADLINE, help="Seconds that each target has.")
@click.option("--output-file", type=FILE, metavar="F", help="Write the report to a file.")
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="Read [tool.graphlint] from this file.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
def verify(
    targets: tuple[str, ...],
    on: str,
    shapes_only: bool,
    style: str,
    warm_ups: int,
    replays: int,
    capture_error_mode: str,
    deadline: float,
    output_file: Path | None,
    config_file: Path | None,
    **options: Any,
) -> int:
    """Capture and replay targets: `package.module:factory`, `path.py:factory`, or a program, `path.py`."""
    check_output(output_file)
    config = extend_config(load_config(Path(), config_file), **options)
    rulebook = load_rules(config, options["rules"])
    check_codes(config, rulebook)
    from graphlint import runtime
    from graphlint.runtime.examine.target import Runs

    told = show_step if sys.stderr.isatty() else None
    runs = Runs(warm_ups, replays, capture_error_mode)
    report = runtime.verify(
        targets, config, rulebook, on=on, runs=runs, shapes_only=shapes_only, deadline=deadline, progress=told
    )
    color = output_file is None and wants_color()
    write(REPORTERS[style](report, color=color, base=Path.cwd()), output_file)
    problems = [target.problem for target in report.targets if target.problem]
    for problem in problems:
        fail(f"error: {problem}")
    return FAILED if problems else FOUND if report.findings else 0


def show_step(target: str, step: str) -> None:
    click.echo(f"{target}: {step}", err=True)


@commands.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", metavar="[DIR]")
@click.option("--dry-run", is_flag=True, help="Show the change as a diff, and write nothing.")
def init(folder: Path, dry_run: bool) -> None:
    """Look at a project, and add a [tool.graphlint] table with reasons to its pyproject.toml."""
    initial.change(folder, "")  # a project that has a table is told before it is looked at
    from graphlint import static

    table = initial.propose(static.survey([folder], Config(root=folder.absolute())), folder.absolute())
    file, before, after = initial.change(folder, table)
    if dry_run:
        click.echo(initial.difference(file, before, after), nl=False)
        return
    write(after, file)
    click.echo(f"added to {file}:\n\n{table}\n{NEXT}")


@commands.command()
@click.argument("code", required=False)
@click.option("--all", "everything", is_flag=True, help="Print every page.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
def rule(code: str | None, everything: bool, rules: tuple[Path, ...]) -> None:
    """Print the page of a rule, or the table of all rules."""
    rulebook = load_rules(extend_config(load_config(Path()), rules=rules), rules)
    if everything:
        click.echo("\n".join(rule.text for rule in rulebook.rules), nl=False)
    elif code is None:
        click.echo(table(rulebook.rules), nl=False)
    else:
        click.echo(rulebook.rule(code).text, nl=False)


def table(rules: Iterable[Rule]) -> str:
    """One line a rule: code, name, severity, the commands that report it, summary."""
    rows = [(rule.code, rule.slug, str(rule.severity), ", ".join(rule.witness), rule.summary) for rule in rules]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) + "\n"
        for row in rows
    )


def unresolved(report: Report) -> str:
    """The callees that no call could be resolved to, most frequent first."""
    lines = [f"{count:7}  {callee}\n" for callee, count in report.statistics]
    return "".join(["unresolved callees:\n", *lines]) if lines else "every call was resolved\n"


def wants_color() -> bool:
    """Colour is for terminals, and for nobody who declines it."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(text: str, file: Path | None) -> None:
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write the report to {file}: {error.strerror}") from error
