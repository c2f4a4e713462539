"""Products of matrices in; the memory of cuBLAS that each graph is given, and has not taken itself, out.

Torch keeps a piece for cuBLAS and one for cuBLASLt, for each thread and stream. The first product that needs it takes
it from the pool of the graph that is being captured there, else from the ordinary one, and all later ones of that
thread and stream get the same, captured or not. Graphs that have one in common give wrong sums where they run at the
same time. Whether a kernel writes to it is the library's choice, by shapes and by the device.
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
_CUBLAS, _LT = "cuBLAS", "cuBLASLt"

Key = tuple[str, int, int]  # a library, a thread and a stream


@dataclass(frozen=True, slots=True)
class Given:
    """Memory for products of a graph: the capture that took it, if one did, and the first operation that gets it."""

    name: str
    maker: Capture | None
    operation: int


class Workspaces:
    """Follows what torch keeps for products; `given` is what each capture, by its identity, gets and has not taken."""

    def __init__(self, watch: Watch) -> None:
        self.given: dict[int, dict[Key, Given]] = {}
        self._families = builtin_catalogue().families
        self._kept: dict[Key, Capture | None] = {}
        if ARE_KEPT:
            watch.recorder.eager.append(lambda call, _result: self._ran(call, None))
            watch.recorder.captured.append(self._ran)
            watch.process.clearing.append(lambda _stack: self._kept.clear())

    def _ran(self, call: Call, capture: Capture | None) -> None:
        """An operator ran, and a capture may have taken it down just now."""
        libraries = self._libraries(call)
        if not libraries:
            return
        # Autograd has one thread for all that runs on a device; on the emulator it has none.
        thread = _AUTOGRAD if torch._C._current_autograd_node() is not None else threading.get_ident()
        stream = torch.cuda.current_stream().cuda_stream
        self._kept.setdefault((_CUBLAS, thread, stream), capture)  # which each of them takes
        for library in libraries:
            key = library, thread, stream
            maker = self._kept.setdefault(key, capture)
            if capture is not None and maker is not capture:
                name = f"{library}, in backward" if thread == _AUTOGRAD else library
                given = Given(name, maker, len(capture.operations) - 1)
                self.given.setdefault(id(capture), {}).setdefault(key, given)

    def _libraries(self, call: Call) -> set[str]:
        """Those whose memory an operator uses."""
        name, families = call.schema, self._families
        if name in families["workspaces-by-bias"]:
            bias, _, factor = call.tensors[:3]
            return {_LT if bias.dim() == 1 and min(factor.shape) > 1 else _CUBLAS}
        kinds = {_CUBLAS: "workspaces", _LT: "workspaces-lt"}
        return {library for library, family in kinds.items() if name in families[family]}
