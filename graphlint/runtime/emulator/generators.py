"""Random generators of an emulated device: their own states, and which of them a capture knows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphlint.runtime.emulator.recording import Recording
from graphlint.runtime.emulator.residence import CUDA

_UNREGISTERED = "Attempt to increase offset for a CUDA generator not in capture mode."
_INSTEAD = "If you need this call to be captured, please file an issue."


class Generators:
    """`default` is the one of the device; `capturing` gives the capture that this thread launches into."""

    def __init__(self, capturing: Callable[[], Recording | None]) -> None:
        self.capturing = capturing
        kind: type[Any] = type("Generator", (_Generator,), {"generators": self})
        self.kind = kind
        self.default = kind("cuda")
        self.default.manual_seed(torch.initial_seed())

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Inside, the default generator of the host has the state of the device's."""
        host = torch.default_generator
        before = host.get_state()
        host.set_state(_Base.get_state(self.default))
        try:
            yield
        finally:
            _Base.set_state(self.default, host.get_state())
            host.set_state(before)

    def require_registered(self, generator: Any, recording: Recording) -> None:
        """Raises RuntimeError for a generator that a capture does not know."""
        if generator is not None and generator not in recording.generators:
            raise RuntimeError(_UNREGISTERED)


_Base: Any = torch._C.Generator


class _Generator(_Base):  # type: ignore[misc]
    """`torch.Generator`, also for the device."""

    generators: Generators

    def __new__(cls, device: Any = "cpu") -> Any:
        made = _Base.__new__(cls, device="cpu")
        made.is_device = torch.device(device).type == "cuda"
        if made.is_device and cls.generators.__dict__.get("default") is not None:
            made._refuse("Cannot construct a new CUDAGeneratorImpl")
        return made

    def __init__(self, device: Any = "cpu") -> None:
        pass

    is_device: bool

    @property
    def device(self) -> torch.device:
        return CUDA if self.is_device else torch.device("cpu")

    def manual_seed(self, seed: int) -> Any:
        if self.is_device and self.generators.capturing() is not None:
            if seed != self.initial_seed():
                raise RuntimeError(
                    "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the "
                    "same as the original seed."
                )
            return self
        return super().manual_seed(seed)

    def seed(self) -> int:
        self._refuse("Cannot call CUDAGeneratorImpl::seed")
        return int(super().seed())

    def get_state(self) -> torch.Tensor:
        self._refuse("Cannot call CUDAGeneratorImpl::current_seed")
        found: torch.Tensor = super().get_state()
        return found

    def set_state(self, state: torch.Tensor) -> Any:
        self._refuse("Cannot call CUDAGeneratorImpl::set_state")
        return super().set_state(state)

    def _refuse(self, said: str) -> None:
        if self.is_device and self.generators.capturing() is not None:
            raise RuntimeError(f"{said} during CUDA graph capture. {_INSTEAD}")
