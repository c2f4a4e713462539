"""The walk of a captured graph finds every storage that an operator touches."""

# ruff: noqa: E402 (nothing of this can be imported without torch)
from __future__ import annotations

import ctypes
from collections.abc import Iterable

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings.driver")  # without it, nodes have kinds alone
from graphs import Kind, Taken, take
from kinds import KINDS
from steps import copied_in_rows, zeroed

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.memory import addresses
from graphlint.runtime.device.cuda.nodes import walk
from graphlint.runtime.trace.nodes import Node, Stretch, flatten

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
pytestmark = [  # of torch's own compiler, which imports what is deprecated and gives advice
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:TensorFloat32:UserWarning"),
]


@pytest.fixture(scope="module", params=KINDS, ids=[kind.name for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(scope="module")
def captures(kind: Kind) -> tuple[Taken, Taken]:
    """Two captures of one kind, with tensors of their own, both alive."""
    driver = Driver()
    return take(driver, kind), take(driver, kind)


def words_of(nodes: Iterable[Node]) -> set[int]:
    return {word for node in flatten(tuple(nodes)) for word in node.words}


def unread(taken: Taken, nodes: tuple[Node, ...]) -> set[tuple[str, str]]:
    """What operators were given, by operator and name, and their own nodes do not lead to."""
    found = [(one.given, words_of(nodes[position] for position in one.positions)) for one in taken.launches]
    return {(one.operator, one.name) for given, words in found for one in given if not one.is_met_by(words)}


@needs_gpu
def test_every_storage_of_an_operator_is_found_in_its_nodes(kind: Kind, captures: tuple[Taken, Taken]) -> None:
    """The words of its own nodes lead to each of them, but for the exceptions that the kind names."""
    taken, _ = captures
    assert set(kind.unread) == unread(taken, taken.nodes)
    assert all(one.is_met_by(words_of(taken.nodes)) for one in taken.returned)


@needs_gpu
def test_the_nodes_are_of_the_expected_kinds_and_can_be_read(kind: Kind, captures: tuple[Taken, Taken]) -> None:
    """No node keeps from us what it touches."""
    nodes = tuple(flatten(captures[0].nodes))
    assert set(kind.kinds) <= {node.kind for node in nodes}
    assert not [node for node in nodes if not node.is_legible]
    assert all(node.name for node in nodes if node.kind == "kernel")
    assert all(any(node.name.startswith(kernel) for node in nodes) for kernel in kind.kernels)


@needs_gpu
def test_nodes_are_listed_in_the_order_of_their_creation(captures: tuple[Taken, Taken]) -> None:
    """Those that an operator created stand behind all earlier ones."""
    launches = captures[0].launches
    expected = [tuple(range(one.before, one.before + len(one.positions))) for one in launches]
    assert expected == [one.positions for one in launches]


@needs_gpu
def test_a_graph_has_the_same_nodes_after_its_capture(captures: tuple[Taken, Taken]) -> None:
    """Handles, positions and words do not change when the capture ends."""
    taken, _ = captures
    if taken.later is None:
        pytest.skip("needs the handle of a graph, which torch 2.8 gives")
    assert taken.nodes == taken.later


@needs_gpu
def test_two_captures_leave_addresses_alone(kind: Kind, captures: tuple[Taken, Taken]) -> None:
    """What is left of the words lies in blocks of torch, and no storage of an operator is lost."""
    if kind.varies:
        pytest.skip(kind.varies)
    first, second = captures
    nodes = addresses(first.nodes, second.nodes, first.memory, second.memory)
    assert set(kind.unread) == unread(first, nodes)
    assert all(one.is_met_by(words_of(nodes)) for one in first.returned)
    assert all(first.memory.find(word) for word in words_of(nodes))


@needs_gpu
def test_a_copy_tells_what_it_reads_and_writes() -> None:
    """The host memory that a replay reads again, and what it writes again."""
    source, target = torch.ones(4096, pin_memory=True), torch.ones(4096, pin_memory=True)
    device = torch.ones(4096, device="cuda")

    def step() -> None:
        device.copy_(source, non_blocking=True)
        target.copy_(device, non_blocking=True)

    upload, download = take(Driver(), Kind("copies", lambda: step)).nodes
    inner = Stretch(device.data_ptr(), 16384, "device")
    assert (Stretch(source.data_ptr(), 16384, "host"), inner) == (upload.source, upload.target)
    assert (inner, Stretch(target.data_ptr(), 16384, "host")) == (download.source, download.target)
    assert (upload.source, None) == (upload.host_source, upload.host_target)
    assert (None, download.target) == (download.host_source, download.host_target)


@needs_gpu
def test_a_copy_of_rows_reaches_from_the_first_to_the_last() -> None:
    """Of 64 rows of 400 bytes, the wide side has 1024 bytes from one to the next."""
    (node,) = take(Driver(), Kind("rows", copied_in_rows)).nodes
    assert (63 * 1024 + 400, 64 * 400) == (node.source.size, node.target.size)


@needs_gpu
def test_a_memset_tells_what_it_writes() -> None:
    """Its size is in bytes."""
    (node,) = take(Driver(), Kind("memset", zeroed)).nodes
    assert (None, 16384, "device") == (node.source, node.target.size, node.target.kind)


@needs_gpu
def test_the_nodes_of_a_child_graph_lie_below_its_node() -> None:
    """A graph that is put into another one keeps its nodes, with handles of their own."""
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        pytest.skip("needs the handle of a graph, which torch 2.8 gives")
    driver, x, graph = Driver(), torch.ones(9, device="cuda"), torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        x.add_(1)
    inner, outer, handle = ctypes.c_void_p(graph.raw_cuda_graph()), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.call("cuGraphCreate", ctypes.byref(outer), 0)
    assert driver.call("cuGraphAddChildGraphNode", ctypes.byref(handle), outer, None, ctypes.c_size_t(), inner)
    (node,) = walk(driver, outer.value)
    assert driver.call("cuGraphDestroy", outer)
    assert ("graph", handle.value) == (node.kind, node.handle)
    assert [one.words for one in walk(driver, inner.value)] == [one.words for one in node.children]
    assert [node, *node.children] == list(flatten((node,)))
    assert x.data_ptr() in node.children[0].words
