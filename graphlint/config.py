"""The `[tool.graphlint]` table of the nearest pyproject.toml and the command's options in, a frozen Config out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint.choices import ALLOCATIONS, CONFIDENCES
from graphlint.errors import UsageError, describe, nearest
from graphlint.finding import Confidence, Finding
from graphlint.globs import compile_globs, is_valid_glob
from graphlint.reading import reads
from graphlint.targets import TARGET, TARGET_REQUIRED, Target, call_mistake, pattern_mistake

if TYPE_CHECKING:
    from graphlint.rulebook import Rulebook

PROJECT_FILE = "pyproject.toml"
MAX_DOTS = 1000  # in one key, each of which is a table inside another


@dataclass(frozen=True)
class Config:
    """What a run is told; relative patterns are relative to `root`. `rules` are directories of rules."""

    root: Path
    regions: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    follow_installed: tuple[str, ...] = ()
    allocations: str = "default"
    confidence: Confidence = Confidence.MEDIUM
    rules: tuple[Path, ...] = ()
    baseline: Path | None = None
    assume: tuple[str, ...] = ()
    file: Path | None = field(default=None, compare=False)  # that all this was read from

    def shows(self, finding: Finding) -> bool:
        """Whether a finding of a selected code is certain enough, and not switched off in its file."""
        is_certain = finding.confidence >= self.confidence
        ignored = self.ignored_in(Path(finding.span.path))
        return is_certain and not finding.code.startswith(ignored) and finding.rule not in ignored

    def ignored_in(self, path: Path) -> tuple[str, ...]:
        """The code prefixes and names that `per-file-ignores` switches off in this file."""
        path = path.absolute()
        if not self.per_file_ignores or not path.is_relative_to(self.root):
            return ()
        place = path.relative_to(self.root).as_posix()
        matching = (codes for glob, codes in self.per_file_ignores if compile_globs((glob,)).match_file(place))
        return tuple(code for codes in matching for code in codes)


def load_config(start: Path, file: Path | None = None) -> Config:
    """The configuration of `file`, else of the nearest pyproject.toml at or above `start`, else the defaults."""
    start = start.absolute()
    folder = start if reads.is_folder(start) else start.parent
    found = file or next(
        (p for parent in (folder, *folder.parents) if reads.kind(p := parent / PROJECT_FILE) in ("file", "other")), None
    )
    if found is None:
        return Config(root=folder)
    table = read_table(found, required=file is not None)
    config = Config(root=Path.cwd() if reads.is_handed(found) else found.absolute().parent, file=found)
    changes: dict[str, Any] = {}
    for key, value in table.items():
        where = f"`{key}` in [tool.graphlint] of {found}"
        if key not in READERS:
            raise UsageError(f"unknown key {where}{nearest(key, READERS)}")
        changes[key.replace("-", "_")] = READERS[key](value, where)
        if key == "rules":
            changes[key] = tuple(existing_directory(config.root / directory, where) for directory in changes[key])
        if key == "baseline":
            changes[key] = config.root / changes[key]
    return dataclasses.replace(config, **changes)


def extend_config(
    config: Config,
    *,
    regions: tuple[str, ...] = (),
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    follow_installed: tuple[str, ...] = (),
    rules: tuple[Path, ...] = (),
    allocations: str | None = None,
    confidence: Confidence | None = None,
    baseline: Path | None = None,
) -> Config:
    """The configuration with the command's options: a selection starts anew, the other lists grow."""
    return dataclasses.replace(
        config,
        regions=(*config.regions, *read_regions(list(regions), "--region")),
        select=select or config.select,
        ignore=ignore if select else (*config.ignore, *ignore),
        exclude=(*config.exclude, *read_globs(list(exclude), "--exclude")),
        follow_installed=(*config.follow_installed, *read_packages(list(follow_installed), "--follow-installed")),
        rules=(*config.rules, *rules),
        allocations=allocations or config.allocations,
        confidence=config.confidence if confidence is None else confidence,
        baseline=baseline or config.baseline,
    )


def load_rules(config: Config, given: Iterable[Path] = ()) -> Rulebook:
    """The built-in rules and those of the configuration; only from directories that are `given` is Python loaded.

    Who names a directory by hand knows it; a project's configuration comes with code that one may only want to look
    at. Raises UsageError.
    """
    from graphlint.rulebook import builtin_rules, load_rulebook  # takes longer than all else where there are no files

    known = {reads.resolved(directory) for directory in given}
    data_only = [directory for directory in config.rules if reads.resolved(directory) not in known]
    return load_rulebook(builtin_rules(), *config.rules, data_only=data_only)


def selected_codes(config: Config, rulebook: Rulebook) -> frozenset[str]:
    """The codes to report. Raises UsageError for a prefix that no rule begins with."""
    selected = rulebook.selected(config.select, config.ignore)
    return selected - {rule.code for rule in rulebook.rules if rule.profile not in (None, config.allocations)}


def check_codes(config: Config, rulebook: Rulebook) -> None:
    """Refuse a configured code that no rule begins with."""
    rulebook.selected(config.select, config.ignore)
    for glob, codes in config.per_file_ignores:
        for code in codes:
            rulebook.matching(code, f"per-file-ignores.{glob}")


