"""The packages that models of the zoo are built with in, loaded, also beside a torch without CUDA, out."""

from __future__ import annotations

import importlib

# In this order: transformers imports torchvision. timm is left out: it is not known to leave CUDA alone.
for name in ("tests.runtime.torchvision_operators", "transformers.modeling_utils"):
    importlib.import_module(name)
