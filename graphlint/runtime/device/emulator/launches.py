"""A kernel of Triton that a program launches in, an operator that Triton's own interpreter runs on the CPU out."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from graphlint.runtime.device.emulator.kernels import not_modelled
from graphlint.runtime.device.launched import operator_of
from graphlint.runtime.device.loading import Loading

_INTERPRETER, _TUNER = "triton.runtime.interpreter", "triton.runtime.autotuner"

Run = Callable[[list[torch.Tensor]], None]


class Launches:
    """Waits until a program imports Triton; each kernel is an operator then, and each way of launching it a number."""

    def __init__(self) -> None:
        self._operators: dict[int, tuple[object, Any]] = {}  # by kernel, which stays alive
        self._numbers: dict[tuple[object, ...], int] = {}
        self._runs: list[Run] = []

    def listen(self) -> None:
        """From now on, kernels are decorated for the interpreter."""
        os.environ["TRITON_INTERPRET"] = "1"
        Loading(_INTERPRETER, self._loaded).listen()

    def _loaded(self, module: ModuleType) -> None:
        executor: Any = vars(module)["GridExecutor"]
        executor.__call__ = self._launching(executor.__call__)
        # Which configuration is the fastest is no question here; the first one is as good, and no driver is asked.
        tuner: Any = importlib.import_module(_TUNER)
        tuner.driver = SimpleNamespace(active=SimpleNamespace(get_benchmarker=lambda: None))
        tuner.Autotuner._bench = lambda *_args, **_kwargs: [0.0, 0.0, 0.0]

    def _launching(self, execute: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(execute)
        def launch(executor: Any, *args: Any, **kwargs: Any) -> None:
            names = inspect.signature(executor.fn).parameters
            flat, tree = tree_flatten((args, {name: one for name, one in kwargs.items() if name in names}))
            is_tensor = [isinstance(one, torch.Tensor) for one in flat]
            if callable(executor.grid):
                args, kwargs = tree_unflatten(flat, tree)
                executor.grid = executor.grid(inspect.getcallargs(executor.fn, *args, **kwargs))
            grid, others = executor.grid, [None if tensor else one for one, tensor in zip(flat, is_tensor, strict=True)]

            def run(tensors: list[torch.Tensor]) -> None:
                given = iter(tensors)
                values = [next(given) if tensor else one for one, tensor in zip(others, is_tensor, strict=True)]
                args, kwargs = tree_unflatten(values, tree)
                executor.grid = grid
                try:
                    execute(executor, *args, **kwargs)
                except Exception as error:
                    said = str(error.__cause__ or error).splitlines()[0]
                    name = executor.fn.__name__
                    raise not_modelled(f"Triton's interpreter does not run the kernel `{name}` ({said})") from error

            key = (id(executor.fn), repr(grid), repr(others), repr(tree))
            number = self._numbers.setdefault(key, len(self._runs))
            if number == len(self._runs):
                self._runs.append(run)
            given = [one for one in flat if isinstance(one, torch.Tensor)]
            self._operator(executor.fn)(given, written=given, launch=number)

        return launch

    def _operator(self, kernel: Any) -> Any:
        """The operator of a kernel, which has its name."""
        if id(kernel) not in self._operators:
            bodies = {"CPU": self._run, "Meta": lambda read, *, written, launch: None}
            self._operators[id(kernel)] = kernel, operator_of(kernel.__name__, bodies)
        return self._operators[id(kernel)][1]

    def _run(self, read: list[torch.Tensor], *, written: list[torch.Tensor], launch: int) -> None:
        """Run a kernel on copies that lie on the host, where the interpreter looks for them, and copy them back."""
        copies: dict[int, tuple[Any, Any]] = {}
        for one in read:
            storage = one.untyped_storage()
            if storage._cdata not in copies:
                copies[storage._cdata] = storage, torch.UntypedStorage(storage.nbytes()).copy_(storage, False)
        self._runs[launch]([_placed(one, copies[one.untyped_storage()._cdata][1]) for one in read])
        for storage, copy in copies.values():
            storage.copy_(copy, False)


def _placed(tensor: torch.Tensor, storage: Any) -> torch.Tensor:
    """The same tensor in other memory."""
    empty = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return empty.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
