"""A configuration and a project of which a part is checked in, what it says of that part out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from graphlint.config import Config
from graphlint.discovery import discover
from graphlint.finding import Notice
from graphlint.static.index.project import Project
from graphlint.static.regions.unjudged import first_of


def keep_checked(config: Config, project: Project) -> tuple[Config, tuple[Notice, ...]]:
    """The configuration without what it declares in files of its project that are not checked, and a notice of that.

    A name that no file of the project has stays: it is a mistake, and told as one.
    """
    in_targets = (pattern for target in config.targets for pattern in (target.at, *target.runs))
    patterns = dict.fromkeys((*config.regions, *config.assume, *in_targets))
    _expect(project, patterns)
    missing = [one for one in patterns if project.module(_module(one)) is None]
    checked = {project.roots.name_of(path) for path in project.files} if missing else set()
    missing = [one for one in missing if not _means(one, checked)]
    if not missing:
        return config, ()
    whole = Project(discover((config.root,), config.exclude, config.root))
    _expect(whole, missing)
    others = {whole.roots.name_of(path) for path in set(whole.files) - set(project.files)}
    elsewhere = [one for one in missing if _means(one, others)]
    if not elsewhere:
        return config, ()
    targets = (replace(one, runs=_left(one.runs, elsewhere)) for one in config.targets if one.at not in elsewhere)
    kept = replace(
        config,
        regions=_left(config.regions, elsewhere),
        assume=_left(config.assume, elsewhere),
        targets=tuple(target for target in targets if target.runs),
    )
    return kept, (Notice(f"declared in files that are not checked, and not looked at: {first_of(elsewhere)}"),)


def _expect(project: Project, patterns: Iterable[str]) -> None:
    """Let the modules that patterns mean be called so."""
    for pattern in patterns:
        project.expect(_module(pattern))


def _module(pattern: str) -> str:
    return pattern.removeprefix("not ").strip().partition(":")[0]


def _means(pattern: str, names: Iterable[str]) -> bool:
    """Whether the module of a pattern is one of these."""
    return any(fnmatchcase(name, _module(pattern)) for name in names)


def _left(patterns: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if pattern not in without)
