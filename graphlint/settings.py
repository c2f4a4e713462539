"""A configuration in, the `[tool.graphlint]` table that says the same out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from graphlint.config import READERS, Config


def as_toml(config: Config) -> str:
    """Every key that has a value, those of the defaults as well."""
    return "\n".join(["[tool.graphlint]", *_keys(config), *_tables(config)]) + "\n"


def _keys(config: Config) -> Iterator[str]:
    for key in READERS:
        value = getattr(config, key.replace("-", "_"))
        if value is None or key in ("per-file-ignores", "targets"):
            continue
        if isinstance(value, tuple):
            yield f"{key} = {_quoted([str(one) for one in value])}"
        else:
            yield f"{key} = {_quoted(str(value))}"


def _tables(config: Config) -> Iterator[str]:
    if config.per_file_ignores:
        yield "\n[tool.graphlint.per-file-ignores]"
        yield from (f"{_quoted(glob)} = {_quoted(list(codes))}" for glob, codes in config.per_file_ignores)
    for target in config.targets:
        yield f"\n[[tool.graphlint.targets]]\nat = {_quoted(target.at)}"
        if target.call is not None:
            yield f"call = {_quoted(target.call)}"
        yield f"runs = {_quoted(list(target.runs))}"


def _quoted(value: str | list[str]) -> str:
    """A text or a list as TOML has it, which is as JSON does, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
