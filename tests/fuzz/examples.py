"""The kinds of odd input, and what must hold of each."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz import settings
from tests.fuzz.judge import NEIGHBOUR, wrong_in
from tests.fuzz.programs import programs


@dataclass(frozen=True)
class Example:
    """Files by their names, and the options that they are looked at with."""

    files: dict[str, bytes]
    options: tuple[str, ...] = ()
    styles: tuple[str, ...] = ("text",)
    is_configured: bool = False  # so that the file beside it may be left out


def _written(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _of_program(text: str) -> Example:
    return Example({"odd.py": _written(text)})


def _of_bytes(source: bytes) -> Example:
    return Example({"odd.py": source}, styles=("text", "github", "json", "sarif"))


def _of_settings(configuration: str, baseline: str | None, patterns: str, program: str) -> Example:
    files = {"pyproject.toml": configuration, ".gitignore": patterns, "odd.py": program}
    files |= {"known.json": baseline} if baseline is not None else {}
    options = ("--baseline", "known.json") if baseline is not None else ()
    return Example({name: _written(text) for name, text in files.items()}, options, is_configured=True)


KINDS: dict[str, st.SearchStrategy[Example]] = {
    "programs": programs().map(_of_program),
    "settings": st.builds(
        _of_settings,
        settings.configurations(),
        st.none() | settings.baselines(),
        st.just("") | settings.patterns,
        st.sampled_from((NEIGHBOUR, "")),
    ),
    "bytes": settings.sources.map(_of_bytes),
}


def look_at(example: Example, folder: Path) -> None:
    """Have `check` look at an example in an empty folder. Raises AssertionError for what is wrong about that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in example.files.items():
        (folder / name).write_bytes(text)
    wrong = wrong_in(folder, example.options, example.styles, example.is_configured)
    assert not wrong, "\n".join(wrong)
