"""What the processes of targets find loaded: the steps, the tables that they read, and what programs import."""

import importlib

from graphlint.operations import load_catalogue
from graphlint.rulebook import builtin_rules

NEEDED = (
    "graphlint.runtime.emulator.backend",
    "graphlint.runtime.examine.look",
    "graphlint.runtime.examine.program",
    "graphlint.runtime.isolation",
    "proof.verdicts",  # a process loads what asks for it, and with it the rules
    "torch._dynamo",  # optimizers import it
    "torch.distributed.tensor",  # `assert_close` imports it
)

for name in NEEDED:
    importlib.import_module(name)
load_catalogue(builtin_rules() / "operations.toml")
