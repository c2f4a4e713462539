"""What is seen of compiled functions in; what keeps them out of CUDA graphs, or spoils what they give, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.finding import Confidence, Region, Span
from graphlint.rule import Hit
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.judge.kept import statement_that_keeps
from graphlint.runtime.trace.places import Place, Stack
from graphlint.runtime.watch.compiled import LeftOut
from graphlint.runtime.watch.openings import COMPILED
from graphlint.runtime.watch.trees import Graphed, Output
from graphlint.runtime.watch.watch import Watch

_PATIENCE = 3  # runs after which a function has left its warm-up, and recordings after which it has what it needs

# How torch says why something is in no graph, and what helps.
_REMEDIES = (
    ("graph break", "let the compiler follow it, or move it out of the compiled function; `fullgraph=True` refuses it"),
    (
        "mutated inputs",
        "make what is written a buffer of the module, or give it to `torch._dynamo.mark_static_address`",
    ),
    ("input storage", "write the values in place, and leave the memory of an argument as it is"),
    ("DeviceCopy", "make the tensor on the device, before the compiled function is called"),
    ("cpu", "move the tensors of the host to the device, or take what runs there out of the compiled function"),
    ("multiple devices", "compile what runs on one device"),
    ("unbacked", "use a form whose result has a size that is known, as `torch.where` for `nonzero`"),
    ("Conditional", "use `torch.where`, or decide on the host before the compiled function is called"),
    ("dynamic shape", "pad to a few sizes, and compile with `dynamic=False`"),
    ("symbolic shapes", "pad to a few sizes, and compile with `dynamic=False`"),
)
_OTHERWISE = "use an operator that can be captured, or take it out of the compiled function"


class CompiledFunctions:
    """Tells of compiled functions; the share of them that is graphed is known at the end."""

    def __init__(self, watch: Watch, findings: Findings) -> None:
        self.watch = watch
        self.compiled = watch.compiled
        self.findings = findings
        self._left_out: set[tuple[str, str, int]] = set()
        self.compiled.beginning.append(self.begins)
        self.compiled.left_out.append(self.is_left_out)
        self.compiled.trees.late.append(self.is_late)

    @property
    def share(self) -> dict[str, float]:
        """How many graphs torch has compiled to run in CUDA graphs, and how many of them do."""
        known = [one for one in self.compiled.trees.functions.values() if one.runs > 1]  # once is a warm-up alone
        graphed, total = sum(bool(one.recorded) for one in known), len(known) + len(self._left_out)
        return {"compiled": total, "graphed": graphed} if total else {}

    def begins(self, stack: Stack) -> None:
        """Torch begins to compile a function."""
        capture = self.watch.recorder.capture
        if capture is not None:
            message = (
                "`{operation}` calls a compiled function for the first time, or with new guards, which compiles it"
            )
            said = "to compile is to load code, to time it, and to wait for the device"
            report = Hit(Confidence.HIGH, message + " during capture")
            self.findings.add("capture-refused", stack, [capture.region], said=said, is_luck=True, report=report)

    def is_left_out(self, found: LeftOut) -> None:
        """Something goes into no graph."""
        place = found.stack[0] if found.stack else None
        span = found.span or (place.span if place is not None else self.findings.home)
        if not found.is_function:
            self._left_out.add((found.why, span.path, span.line))
        remedy = next((help_ for part, help_ in _REMEDIES if part in found.why), _OTHERWISE)
        self._tell(
            found.stack, span, "`{operation}` is left out of the CUDA graphs of `torch.compile`", remedy, found.why
        )

    def is_late(self, output: Output) -> None:
        """An output is used whose memory a later run has taken."""
        span = next(filter(None, map(statement_that_keeps, output.stack[:1])), None)
        said = "a later call of the compiled function has taken its memory, and torch refuses to read it"
        self.findings.add("overwritten-output", output.stack, _regions(output.stack), span=span, said=said)

    def ended(self) -> None:
        """The target has run."""
        for one in self.compiled.trees.functions.values():
            if one.runs >= _PATIENCE and not one.recorded and one.warm_ups == one.runs:
                said = f"it ran {one.runs} times, and outputs of earlier calls still wait for their backward pass"
                message = "`{operation}` never leaves the warm-up of its CUDA graph, and runs without it"
                help_ = (
                    "call it under `torch.no_grad()`, or `torch.compiler.cudagraph_mark_step_begin()` before each call"
                )
                self._tell(one.stack, None, message, help_, said)
        for stack, recorded, replayed in _by_line(self.compiled.trees.functions.values()):
            if recorded > max(_PATIENCE, replayed):
                said = f"{recorded} recordings, and {replayed} replays"
                message = "`{operation}` is recorded again and again, and hardly replayed"
                help_ = (
                    "call it with tensors of a few sizes, and keep those at their addresses that it takes for static"
                )
                self._tell(stack, None, message, help_, said)

    def _tell(self, stack: Stack, span: Span | None, message: str, remedy: str, said: str) -> None:
        report = Hit(Confidence.HIGH, message, remedy)
        self.findings.add("silent-eager", stack, _regions(stack), span=span, said=said, report=report)


def _by_line(functions: Iterable[Graphed]) -> Iterator[tuple[Stack, int, int]]:
    """Recordings and replays of what was called from the same line first; each size of a tensor is a function."""
    found: dict[Place, list[Graphed]] = {}
    for one in functions:
        if one.stack:
            found.setdefault(one.stack[0], []).append(one)
    for group in found.values():
        yield group[0].stack, sum(one.recorded for one in group), sum(one.replayed for one in group)


def _regions(stack: Stack) -> list[Region]:
    return [Region(COMPILED, stack[0].path, stack[0].line)] if stack else []
