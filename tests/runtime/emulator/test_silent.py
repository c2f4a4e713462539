"""What replays wrongly and says nothing: each mistake is found without a GPU, and its correct twin is silent."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from proof.programs import all_programs
from proof.verdicts import verdict

PROGRAMS = {program.name: program for program in all_programs()}
MISTAKES = {
    "an input is bound to the name of the static one": "gl508_moved_tensor/rebound_input",
    "a number is baked into a kernel": "gl402_frozen_host_value/temperature",
    "a branch is taken once for all": "gl402_frozen_host_value/warm_branch",
    "a cache is sliced by a number of Python": "gl402_frozen_host_value/cache_slice",
    "the first step of SGD is captured": "gl702_state_born_in_region/momentum",
    "the state of Adam is created in the region": "gl702_state_born_in_region/training_step",
    "a scheduler changes a float rate": "gl404_frozen_hyperparameter/adam_float_rate",
    "gradients are set to None after capture": "gl704_lost_gradient/zero_grad",
    "an attribute is rebound in the region": "gl501_escaping_allocation/attribute",
    "an input is freed": "gl507_freed_memory/helper_local",
    "outputs are kept without a copy": "gl510_overwritten_output/appended_loss",
}


@pytest.mark.parametrize("name", [pytest.param(one, id=mistake) for mistake, one in MISTAKES.items()])
def test_a_silent_mistake_is_told_from_the_correct_twin(name: str) -> None:
    """The rule of the folder is reported at the marked line, nothing else is, and nothing at all in the twin."""
    wrong, correct = PROGRAMS[f"fixtures/{name}.py"], PROGRAMS[f"fixtures/{name}_clean.py"]
    code = name[: len("GL000")].upper()
    seen = set(wrong.marks("expect", "missed")) - set(wrong.marks("unseen"))
    places = [f"{path}:{line} {rule}" for path, line, rule in seen if rule == code]
    assert len(places) == 1
    assert {"found": places} == verdict(wrong, on="emulator")
    assert {"found": []} == verdict(correct, on="emulator")
