"""Command line in; one pipeline function, one reporter and an exit status out.

Long, since every command and option stands here. What a command needs is loaded when it runs: asking for help, or for
an answer that is known, waits for nothing else.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from graphlint.choices import ALLOCATIONS, CONFIDENCES, FORMATS
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.report import reporter
from graphlint.report.escaping import escaped
from graphlint.version import __version__

if TYPE_CHECKING:
    from graphlint.finding import Report
    from graphlint.rulebook.page import Rule

FOUND = 1
FAILED = 2
INTERRUPTED = 130
DEBUG = "GRAPHLINT_DEBUG"
NEEDED = ("libcst", "pathspec")  # what every install has, and nobody sees when it is loaded late

WITNESSES = ("auto", "cuda", "emulator")
MODES = ("global", "thread_local", "relaxed")  # of a capture, as CUDA names them

NEXT = (
    "next: `graphlint check`; `graphlint check --write-baseline F` takes down what is known, to adopt it step by step"
)

DIRECTORY = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)

quiet = click.option("--quiet", "-q", is_flag=True, help="Print findings alone.")
exit_zero = click.option("--exit-zero", is_flag=True, help="End with status 0 if there are findings.")


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
        status = fail(unforeseen(error))
    gc.freeze()  # to look for reference cycles as the process ends would take a fifth of a run
    sys.exit(status)


def unforeseen(error: Exception) -> str:
    """What there is to say of an error that is not the user's."""
    if isinstance(error, ModuleNotFoundError) and error.name in NEEDED:
        return f"error: `{error.name}` is missing: install torch-graphlint again, with what it needs"
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    about = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"internal error: {about}; please report it with the output of a run with {DEBUG}=1"


def fail(message: str, status: int = FAILED) -> int:
    click.echo(f"graphlint: {escaped(message)}", err=True)
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


about_select = "Report only these codes, prefixes or names."
about_ignore = "Leave out these codes, prefixes or names."
select = click.option("--select", multiple=True, metavar="CODES", callback=codes, help=about_select)
ignore = click.option("--ignore", multiple=True, metavar="CODES", callback=codes, help=about_ignore)


@commands.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--region", "regions", multiple=True, metavar="MODULE:QUALNAME", help="Declare a capture region.")
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", help="How to report.")
@select
@ignore
@click.option("--follow-installed", multiple=True, metavar="PACKAGE", help="Follow calls into an installed package.")
@click.option("--output-file", type=FILE, metavar="F", help="Write the report to a file.")
@click.option("--confidence", type=click.Choice(CONFIDENCES), help="The lowest confidence to report.")
@click.option("--allocations", type=click.Choice(ALLOCATIONS), help="Which allocations to report.")
@click.option("--project", type=DIRECTORY, metavar="DIR", help="Look at all of DIR, report only on the paths.")
@click.option("--baseline", type=FILE, metavar="F", help="Leave out the findings that F knows.")
@click.option("--write-baseline", type=FILE, metavar="F", help="Write all findings to F, as known from now on.")
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="Read [tool.graphlint] from this file.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out the files that it matches.")
@click.option("--statistics", is_flag=True, help="List the callees that no call could be resolved to.")
@click.option("--no-cache", is_flag=True, help="Neither read nor keep what was found before.")
@click.option("--cache-dir", type=DIRECTORY, metavar="DIR", help="Keep it in DIR; else in .graphlint_cache.")
@click.option("--stdin-filename", type=FILE, metavar="F", help="The file that `-` stands for, read from stdin.")
@click.option("--watch", is_flag=True, help="Look again whenever a file changes, until interrupted.")
@click.option("--show-files", is_flag=True, help="Name the files to look at, and look at none.")
@click.option("--show-settings", is_flag=True, help="Say what holds of options and configuration, and look at nothing.")
@quiet
@exit_zero
def check(
    paths: tuple[Path, ...],
    style: str,
    output_file: Path | None,
    project: Path | None,
    write_baseline: Path | None,
    statistics: bool,
    no_cache: bool,
    cache_dir: Path | None,
    stdin_filename: Path | None,
    watch: bool,
    show_files: bool,
    show_settings: bool,
    quiet: bool,
    exit_zero: bool,
    **options: Any,
) -> int:
    """Look at all code that a capture region can reach."""
    check_output(output_file)
    from graphlint import reporting
    from graphlint.reading import reads

    paths = paths or (project or Path(),)
    paths, unsaved = reporting.with_stdin(paths, stdin_filename)
    looked_at = (project,) if project else paths
    if project is not None:
        reporting.check_project(paths, project)
    if show_settings or show_files:
        (reporting.show_settings if show_settings else reporting.show_files)(looked_at, options)
        return 0
    if write_baseline is not None:
        reporting.take_down(looked_at, write_baseline, options)
        return 0
    folder = reporting.cache(looked_at[0], cache_dir, no_cache)

    def look() -> Report:
        with reads.unsaved(unsaved):
            report = reporting.look(looked_at, folder, options)
        report = report if project is None else reporting.report_on(report, paths)
        reporting.tell(report)
        show(report, style, quiet, output_file)
        if statistics:
            click.echo(unresolved(report), nl=False, err=style not in ("text", "concise"))
        return report

    if watch:
        reporting.watch(looked_at, options, look)
    return FOUND if look().findings and not exit_zero else 0


