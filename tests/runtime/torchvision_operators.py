"""Nothing in, torchvision loaded out, also where it is built for CUDA and torch is not, and cannot load its operators.

What runs none of them does without.
"""

from __future__ import annotations

import torch

_WANTED = ("nms", "qnms")  # are wanted when torchvision is imported
_libraries: list[torch.library.Library] = []  # define operators as long as they live


def load() -> None:
    """Import torchvision, with its operators declared if they are not there; not at all where it is not installed."""
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in _WANTED:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _libraries.append(library)


load()
