"""Steps to capture: tensors are made once, the step uses them again and again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
import torch.nn.functional as F
from graphs import Step
from torch.nn.attention import SDPBackend, sdpa_kernel

from graphlint.runtime.device.cuda.driver import Driver

HALF, BRAIN = torch.float16, torch.bfloat16


def rand(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=grad)


def of(function: Callable[..., object], *tensors: object) -> Callable[[], Step]:
    """A step that calls one function; the tensors are made by calling what makes them."""

    def prepare() -> Step:
        made = [one() if callable(one) else one for one in tensors]
        return lambda: function(*made)

    return prepare


def stream_pointer() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def attention(backend: SDPBackend, dtype: torch.dtype, *, grad: bool = False, dropout: float = 0) -> Callable[[], Step]:
    def prepare() -> Step:
        query, key, value = (rand(2, 4, 128, 64, dtype=dtype, grad=grad) for _ in range(3))

        def step() -> object:
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
            return (out, *torch.autograd.grad(out, (query, key, value), out.detach())) if grad else out

        return step

    return prepare


def gelu_linear() -> Step:
    x, weight, bias = rand(256, 512, dtype=BRAIN), rand(1024, 512, dtype=BRAIN), rand(1024, dtype=BRAIN)
    return lambda: torch.ops.aten._addmm_activation(bias, x, weight.t(), use_gelu=True)


def recurrent(module: type[torch.nn.Module]) -> Callable[[], Step]:
    def prepare() -> Step:
        network, x = module(32, 64, num_layers=2).cuda(), rand(12, 8, 32, grad=True)

        def step() -> object:
            out, _ = network(x)
            return out, torch.autograd.grad(out, (x, *network.parameters()), out.detach())

        return step

    return prepare


def convolution(dtype: torch.dtype, memory_format: torch.memory_format) -> Callable[[], Step]:
    def prepare() -> Step:
        network = torch.nn.Conv2d(16, 32, 3, padding=1).to("cuda", dtype, memory_format=memory_format)
        x = rand(4, 16, 32, 32, dtype=dtype).to(memory_format=memory_format).requires_grad_()

        def step() -> object:
            out = network(x)
            return out, torch.autograd.grad(out, (x, *network.parameters()), out.detach())

        return step

    return prepare


def training(optimizer: Callable[..., torch.optim.Optimizer]) -> Callable[[], Step]:
    def prepare() -> Step:
        layers = (torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 8))
        network = torch.nn.Sequential(*layers).cuda()
        x, labels = rand(16, 32), torch.randint(8, (16,), device="cuda")
        update = optimizer(network.parameters())

        def step() -> object:
            update.zero_grad(set_to_none=True)
            loss = F.cross_entropy(network(x), labels)
            loss.backward()
            update.step()
            return loss.detach()

        return step

    return prepare


def updates(optimizer: Callable[..., torch.optim.Optimizer]) -> Callable[[], Step]:
    """An optimizer alone, with enough parameters to fill more than one launch."""

    def prepare() -> Step:
        parameters = [rand(64 + index, grad=True) for index in range(120)]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        return optimizer(parameters).step

    return prepare


def compiled() -> Step:
    network, x = (
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda(),
        rand(32, 64),
    )
    function = torch.compile(network)

    def step() -> object:
        with torch.no_grad():
            return function(x), x, tuple(network.parameters())

    return step


def triton_kernel() -> Step:
    from doubling import doubled  # imported here, since a kernel is compiled from the text of its module

    x = rand(1000)
    return lambda: (x, doubled(x))


def copied_from_host() -> Step:
    host, device = torch.randn(4096, pin_memory=True), rand(4096)
    return lambda: device.copy_(host, non_blocking=True)


def copied_to_host() -> Step:
    host, device = torch.empty(4096, pin_memory=True), rand(4096)
    return lambda: (host.copy_(device, non_blocking=True), device)


def copied_in_rows() -> Step:
    """A copy with a pitch: 64 rows of a wider matrix."""
    driver, wide, narrow = Driver(), rand(64, 256), rand(64, 100)
    copy = (ctypes.c_uint64 * 16)()  # CUDA_MEMCPY2D
    copy[2], copy[4], copy[6] = 2, wide.data_ptr(), 256 * 4
    copy[9], copy[11], copy[13] = 2, narrow.data_ptr(), 100 * 4
    copy[14], copy[15] = 100 * 4, 64

    def step() -> object:
        assert driver.call("cuMemcpy2DAsync_v2", ctypes.byref(copy), stream_pointer())
        return wide, narrow

    return step


def zeroed() -> Step:
    driver, x = Driver(), rand(4096)

    def step() -> object:
        assert driver.call(
            "cuMemsetD8Async", ctypes.c_uint64(x.data_ptr()), ctypes.c_ubyte(0), x.nbytes, stream_pointer()
        )
        return x

    return step


def called_back() -> Step:
    driver, x = Driver(), rand(16)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)

    def step() -> object:
        assert driver.call("cuLaunchHostFunc", stream_pointer(), callback, None)
        return x.add_(1)

    return step


def allocated_behind() -> Step:
    """Memory that the driver gives while it captures, not torch."""
    driver, x, memory = Driver(), rand(16), ctypes.c_uint64()

    def step() -> object:
        assert driver.call("cuMemAllocAsync", ctypes.byref(memory), ctypes.c_size_t(4096), stream_pointer())
        x.add_(1)
        assert driver.call("cuMemFreeAsync", memory, stream_pointer())
        return x

    return step


def forked() -> Step:
    x, y, side = rand(1024), rand(1024), torch.cuda.Stream()

    def step() -> object:
        side.wait_stream(torch.cuda.current_stream())
        found = []
        for _ in range(4):
            found.append(x * 2)
            with torch.cuda.stream(side):
                found.append(y * 3)
        torch.cuda.current_stream().wait_stream(side)
        return found, x + y

    return step


def signalled() -> Step:
    x, event = rand(16), torch.cuda.Event(external=True)

    def step() -> object:
        x.add_(1)
        event.record()
        event.wait()
        return x.add_(1)

    return step


def integers(high: int, *shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randint(high, shape, device="cuda")


def floats(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> Callable[[], torch.Tensor]:
    return lambda: rand(*shape, dtype=dtype, grad=grad)


def with_gradient(function: Callable[..., torch.Tensor]) -> Callable[..., object]:
    """The function, and the gradients of its inputs that have one."""

    def run(*tensors: torch.Tensor) -> object:
        out = function(*tensors)
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        return out, torch.autograd.grad(out, wanted, out.detach())

    return run
