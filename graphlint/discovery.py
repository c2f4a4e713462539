"""Paths in, the Python files and notebooks to look at out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphlint.errors import UsageError
from graphlint.globs import compile_globs, is_valid_glob, without_matches
from graphlint.paths import normal
from graphlint.reading import reads

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    reads.CACHE,
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


@dataclass(frozen=True)
class IgnoreRules:
    """Patterns that hold below one folder; `folder` ends with a separator."""

    folder: str
    patterns: tuple[str, ...]

    def verdict(self, path: str) -> bool | None:
        """Whether the patterns exclude the path, include it again, or say nothing."""
        return compile_globs(self.patterns).check_file(path[len(self.folder) :]).include


def discover(paths: Sequence[Path], exclude: Sequence[str], root: Path) -> list[Path]:
    """The Python files and notebooks below the paths, absolute, sorted, each once.

    Left out are what the `exclude` globs (relative to `root`) and the .gitignore files match, and the folders where no
    source of the project lies. A path that is given is looked at whatever they say. Links to folders are not followed.
    A folder that cannot be read stands in the list itself, for the reader to report.
    """
    found = set(_found(paths, exclude, root))
    reads.discovered(paths, exclude, root, found)
    return [Path(path) for path in sorted(found)]


def is_empty(paths: Sequence[Path], exclude: Sequence[str], root: Path) -> bool:
    """Whether nothing would be discovered, which the first file tells."""
    return next(_found(paths, exclude, root), None) is None and not discover(paths, exclude, root)


def _found(paths: Sequence[Path], exclude: Sequence[str], root: Path) -> Iterator[str]:
    for path in paths:
        given = normal(path)
        what = reads.kind(given)
        if what == "folder":
            yield from walk(str(given), rules_above(given, exclude, normal(root)))
        elif what == "other" and not given.is_symlink():
            raise UsageError(f"`{path}` is a pipe or a device, and not a file")
        elif what or given.is_symlink():
            yield str(given)
        else:
            raise UsageError(f"`{path}` does not exist")


def walk(folder: str, rules: tuple[IgnoreRules, ...]) -> Iterator[str]:
    pending = [(folder, rules)]
    while pending:
        folder, rules = pending.pop()
        try:
            entries = reads.scan(folder)
        except OSError:
            yield folder
            continue
        if any(entry.name == reads.IGNORE_FILE for entry in entries):
            configured, *above = rules
            rules = (configured, ignore_rules(Path(folder), read_ignore_file(Path(folder))), *above)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not is_excluded(f"{entry.path}{os.sep}", rules):
                    pending.append((entry.path, rules))
            elif entry.name.endswith(reads.SOURCES) and is_file(entry) and not is_excluded(entry.path, rules):
                yield entry.path


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link to one, which may come to lead elsewhere."""
    if not entry.is_symlink():
        return entry.is_file()
    path = Path(entry.path)
    return reads.is_file(path) or (not reads.exists(path) and _leads_round(path))


def _leads_round(path: Path) -> bool:
    """Whether a link leads back to itself, which its reader tells."""
    try:
        path.stat()
    except OSError as problem:
        return problem.errno == errno.ELOOP
    return False


def is_excluded(path: str, rules: tuple[IgnoreRules, ...]) -> bool:
    """The configured globs decide before the .gitignore files, and of these the nearest."""
    return next((verdict for rule in rules if (verdict := rule.verdict(path)) is not None), False)


def rules_above(given: Path, exclude: Sequence[str], root: Path) -> tuple[IgnoreRules, ...]:
    """What holds in a given folder: the configured globs, then the .gitignore files from its parent up to the top."""
    base = root if given.is_relative_to(root) else given
    rules = [hiding_not(given, base, (*DEFAULT_EXCLUDE, *exclude))]
    top = repository(given) or base
    for folder in given.parents if given != top else ():
        rules.append(hiding_not(given, folder, read_ignore_file(folder)))
        if folder == top:
            break
    return tuple(rules)


def hiding_not(given: Path, folder: Path, patterns: tuple[str, ...]) -> IgnoreRules:
    """The patterns of a folder, save those that match the given folder itself."""
    if given != folder:
        patterns = without_matches(patterns, f"{given.relative_to(folder)}{os.sep}")
    return ignore_rules(folder, patterns)


def ignore_rules(folder: Path, patterns: tuple[str, ...]) -> IgnoreRules:
    return IgnoreRules(f"{str(folder).rstrip(os.sep)}{os.sep}", patterns)


def read_ignore_file(folder: Path) -> tuple[str, ...]:
    """The patterns of the folder's .gitignore; lines that git would skip are skipped."""
    try:
        text = reads.content(folder / reads.IGNORE_FILE).decode("utf-8-sig", errors="replace")
    except OSError:
        return ()
    return tuple(line for line in text.splitlines() if is_valid_glob(line))


def repository(folder: Path) -> Path | None:
    """The folder of the repository that a folder lies in."""
    return next((parent for parent in (folder, *folder.parents) if reads.exists(parent / ".git")), None)
