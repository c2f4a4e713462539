"""The catalogue's conditions of real arguments: each is understood, and holds or does not."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.rulebook import builtin_catalogue  # noqa: E402
from graphlint.rulebook.effects import PREDICATES, Effect, conditions  # noqa: E402
from graphlint.rulebook.signatures import Operation  # noqa: E402
from graphlint.runtime.trace.conditions import OF_ARGUMENTS, OF_ELEMENTS, UNKNOWN, holds  # noqa: E402

MASK, WIDE, SQUARES = torch.ones(4, dtype=torch.bool), torch.ones(2, 6), torch.ones(3, 2, 2)


def test_every_predicate_is_understood() -> None:
    """Also those that arguments do not tell, which never hold."""
    assert PREDICATES == OF_ARGUMENTS.keys() | OF_ELEMENTS.keys() | UNKNOWN


@pytest.mark.parametrize(
    ("when", "arguments", "expected"),
    [
        ("host:a", {"a": MASK}, True),
        ("device:a", {"a": MASK}, False),
        ("host:a not-bool:a", {"a": [MASK, torch.ones(2)]}, True),
        ("not-bool:a several:a", {"a": [MASK, MASK]}, False),
        ("bool:a several:a", {"a": [MASK, None]}, False),
        ("bool:a several:a", {"a": [MASK, MASK]}, True),
        ("absent:b", {"a": MASK}, True),
        ("given:b", {"a": MASK, "b": 0}, True),
        ("many:a=4", {"a": MASK}, True),
        ("many:a=5", {"a": MASK}, False),
        ("many:a=2*b^0.5", {"a": WIDE, "b": torch.ones(36)}, True),
        ("many:a=2*b^0.5", {"a": WIDE, "b": torch.ones(49)}, False),
        ("long:a=2", {"a": WIDE, "dim": 0}, False),
        ("long:a=2", {"a": WIDE}, True),
        ("batched:a", {"a": SQUARES}, True),
        ("batched:a", {"a": WIDE}, False),
        ("oblong:a", {"a": WIDE}, True),
        ("oblong:a", {"a": SQUARES}, False),
        ("sparse:a", {"a": WIDE.to_sparse()}, True),
        ("sparse:a", {"a": WIDE}, False),
        ("same:a=b", {"a": 2, "b": 2.0}, True),
        ("same:a=b", {"a": 2, "b": 3}, False),
        ("distinct:a=b", {"a": MASK, "b": MASK}, False),
        ("distinct:a=b", {"a": MASK, "b": MASK.clone()}, True),
        ("host:*", {"a": 1, "b": [MASK]}, True),
        ("cuda:a", {"a": torch.device("cuda")}, True),
        ("cuda:a", {"a": "cpu"}, False),
        ("device:a", {"a": 1}, False),
        ("host:a", {"a": {"k": MASK}}, True),
        ("host:a", {"a": [[{"k": MASK}]]}, True),
        ("absent:a", {"a": [None, MASK]}, False),
        ("number:a", {"a": [1]}, False),
        ("not-tensor:a", {"a": [MASK]}, True),
        ("not-tensor:a", {"a": []}, False),
        ("cuda:a", {"a": 0}, True),
        ("cuda:a", {"a": "torch.cuda.FloatTensor"}, True),
        ("cpu:a", {"a": torch.FloatTensor}, True),
        ("cpu:a", {"a": torch.Tensor}, False),
        ("cpu:a", {"a": MASK}, True),
        ("equals:a=torch.bool", {"a": torch.bool}, True),
        ("equals:a=torch.nn.modules.linear.Linear|x", {"a": torch.nn.Linear}, True),
        ("equals:a=tensor(2)", {"a": torch.tensor(2)}, False),
        ("same:a=b", {"a": 2, "b": torch.tensor(2)}, False),
        ("true:a.requires_grad", {"a": MASK}, False),
        ("false:a.requires_grad", {"a": MASK}, True),
        ("given:a.nothing", {"a": MASK}, False),
        ("fresh:a", {"a": MASK}, False),
        ("within:a", {"a": MASK}, False),
        ("outside:a", {"a": MASK}, False),
        ("always", {}, True),
    ],
)
def test_a_condition_holds_of_real_arguments(when: str, arguments: dict[str, Any], expected: bool) -> None:
    """All that a row asks of one argument holds of the same element of a list."""
    effect = Effect("hidden-sync", conditions({"when": when}))
    assert expected == holds(effect, {name: (value,) for name, value in arguments.items()})


def test_any_of_several_arguments_of_one_parameter_counts() -> None:
    """One that takes all that follow; left out, it has none."""
    effect = Effect("hidden-sync", conditions({"when": "host:a not-bool:a"}))
    assert holds(effect, {"a": (1, WIDE)}) and not holds(effect, {"a": (1, MASK)}) and not holds(effect, {"a": ()})


def test_what_is_fresh_is_asked_of_who_knows() -> None:
    """Of the same element as all else."""
    effect = Effect("hidden-sync", conditions({"when": "fresh:a bool:a"}))
    assert holds(effect, {"a": ([WIDE, MASK],)}, lambda tensor: tensor is MASK)
    assert not holds(effect, {"a": ([WIDE, MASK],)}, lambda tensor: tensor is WIDE)


def test_what_a_row_asks_of_an_operator_can_be_told() -> None:
    """Nothing that stays unknown is asked of one that has a row of its own."""
    asked = {
        condition.predicate
        for operation in builtin_catalogue().operators.values()
        if isinstance(operation, Operation)
        for effect in operation.effects
        for condition in effect.when
    }
    assert set() == asked & UNKNOWN
