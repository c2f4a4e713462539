"""The moment in, the modes of torch out that decide what the same code does; and the other way round."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

_DEVICE = "cuda"


@dataclass(frozen=True)
class Autocast:
    """What a thread runs in lower precision."""

    enabled: bool = field(default_factory=lambda: torch.is_autocast_enabled(_DEVICE))
    dtype: torch.dtype = field(default_factory=lambda: torch.get_autocast_dtype(_DEVICE))
    caches: bool = field(default_factory=torch.is_autocast_cache_enabled)


@dataclass(frozen=True)
class Ambient:
    """Whether gradients are recorded, and autocast, as they are when one of these is made."""

    has_grad: bool = field(default_factory=torch.is_grad_enabled)
    infers: bool = field(default_factory=torch.is_inference_mode_enabled)
    autocast: Autocast = field(default_factory=Autocast)

    def with_autocast(self, autocast: Autocast) -> Ambient:
        return replace(self, autocast=autocast)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Inside, they are so again."""
        given = {"dtype": self.autocast.dtype, "enabled": self.autocast.enabled, "cache_enabled": self.autocast.caches}
        with torch.inference_mode(self.infers), torch.set_grad_enabled(self.has_grad), torch.autocast(_DEVICE, **given):
            yield