def check_output(file: Path | None, what: str = "the report") -> None:
    """A run takes its time, so where it cannot be written down is told before."""
    if file and not file.absolute().parent.is_dir():
        raise UsageError(f"cannot write {what} to {file}: the folder does not exist")


@commands.command()
@click.argument("folder", type=DIRECTORY, default=".", metavar="[DIR]")
@click.option("--cache-dir", type=DIRECTORY, metavar="DIR", help="The folder that `check` was given.")
def clean(folder: Path, cache_dir: Path | None) -> None:
    """Remove what `check` keeps of a project."""
    from graphlint.cache.folder import cache_folder, remove

    kept = cache_folder(folder, cache_dir)
    click.echo(f"removed {kept.path}" if remove(kept) else f"nothing is kept in {kept.path}")


@commands.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--on", type=click.Choice(WITNESSES), default="auto", help="Where to capture.")
@click.option("--shapes-only", is_flag=True, help="Emulate without memory and numbers, for models that do not fit.")
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", help="How to report.")
@select
@ignore
@click.option("--allocations", type=click.Choice(ALLOCATIONS), help="Which allocations to report.")
@click.option("--warm-ups", type=COUNT, default=3, help="How often a target runs before it is captured.")
@click.option("--replays", type=COUNT, default=3, help="How many replays are compared with eager.")
@click.option(
    "--capture-error-mode", type=click.Choice(MODES), default="global", help="As `torch.cuda.graph` takes it."
)
@click.option("--contracts", "has_contracts", is_flag=True, help="Show what each graph depends on and changes.")
@click.option("--contract", type=FILE, metavar="FILE", help="Compare that with a file; add to it what is new.")
@click.option("--deadline", type=click.FloatRange(min=1), default=DEADLINE, help="Seconds that each target has.")
@click.option("--output-file", type=FILE, metavar="F", help="Write the report to a file.")
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="Read [tool.graphlint] from this file.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
@quiet
@exit_zero
def verify(
    targets: tuple[str, ...],
    on: str,
    shapes_only: bool,
    style: str,
    warm_ups: int,
    replays: int,
    capture_error_mode: str,
    has_contracts: bool,
    contract: Path | None,
    deadline: float,
    output_file: Path | None,
    config_file: Path | None,
    quiet: bool,
    exit_zero: bool,
    **options: Any,
) -> int:
    """Capture and replay targets: `package.module:factory`, `path.py:factory`, or a program, `path.py`."""
    check_output(output_file)
    check_output(contract, "the contract")
    from graphlint.config import check_codes, extend_config, load_config, load_rules

    config = extend_config(load_config(Path(), config_file), **options)
    rulebook = load_rules(config, options["rules"])
    check_codes(config, rulebook)
    end_in_order()
    from graphlint import reporting, runtime
    from graphlint.runtime.examine.target import Runs
    from graphlint.runtime.session.ranks import Ranks

    ranks = Ranks.of_job()
    found = runtime.verify(
        targets,
        config,
        rulebook,
        on=on,
        runs=Runs(warm_ups, replays, capture_error_mode),
        shapes_only=shapes_only,
        has_contracts=has_contracts,
        contract=contract,
        deadline=deadline,
        progress=show_step if sys.stderr.isatty() else None,
        environment=ranks.environment,
    )
    report = ranks.together(found, rulebook, deadline * len(targets))
    if report is None:
        return ranks.agree(0)
    reporting.tell(report)
    show(report, style, quiet, output_file)
    return ranks.agree(failed(report) or (FOUND if report.findings and not exit_zero else 0))


