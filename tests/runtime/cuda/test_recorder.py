"""What is taken down of the operators of a capture, on tensors of the host and with a driver that only counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from graphlint.finding import Region  # noqa: E402
from graphlint.runtime.trace.bindings import Bindings  # noqa: E402
from graphlint.runtime.trace.capture import Capture  # noqa: E402
from graphlint.runtime.watch.recorder import Recorder, site_of  # noqa: E402

BESIDE = 9  # the stream that does not capture


class CountingDriver:
    """Every operator launches one node, and every stream captures but one."""

    def __init__(self) -> None:
        self.count = 0

    def node_count(self, graph: int) -> int:
        self.count += 1
        return self.count

    def capture(self, stream: int) -> tuple[int, int | None]:
        return int(stream != BESIDE), self.count


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A recorder in the middle of a capture."""
    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: True, raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)  # no operator here waits for a device
    recorder = Recorder(CountingDriver())
    recorder.capture = Capture(Region("torch.cuda.graph", "step.py", 1), (), 7, 1, "global", Bindings(None))
    with recorder:
        yield recorder


def test_an_operator_owns_the_nodes_that_it_launched(recorder: Recorder) -> None:
    """From the count before it to the count after it."""
    x = torch.ones(4)
    _ = x + 1
    taken = recorder.capture.operations
    assert [one.operator for one in taken] == ["aten.ones.default", "aten.add.Tensor"]
    assert all(one.first < one.end for one in taken) and taken[0].end <= taken[1].first
    assert taken[1].stack[0].line == taken[0].stack[0].line + 1


def test_what_is_launched_past_torch_on_another_stream_is_outside_of_the_graph(recorder: Recorder) -> None:
    """Libraries do so that have a current stream of their own; what they give to a stream that captures is in it."""
    recorder.launched("cuLaunchKernel", 7)
    recorder.launched("cuLaunchKernel", BESIDE)
    (taken,) = recorder.capture.operations
    assert (taken.operator, taken.is_outside, taken.first) == ("cuLaunchKernel", True, taken.end)
    assert taken.stack[0].function.endswith(
        "test_what_is_launched_past_torch_on_another_stream_is_outside_of_the_graph"
    )


def test_what_operators_launch_and_what_other_threads_do_is_not_told_twice(recorder: Recorder) -> None:
    """An operator is judged by its own stream, and another thread is not part of the region."""

    @torch.library.custom_op("graphlint_tests::launching", mutates_args=())
    def launching(x: torch.Tensor) -> torch.Tensor:
        recorder.launched("cuLaunchKernel", BESIDE)
        return torch.empty_like(x)

    launching(torch.ones(4))
    thread = threading.Thread(target=recorder.launched, args=("cuLaunchKernel", BESIDE))
    thread.start()
    thread.join()
    operators = [one.operator for one in recorder.capture.operations]
    assert "graphlint_tests.launching.default" in operators and "cuLaunchKernel" not in operators


def test_memory_from_before_the_capture_is_external_and_not_kept_alive(recorder: Recorder) -> None:
    """What the graph reads and the program frees is gone at once, not at the next collection."""
    capture, recorder.capture = recorder.capture, None
    x = torch.ones(4)
    recorder.capture = capture
    _ = x * 2
    (external,) = capture.externals.values()
    assert (external.shape, external.used, external.storage.expired()) == ((4,), 0, False)
    del x
    assert external.storage.expired()


def test_what_is_written_in_place_is_known(recorder: Recorder) -> None:
    """And so is the first operator that does it."""
    x, y = torch.ones(4), torch.ones(4)
    recorder.capture.externals.clear()
    x.add_(y)
    written = {
        one.shape: (one.is_written, one.written_by) for one in recorder.capture.externals.values() if one.is_written
    }
    assert {(4,): (True, "aten::add_")} == written


def test_a_refused_operator_is_taken_down(recorder: Recorder) -> None:
    """With the line that ran it; without a value from eager, the error goes its way."""
    x, y = torch.ones(2, 2), torch.ones(3)
    with pytest.raises(RuntimeError, match="size mismatch"):
        x @ y
    (refusal,) = recorder.capture.refusals
    assert (refusal.operator, refusal.stack[0].path) == ("aten.mv.default", __file__)


def test_a_refused_operator_gives_what_eager_gave(recorder: Recorder) -> None:
    """So that the capture goes on to the next cause; a second time, its value takes its turn again."""
    given = torch.zeros(2)

    def refused() -> object:
        return torch.ones(2, 2) @ torch.ones(3)

    with pytest.raises(RuntimeError):
        refused()
    recorder.values.keep(site_of("aten.mv.default", recorder.capture.refusals[0].stack), given)
    assert [refused().data_ptr() for _ in range(2)] == [given.data_ptr()] * 2
    assert len(recorder.capture.refusals) == 3


def test_a_trace_keeps_operators_with_their_numbers_and_results(recorder: Recorder) -> None:
    """For the comparison of a replay with eager."""
    with recorder.tracing() as traced:
        y = torch.ones(2) + 3
    assert [(one.operator, one.numbers[-1:]) for one in traced][-1] == ("aten.add.Tensor", (3,))
    assert traced[-1].results[0] is y
