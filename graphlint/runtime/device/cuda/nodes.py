"""A captured graph in, its nodes and every word in them that can be an address out."""

from __future__ import annotations

import ctypes
import struct
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


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("dimensions", ctypes.c_uint * 6),
        ("shared_bytes", ctypes.c_uint),
        ("parameters", ctypes.POINTER(ctypes.c_void_p)),
        ("extra", ctypes.POINTER(ctypes.c_void_p)),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


class _End(ctypes.Structure):
    """One side of a copy."""

    _fields_ = (
        ("x_bytes", ctypes.c_size_t),
        ("y", ctypes.c_size_t),
        ("z", ctypes.c_size_t),
        ("level", ctypes.c_size_t),
        ("type", ctypes.c_uint),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_void_p),
        ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class _Copy(ctypes.Structure):
    _fields_ = (
        ("source", _End),
        ("target", _End),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    )


class _Memset(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("element_bytes", ctypes.c_uint),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("context", ctypes.c_void_p),
    )


class _Allocation(ctypes.Structure):
    _fields_ = (
        ("pool_properties", ctypes.c_byte * 88),
        ("access", ctypes.c_void_p),
        ("access_count", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("address", ctypes.c_void_p),
    )


class _HostCall(ctypes.Structure):
    _fields_ = (("function", ctypes.c_void_p), ("data", ctypes.c_void_p))


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
        self._readers = {
            "kernel": self._kernel,
            "memcpy": self._copy,
            "memset": self._memset,
            "host": self._host_call,
            "graph": self._child,
            "mem-alloc": self._allocation,
            "mem-free": self._release,
        }

    def nodes(self, graph: int) -> tuple[Node, ...]:
        return tuple(self._node(index, handle) for index, handle in enumerate(handles(self._driver, graph)))

    def _node(self, index: int, handle: int) -> Node:
        number = ctypes.c_uint()
        known = self._driver.call("cuGraphNodeGetType", ctypes.c_void_p(handle), ctypes.byref(number))
        kind = KINDS[number.value] if known and number.value < len(KINDS) else "unknown"
        node = Node(index, handle, kind, is_legible=kind in _WITHOUT_ADDRESSES)
        return self._readers[kind](node) if kind in self._readers else node

    def _fill(self, name: str, node: Node, answer: Any) -> bool:
        """Have the driver write what it knows of a node."""
        return self._driver.call(name, ctypes.c_void_p(node.handle), ctypes.byref(answer))

    def _kernel(self, node: Node) -> Node:
        given, function = _Kernel(), ctypes.c_void_p()
        if not self._fill("cuGraphKernelNodeGetParams_v2", node, given):
            return node
        function.value = given.function
        if not function:
            self._driver.call("cuKernelGetFunction", ctypes.byref(function), ctypes.c_void_p(given.kernel))
        name, sizes = self._function(function.value or 0)
        if given.parameters:
            words = tuple(chain.from_iterable(map(_words, given.parameters[: len(sizes)], sizes)))
            return replace(node, name=name, words=words, is_legible=bool(sizes))
        if given.extra:
            words = _packed(given.extra)
            return replace(node, name=name, words=words, is_legible=bool(words))
        return replace(node, name=name, is_legible=True)

    def _function(self, function: int) -> tuple[str, tuple[int, ...]]:
        """The name of a kernel and the sizes of its parameters in bytes; CUDA 12.3 and 12.4 tell them."""
        if function not in self._functions:
            name, offset, size = ctypes.c_char_p(), ctypes.c_size_t(), ctypes.c_size_t()
            self._driver.call("cuFuncGetName", ctypes.byref(name), ctypes.c_void_p(function))
            sizes: list[int] = []
            while self._driver.call(
                "cuFuncGetParamInfo",
                ctypes.c_void_p(function),
                ctypes.c_size_t(len(sizes)),
                ctypes.byref(offset),
                ctypes.byref(size),
            ):
                sizes.append(size.value)
            self._functions[function] = (name.value or b"").decode(), tuple(sizes)
        return self._functions[function]

    def _copy(self, node: Node) -> Node:
        given = _Copy()
        if not self._fill("cuGraphMemcpyNodeGetParams", node, given):
            return node
        source, target = (self._stretch(end, given) for end in (given.source, given.target))
        words = source.address, target.address
        return replace(node, words=words, source=source, target=target, is_legible=True)

    def _stretch(self, end: _End, copy: _Copy) -> Stretch:
        if end.type == _ARRAY:
            return Stretch(end.array or 0, 0, "array")
        first = (end.host if end.type == _HOST else end.device) or 0
        first += end.x_bytes + end.pitch * (end.y + end.height * end.z)
        rows = (max(copy.depth, 1) - 1) * end.height + max(copy.height, 1) - 1
        return Stretch(first, rows * end.pitch + copy.width, self._driver.residence(first))

    def _memset(self, node: Node) -> Node:
        given = _Memset()
        if not self._fill("cuGraphMemsetNodeGetParams", node, given):
            return node
        address = given.address or 0
        size = (max(given.height, 1) - 1) * given.pitch + given.width * given.element_bytes
        target = Stretch(address, size, self._driver.residence(address))
        return replace(node, words=(address,), target=target, is_legible=True)

    def _host_call(self, node: Node) -> Node:
        given = _HostCall()
        known = self._fill("cuGraphHostNodeGetParams", node, given)
        return replace(node, words=(given.function or 0, given.data or 0), is_legible=known)

    def _child(self, node: Node) -> Node:
        graph = ctypes.c_void_p()
        if not self._fill("cuGraphChildGraphNodeGetGraph", node, graph):
            return node
        return replace(node, children=self.nodes(graph.value or 0), is_legible=True)

    def _allocation(self, node: Node) -> Node:
        given = _Allocation()
        known = self._fill("cuGraphMemAllocNodeGetParams", node, given)
        return replace(node, words=(given.address or 0,), is_legible=known)

    def _release(self, node: Node) -> Node:
        address = ctypes.c_void_p()
        known = self._fill("cuGraphMemFreeNodeGetParams", node, address)
        return replace(node, words=(address.value or 0,), is_legible=known)


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
