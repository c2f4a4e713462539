"""Calls that user code makes under capture in; what rules say of them that the runtime half does not know, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from graphlint.rule import Hit, OperationCall
from graphlint.rulebook import Rulebook, builtin_rules
from graphlint.rulebook.detectors import load_detectors
from graphlint.rulebook.operators import OPERATORS
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.conditions import holds
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.trace.places import Stack
from graphlint.runtime.trace.values import known
from graphlint.runtime.watch.calls import After, Calls

_OF_TORCH = "torch."


class AddedRules:
    """The rules that do not ship with graphlint: the catalogue tells of their operations.

    Their detectors are asked about operators of torch that take tensors, and about what the catalogue names of other
    libraries. The built-in ones are judged by what torch and the driver refuse, by the graph, and by its replays.
    """

    def __init__(self, rulebook: Rulebook, findings: Findings) -> None:
        home = builtin_rules().resolve()
        added = [rule for rule in rulebook.rules if rule.page.parent.resolve() != home and "verify" in rule.witness]
        self.catalogue = rulebook.catalogue
        self.findings = findings
        self.effects = {rule.slug for rule in added}
        self.detectors = load_detectors(added).get(OperationCall, ())

    def follow(self, calls: Calls) -> None:
        """Be told of the calls that a rule can say something of."""
        aliases = (alias for alias in self.catalogue.aliases if "*" not in alias)
        names = [*self.catalogue, *aliases, *self.catalogue.operators]
        wanted = {name for name in names if self._has_effect(name)} if self.effects else set()
        if self.detectors:
            wanted |= {name for name in names if not name.startswith(_OF_TORCH)}
        if wanted:
            is_about_torch = bool(self.detectors) or any(name.startswith(_OF_TORCH) for name in wanted)
            functions = {name for name in wanted if not name.startswith(OPERATORS)}  # operators are torch's own to tell
            calls.follow(functions, self.called, has_torch=is_about_torch)

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
        bound, is_fresh = operation.bind(args, kwargs), _is_fresh(capture)
        for effect in effects:
            if holds(effect, bound, is_fresh):
                self._report(capture, effect.name, stack, Hit(effect.confidence, effect.message, effect.help))
        if not self.detectors:
            return None
        # As they are before the call.
        arguments = {parameter: tuple(known(one, is_fresh) for one in given) for parameter, given in bound.items()}

        def after(result: object) -> None:
            event = OperationCall(operation.name, arguments, known(result, is_fresh))
            for detector in self.detectors:
                for report in detector.reports(event):
                    self._report(capture, detector.effect, stack, report)

        return after

    def _report(self, capture: Capture, effect: str, stack: Stack, report: Hit) -> None:
        self.findings.add(effect, stack, [capture.region], opening=capture.stack, report=report)


def _is_fresh(capture: Capture) -> Callable[[torch.Tensor], bool]:
    """Whether the memory of a tensor was allocated during the capture."""
    return lambda tensor: storage_key(tensor) in capture.internals