def read_table(file: Path, *, required: bool) -> Mapping[str, object]:
    table = find_table(file)
    if table is None and required:
        raise UsageError(f"{file} has no [tool.graphlint] table")
    return table or {}


def find_table(file: Path) -> Mapping[str, object] | None:
    """The `[tool.graphlint]` table of a file, if it has one. Raises UsageError."""
    import tomllib  # where there is a file

    try:
        text = reads.content(file).decode("utf-8")
        if any(part.count(".") > MAX_DOTS for part in re.split(r"[=,{}\[\]\n#]", text)):
            raise RecursionError  # a key of many parts takes their square
        document = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"{file} nests too deep to be read as TOML") from None
    tool = document.get("tool", {})
    table = tool.get("graphlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"`tool.graphlint` in {file}: expected a table, found {describe(table)}")
    return table


def read_strings(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where}: expected a list of strings, found {describe(value)}")
    for item in value:
        if not isinstance(item, str):
            raise UsageError(f"{where}: expected a list of strings, found {describe(item)} in it")
    return tuple(value)


def read_path(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: expected the path of a file, found {describe(value)}")
    return value


def read_globs(value: object, where: str) -> tuple[str, ...]:
    globs = read_strings(value, where)
    for glob in globs:
        check_glob(glob, where)
    return globs


def check_glob(glob: str, where: str) -> None:
    if not is_valid_glob(glob):
        raise UsageError(f"{where}: `{glob}` is not a valid glob; write it as in a .gitignore file")


def read_regions(value: object, where: str) -> tuple[str, ...]:
    regions = read_strings(value, where)
    for region in regions:
        if said := pattern_mistake(region):
            raise UsageError(f"{where}: {said}")
    return regions


def read_assumptions(value: object, where: str) -> tuple[str, ...]:
    texts = read_strings(value, where)
    for text in texts:
        if not re.fullmatch(r"(not )?[\w.]+:[^:]+", text):
            said = "as in `serve.config:Options.backend == 'fa3'`"
            raise UsageError(f"{where}: `{text}` is not `module:attribute` and what it is, {said}")
    return texts


def read_targets(value: object, where: str) -> tuple[Target, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where}: expected a list of tables, found {describe(value)}")
    return tuple(read_target(row, where) for row in value)


def read_target(row: object, where: str) -> Target:
    if not isinstance(row, dict):
        raise UsageError(f"{where}: expected a list of tables, found {describe(row)} in it")
    for key in row:
        if key not in TARGET:
            raise UsageError(f"unknown key `{key}` in {where}{nearest(key, TARGET)}")
    for key in TARGET_REQUIRED:
        if not row.get(key):
            raise UsageError(f"{where}: key `{key}` of a target is missing")
    runs = [row["runs"]] if isinstance(row["runs"], str) else row["runs"]
    (at,) = read_regions([row["at"]], f"`at` of {where}")
    call = row.get("call")
    if call is not None and (not isinstance(call, str) or (said := call_mistake(call))):
        raise UsageError(
            f"`call` of {where}: {said if isinstance(call, str) else f'expected a string, found {describe(call)}'}"
        )
    return Target(at, read_regions(runs, f"`runs` of {where}"), call)


def read_packages(value: object, where: str) -> tuple[str, ...]:
    packages = read_strings(value, where)
    for package in packages:
        if not all(part.isidentifier() for part in package.split(".")):
            raise UsageError(f"{where}: `{package}` is not the name of a package to import")
    return packages


def read_per_file_ignores(value: object, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: expected a table of globs and codes, found {describe(value)}")
    for glob in value:
        check_glob(glob, where)
        if glob.startswith("!"):
            raise UsageError(f"{where}: `{glob}` is negated and matches no file")
    return tuple((glob, read_strings(codes, f"{where}, `{glob}`")) for glob, codes in value.items())


def existing_directory(directory: Path, where: str) -> Path:
    if not reads.is_folder(directory):
        raise UsageError(f"{where}: {directory} is not a directory")
    return directory


def read_choice(choices: tuple[str, ...]) -> Callable[[object, str], str]:
    def read(value: object, where: str) -> str:
        if not isinstance(value, str) or value not in choices:
            expected = ", ".join(f'"{choice}"' for choice in choices)
            found = f'"{value}"' if isinstance(value, str) else describe(value)
            raise UsageError(f"{where}: expected one of {expected}, found {found}")
        return value

    return read


def read_confidence(value: object, where: str) -> Confidence:
    return Confidence[read_choice(CONFIDENCES)(value, where).upper()]


READERS: Mapping[str, Callable[[object, str], object]] = {
    "regions": read_regions,
    "targets": read_targets,
    "select": read_strings,
    "ignore": read_strings,
    "per-file-ignores": read_per_file_ignores,
    "exclude": read_globs,
    "follow-installed": read_packages,
    "allocations": read_choice(ALLOCATIONS),
    "rules": read_strings,
    "confidence": read_confidence,
    "baseline": read_path,
    "assume": read_assumptions,
}
