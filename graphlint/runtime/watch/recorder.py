"""The operators of a program in; what each capture recorded and what it refused out.

Long, because one operator at a time is run, gone past or taken down, and each asks for what the others have noted.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes

from graphlint.runtime.device.backend import ACTIVE, NOT_CAPTURING, Backend
from graphlint.runtime.trace.capture import Capture, CapturedOperator, External, Internal, Refusal
from graphlint.runtime.trace.extents import covered, joined
from graphlint.runtime.trace.modes import DispatchMode, is_composite
from graphlint.runtime.trace.operators import KERNELS, Call, Traced, storage_key, tensors
from graphlint.runtime.trace.places import COMPILES, Stack, libraries_between, to_compiled, user_stack, waiting_frame
from graphlint.runtime.watch.decisions import decided
from graphlint.runtime.watch.eager_values import EagerValues, Site, site_of

SYNCHRONIZES = "called a synchronizing CUDA operation"
_REFUSE_WAITS, _ALLOW_WAITS = 2, 0  # modes of torch's debugging of synchronisations


_Result = TypeVar("_Result")


class Recorder(DispatchMode):
    """Follows every operator of this thread; while a capture is under way, it takes down what they do.

    `before` is told of operators outside of captures, `eager` of these with their results, `waited` when one has waited
    for the device, `captured` of those that were taken down, with the capture if their stream captures; `strays` are
    operators that allocate in a capture that torch does not know of.
    """

    def __init__(self, driver: Backend) -> None:
        super().__init__()
        self.driver = driver
        self.capture: Capture | None = None
        self.values = EagerValues()
        self.before: list[Callable[[Call], None]] = []
        self.eager: list[Callable[[Call, object], None]] = []
        self.waited: list[Callable[[], None]] = []
        self.captured: list[Callable[[Call, Capture | None], None]] = []
        self.strays: list[tuple[str, Stack]] = []
        self._past: set[Site] = set()  # operators that a capture goes past with what eager gave
        self._trace: list[Traced] | None = None
        self._running: Call | None = None
        self._is_beside = False

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        if is_composite(func):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        call = Call(func, args, kwargs or {})
        if self.capture is None or not self.capture.is_healthy:
            result = self._run_eagerly(call)
        else:
            result = self._run_captured(self.capture, call)
        if self._trace is not None:
            stack = user_stack(sys._getframe())
            self._trace.append(
                Traced(call.name, stack, call.numbers, tensors(result), call.operator.is_unfilled, call.draws)
            )
        return result

    @contextmanager
    def tracing(self) -> Iterator[list[Traced]]:
        """Keep every operator with its results."""
        traced: list[Traced] = []
        self._trace = traced
        try:
            yield traced
        finally:
            self._trace = None

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Inside, nobody is told of operators outside of captures."""
        eager, self.eager = self.eager, []
        try:
            yield
        finally:
            self.eager = eager

    def go_past(self, refusal: Refusal) -> bool:
        """From now on, keep what this operator gives in eager and use it under capture; whether that is new."""
        site = site_of(refusal.operator, refusal.stack)
        if "." not in refusal.operator or not refusal.stack or site in self._past:
            return False
        self._past.add(site)
        return True

    def _run_eagerly(self, call: Call) -> object:
        for told_of_call in self.before:
            told_of_call(call)
        result, may_have_waited = self._run_noting_waits(call)
        for told_of_wait in self.waited if may_have_waited else ():
            told_of_wait()
        if self.capture is None and torch.cuda.is_initialized() and torch._C._cuda_isCurrentStreamCapturing():
            given = {storage_key(tensor) for tensor in call.tensors}
            if any(storage_key(tensor) not in given for tensor in tensors(result)):
                self.strays.append((call.name, user_stack(sys._getframe())))
        for told in self.eager:
            told(call, result)
        return result

    def _run_noting_waits(self, call: Call) -> tuple[object, bool]:
        """Run an operator, and keep what it gave if it waited for the device; whether it did, as far as is known."""
        if self._past and (site := site_of(call.name, user_stack(sys._getframe()))) in self._past:
            result = call.func(*call.args, **call.kwargs)
            self.values.keep(site, result)
            return result, True
        if call.operator.namespace == KERNELS:
            return call.func(*call.args, **call.kwargs), False
        is_known = call.operator.namespace in ("aten", "prims")  # another one may not bear to be run twice
        if not is_known or not torch.cuda.is_initialized() or torch._C._cuda_get_sync_debug_mode():
            return call.func(*call.args, **call.kwargs), True
        if call.direction in ("upload", "literal"):  # memory that nobody else may keep alive; it can be copied again
            return call.func(*call.args, **call.kwargs), not call.is_asynchronous
        torch._C._cuda_set_sync_debug_mode(_REFUSE_WAITS)
        try:
            return call.func(*call.args, **call.kwargs), False
        except RuntimeError as error:
            if SYNCHRONIZES not in str(error):
                raise
        finally:
            torch._C._cuda_set_sync_debug_mode(_ALLOW_WAITS)
        result = call.func(*call.args, **call.kwargs)
        self.values.keep(site_of(call.name, user_stack(sys._getframe())), result)
        return result, True

    def _run_captured(self, capture: Capture, call: Call) -> object:
        # Not this function's own frame, which would hold itself, and what it was given, until the next collection.
        frame = waiting_frame(sys._getframe(1), capture.thread)
        stack, first = user_stack(frame), self.node_count(capture)
        if site_of(call.name, stack) in self._past:
            return self._from_eager(call, stack)
        before, self._running = len(capture.refusals), call
        try:
            outside = not _is_capturing()
            result = call.func(*call.args, **call.kwargs)
        except RuntimeError as error:
            if all(one.is_from_driver for one in capture.refusals[before:]):  # which alone may have done no harm
                self.refuse(first_line(error), frame)
            return self._go_on(capture, call, stack)
        finally:
            self._running = None
        self._take_down(capture, call, result, stack, first, outside)
        return result

    def refuse(self, said: str, frame: FrameType | None, *, is_from_driver: bool = False, **known: Any) -> None:
        """Take down what was said about the operator that runs, or about what `known` tells."""
        if self.capture is None:
            return
        if self._running is not None and "operator" not in known:
            known |= {"operator": self._running.name, "direction": self._running.direction}
        known.setdefault("operator", "")
        stack, through = user_stack(frame), libraries_between(frame)
        if any(name.startswith(COMPILES) for name in through):
            stack, known["effect"] = to_compiled(stack), "capture-refused"
        self.capture.refusals.append(
            Refusal(said=said, stack=stack, through=through, is_from_driver=is_from_driver, **known)
        )

    def launched(self, function: str, stream: int) -> None:
        """Work was launched; what operators of torch launch is taken down with them."""
        capture = self.capture
        if capture is None or self._running is not None or self._is_beside or capture.thread != threading.get_ident():
            return
        if self.driver.capture(stream)[0] == NOT_CAPTURING:
            now = self.node_count(capture)
            capture.operations.append(
                CapturedOperator(function, user_stack(sys._getframe()), now, now, is_outside=True)
            )

    def allocated(self, tensor: torch.Tensor) -> None:
        """Memory was taken without an operator."""
        if self.capture is not None and _is_capturing():
            one = tensor.untyped_storage()
            reference = StorageWeakRef(one)
            self.capture.internals[one._cdata] = Internal(
                reference, (), one.data_ptr(), one.nbytes(), "", is_of_factory=False
            )
            self.capture.made.append(weakref.ref(tensor))

    def _go_on(self, capture: Capture, call: Call, stack: Stack) -> object:
        """What eager gave for a refused operator, so that one run finds all causes; else the error goes its way."""
        capture.is_healthy = self.driver.capture(capture.stream)[0] == ACTIVE
        if capture.is_healthy and call.direction in ("upload", "literal"):
            return self.beside(lambda: call.func(*call.args, **call.kwargs))
        if not capture.is_healthy or site_of(call.name, stack) not in self.values:
            raise
        return self._from_eager(call, stack)

    def beside(self, call: Callable[[], _Result]) -> _Result:
        """Do what a capture refuses on a stream that does not capture, and keep what it gives."""
        with (
            self.driver.relaxed(),
            _disable_current_modes(),
            self.driver.modes(),
            torch.cuda.stream(torch.cuda.Stream()),
        ):
            torch._C._cuda_set_sync_debug_mode(_ALLOW_WAITS)
            self._is_beside = True
            try:
                result = call()
            finally:
                torch._C._cuda_set_sync_debug_mode(_REFUSE_WAITS)
                self._is_beside = False
        if self.capture is not None:
            self.capture.made_beside += tensors(result)
        return result

    def _from_eager(self, call: Call, stack: Stack) -> object:
        value = self.values.next(site_of(call.name, stack))
        if call.func._schema.is_mutable:
            return call.args[0]
        return value.detach() if isinstance(value, torch.Tensor) else value

    def _take_down(self, capture: Capture, call: Call, result: object, stack: Stack, first: int, outside: bool) -> None:
        end, index = self.node_count(capture), len(capture.operations)
        capture.decisions += decided(call, result, stack)
        if not capture.backward and torch._C._current_autograd_node() is not None:
            capture.backward = stack
        capture.leaves |= {id(one): one for one in call.tensors if one.requires_grad and one.is_leaf}
        given = {key: tensor for tensor in call.used if (key := storage_key(tensor))}
        for tensor in tensors(result):
            key = storage_key(tensor)
            if key and tensor.is_cuda and key not in given and key not in capture.internals:
                capture.internals[key] = _internal(tensor, call, stack)
            if key in capture.internals:
                capture.made.append(weakref.ref(tensor))
        if end == first and not outside:
            return
        _take_down_memory(capture, call, given, index)
        capture.draws |= call.draws
        capture.operations.append(
            CapturedOperator(
                call.name,
                stack,
                first,
                end,
                is_outside=outside and call.computes(result),
                is_download=call.is_download(result),
                host_operand=call.host_operand,
            )
        )
        for told in self.captured:
            told(call, None if outside else capture)

    def node_count(self, capture: Capture) -> int:
        return (self.driver.node_count(capture.graph) if capture.graph else None) or 0


