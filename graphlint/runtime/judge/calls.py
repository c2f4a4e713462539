"""Calls that user code makes under capture in; what rules say of them that the runtime half does not know, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from graphlint.detectors import load_detectors
from graphlint.operations import Operation
from graphlint.rule import Call, Report
from graphlint.rulebook import Rulebook, builtin_rules
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.trace.places import Stack
from graphlint.runtime.trace.values import known
from graphlint.runtime.watch.calls import After, Calls
from graphlint.values.predicates import Facts


class AddedRules:
    """The rules that do not ship with graphlint: the catalogue tells of their operations, detectors of any operation.

    The built-in ones are judged by what torch and the driver refuse, by the graph, and by its replays.
    """

    def __init__(self, rulebook: Rulebook, findings: Findings) -> None:
        home = builtin_rules().resolve()
        added = [rule for rule in rulebook.rules if rule.page.parent.resolve() != home and "verify" in rule.witness]
        self.catalogue = rulebook.catalogue
        self.findings = findings
        self.effects = {rule.slug for rule in added}
        self.detectors = load_detectors(added).get(Call, ())

    def follow(self, calls: Calls) -> None:
        """Be told of the calls that a rule can say something of."""
        names = [*self.catalogue, *(alias for alias in self.catalogue.aliases if "*" not in alias)]
        wanted = {name for name in names if self.detectors or (self.effects and self._has_effect(name))}
        if wanted:
            calls.follow(wanted, self.called)

    def _has_effect(self, name: str) -> bool:
        operation = self.catalogue.find(name)
        return operation is not None and any(effect.name in self.effects for effect in operation.effects)

    def called(
        self, capture: Capture, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], stack: Stack
    ) -> After | None:
        """Report what the tables say of a call with these arguments; what asks the detectors once it has run."""
        operation = self.catalogue.find(name)
        effects = [one for one in operation.effects if one.name in self.effects] if operation is not None else []
        if operation is None or not (effects or self.detectors):
            return None
        facts = _facts(operation, args, kwargs, capture)
        for effect in effects:
            confidence = facts.confidence(effect)
            if confidence is not None:
                self._report(capture, effect.name, stack, Report(confidence, effect.message, effect.help))
        if not self.detectors:
            return None

        def after(result: object) -> None:
            event = Call(operation.name, facts.bound, known(result, _is_fresh(capture)))
            for detector in self.detectors:
                for report in detector.reports(event):
                    self._report(capture, detector.effect, stack, report)

        return after

    def _report(self, capture: Capture, effect: str, stack: Stack, report: Report) -> None:
        self.findings.add(effect, stack, [capture.region], opening=capture.stack, report=report)


def _facts(operation: Operation, args: tuple[Any, ...], kwargs: Mapping[str, Any], capture: Capture) -> Facts:
    """The arguments by parameter as they are before the call."""
    asked = (condition.argument for effect in operation.effects for condition in effect.when)
    fields = {field for argument in asked if (field := argument.partition(".")[2])}
    bound = operation.bind(args, kwargs)
    return Facts(
        {
            parameter: tuple(known(one, _is_fresh(capture), fields) for one in given)
            for parameter, given in bound.items()
        },
        {parameter: tuple(map(id, given)) for parameter, given in bound.items()},
    )


def _is_fresh(capture: Capture) -> Callable[[torch.Tensor], bool]:
    """Whether the memory of a tensor was allocated during the capture."""
    return lambda tensor: storage_key(tensor) in capture.internals
