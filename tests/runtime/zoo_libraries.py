"""The packages that models of the zoo are built with in, loaded, also beside a torch without CUDA, out."""

from __future__ import annotations

import torch

_WANTED = ("nms", "qnms")  # operators that torchvision wants to be there when it is imported
_libraries: list[torch.library.Library] = []  # define operators as long as they live


def load() -> None:
    """torchvision cannot load its operators if it is built for CUDA and torch is not; the models run none of them."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in _WANTED:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _libraries.append(library)
    import transformers.modeling_utils  # noqa: F401  # timm is left out: it is not known to leave CUDA alone


load()
