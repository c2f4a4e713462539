"""Rules in, their detectors by the kind of event that they want out."""

from __future__ import annotations

import importlib.util
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, TypeAlias

from graphlint.errors import UsageError
from graphlint.page import Rule
from graphlint.rule import Event, Report


@dataclass(frozen=True, slots=True)
class Detector:
    """What reports the events of one rule."""

    effect: str
    detect: Callable[[Any], Iterable[Report]]


Detectors: TypeAlias = Mapping[type[Event], tuple[Detector, ...]]


def load_detectors(rules: Iterable[Rule]) -> Detectors:
    """Load the detector of each rule that has one beside its page. Raises UsageError for one that cannot be loaded."""
    found: dict[type[Event], tuple[Detector, ...]] = {}
    for rule in rules:
        path = rule.page.with_suffix(".py")
        if path.is_file():
            detect, kinds = _load(path)
            for kind in kinds:
                found[kind] = (*found.get(kind, ()), Detector(rule.slug, detect))
    return found


def _load(path: Path) -> tuple[Callable[[Any], Iterable[Report]], list[type[Event]]]:
    """The function of a detector, and the kinds of events that its annotation names."""
    spec = importlib.util.spec_from_file_location(f"graphlint_detector_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return module.detect, list(_wanted(module))
    except Exception as problem:
        raise UsageError(f"{path}:{_line(problem, path)}: this detector cannot be loaded: {problem}") from problem


def _wanted(module: ModuleType) -> Iterator[type[Event]]:
    hints = typing.get_type_hints(module.detect)
    hint = hints.get("event")
    for kind in typing.get_args(hint) if isinstance(hint, UnionType) else (hint,):
        if not (isinstance(kind, type) and issubclass(kind, Event)):
            raise TypeError(
                "write `def detect(event: Truth | Call) -> Iterator[Report]`, with events of graphlint.rule"
            )
        yield kind


def _line(problem: BaseException, path: Path) -> int:
    """The last line of a file that led to an exception."""
    line = getattr(problem, "lineno", None) or 1
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return int(line)
