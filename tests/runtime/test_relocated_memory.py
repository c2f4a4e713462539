"""Memory that a program writes to by other tensors than those that it captured."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from graphlint.finding import Region  # noqa: E402
from graphlint.runtime.trace.bindings import Bindings  # noqa: E402
from graphlint.runtime.trace.capture import Capture, External  # noqa: E402
from graphlint.runtime.trace.operators import storage_key  # noqa: E402


def captured(*given: torch.Tensor) -> Capture:
    """A capture that reads these tensors."""
    capture = Capture(Region("torch.compile", "step.py", 1), (), 7, 1, "global", Bindings(None))
    for one in given:
        storage = one.untyped_storage()
        capture.externals[storage_key(one)] = External(
            StorageWeakRef(storage), storage.data_ptr(), storage.nbytes(), 0, (4,), one.dtype, False, []
        )
    return capture


def test_memory_is_known_by_the_storage_that_is_written_from_then_on() -> None:
    """As trees of graphs do, which keep the address of an input and make another storage over it."""
    x, weight = torch.zeros(4), torch.ones(4)
    capture = captured(x, weight)
    storage = torch._C._construct_storage_from_data_pointer(x.data_ptr(), x.device, 16)
    again = torch.empty(0).set_(storage)
    capture.relocate([again])
    assert {storage_key(again), storage_key(weight)} == set(capture.externals)
    assert not capture.externals[storage_key(again)].storage.expired()


def test_memory_that_is_elsewhere_stays_as_it_is() -> None:
    """An input that the graph does not read has no place in it."""
    x = torch.zeros(4)
    capture = captured(x)
    capture.relocate([torch.ones(4)])
    assert {storage_key(x)} == set(capture.externals)
