"""What the process that those of targets come out of has loaded for them: the steps, the rules and their tables."""

import importlib

import torch

from graphlint.rulebook import builtin_rulebook

_STEPS = (
    "graphlint.runtime.device.emulator.backend",
    "graphlint.runtime.examine.graphed",
    "graphlint.runtime.examine.look",
    "graphlint.runtime.examine.program",
    "graphlint.runtime.examine.reruns",
    "graphlint.runtime.judge.calls",
)

builtin_rulebook()
if hasattr(torch, "accelerator"):  # whoever looks at a target is told of a release that is too old
    for _step in _STEPS:
        importlib.import_module(_step)