def failed(report: Report) -> int:
    """Tell why targets could not be looked at; the status for that, or 0 if all could."""
    problems = [target.problem for target in report.targets if target.problem]
    for problem in problems:
        fail(f"error: {problem}")
    return FAILED if problems else 0


def end_in_order() -> None:
    """Whoever ends this process by a signal has it clean up, unless it was told to ignore that signal."""
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL and threading.current_thread() is threading.main_thread():
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))


def show_step(target: str, step: str) -> None:
    click.echo(escaped(f"{target}: {step}"), err=True)


@commands.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", metavar="[DIR]")
@click.option("--dry-run", is_flag=True, help="Show the change as a diff, and write nothing.")
def init(folder: Path, dry_run: bool) -> None:
    """Look at a project, and add a [tool.graphlint] table with reasons to its pyproject.toml."""
    from graphlint import initial

    initial.change(folder, "")  # a project that has a table is told before it is looked at
    from graphlint import static
    from graphlint.config import Config

    table = initial.propose(static.survey([folder], Config(root=folder.absolute())), folder.absolute())
    file, before, after = initial.change(folder, table)
    if dry_run:
        click.echo(escaped(initial.difference(file, before, after), kept="\n\t"), nl=False)
        return
    write(after, file, "the table")
    click.echo(escaped(f"added to {file}:\n\n{table}\n{NEXT}", kept="\n"))


@commands.command()
def server() -> None:
    """Show findings in editors: a language server, which an editor starts and speaks with."""
    from graphlint.server.worker import Worker

    worker = Worker()
    worker.start()  # while the rest is loaded
    try:
        from graphlint.server.language import serve
    except ModuleNotFoundError as error:
        worker.stop()
        raise UsageError(f"the server needs `{error.name}`: install torch-graphlint[server]") from None
    serve(worker)


@commands.command()
@click.argument("code", required=False)
@click.option("--all", "everything", is_flag=True, help="Print every page.")
@click.option("--rules", multiple=True, type=DIRECTORY, metavar="DIR", help="Load rules of your own.")
def rule(code: str | None, everything: bool, rules: tuple[Path, ...]) -> None:
    """Print the page of a rule, or the table of all rules."""
    from graphlint.config import extend_config, load_config, load_rules

    rulebook = load_rules(extend_config(load_config(Path()), rules=rules), rules)
    if everything:
        click.echo(escaped("\n".join(rule.text for rule in rulebook.rules), kept="\n\t"), nl=False)
    elif code is None:
        click.echo(escaped(table(rulebook.rules), kept="\n"), nl=False)
    else:
        click.echo(escaped(rulebook.rule(code).text, kept="\n\t"), nl=False)


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
    lines = [f"{count:7}  {escaped(callee)}\n" for callee, count in report.statistics]
    return "".join(["unresolved callees:\n", *lines]) if lines else "every call was resolved\n"


def show(report: Report, style: str, quiet: bool, file: Path | None) -> None:
    """Write a report to a file, or for who reads the output."""
    color = file is None and wants_color()
    write(reporter(style)(report, color=color, quiet=quiet, base=Path.cwd()), file)


def wants_color() -> bool:
    """Colour is for terminals, and for nobody who declines it."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(text: str, file: Path | None, what: str = "the report") -> None:
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write {what} to {file}: {error.strerror}") from error
