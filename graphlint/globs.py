"""Patterns in the language of .gitignore in, the paths they match out."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def is_valid_glob(pattern: str) -> bool:
    """Whether the pattern can match anything: an open bracket, a bare `!` or a comment cannot."""
    try:
        (parsed,) = compile_globs((pattern,)).patterns
    except (ValueError, re.error):
        return False
    return parsed.include is not None


@functools.lru_cache(maxsize=256)
def compile_globs(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """One matcher for all the patterns, of which the last that matches decides."""
    from pathspec import GitIgnoreSpec  # takes a while, and folders without files need none

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sets inside sets, which git has and expressions do not
        spec = GitIgnoreSpec.from_lines(patterns)
        for pattern in spec.patterns:
            if pattern.regex is not None:
                pattern.regex = re.compile(without_retries(pattern.regex.pattern))
    return spec


def without_retries(regex: str) -> str:
    """The expression of a pattern, in which the first match of what stands between two stars stands.

    A later one leaves less for what follows, so nothing is lost; to try them all takes for ever where there are many.
    """
    for stars, fewest, behind in (("[^/]*", "[^/]*?", ""), ("(?:/.+)?", "(?:/.+?)??", "(?=/)")):
        before, *parts = regex.split(stars)
        for number, part in enumerate(parts):
            is_between = number < len(parts) - 1 and (behind or not set(part.replace("[^/]", "")) & {"/", "("})
            before += f"(?>{fewest}{part}{behind})" if is_between else f"{stars}{part}"
        regex = before
    return regex


def without_matches(patterns: Iterable[str], path: str) -> tuple[str, ...]:
    """The patterns that do not match this path itself: what somebody names outright is not hidden by a pattern."""
    return tuple(pattern for pattern in patterns if not compile_globs((pattern,)).match_file(path))
