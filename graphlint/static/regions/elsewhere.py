"""A configuration and a project of which a part is checked in, what it says of that part out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from graphlint.config import Config
from graphlint.discovery import discover
from graphlint.finding import Notice
from graphlint.static.index.project import Project

NAMED = 3  # names in a notice


def keep_checked(config: Config, project: Project) -> tuple[Config, tuple[Notice, ...]]:
    """The configuration without what it declares in files of its project that are not checked, and a notice of that.

    A name that no file of the project has stays: it is a mistake, and told as one.
    """
    patterns = [*config.regions, *config.assume]
    patterns += [pattern for target in config.targets for pattern in (target.at, *target.runs)]
    missing = [one for one in dict.fromkeys(patterns) if project.module(_module(one)) is None]
    checked = {project.roots.name_of(path) for path in project.files} if missing else set()
    missing = [one for one in missing if not _means(one, checked)]
    if not missing:
        return config, ()
    whole = Project(discover((config.root,), config.exclude, config.root))
    for pattern in missing:
        whole.expect(_module(pattern))
    others = {whole.roots.name_of(path) for path in set(whole.files) - set(project.files)}
    elsewhere = {one for one in missing if _means(one, others)}
    if not elsewhere:
        return config, ()
    targets = (replace(one, runs=_left(one.runs, elsewhere)) for one in config.targets if one.at not in elsewhere)
    kept = replace(
        config,
        regions=_left(config.regions, elsewhere),
        assume=_left(config.assume, elsewhere),
        targets=tuple(target for target in targets if target.runs),
    )
    named = ", ".join(f"`{one}`" for one in list(filter(elsewhere.__contains__, missing))[:NAMED])
    more = f" and {len(elsewhere) - NAMED} more" if len(elsewhere) > NAMED else ""
    return kept, (Notice(f"declared in files that are not checked, and not looked at: {named}{more}"),)


def _module(pattern: str) -> str:
    return pattern.removeprefix("not ").strip().partition(":")[0]


def _means(pattern: str, names: Iterable[str]) -> bool:
    """Whether the module of a pattern is one of these."""
    return any(fnmatchcase(name, _module(pattern)) for name in names)


def _left(patterns: Sequence[str], without: set[str]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if pattern not in without)
