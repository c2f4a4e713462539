"""The name of a module in; the module, when a program loads it, out."""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType


class Loading(importlib.abc.MetaPathFinder):
    """Waits until somebody imports a module, and tells of it once its code has run."""

    def __init__(self, name: str, loaded: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.loaded = loaded

    def listen(self) -> None:
        """Wait from now on; a module that is there already is told of at once."""
        if self.name in sys.modules:
            self.loaded(sys.modules[self.name])
        else:
            sys.meta_path.insert(0, self)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Wait inside."""
        self.listen()
        try:
            yield
        finally:
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Nothing for any other module; for this one what all the others find, which tells when it has loaded it."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(self._load, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec

    def _load(self, load: Callable[[ModuleType], None], module: ModuleType) -> None:
        load(module)
        self.loaded(module)
