"""What `check` takes for granted of torch, and no capture is needed to show: torch itself does it on the CPU."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.autograd.graph import saved_tensors_hooks  # noqa: E402
from torch.distributions import Distribution, Normal, Uniform  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


def steps(x: Any) -> Any:
    return torch.sin(x * x).exp() * 2


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_what_runs_again_for_its_backward_pass_saves_its_arguments_alone(use_reentrant: bool) -> None:
    """So inside `save_on_cpu`, which is such a hook, nothing else is copied to the host (GL201)."""
    saved: list[Any] = []
    x = torch.randn(3, 4, requires_grad=True)

    def pack(one: Any) -> Any:
        saved.extend([one] if one.numel() else ())  # torch 2.11 saves one of no elements as well
        return one

    with saved_tensors_hooks(pack, lambda one: one):
        checkpoint(steps, x, use_reentrant=use_reentrant)
        alone = len(saved)
        steps(x)
    assert (alone, saved[0].data_ptr()) == (1, x.data_ptr()) and len(saved) > alone + 1


def _by_attribute(is_asked: bool) -> None:
    Distribution._validate_args = is_asked


@pytest.mark.parametrize("set_to", [Distribution.set_default_validate_args, _by_attribute])
def test_distributions_check_nothing_once_that_is_set_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch, set_to: Any
) -> None:
    """What was made before neither; whoever asks for checks has them, which wait for a device (GL104)."""
    monkeypatch.setattr(Distribution, "_validate_args", True)
    before, outside = Uniform(0.0, 1.0), torch.tensor(2.0)
    with pytest.raises(ValueError):
        before.log_prob(outside)
    set_to(False)
    for unchecked in (before, Uniform(0.0, 1.0)):
        unchecked.log_prob(outside)
    Normal(0.0, -1.0)
    with pytest.raises(ValueError):
        Normal(0.0, -1.0, validate_args=True)


@pytest.mark.parametrize("pick", [max, min])
def test_a_compiler_asks_no_tensor_for_a_number_to_find_the_larger_one(pick: Any) -> None:
    """It makes one graph of the whole function, which a branch on a tensor would end (GL301)."""

    def clamped(x: Any) -> Any:
        return x * pick(x.sum(), 1.0)

    def branching(x: Any) -> Any:
        return x * 2 if x.sum() > 1.0 else x

    x = torch.ones(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = torch.compile(clamped, backend="eager", fullgraph=True)
        assert torch.equal(whole(x), clamped(x))
        with pytest.raises(Exception, match="branching"):
            torch.compile(branching, backend="eager", fullgraph=True)(x)
