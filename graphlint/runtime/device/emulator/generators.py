"""Random generators of an emulated device: their own states, and which of them a capture knows."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphlint.runtime.device.emulator.numbered import named
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.residence import CUDA

_UNREGISTERED = "Attempt to increase offset for a CUDA generator not in capture mode."
_OTHER_SEED = (
    "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the "
    "original seed."
)
_INSTEAD = "If you need this call to be captured, please file an issue."


class Generators:
    """`default` is the one of the device; `capturing` gives the capture that this thread launches into."""

    def __init__(self, capturing: Callable[[], Recording | None]) -> None:
        self.capturing = capturing
        kind: type[Any] = type("Generator", (_Generator,), {"generators": self, "__module__": "torch._C"})
        self.kind = kind
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # those of the device
        self.default = kind("cuda")
        self.default.manual_seed(torch.initial_seed())

    def made(self, generator: Any) -> None:
        """A generator of the device is there."""
        self._known[generator._cdata] = generator

    def source(self, generator: Any) -> Any:
        """What a generator draws from; C++ gives another object for it each time."""
        known = self.default if generator is None else self._known.get(generator._cdata)
        return generator if known is None else known.source

    @contextlib.contextmanager
    def drawing(self, source: Any) -> Iterator[None]:
        """Inside, the default generator of the host draws from a source of the device."""
        host = torch.default_generator
        before = host.get_state()
        host.set_state(_Base.get_state(source))
        try:
            yield
        finally:
            _Base.set_state(source, host.get_state())
            host.set_state(before)

    def require_registered(self, generator: Any, recording: Recording) -> None:
        """Raises RuntimeError for a generator that a capture does not know."""
        if self.source(generator)._cdata not in recording.generators:
            raise RuntimeError(_UNREGISTERED)


_Base: Any = torch._C.Generator


class _Source(_Base):
    """The state of a generator of the device, which several may share, and how far it is, as a program was told."""

    offset = 0


class _Generator(_Base):
    """`torch.Generator`, also for the device; `source` is what it draws from, which can be exchanged."""

    generators: Generators
    source: Any
    is_device: bool
    offset = 0

    def __new__(cls, device: Any = "cpu") -> Any:
        is_device = torch.device(named(device)).type == "cuda"
        made = cls._of(is_device, _Source(device="cpu") if is_device else None)
        if "default" in vars(cls.generators):
            made._refuse("Cannot construct a new CUDAGeneratorImpl")
        return made

    @classmethod
    def _of(cls, is_device: bool, source: Any) -> Any:
        """One that draws from a source of the device, or from its own state."""
        made = _Base.__new__(cls, device="cpu")
        made.is_device, made.source = is_device, made if source is None else source
        if is_device:
            cls.generators.made(made)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        pass

    @property
    def device(self) -> torch.device:
        return CUDA if self.is_device else torch.device("cpu")

    def manual_seed(self, seed: int) -> Any:
        if not self._is_captured:
            _Base.manual_seed(self.source, seed)
            self.source.offset = 0
        elif seed != self.initial_seed():
            raise RuntimeError(_OTHER_SEED)
        return self

    def initial_seed(self) -> int:
        return int(_Base.initial_seed(self.source))

    def seed(self) -> int:
        self._refuse("Cannot call CUDAGeneratorImpl::seed")
        return int(_Base.seed(self.source))

    def get_state(self) -> Any:
        recording = self.generators.capturing() if self.is_device else None
        if recording is not None:
            recording.mark(self.source)
        return _Base.get_state(self.source)

    def set_state(self, state: torch.Tensor) -> Any:
        recording = self.generators.capturing() if self.is_device else None
        if recording is not None:
            if _Base.initial_seed(_Base(device="cpu").set_state(state)) != self.initial_seed():
                raise RuntimeError(_OTHER_SEED)
            recording.rewind(self.source, state)
        _Base.set_state(self.source, state)
        return self

    def get_offset(self) -> int:
        self._refuse("Cannot call CUDAGeneratorImpl::get_offset")
        return int(self.source.offset)

    def set_offset(self, offset: int) -> Any:
        self._refuse("Cannot call CUDAGeneratorImpl::set_offset")
        self.source.offset = offset
        return self

    def clone_state(self) -> Any:
        """Another generator, which goes on from the same state by itself."""
        clone = type(self)(self.device)
        _Base.set_state(clone.source, _Base.get_state(self.source))
        clone.source.offset = self.source.offset
        return clone

    def graphsafe_get_state(self) -> Any:
        """A generator that shares the state, which a capture allows."""
        return self._of(self.is_device, self.source)

    def graphsafe_set_state(self, state: Any) -> Any:
        self.source = state.source
        return self

    @property
    def _is_captured(self) -> bool:
        return self.is_device and self.generators.capturing() is not None

    def _refuse(self, said: str) -> None:
        if self._is_captured:
            raise RuntimeError(f"{said} during CUDA graph capture. {_INSTEAD}")
