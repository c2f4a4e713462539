"""What a watch sees in, findings out: when a capture ends, before each replay, and when the target has run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from graphlint.rule import Hit
from graphlint.runtime.compare.comparison import Difference
from graphlint.runtime.compare.divergence import Divergence
from graphlint.runtime.judge import audit, host
from graphlint.runtime.judge.callables import GraphedCallables
from graphlint.runtime.judge.causes import Causes, branching
from graphlint.runtime.judge.collectives import collectives
from graphlint.runtime.judge.compiled import CompiledFunctions
from graphlint.runtime.judge.findings import SURE, Findings
from graphlint.runtime.judge.growth import Growth
from graphlint.runtime.judge.inputs import Rest
from graphlint.runtime.judge.order import Order
from graphlint.runtime.judge.outside import Outside
from graphlint.runtime.judge.training import Training
from graphlint.runtime.trace.capture import Capture, Refusal, Trouble
from graphlint.runtime.trace.places import Stack, returning
from graphlint.runtime.watch.openings import COMPILED
from graphlint.runtime.watch.watch import Watch

DECIDED = frozenset({"frozen-host-value", "frozen-host-random"})  # what changes what eager asks for, if anything
SUSPECT = DECIDED | {"moved-tensor", "non-capturable-optimizer"}  # what changes the results, if anything


class Reporting:
    """Tells the findings of what a watch sees."""

    def __init__(self, watch: Watch, causes: Causes, findings: Findings) -> None:
        self.watch = watch
        self.causes = causes
        self.findings = findings
        self.outside = Outside(self.tell, watch.driver, watch.openings)
        self.order = Order(self.tell, watch.clocks)
        self.growth = Growth()
        self.compiled = CompiledFunctions(watch, findings)
        self.training = Training(causes.catalogue.families["accumulating"], self._is_zero)
        self.undecided: frozenset[str] = frozenset()  # effects that a comparison is to decide
        self.is_trying = False  # what a capture does that goes past refusals is not the program's
        self._held: list[tuple[Capture, Trouble]] = []
        self.graphed: list[GraphedCallables] = []
        self.unseen: list[str] = []  # what could not be compared, and why
        watch.graphed.append(self.callables_graphed)
        watch.ended.append(self.capture_ended)
        watch.replaying.append(self.replay_begins)
        watch.process.parting.append(self.groups_destroyed)
        watch.recorder.eager += (self.outside.ran, self.order.ran)
        watch.gave.append(self.outside.gave)

    def tell(self, capture: Capture, trouble: Trouble) -> None:
        """Report it; what a comparison is to decide waits until it has."""
        if self.undecided and (trouble.is_own or trouble.effect in self.undecided):
            self._held.append((capture, trouble))
        else:
            self._report(capture, trouble)

    def _report(self, capture: Capture, trouble: Trouble, report: Hit = SURE) -> None:
        self.findings.add(
            trouble.effect,
            trouble.stack,
            [capture.region],
            opening=capture.stack,
            span=trouble.span,
            said=trouble.said,
            is_luck=trouble.is_luck,
            report=report,
        )

    def capture_ended(self, capture: Capture) -> None:
        for refusal in broken_by(capture):
            effect = self.causes.effect(refusal)
            self.findings.add(effect, refusal.stack, [capture.region], opening=capture.stack, said=refusal.said)
        if self.is_trying:
            return
        if capture.is_healthy:
            for trouble in audit.outside_graph(capture):
                self.tell(capture, trouble)
        if capture.is_healthy and not capture.refusals:
            earlier = [one for one in self.watch.captures if one.region == capture.region and one is not capture]
            troubles = [
                *audit.after_capture(capture),
                *host.after_capture(capture, self.watch.hooks.codes),
                *self.training.captured(capture),
                *self.growth.captured(capture, earlier, self.watch.is_alive),
            ]
            # Trees look after memory by themselves, and no code of the program runs in their captures.
            for trouble in troubles if capture.region.kind != COMPILED else ():
                self.tell(capture, trouble)
            self.outside.captured(capture)
            self.order.captured(capture)

    def callables_graphed(self, captures: list[Capture], callables: Sequence[object]) -> None:
        """These captures belong to one call of `make_graphed_callables`."""
        self.graphed.append(GraphedCallables(callables, captures, self.tell))

    def replay_begins(self, capture: Capture) -> None:
        touched = self.outside.inputs.touched
        is_alone = sum(one.region == capture.region for one in self.watch.captures) == 1
        troubles = [
            *audit.before_replay(capture, self.watch.living_pools),
            *host.before_replay(capture, is_alone, touched),
            *self.training.replays(capture, touched),
            *(trouble for one in self.graphed for trouble in one.replays(capture)),
        ]
        for trouble in troubles if capture.region.kind != COMPILED else ():
            self.tell(capture, trouble)
        self.outside.replays(capture)
        self.order.replays(capture)

    def _is_zero(self, tensor: Tensor) -> bool:
        with self.watch.ignoring():
            return self.watch.driver.has_numbers and not bool(tensor.any())

    def groups_destroyed(self, stack: Stack) -> None:
        """Ranks part while graphs may still send something."""
        for capture in self.watch.captures:
            if self.watch.is_alive(capture) and collectives(capture):
                said = "a graph with collectives is not reset, and the group waits for its end"
                self.tell(capture, Trouble("capture-protocol", stack, said))

    def ended(self, *, has_failed: bool = False) -> None:
        """The target has run: what it left behind, and what no capture of torch has seen."""
        self.compiled.ended()
        if not has_failed:
            self._tell_unused()
            for one in self.growth.ended():
                self.tell(*one)
        for one in self.training.ended(self.outside.inputs.touched):
            self.tell(*one)
        for trouble in self.watch.process.left() if self.watch.captures else ():
            self.findings.add(trouble.effect, trouble.stack, said=trouble.said)
        for operator, stack in self.watch.recorder.strays:
            said = f"{operator} runs in a capture that torch does not know of"
            self.findings.add("foreign-allocation", stack, said=said)
        for region, refusal in self.watch.refusals:
            self.findings.add(self.causes.effect(refusal), refusal.stack, [region], said=refusal.said)

    def _tell_unused(self) -> None:
        """Regions of which no graph was ever replayed."""
        used = {one.region for one in self.watch.captures if one.replays or not one.is_healthy or one.runs_eagerly}
        for capture in self.watch.captures:
            if capture.region not in used and capture.nodes and not capture.refusals:
                self.tell(capture, Trouble("silent-eager", capture.stack, "it is never replayed"))

    def diverged(self, capture: Capture, divergence: Divergence, step: int, difference: Difference) -> None:
        """A replay gives something else than eager: where that begins, unless it is known already."""
        self._end_comparison()
        self._explain(capture, divergence, f"`{difference.path[2:-2]}` differs in replay {step + 1}")

    def replay_differs(self, capture: Capture, divergence: Divergence, difference: Difference) -> None:
        """A replay of a program gives something else than its own code."""
        said = f"`{difference.path[2:-2]}` differs in replay {capture.replays}"
        if not self.tell_doubts(capture) and not self.findings.explain(capture.region):
            self._explain(capture, divergence, said)

    def _explain(self, capture: Capture, divergence: Divergence, said: str) -> None:
        first, how = divergence.first()
        suspect = host.suspect(capture, first.stack)
        if suspect is not None:
            self._report(capture, replace(suspect, said=said))
        elif capture.asked:
            self._report(capture, Trouble("capture-only-path", branching(capture.asked[0]), said))
        elif how == "path" and (switch := self.watch.switched_since(capture)):
            self._report(capture, Trouble("capture-only-path", switch, said))
        elif self.findings.explain_failure:
            return
        elif how in ("path", "numbers"):
            self._report(capture, Trouble("frozen-host-value", first.stack, f"{first.operator} differs, {said}"))
        else:
            self._report(
                capture, Trouble("unexplained-divergence", first.stack or capture.stack, f"{first.operator}, {said}")
            )

    def check_failed(self, said: str) -> None:
        """A check of the program fails after a replay; nothing is known to be wrong, so what may be is told."""
        for capture in (one for one in self.watch.captures if one.replays and one.region.kind != COMPILED):
            if capture.asked:
                self.tell(capture, Trouble("capture-only-path", branching(capture.asked[0]), said))
            elif stack := self.outside.inputs.left_out(capture):
                self.tell(capture, Trouble("partial-copy", stack, said))
            elif stack := self.outside.inputs.unfed(capture):
                self.tell(capture, Trouble("unrefreshed-input", stack, said))

    def redecided(self, capture: Capture, divergence: Divergence, step: int) -> None:
        """Eager asks for something else in a later step, while replay repeats what was asked for at capture."""
        is_explained = self._end_comparison()
        first, how = divergence.first()
        what = f"runs {first.operator}" if how == "path" else f"gives {first.operator} other numbers or shapes"
        trouble = Trouble("frozen-host-value", first.stack, f"step {step + 1} of eager {what}")
        suspect = host.suspect(capture, first.stack)
        if suspect is not None:
            self.tell(capture, replace(suspect, said=trouble.said))
        elif not is_explained:
            self.tell(capture, trouble)

    def _end_comparison(self) -> bool:
        """Report what has waited, and from now on everything at once; whether anything has."""
        self.undecided = frozenset()
        return self.tell_doubts()

    def has_doubts(self, capture: Capture) -> bool:
        return any(one is capture for one, _ in self._held)

    def tell_doubts(self, capture: Capture | None = None, report: Hit = SURE) -> bool:
        """Report what has waited, of one capture or of all; whether anything has."""
        held = self.dismiss_doubts(capture)
        for one in held:
            self._report(*one, report)
        return bool(held)

    def dismiss_doubts(self, capture: Capture | None = None) -> list[tuple[Capture, Trouble]]:
        """What has waited changes nothing."""
        held = [one for one in self._held if capture is None or one[0] is capture]
        self._held = [one for one in self._held if one not in held]
        return held

    def autocast_ignored(self, capture: Capture) -> None:
        """A replay runs under another autocast than its capture, which would change what eager gives."""
        said = "autocast is another one around the replay, and the graph keeps that of its capture"
        self.tell(capture, Trouble("capture-only-path", self.watch.autocasts.innermost, said))

    def rest_leaks(self, capture: Capture, rest: Rest) -> None:
        """What a request left of an input is no number, and reaches the results."""
        self.tell(capture, Trouble("partial-copy", rest.stack, "what it leaves holds NaN, which reaches the results"))

    def told(self, effect: str, call: Callable[..., Any], said: str) -> None:
        """Something about the result of a callable, at the line that returns it."""
        self.findings.add(effect, (), span=returning(call), said=said)

    def unhealthy(self, capture: Capture) -> None:
        """The process cannot be used any more."""
        self.tell(capture, Trouble("target-failure", capture.stack, "the process does not recover from this capture"))


def broken_by(capture: Capture) -> list[Refusal]:
    """What the capture was refused, up to what broke it; what the driver alone refused may have done no harm."""
    found = []
    for refusal in capture.refusals:
        if refusal.is_from_driver and capture.is_healthy:
            continue
        found.append(refusal)
        if refusal.is_from_driver:
            break
    return found
