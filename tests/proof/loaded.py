"""What the processes of targets find loaded besides what `verify` loads for them: what programs import."""

import importlib

from proof.pages import use_large_pages

NEEDED = (
    "graphlint.runtime.device.emulator.collectives",
    "graphlint.runtime.session.isolation",
    "graphlint.runtime.session.preloaded",
    "proof.verdicts",  # a process loads what asks for it
    "torch._dynamo",  # optimizers import it
    "torch._subclasses.schema_check_mode",
    "torch.distributed.tensor",  # `assert_close` imports it
)

for name in NEEDED:
    importlib.import_module(name)

importlib.import_module("graphlint.runtime.trace.modes").leave_alone()
use_large_pages()
