"""What `check` is asked in, its report out: read back if it is known, and on the paths that it is wanted for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from graphlint.cache.folder import Folder, cache_folder, is_off
from graphlint.errors import UsageError
from graphlint.finding import Report, Span
from graphlint.paths import lies_in, normal
from graphlint.report.escaping import escaped
from graphlint.report.place import counted, shown_notice, shown_path

if TYPE_CHECKING:
    from graphlint.static.index.memory import Memory

STDIN = Path("-")
PACE = 0.5  # seconds between two looks at what may have changed


def check_project(paths: tuple[Path, ...], project: Path) -> None:
    """Only what lies in the project is looked at. Raises UsageError for a path of which nothing would be judged."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"`{path}` does not exist")
        if not lies_in(path, (project,)):
            raise UsageError(f"`{path}` lies outside of --project {project}, so nothing in it would be judged")


def with_stdin(paths: tuple[Path, ...], name: Path | None) -> tuple[tuple[Path, ...], Mapping[Path, bytes]]:
    """The paths with the file that `-` stands for, and its text from stdin. Raises UsageError."""
    if STDIN not in paths:
        if name is not None:
            raise UsageError("--stdin-filename says which file `-` stands for, and no path is `-`")
        return paths, {}
    if name is None:
        raise UsageError("`-` stands for a file: name it with --stdin-filename, and its project with --project")
    return tuple(name if path == STDIN else path for path in paths), {normal(name): sys.stdin.buffer.read()}


def report_on(report: Report, paths: tuple[Path, ...]) -> Report:
    """The report with the findings that lie in or below the paths, and with what there is to say of these."""

    def shown(span: Span) -> bool:
        return lies_in(Path(span.path), paths)

    told = (replace(one, places=tuple(filter(shown, one.places))) for one in report.notices)
    notices = tuple(now for now, one in zip(told, report.notices, strict=True) if now.places or not one.places)
    findings = tuple(finding for finding in report.findings if shown(finding.span))
    return replace(report, findings=findings, notices=notices)


def look(
    paths: tuple[Path, ...], folder: Folder | None, options: dict[str, Any], memory: Memory | None = None
) -> Report:
    """What a run on the paths reports, or has reported before."""

    def find_out() -> Report:
        from graphlint import checking  # loads much, for what is mostly known

        return checking.find_out(paths, start=paths[0], memory=memory, **options)

    if folder is None:
        return find_out()
    from graphlint.cache.answers import answer

    written = {name: [*map(str, one)] if isinstance(one, tuple) else one and str(one) for name, one in options.items()}
    return answer({"paths": [*map(str, paths)], **written}, folder, find_out)


def take_down(paths: tuple[Path, ...], file: Path, options: dict[str, Any]) -> None:
    """Write all that a run on the paths finds to a baseline."""
    from graphlint import baseline, checking

    report = checking.find_out(paths, start=paths[0], with_known=True, **options)
    tell(report)
    baseline.write(report, paths, file)
    known = len(report.findings)
    click.echo(f"{counted(known, 'finding')} {'is' if known == 1 else 'are'} known to {file} from now on")


def show_files(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Name the files that a run on the paths would look at."""
    from graphlint import checking
    from graphlint.discovery import discover

    config, _ = checking.configure(start=paths[0], **options)
    for path in discover(paths, config.exclude, config.root):
        click.echo(escaped(shown_path(str(path), Path.cwd())))


def show_settings(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Say what a run on the paths would be told, and by which file."""
    from graphlint import checking
    from graphlint.settings import as_toml

    settings, _ = checking.configure(start=paths[0], **options)
    read = shown_path(str(settings.file), Path.cwd()) if settings.file else "no pyproject.toml"
    said = f"# {read}; globs are relative to {settings.root.as_posix()}\n{as_toml(settings)}"
    click.echo(escaped(said, kept="\n\t"), nl=False)


def watch(paths: tuple[Path, ...], options: dict[str, Any], look: Callable[[], object]) -> NoReturn:
    """Look, and again whenever a file changes, until interrupted; what is wrong may be mended in the meantime."""
    seen: object = None
    while True:
        begun = time.monotonic()
        try:
            now = _stamps(paths, options)
            if now != seen:
                look()
                click.echo("graphlint: looks again when a file changes; Ctrl-C ends it", err=True)
        except UsageError as error:
            now = str(error)
            if now != seen:
                click.echo(escaped(f"graphlint: error: {error}"), err=True)
        seen = now
        time.sleep(max(PACE, time.monotonic() - begun))


def _stamps(paths: tuple[Path, ...], options: dict[str, Any]) -> object:
    """What changes when a file does, or the configuration. Raises UsageError."""
    from graphlint import checking
    from graphlint.discovery import discover

    config, _ = checking.configure(start=paths[0], **options)
    files = discover(paths, config.exclude, config.root)
    return config, [(path, path.stat().st_mtime_ns if path.exists() else 0) for path in files]


def tell(report: Report) -> None:
    """What has to be known beside the findings, on stderr in every format: it cannot be overlooked there."""
    for notice in report.notices:
        click.echo(escaped(f"graphlint: warning: {shown_notice(notice, Path.cwd())}"), err=True)


def cache(start: Path, given: Path | None, is_refused: bool = False) -> Folder | None:
    """Where answers about the project at `start` are kept, if they are."""
    return None if is_refused or is_off() else cache_folder(start, given)
