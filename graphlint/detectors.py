"""A Rulebook in, the functions of its detectors out; they are the only Python of a rule, and are loaded here alone."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from graphlint.errors import UsageError
from graphlint.page import Rule
from graphlint.rulebook import Rulebook

EVENTS = "graphlint.rule"  # whose classes a detector asks for
_PRIVATE = "graphlint._detectors"  # begins the names of the modules, which nothing can import


@dataclass(frozen=True)
class Detector:
    """The function of a rule that is called with each event of these classes."""

    rule: Rule
    detect: Callable[..., Any]
    events: tuple[type, ...]


def load_detectors(rulebook: Rulebook) -> tuple[Detector, ...]:
    """The detectors in the order of their rules. Raises UsageError where a file is not the one of a detector."""
    return tuple(_detector(rule, rule.detector) for rule in rulebook.rules if rule.detector is not None)


def _detector(rule: Rule, file: Path) -> Detector:
    module = _load(file)
    detect = getattr(module, "detect", None)
    if not inspect.isfunction(detect):
        raise UsageError(f"{file}:1: a detector has a function `detect`, and this file has none")
    return Detector(rule, detect, _events(detect, file))


def _load(file: Path) -> ModuleType:
    """The file as a module of its own; whatever it raises is told with its line."""
    name = f"{_PRIVATE}.{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{file}:{_line(error, file)}: {_told(error)}") from error
    return module


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _line(error: Exception, file: Path) -> int:
    """The last line of the file that led to an error."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    lines = [frame.lineno or 1 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else 1


def _events(detect: Callable[..., Any], file: Path) -> tuple[type, ...]:
    """The classes that the first parameter is annotated with, one of them or several with `|` between."""
    line = detect.__code__.co_firstlineno
    first = next(iter(inspect.signature(detect).parameters), None)
    try:
        annotation = typing.get_type_hints(detect).get(first or "")
    except Exception as error:
        raise UsageError(f"{file}:{line}: {_told(error)}") from error
    events = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    if not all(isinstance(event, type) and event.__module__ == EVENTS for event in events):
        said = f"the first parameter of `detect` is annotated with the events of `{EVENTS}` that it looks at"
        raise UsageError(f"{file}:{line}: {said}")
    return events
