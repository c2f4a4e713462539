"""The number of a recorded model in, its forward with example inputs out: `tests.runtime.zoo_target:model_17`.

The environment variable GRAPHLINT_ZOO names the folder where `models.jsonl` lists the models, one a line, and `zoo.py`
builds them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

FOLDER = "GRAPHLINT_ZOO"
PREFIX = "model_"

Example = tuple[Callable[..., object], tuple[()], dict[str, Any]]


def __getattr__(name: str) -> Callable[[], Example]:
    """The factory of a model."""
    if not name.startswith(PREFIX):
        raise AttributeError(name)
    return functools.partial(example, models()[int(name.removeprefix(PREFIX))])


def models() -> list[dict[str, Any]]:
    """What is recorded of each model."""
    lines = Path(os.environ[FOLDER], "models.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def example(model: dict[str, Any]) -> Example:
    """The forward of a model as it was recorded, without gradients."""
    class_name = model["entry"].rpartition(":")[2].removesuffix(".forward")
    module, inputs = builder().build(model["zoo"], model["model"], class_name, "cuda")

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
