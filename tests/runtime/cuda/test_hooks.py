"""Which code runs as a hook."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.watch.hooks import Hooks, code_of  # noqa: E402
from graphlint.runtime.watch.standins import patched  # noqa: E402


class Counter:
    def __call__(self, *_: object) -> None:
        pass


def note(*_: object) -> None:
    pass


REGISTRATIONS = [
    pytest.param(lambda hook: torch.nn.ReLU().register_forward_hook(hook), id="of a module"),
    pytest.param(lambda hook: torch.nn.ReLU().register_full_backward_hook(hook=hook), id="by keyword"),
    pytest.param(lambda hook: torch.ones(1, requires_grad=True).register_hook(hook), id="of a tensor"),
    pytest.param(
        lambda hook: torch.ones(1, requires_grad=True).register_post_accumulate_grad_hook(hook), id="of a gradient"
    ),
    pytest.param(lambda hook: torch.optim.SGD([torch.ones(1)]).register_step_post_hook(hook), id="of an optimizer"),
    pytest.param(lambda hook: torch.nn.modules.module.register_module_forward_hook(hook).remove(), id="of all modules"),
    pytest.param(lambda hook: torch.autograd.graph.saved_tensors_hooks(hook, hook), id="of saved tensors"),
]


@pytest.mark.parametrize("register", REGISTRATIONS)
@pytest.mark.parametrize("hook", [note, functools.partial(note, 1), Counter(), Counter().__call__])
def test_the_code_of_a_registered_hook_is_known(register: Callable[..., Any], hook: Callable[..., Any]) -> None:
    """Whatever kind of callable it is; the module or tensor that has the hook is none."""
    hooks = Hooks()
    with patched(hooks.patches()):
        register(hook)
    assert {code_of(hook)} == hooks.codes


def test_other_functions_are_no_hooks() -> None:
    """A buffer that is registered, and a hook from before."""
    hooks, module = Hooks(), torch.nn.ReLU()
    module.register_forward_hook(note)
    with patched(hooks.patches()):
        module.register_buffer("scale", torch.ones(1))
        module(torch.ones(1))
    assert set() == hooks.codes


def test_a_callable_that_is_not_written_in_python_has_no_code() -> None:
    assert code_of(torch.relu) is None
