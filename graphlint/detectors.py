"""Rules in, their detectors by the kind of event that they want out."""

from __future__ import annotations

import importlib.util
import sys
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
        if rule.detector is not None:
            detect, kinds = _load(rule.detector)
            for kind in kinds:
                found[kind] = (*found.get(kind, ()), Detector(rule.slug, detect))
    return found


def _load(path: Path) -> tuple[Callable[[Any], Iterable[Report]], list[type[Event]]]:
    """The function of a detector, and the kinds of events that its annotation names."""
    name = f"graphlint_detector_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up there
    try:
        spec.loader.exec_module(module)
        return module.detect, list(_wanted(module))
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}".splitlines()[0]
        raise UsageError(f"{path}:{_line(problem, path, module)}: this detector cannot be loaded: {said}") from problem


def _wanted(module: ModuleType) -> Iterator[type[Event]]:
    hint = typing.get_type_hints(module.detect).get("event")
    for kind in typing.get_args(hint) if isinstance(hint, UnionType) else (hint,):
        if not (isinstance(kind, type) and issubclass(kind, Event)):
            raise TypeError(
                "write `def detect(event: Truth | Call) -> Iterator[Report]`, with events of graphlint.rule"
            )
        yield kind


def _line(problem: BaseException, path: Path, module: ModuleType) -> int:
    """The last line of a file that led to an exception, or that of its function where none did."""
    code = getattr(getattr(module, "detect", None), "__code__", None)
    line = getattr(problem, "lineno", None) or getattr(code, "co_firstlineno", None) or 1
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return int(line)