def _take_down_memory(capture: Capture, call: Call, given: Mapping[int, torch.Tensor], index: int) -> None:
    """What an operation reads and writes that was there before, of the storages that it is given."""
    for key, tensor in given.items():
        is_by_value = not tensor.is_cuda and not tensor.dim() and not call.is_copy
        if not is_by_value and key not in capture.internals and key not in capture.externals:
            capture.externals[key] = _external(tensor, index)
    times = Counter(map(id, call.tensors))
    unread = {id(tensor) for tensor in call.overwritten() if times[id(tensor)] == 1}  # nowhere else an argument
    for tensor in call.used:
        used = capture.externals.get(storage_key(tensor))
        if used is not None:
            used.covers = joined([*used.covers, *covered(tensor)])
            if id(tensor) not in unread and used.reads[-1:] != [index]:
                used.reads.append(index)
    for tensor in call.written():
        written = capture.externals.get(storage_key(tensor))
        if written is not None:
            written.written_by = written.written_by or call.schema
            written.writes.append(index)


def _is_capturing() -> bool:
    """Whether the current stream captures; CUDA refuses to tell of the legacy stream while another one does."""
    try:
        return bool(torch._C._cuda_isCurrentStreamCapturing())
    except RuntimeError:
        return False


def _internal(tensor: torch.Tensor, call: Call, stack: Stack) -> Internal:
    storage = tensor.untyped_storage()
    return Internal(
        StorageWeakRef(storage), stack, storage.data_ptr(), storage.nbytes(), call.name, is_of_factory=call.is_factory
    )


def _external(tensor: torch.Tensor, index: int) -> External:
    storage = tensor.untyped_storage()
    return External(
        StorageWeakRef(storage),
        storage.data_ptr(),
        storage.nbytes(),
        index,
        tuple(tensor.shape),
        tensor.dtype,
        not tensor.is_cuda,
        covered(tensor),
    )


def first_line(error: BaseException) -> str:
    return (str(error).strip().split("\n") or [""])[0]
