"""A captured graph in, its nodes and every word in them that can be an address out."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.trace.nodes import Node, Stretch

KINDS = (
    "kernel",
    "memcpy",
    "memset",
    "host",
    "graph",
    "empty",
    "event-wait",
    "event-record",
    "semaphore-signal",
    "semaphore-wait",
    "mem-alloc",
    "mem-free",
    "batch-mem-op",
    "conditional",
)
_WITHOUT_ADDRESSES = frozenset({"empty", "event-wait", "event-record", "semaphore-signal", "semaphore-wait"})
_HOST, _ARRAY = 1, 3  # types of memory
_EXTRA_END, _EXTRA_BUFFER, _EXTRA_SIZE = 0, 1, 2  # what follows in the `extra` list of a kernel
_WORD = 8


def walk(driver: Driver, graph: int) -> tuple[Node, ...]:
    """The nodes of a graph in the order of their creation, while it is captured or afterwards.

    The context of the capture has to be current. Raises ValueError if the driver does not list the nodes.
    """
    return _Walk(driver).nodes(graph)


def handles(driver: Driver, graph: int) -> tuple[int, ...]:
    """The handles of the nodes of a graph, in the order of their creation. Raises ValueError as `walk` does."""
    count = ctypes.c_size_t(driver.node_count(graph) or 0)
    found = (ctypes.c_void_p * count.value)()
    if count.value and not driver.call("cuGraphGetNodes", ctypes.c_void_p(graph), found, ctypes.byref(count)):
        raise ValueError("the driver does not list the nodes of this graph")
    return tuple(handle or 0 for handle in found)


class _Walk:
    """Reads nodes; the name and the parameters of a function are asked for once."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._functions: dict[int, tuple[str, tuple[int, ...]]] = {}
        self._readers: dict[str, tuple[str, Callable[[Node, Any], Node]]] = {
            "kernel": ("cuGraphKernelNodeGetParams", self._kernel),
            "memcpy": ("cuGraphMemcpyNodeGetParams", self._copy),
            "memset": ("cuGraphMemsetNodeGetParams", self._memset),
            "host": ("cuGraphHostNodeGetParams", self._host_call),
            "graph": ("cuGraphChildGraphNodeGetGraph", self._child),
            "mem-alloc": ("cuGraphMemAllocNodeGetParams", self._allocation),
            "mem-free": ("cuGraphMemFreeNodeGetParams", self._release),
        }

    def nodes(self, graph: int) -> tuple[Node, ...]:
        return tuple(self._node(index, handle) for index, handle in enumerate(handles(self._driver, graph)))

    def _node(self, index: int, handle: int) -> Node:
        number = ctypes.c_uint()
        # A plain number, so that kinds are known without `cuda-bindings`, and newer ones than those that it knows.
        known = self._driver.call("cuGraphNodeGetType", ctypes.c_void_p(handle), ctypes.byref(number))
        kind = KINDS[number.value] if known and number.value < len(KINDS) else "unknown"
        node = Node(index, handle, kind, is_legible=kind in _WITHOUT_ADDRESSES)
        if kind not in self._readers:
            return node
        function, read = self._readers[kind]
        given = self._driver.ask(function, handle)
        try:
            return node if given is None else read(node, given)
        except ValueError:  # a number in it is none that `cuda-bindings` knows
            return node

    def _kernel(self, node: Node, given: Any) -> Node:
        function = int(given.func) or int(self._driver.ask("cuKernelGetFunction", given.kern) or 0)
        name, sizes = self._function(function)
        if given.kernelParams:
            parameters = (ctypes.c_void_p * len(sizes)).from_address(given.kernelParams)
            words = tuple(chain.from_iterable(map(_words, parameters, sizes)))
            return replace(node, name=name, words=words, is_legible=bool(sizes))
        if given.extra:
            words = _packed(ctypes.cast(given.extra, ctypes.POINTER(ctypes.c_void_p)))
            return replace(node, name=name, words=words, is_legible=bool(words))
        return replace(node, name=name, is_legible=True)

    def _function(self, function: int) -> tuple[str, tuple[int, ...]]:
        """The name of a kernel and the sizes of its parameters in bytes; CUDA 12.3 and 12.4 tell them."""
        if function not in self._functions:
            name: bytes = self._driver.ask("cuFuncGetName", function) or b""
            sizes: list[int] = []
            while (found := self._driver.ask("cuFuncGetParamInfo", function, len(sizes))) is not None:
                _offset, size = found
                sizes.append(size)
            self._functions[function] = name.decode(), tuple(sizes)
        return self._functions[function]

    def _copy(self, node: Node, given: Any) -> Node:
        source, target = (self._stretch(given, side) for side in ("src", "dst"))
        words = source.address, target.address
        return replace(node, words=words, source=source, target=target, is_legible=True)

    def _stretch(self, copy: Any, side: str) -> Stretch:
        """One side of a copy: `src` or `dst`, as its fields begin."""

        def of_side(name: str) -> int:
            return int(getattr(copy, side + name))

        kind, pitch, height = map(of_side, ("MemoryType", "Pitch", "Height"))
        if kind == _ARRAY:
            return Stretch(of_side("Array"), 0, "array")
        first = of_side("Host" if kind == _HOST else "Device") + of_side("XInBytes")
        first += pitch * (of_side("Y") + height * of_side("Z"))
        rows = (max(copy.Depth, 1) - 1) * height + max(copy.Height, 1) - 1
        return Stretch(first, rows * pitch + copy.WidthInBytes, self._driver.residence(first))

    def _memset(self, node: Node, given: Any) -> Node:
        address = int(given.dst)
        size = (max(given.height, 1) - 1) * given.pitch + given.width * given.elementSize
        target = Stretch(address, size, self._driver.residence(address))
        return replace(node, words=(address,), target=target, is_legible=True)

    def _host_call(self, node: Node, given: Any) -> Node:
        return replace(node, words=(int(given.fn), int(given.userData)), is_legible=True)

    def _child(self, node: Node, graph: Any) -> Node:
        return replace(node, children=self.nodes(int(graph)), is_legible=True)

    def _allocation(self, node: Node, given: Any) -> Node:
        return replace(node, words=(int(given.dptr),), is_legible=True)

    def _release(self, node: Node, address: Any) -> Node:
        return replace(node, words=(int(address),), is_legible=True)


# What the parameters of a kernel are, `cuda-bindings` does not tell, only where they lie; so ctypes reads them.


def _packed(extra: Any) -> tuple[int, ...]:
    """The words of a kernel whose parameters are handed over in one buffer, as cuBLASLt does."""
    buffer = size = position = 0
    while (tag := extra[position] or 0) != _EXTRA_END:
        value = extra[position + 1] or 0
        if tag == _EXTRA_BUFFER:
            buffer = value
        elif tag == _EXTRA_SIZE:
            size = ctypes.c_size_t.from_address(value).value
        position += 2
    return _words(buffer, size)


def _words(address: int, size: int) -> tuple[int, ...]:
    """The whole words of some host memory."""
    count = size // _WORD
    return struct.unpack(f"={count}Q", ctypes.string_at(address, count * _WORD)) if count else ()
