"""A captured step of an optimizer takes numbers from its groups, and something changes them between replays."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HyperparameterRead, OptimizerStep, Related

_MAX_PLACES = 3


def detect(event: OptimizerStep | HyperparameterRead) -> Iterator[Hit]:
    if isinstance(event, HyperparameterRead):
        replayed = f"every replay keeps that of the capture, whatever a schedule does to `{event.name}`"
        yield Hit(Confidence.MEDIUM, f"`{{operation}}` is a number, and {replayed}")
        return
    names = " and ".join(f"`{name}`" for name in event.changed)
    places = " and ".join(event.written[:_MAX_PLACES])
    changes = f"and {places} changes it: every replay keeps that of the capture"
    message = f"`{{operation}}` takes {names} by value, {changes}"
    related = [] if event.made is None else [Related(*event.made, f"the optimizer is given its {names} here")]
    if event.step is not None:
        path, line = event.step
        message = f"`{{operation}}` has {names} on the host, where the captured step takes it by value, {changes}"
        related = [Related(path, line, f"the step that takes {names} is captured here")]
    yield Hit(Confidence.HIGH if event.is_surely_late else Confidence.MEDIUM, message, related=tuple(related))
