"""Kernels of Triton that a program or its compiler launches in; operators out, which say what each reads and writes.

A launch goes by no dispatcher, so that nobody would know of its memory. The emulator, which interprets kernels, has an
operator for each by itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import torch

from graphlint.runtime.device.launched import operator_of
from graphlint.runtime.device.loading import Loading
from graphlint.runtime.trace.host_values import SCALARS
from graphlint.runtime.trace.operators import tensors
from graphlint.runtime.watch.standins import patched

_PROGRAMS, _COMPILERS = "triton.runtime.jit", "torch._inductor.runtime.triton_heuristics"
_RESULT = "out_ptr"  # how Inductor calls what a kernel fills, and
_IN_PLACE = "in_out_ptr"  # what it reads before

Launch = Callable[[], object]


class Launches:
    """Puts an operator around each launch."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._patches = contextlib.ExitStack()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, every kernel is an operator."""
        followed = ((_PROGRAMS, "JITFunction", self._of_program), (_COMPILERS, "CachingAutotuner", self._of_compiler))
        with self._patches:
            for module, owner, around in followed:
                self._patches.enter_context(Loading(module, self._patching(owner, around)).listening())
            yield

    def _patching(self, owner: str, around: Callable[..., Any]) -> Callable[[ModuleType], None]:
        def loaded(module: ModuleType) -> None:
            kind: Any = getattr(module, owner)
            self._patches.enter_context(patched([(kind, "run", around(kind.run))]))

        return loaded

    def _of_program(self, run: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(run)
        def launched(kernel: Any, *args: Any, **kwargs: Any) -> object:
            launch = functools.partial(run, kernel, *args, **kwargs)
            if kwargs.get("warmup"):
                return launch()
            values = (*args, *(value for name, value in kwargs.items() if name in kernel.arg_names))
            given = _memory(values)
            return self._run(kernel.__name__, given, given, values, launch)

        return launched

    def _of_compiler(self, run: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(run)
        def launched(kernel: Any, *args: Any, **kwargs: Any) -> object:
            launch = functools.partial(run, kernel, *args, **kwargs)
            read = written = _memory(args)
            if not kernel.custom_kernel:  # else it is one of the program
                named = list(zip(kernel.fn.arg_names, args, strict=False))
                changed = kernel.mutated_arg_names
                read = _memory([one for name, one in named if not name.startswith(_RESULT) or name in changed])
                written = _memory(
                    [one for name, one in named if name.startswith((_RESULT, _IN_PLACE)) or name in changed]
                )
            return self._run(kernel.fn.__name__, read, written, args, launch)

        return launched

    def _run(
        self,
        name: str,
        read: list[torch.Tensor],
        written: list[torch.Tensor],
        values: tuple[object, ...],
        launch: Launch,
    ) -> object:
        if not (read or written):
            return launch()
        key = (name, *(value for value in values if isinstance(value, SCALARS)))
        number = self._numbers.setdefault(key, len(self._numbers))
        results: list[object] = []
        token = _LAUNCH.set(lambda: results.append(launch()))
        try:
            _operator(name)(read, written=written, launch=number)
        finally:
            _LAUNCH.reset(token)
        return results[0] if results else None  # where a capture goes past what it refused, nothing is launched


_LAUNCH: ContextVar[Launch] = ContextVar("launch")  # that an operator is about to make in this thread


@functools.cache
def _operator(name: str) -> Any:
    return operator_of(name, {"CompositeExplicitAutograd": _launch})


def _launch(read: list[torch.Tensor], *, written: list[torch.Tensor], launch: int) -> None:
    _LAUNCH.get()()


def _memory(values: Any) -> list[torch.Tensor]:
    """The tensors among what a kernel is given, and those that descriptors stand for."""
    return tensors([getattr(value, "base", value) for value in values])
