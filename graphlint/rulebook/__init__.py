"""Directories of rules in, a validated Rulebook out: pages, tables of operations, names and regions, and detectors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from graphlint.errors import UsageError, nearest
from graphlint.pages import builtin_rules as builtin_rules
from graphlint.reading import reads
from graphlint.rulebook.catalogue import load_catalogue
from graphlint.rulebook.detectors import Detectors, load_detectors
from graphlint.rulebook.entries import Entries, load_entries
from graphlint.rulebook.lexicon import Lexicon, load_lexicon
from graphlint.rulebook.operations import Catalogue
from graphlint.rulebook.page import Rule, read_page

EVERYTHING = "ALL"
TABLES = ("operations.toml", "lexicon.toml", "regions.toml")


@dataclass(frozen=True)
class Rulebook:
    """All rules in the order of their codes, and what all directories say of operations, names and regions.

    It goes to another process as the directories that it comes from.
    """

    rules: tuple[Rule, ...]
    catalogue: Catalogue
    lexicon: Lexicon
    entries: Entries
    directories: tuple[Path, ...]
    data_only: frozenset[Path]

    def __reduce__(self) -> tuple[Callable[..., Rulebook], tuple[object, ...]]:
        return _load_again, (self.directories, self.data_only)

    def rule(self, code: str) -> Rule:
        """The rule of a code (`GL101`) or of a name (`scalar-readback`)."""
        names = {name: rule for rule in self.rules for name in (rule.code, rule.slug)}
        found = names.get(code) or names.get(code.upper())
        if found is None:
            raise UsageError(f"unknown rule `{code}`{nearest(code.upper(), names) or nearest(code, names)}")
        return found

    def for_effect(self, effect: str) -> Rule:
        """The rule of this name, which reports the effect. Raises LookupError: what tables say is checked before."""
        if effect not in self._by_effect:
            raise LookupError(f"no rule reports the effect `{effect}`")
        return self._by_effect[effect]

    @functools.cached_property
    def detectors(self) -> Detectors:
        """The detectors of the rules, loaded when they are first asked for. Raises UsageError."""
        return load_detectors(self.rules)

    @functools.cached_property
    def _by_effect(self) -> dict[str, Rule]:
        return by_effect(self.rules)

    def matching(self, prefix: str, key: str) -> frozenset[str]:
        """The codes that begin with a prefix, or the one of a name; `key` says in the error where it came from."""
        everything = prefix == EVERYTHING
        rules = [one for one in self.rules if everything or one.code.startswith(prefix) or one.slug == prefix]
        if not prefix or not rules:
            codes, names = [one.code for one in self.rules], [one.slug for one in self.rules]
            hint = nearest(prefix.upper(), codes) or nearest(prefix, names)
            raise UsageError(f"unknown code `{prefix}` in `{key}`{hint}")
        return frozenset(rule.code for rule in rules)

    def selected(self, select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
        """The codes to report; where a selected and an ignored prefix both match, the longer one decides."""
        chosen = self._specificity(tuple(select) or (EVERYTHING,), "select")
        refused = self._specificity(ignore, "ignore")
        retired = {rule.code for rule in self.rules if rule.status == "retired"}
        return frozenset(code for code, length in chosen.items() if length > refused.get(code, -1)) - retired

    def _specificity(self, prefixes: Iterable[str], key: str) -> dict[str, int]:
        longest: dict[str, int] = {}
        for prefix in prefixes:
            for code in self.matching(prefix, key):
                longest[code] = max(longest.get(code, 0), 0 if prefix == EVERYTHING else len(prefix))
        return longest


@functools.cache
def builtin_rulebook() -> Rulebook:
    """What ships with graphlint, loaded once."""
    return load_rulebook(builtin_rules())


def builtin_catalogue() -> Catalogue:
    """What ships with graphlint, for what knows of no session and its rulebook."""
    return builtin_rulebook().catalogue


def _load_again(directories: tuple[Path, ...], data_only: frozenset[Path]) -> Rulebook:
    is_builtin = directories == (builtin_rules(),)
    return builtin_rulebook() if is_builtin else load_rulebook(*directories, data_only=data_only)


def load_rulebook(*directories: Path, data_only: Collection[Path] = ()) -> Rulebook:
    """What the directories hold, the later ones on top of the earlier ones. Raises UsageError.

    Two rules that claim the same code or name are an error, and so is Python in a directory of `data_only`.
    """
    directories = tuple({reads.resolved(directory): directory for directory in directories}.values())
    rules: list[Rule] = []
    for directory in directories:
        if not reads.is_folder(directory):
            raise UsageError(f"the rules directory {directory} does not exist")
        rules += (read_page(page) for page in pages_in(directory))
        check_detectors(directory, may_run=directory not in data_only)
    rules.sort(key=lambda rule: rule.code)
    refuse_shared(rules, "code", lambda rule: rule.code)
    refuse_shared(rules, "name", lambda rule: rule.slug)
    operations, names, regions = (
        [file for directory in directories if reads.is_file(file := directory / name)] for name in TABLES
    )
    catalogue = load_catalogue(*operations, effects=by_effect(rules))
    lexicon, entries = load_lexicon(*names), load_entries(*regions)
    return Rulebook(tuple(rules), catalogue, lexicon, entries, directories, frozenset(data_only))


def by_effect(rules: Iterable[Rule]) -> dict[str, Rule]:
    return {rule.slug: rule for rule in rules if rule.status != "retired"}


def pages_in(directory: Path) -> list[Path]:
    """The pages of rules; what a directory says of itself is none."""
    return [page for page in reads.files_in(directory, ".md") if page.name != "README.md"]


def check_detectors(directory: Path, *, may_run: bool) -> None:
    """Raises UsageError for Python that belongs to no page, or that only a configuration asks for."""
    pages = {page.stem for page in pages_in(directory)}
    for file in reads.files_in(directory, ".py"):
        if file.stem not in pages:
            said = f"a detector has the name of its rule's page, and there is no {file.stem}.md"
            raise UsageError(f"{file}:1: {said}{nearest(file.stem, pages)}")
        if not may_run:
            said = "a configuration names data and runs no code; to load this detector, say so in the command"
            raise UsageError(f"{file}:1: {said}: `--rules {directory}`")


def refuse_shared(rules: Iterable[Rule], what: str, name_of: Callable[[Rule], str]) -> None:
    owners: dict[str, Path] = {}
    for rule in rules:
        name = name_of(rule)
        if name in owners:
            raise UsageError(f"{rule.page}: the {what} `{name}` is taken by {owners[name]}")
        owners[name] = rule.page
