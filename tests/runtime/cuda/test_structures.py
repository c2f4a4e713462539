"""What `cuda-bindings` tells of nodes is understood, and its absence is told; with stand-ins, so without a GPU."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from graphlint.runtime.device.cuda import driver as driver_module
from graphlint.runtime.device.cuda.backend import UNSEEN, CudaDriver
from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.nodes import KINDS, walk
from graphlint.runtime.session.hearing import Hearing
from graphlint.runtime.session.session import Unseen
from graphlint.runtime.trace.nodes import Node, Stretch

GRAPH, CHILD, HANDLE = 1, 2, 0x10
HOST, DEVICE, ARRAY = 1, 2, 3  # types of memory
FAILED = 1


def wide(argument: Any) -> Any:
    """What a reference of ctypes refers to."""
    return argument._obj


class Library:
    """The driver as ctypes calls it: graphs of one node each, and memory that is all pinned or all of the device."""

    def __init__(self, kinds: dict[int, int], memory: int) -> None:
        self.kinds = kinds
        self.memory = memory

    def cuGraphGetNodes(self, graph: Any, nodes: Any, count: Any) -> int:
        wide(count).value = 1
        if nodes is not None:
            nodes[0] = HANDLE + graph.value
        return 0

    def cuGraphNodeGetType(self, node: Any, number: Any) -> int:
        wide(number).value = self.kinds[node.value - HANDLE]
        return 0

    def cuPointerGetAttribute(self, answer: Any, attribute: int, _address: Any) -> int:
        wide(answer).value = self.memory if attribute == 2 else 0
        return 0


class Known(Driver):
    """A driver that knows one graph, and what it says of the node in it; `binding` is what `cuda-bindings` has."""

    def __init__(self, kind: str, child: str = "kernel", memory: int = DEVICE, **binding: Callable[..., Any]) -> None:
        self._library = Library({GRAPH: KINDS.index(kind), CHILD: KINDS.index(child)}, memory)  # type: ignore[assignment]
        self._asking = None
        self._refused = None
        self.binding = SimpleNamespace(**binding) if binding else None  # type: ignore[assignment]

    def node(self) -> Node:
        (node,) = walk(self, GRAPH)
        return node


def gives(**fields: Any) -> Callable[..., Any]:
    """A function that gives a structure."""
    return lambda _node: (0, SimpleNamespace(**fields))


def side(name: str, **fields: Any) -> dict[str, Any]:
    """The fields of one side of a copy."""
    names = ("XInBytes", "Y", "Z", "MemoryType", "Host", "Device", "Array", "Pitch", "Height")
    return {f"{name}{one}": fields.get(one, 0) for one in names}


def test_a_copy_is_read_from_both_sides() -> None:
    """From row 2 on, 3 rows of 400 bytes; the wide side has 1024 bytes from one row to the next."""
    source = side("src", MemoryType=DEVICE, Device=0x7000, XInBytes=8, Y=2, Pitch=1024, Height=9)
    target = side("dst", MemoryType=HOST, Host=0x9000, Pitch=400, Height=3)
    driver = Known("memcpy", cuGraphMemcpyNodeGetParams=gives(**source, **target, WidthInBytes=400, Height=3, Depth=1))
    node, first = driver.node(), 0x7000 + 8 + 2 * 1024
    assert (Stretch(first, 2 * 1024 + 400, "device"), Stretch(0x9000, 1200, "device")) == (node.source, node.target)
    assert ((first, 0x9000), True) == (node.words, node.is_legible)


def test_an_array_is_no_stretch_of_memory() -> None:
    """Its address means nothing."""
    source, target = side("src", MemoryType=ARRAY, Array=0x30), side("dst", MemoryType=DEVICE, Device=0x40)
    driver = Known("memcpy", cuGraphMemcpyNodeGetParams=gives(**source, **target, WidthInBytes=4, Height=1, Depth=1))
    assert Stretch(0x30, 0, "array") == driver.node().source


@pytest.mark.parametrize(
    ("kind", "function", "given", "words"),
    [
        ("memset", "cuGraphMemsetNodeGetParams", {"dst": 64, "pitch": 32, "width": 4, "elementSize": 2}, (64,)),
        ("host", "cuGraphHostNodeGetParams", {"fn": 0x50, "userData": 0x60}, (0x50, 0x60)),
        ("mem-alloc", "cuGraphMemAllocNodeGetParams", {"dptr": 0x70}, (0x70,)),
    ],
)
def test_a_structure_gives_the_words_of_a_node(
    kind: str, function: str, given: dict[str, Any], words: tuple[int, ...]
) -> None:
    """Each number in it that can be an address."""
    node = Known(kind, **{function: gives(height=3, **given)}).node()
    assert (kind, words, True) == (node.kind, node.words, node.is_legible)
    assert kind != "memset" or Stretch(64, 2 * 32 + 8, "device") == node.target


def test_memory_that_is_given_back_is_known_by_its_address() -> None:
    """Of which the driver gives nothing else."""
    assert (0x80,) == Known("mem-free", cuGraphMemFreeNodeGetParams=lambda _node: (0, 0x80)).node().words


def test_the_nodes_of_a_graph_inside_lie_below_its_node() -> None:
    """They are asked for as those of the graph around them."""
    driver = Known("graph", child="mem-free", cuGraphMemFreeNodeGetParams=lambda node: (0, node))
    driver.binding.cuGraphChildGraphNodeGetGraph = lambda _node: (0, CHILD)
    node = driver.node()
    assert [(HANDLE + CHILD,)] == [one.words for one in node.children] and node.is_legible


def kernel(**fields: Any) -> Known:
    """A kernel with parameters of 8 and of 20 bytes."""
    given = {"func": 0, "kern": 7, "kernelParams": 0, "extra": 0, **fields}
    sizes = (8, 20)
    return Known(
        "kernel",
        cuGraphKernelNodeGetParams=gives(**given),
        cuKernelGetFunction=lambda kern: (0, kern + 1),
        cuFuncGetName=lambda function: (0, b"add" if function == 8 else b"multiply"),
        cuFuncGetParamInfo=lambda _function, n: (0, 0, sizes[n]) if n < len(sizes) else (FAILED, None, None),
    )


@pytest.mark.parametrize(("function", "name"), [(0, "add"), (3, "multiply")], ids=["a kernel", "a function"])
def test_the_parameters_of_a_kernel_are_read_where_they_lie(function: int, name: str) -> None:
    """Whole words of each; a kernel of a library is known by another handle than its function."""
    small, large = ctypes.c_uint64(0x7F00), (ctypes.c_uint64 * 3)(1, 2, 3)
    parameters = (ctypes.c_void_p * 2)(ctypes.addressof(small), ctypes.addressof(large))
    node = kernel(func=function, kernelParams=ctypes.addressof(parameters)).node()
    assert (name, (0x7F00, 1, 2), True) == (node.name, node.words, node.is_legible)


@pytest.mark.parametrize("words", [(0x7F00, 5), ()], ids=["two words", "nothing"])
def test_parameters_in_one_buffer_are_read(words: tuple[int, ...]) -> None:
    """As cuBLASLt hands them over: the list of extra options leads to the buffer and to its size."""
    buffer = (ctypes.c_uint64 * len(words))(*words)
    size = ctypes.c_size_t(ctypes.sizeof(buffer))
    extra = (ctypes.c_void_p * 5)(2, ctypes.addressof(size), 1, ctypes.addressof(buffer), None)
    node = kernel(extra=ctypes.addressof(extra)).node()
    assert ("kernel", words, bool(words)) == (node.kind, node.words, node.is_legible)


def test_a_kernel_without_parameters_keeps_nothing_back() -> None:
    """There is nothing to read."""
    node = kernel().node()
    assert ("add", (), True) == (node.name, node.words, node.is_legible)


def test_a_kernel_whose_parameters_nobody_measures_is_not_legible() -> None:
    """That nothing was found does not look as if there were nothing."""
    parameters = (ctypes.c_void_p * 1)(0)
    driver = kernel(kernelParams=ctypes.addressof(parameters))
    del driver.binding.cuFuncGetParamInfo
    assert ("add", (), False) == (driver.node().name, driver.node().words, driver.node().is_legible)


def lacks(_node: object) -> Any:
    raise RuntimeError("the driver has no such function")


def unheard_of(_node: object) -> Any:
    raise ValueError("99 is not a valid number")


class Newer:
    """A structure with a number that this release does not know."""

    dst = pitch = height = width = 1

    @property
    def elementSize(self) -> int:
        raise ValueError("99 is not a valid number")


@pytest.mark.parametrize(
    "function",
    [lambda _node: (FAILED, None), lacks, unheard_of, lambda _node: (0, Newer())],
    ids=["refused", "lacking", "newer", "newer inside"],
)
def test_what_the_driver_does_not_tell_is_not_legible(function: Callable[..., Any]) -> None:
    """And the walk goes on."""
    node = Known("memset", cuGraphMemsetNodeGetParams=function).node()
    assert ("memset", (), False) == (node.kind, node.words, node.is_legible)


@pytest.mark.parametrize("kind", ["kernel", "memcpy", "graph", "mem-alloc"])
def test_without_the_bindings_nodes_have_kinds_alone(kind: str) -> None:
    """They are counted, and none of them is taken for one that touches nothing."""
    node = Known(kind).node()
    assert (kind, (), (), False) == (node.kind, node.words, node.children, node.is_legible)


def test_a_call_of_our_own_is_not_taken_for_a_refusal_of_the_program() -> None:
    """What the driver says while it is asked from here is left unheard, and what it says afterwards is not."""
    heard: list[str] = []

    def refused(_node: object) -> Any:
        driver._logged(0, 0, b"no", 2)
        return FAILED, None

    driver = Known("host", cuGraphHostNodeGetParams=refused)
    driver._refused = heard.append
    assert driver.ask("cuGraphHostNodeGetParams", HANDLE) is None
    driver._logged(0, 0, b"[12:00] [7] not permitted", 25)
    assert ["not permitted"] == heard


def test_the_absence_of_the_bindings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; where they are, there is nothing to tell."""
    monkeypatch.setattr(driver_module.ctypes, "CDLL", lambda _name: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", SimpleNamespace())  # type: ignore[misc]
    assert "" == CudaDriver().unseen
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)  # type: ignore[misc]
    assert UNSEEN == CudaDriver().unseen and "\n" not in UNSEEN
    hearing = Hearing()
    hearing(Unseen(CudaDriver().unseen))
    assert UNSEEN == hearing.unseen


