"""The name of a recorded model in, its forward with example inputs out: `tests.runtime.zoo_target:ZOO/MODEL/CLASS`.

The environment variable GRAPHLINT_ZOO names the folder whose `zoo.py` builds the models.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

FOLDER = "GRAPHLINT_ZOO"

Example = tuple[Callable[..., object], tuple[()], dict[str, Any]]


def __getattr__(name: str) -> Callable[[], Example]:
    """The factory of a model."""
    if name.count("/") != 2:
        raise AttributeError(name)
    return functools.partial(example, *name.split("/"))


def example(zoo: str, model: str, class_name: str) -> Example:
    """The forward of a model as it was recorded, without gradients."""
    module, inputs = builder().build(zoo, model, class_name, "cuda")

    @torch.no_grad()
    def forward(**inputs: Any) -> object:
        return module(**inputs)

    return forward, (), inputs


def builder() -> ModuleType:
    found = importlib.util.spec_from_file_location("recorded_zoo", Path(os.environ[FOLDER], "zoo.py"))
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
