"""The folders of fixtures and rules in, the programs that stand in them out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from expectations import parse_expectations, parse_header, parse_needs, without_comments
from packaging.specifiers import SpecifierSet

from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.rulebook.page import TOOL_FAMILY

ROOT = Path(__file__).parents[2]
Place = tuple[str, int, str]
_TORCH = "torch"  # begins what a program needs of it


@dataclass(frozen=True)
class Program:
    """A fixture, a folder of files with an entry, or a program of a rule's page.

    `files` are the texts by path; `entry` is the one that runs. `outcome` is one of `page.OUTCOMES`, or `clean`; None
    if the program is about its source text and is not run. `rules` are codes to select, if not the default ones; `gpus`
    is how many of them the program needs, and `needs` what else of a real device, which the emulator does not have.
    `torch` specifies the releases that do what its comments say; all of them if it is empty.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    entry: str
    outcome: str | None
    rules: tuple[str, ...] = ()
    gpus: int = 1
    needs: str = ""
    torch: str = ""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def hash(self) -> str:
        """What identifies the code that was proven: the text without its comments, which nothing runs."""
        parts = (f"{path}\0{without_comments(text)}" for path, text in self.files)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def is_about(self, release: str) -> bool:
        """Whether this release of torch does what the comments say."""
        return SpecifierSet(self.torch).contains(release, prereleases=True)

    def marks(self, *words: str) -> list[Place]:
        """The (file, line, code) that the comments with these words speak of."""
        found = [(path, mark) for path, text in self.files for mark in parse_expectations(text)]
        return sorted((path, mark.line, mark.code) for path, mark in found if mark.word in words)

    def write(self, folder: Path) -> Path:
        """Lay the files out in a folder; the path of the one to run."""
        for path, text in self.files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        return folder / self.entry


@cache
def all_programs() -> tuple[Program, ...]:
    """Every program of the checkout, in order of name."""
    return tuple(sorted((*programs_in(ROOT / "fixtures"), *_page_programs()), key=str))


def programs_in(root: Path) -> Iterator[Program]:
    """One program a file, but a folder where a file has an entry is one program."""
    headers = {path: parse_header(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    mains = {path.parent: path for path, header in headers.items() if "entry" in header}
    inside: dict[Path, list[Path]] = {folder: [] for folder in mains}
    alone = []
    for path in headers:
        folder = next((one for one in path.parents if one in mains), None)
        (alone if folder is None else inside[folder]).append(path)
    for path in alone:
        yield _fixture(path, path, [path], headers[path])
    for folder, paths in inside.items():
        yield _fixture(folder, mains[folder], paths, headers[mains[folder]])


def _fixture(named: Path, main: Path, paths: list[Path], header: dict[str, str]) -> Program:
    files = tuple((path.relative_to(main.parent).as_posix(), path.read_text("utf-8")) for path in paths)
    rules = tuple(header.get("rules", "").replace(",", " ").split())
    count, *besides = header["needs"].split(", ")
    gpus = int(count.removesuffix(" gpu").removesuffix(" gpus"))
    torch = next((one for one in besides if one.startswith(_TORCH)), "")
    needs = ", ".join(one for one in besides if one != torch)
    name, outcome = named.relative_to(ROOT).as_posix(), header["outcome"]
    return Program(name, files, main.name, outcome, rules, gpus, needs, torch.removeprefix(_TORCH))


def _page_programs() -> Iterator[Program]:
    for rule in load_rulebook(builtin_rules()).rules:
        numbers = {"bad": 0, "good": 0}
        for program in rule.programs:
            numbers[program.label] += 1
            name = f"rules/{rule.page.name}:{program.label}{numbers[program.label]}"
            outcome = None if rule.code.startswith(TOOL_FAMILY) else "clean"
            if outcome is not None and program.label == "bad":
                outcome = rule.outcome
            rules = (rule.code,) if rule.profile == "strict" else ()
            needs = parse_needs(program.source)
            yield Program(name, (("program.py", program.source),), "program.py", outcome, rules, needs=needs)


def awaiting() -> frozenset[str]:
    """The names of programs that ran on a GPU and wait for `verify` there: their marks are those of `check`."""
    return frozenset(Path(__file__).with_name("awaiting.txt").read_text("utf-8").split())
