"""Products of matrices in; the memory of cuBLAS that each graph is given, and has not taken itself, out.

Torch keeps one piece for each thread and stream. The first product that needs it takes it from the pool of the graph
that is being captured there, else from the ordinary one, and all later ones of that thread and stream get the same,
captured or not. Whether a kernel of theirs writes to it is cuBLAS's choice, by shapes and by the device.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import torch

from graphlint.rulebook import builtin_catalogue
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.operators import Call
from graphlint.runtime.watch.watch import Watch

ARE_KEPT = torch.__version__ < (2, 15)  # from then on, each product takes its own and gives it back
_AUTOGRAD = 0  # no thread has this identity


@dataclass(frozen=True, slots=True)
class Given:
    """Memory for products of a graph: the capture that took it, if one did, and the first operation that gets it."""

    maker: Capture | None
    operation: int
    is_for_backward: bool


class Workspaces:
    """Follows what torch keeps for cuBLAS; `given` is what each capture, by its identity, gets and has not taken."""

    def __init__(self, watch: Watch) -> None:
        self.given: dict[int, dict[tuple[int, int], Given]] = {}
        self._users = builtin_catalogue().families["workspaces"]
        self._kept: dict[tuple[int, int], Capture | None] = {}
        if ARE_KEPT:
            watch.recorder.eager.append(lambda call, _result: self._ran(call, None))
            watch.recorder.captured.append(self._ran)
            watch.process.clearing.append(lambda _stack: self._kept.clear())

    def _ran(self, call: Call, capture: Capture | None) -> None:
        """An operator ran, and a capture may have taken it down just now."""
        if call.schema not in self._users:
            return
        # Autograd has one thread for all that runs on a device; on the emulator it has none.
        thread = _AUTOGRAD if torch._C._current_autograd_node() is not None else threading.get_ident()
        key = thread, torch.cuda.current_stream().cuda_stream
        maker = self._kept.setdefault(key, capture)
        if capture is not None and maker is not capture:
            given = Given(maker, len(capture.operations) - 1, is_for_backward=thread == _AUTOGRAD)
            self.given.setdefault(id(capture), {}).setdefault(key, given)
