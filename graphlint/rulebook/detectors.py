"""Rules in, their detectors by the kind of event that they want out."""

from __future__ import annotations

import importlib.util
import sys
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, TypeAlias

from graphlint.errors import UsageError
from graphlint.reading import reads
from graphlint.rule import Event, Hit
from graphlint.rulebook.page import Rule


@dataclass(frozen=True, slots=True)
class Detector:
    """What reports the events of one rule."""

    effect: str
    detect: Callable[[Any], Iterable[Hit]]

    def reports(self, event: Event) -> list[Hit]:
        """What it says of an event. Raises UsageError where it fails."""
        try:
            return list(self.detect(event))
        except Exception as problem:
            raise _failure(problem, self.detect, "this detector fails") from problem


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


def _load(path: Path) -> tuple[Callable[[Any], Iterable[Hit]], list[type[Event]]]:
    """The function of a detector, and the kinds of events that its annotation names."""
    name = f"graphlint_detector_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up there
    reads.content(path)  # what runs is what stands there
    try:
        spec.loader.exec_module(module)
        return module.detect, list(_wanted(module))
    except Exception as problem:
        detect = getattr(module, "detect", None)
        raise _failure(problem, detect, "this detector cannot be loaded", str(path)) from problem


def _wanted(module: ModuleType) -> Iterator[type[Event]]:
    hint = typing.get_type_hints(module.detect).get("event")
    for kind in typing.get_args(hint) if isinstance(hint, UnionType) else (hint,):
        if not (isinstance(kind, type) and issubclass(kind, Event)):
            raise TypeError(
                "write `def detect(event: Truth | OperationCall) -> Iterator[Hit]`, with events of graphlint.rule"
            )
        yield kind


def _failure(problem: Exception, detect: object, said: str, path: str = "") -> UsageError:
    """An exception with the last line of the file that led to it, or that of its function where none did."""
    code = getattr(detect, "__code__", None)
    path = path or str(getattr(code, "co_filename", "?"))
    line = getattr(problem, "lineno", None) or getattr(code, "co_firstlineno", None) or 1
    for frame in traceback.extract_tb(problem.__traceback__):
        line = frame.lineno if frame.filename == path else line
    return UsageError(f"{path}:{line}: {said}: " + f"{type(problem).__name__}: {problem}".splitlines()[0])