# The functions that are asked for and the fields that are read of what they give.
READ = {
    "CUDA_KERNEL_NODE_PARAMS": ("func", "kern", "kernelParams", "extra"),
    "CUDA_MEMCPY3D": (
        *(name for name in (*side("src"), *side("dst")) if "MemoryType" not in name),
        *("WidthInBytes", "Height", "Depth"),
    ),
    "CUDA_MEMSET_NODE_PARAMS": ("dst", "pitch", "elementSize", "width", "height"),
    "CUDA_HOST_NODE_PARAMS": ("fn", "userData"),
    "CUDA_MEM_ALLOC_NODE_PARAMS": ("dptr",),
}


@pytest.mark.parametrize("structure", READ)
def test_the_installed_bindings_have_what_is_read_of_them(structure: str) -> None:
    """Every field is a number, or stands for one; so a release that names one otherwise is heard of here."""
    binding = pytest.importorskip("cuda.bindings.driver")
    empty = getattr(binding, structure)()
    assert [0] * len(READ[structure]) == [int(getattr(empty, name)) for name in READ[structure]]
    functions = ("cuKernelGetFunction", "cuFuncGetName", "cuGraphChildGraphNodeGetGraph", "cuGraphMemFreeNodeGetParams")
    assert all(hasattr(importlib.import_module("cuda.bindings.driver"), name) for name in functions)
