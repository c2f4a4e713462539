"""What the processes of targets find loaded: the steps, the tables that they read, and what programs import."""

import importlib

NEEDED = (
    "graphlint.runtime.device.emulator.backend",
    "graphlint.runtime.device.emulator.collectives",
    "graphlint.runtime.examine.graphed",
    "graphlint.runtime.examine.look",
    "graphlint.runtime.examine.program",
    "graphlint.runtime.examine.reruns",
    "graphlint.runtime.judge.calls",
    "graphlint.runtime.session.isolation",
    "graphlint.runtime.session.preloaded",  # the rules and their tables
    "proof.verdicts",  # a process loads what asks for it
    "torch._dynamo",  # optimizers import it
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor",  # `assert_close` imports it
)

for name in NEEDED:
    importlib.import_module(name)

importlib.import_module("graphlint.runtime.trace.modes").leave_alone()
