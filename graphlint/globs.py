"""Patterns in the language of .gitignore in, the paths they match out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def is_valid_glob(pattern: str) -> bool:
    """Whether the pattern can match anything: an open bracket, a bare `!` or a comment cannot."""
    from pathspec import GitIgnoreSpec

    try:
        (parsed,) = GitIgnoreSpec.from_lines([pattern]).patterns
    except (ValueError, re.error):
        return False
    return parsed.include is not None


@functools.lru_cache(maxsize=256)
def compile_globs(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """One matcher for all the patterns, of which the last that matches decides."""
    from pathspec import GitIgnoreSpec  # takes a while, and folders without files need none

    return GitIgnoreSpec.from_lines(patterns)


def without_matches(patterns: Iterable[str], path: str) -> tuple[str, ...]:
    """The patterns that do not match this path itself: what somebody names outright is not hidden by a pattern."""
    return tuple(pattern for pattern in patterns if not compile_globs((pattern,)).match_file(path))
