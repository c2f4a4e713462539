"""Captured training steps: what a run found in each wrong one, and that it found nothing in its correct twin."""

from __future__ import annotations

import pytest
from proof.evidence import VERDICTS, Evidence, recorded
from proof.programs import Program, all_programs
from proof.verdicts import wanted

PROGRAMS = {program.name: program for program in all_programs()}
MISTAKES = {
    "a scheduler changes the float rate of SGD": "gl404_frozen_hyperparameter/sgd_schedule",
    "a scheduler changes the float rate of Adam": "gl404_frozen_hyperparameter/adam_float_rate",
    "a scheduler changes the momentum": "gl404_frozen_hyperparameter/one_cycle_momentum",
    "the rate is a tensor of the host": "gl404_frozen_hyperparameter/host_tensor_rate",
    "the weight decay is changed later": "gl404_frozen_hyperparameter/weight_decay",
    "the scheduler steps in the region": "gl401_lost_side_effect/scheduler_step",
    "the first step of SGD is captured": "gl702_state_born_in_region/momentum",
    "the state of Adam is created in the region": "gl702_state_born_in_region/training_step",
    "the loss scale is created in the region": "gl702_state_born_in_region/loss_scale",
    "gradients are set to None after capture": "gl704_lost_gradient/zero_grad",
    "gradients are moved into a bucket after capture": "gl704_lost_gradient/bucket",
    "gradients are replaced after replay": "gl704_lost_gradient/rescaled",
    "warm-up leaves gradients": "gl705_accumulated_gradient/after_warm_up",
    "gradients are zeroed only once": "gl705_accumulated_gradient/zeroed_once",
    "a side stream is not joined": "gl601_unjoined_stream/second_tower",
    "losses of the warm-up are kept": "gl602_uncaptured_dependency/kept_warmup_losses",
}


@pytest.fixture(scope="module")
def devices() -> list[Evidence]:
    """What was found on every device."""
    return recorded(VERDICTS)


def found(devices: list[Evidence], program: Program) -> list[list[str]]:
    """What each device found in the present text, as `file:line CODE`."""
    records = [record for device in devices if (record := device.of(program)) is not None]
    assert records, f"no verdict on the present text of {program}: run `pytest --prove` on a machine with a GPU"
    return [record["found"] for record in records]


@pytest.mark.parametrize(
    "name", [pytest.param(one, id=mistake) for mistake, one in MISTAKES.items() if recorded(VERDICTS)]
)
def test_a_wrong_step_is_told_from_the_correct_one(name: str, devices: list[Evidence]) -> None:
    """What is marked is reported, the rule of the folder among it, nothing else is, and nothing at all in the twin."""
    wrong, correct = PROGRAMS[f"fixtures/{name}.py"], PROGRAMS[f"fixtures/{name}_clean.py"]
    places = wanted(wrong)
    assert sum(place.endswith(name[: len("GL000")].upper()) for place in places) == 1
    assert all(sorted(places) == sorted(one) for one in found(devices, wrong))
    assert all([] == one for one in found(devices, correct))
