"""Kinds of work that a graph can hold: what is launched in another way is a kind of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from graphs import Kind
from steps import (
    BRAIN,
    HALF,
    allocated_behind,
    attention,
    called_back,
    compiled,
    convolution,
    copied_from_host,
    copied_in_rows,
    copied_to_host,
    floats,
    forked,
    gelu_linear,
    integers,
    of,
    rand,
    recurrent,
    signalled,
    training,
    triton_kernel,
    updates,
    with_gradient,
    zeroed,
)
from torch.nn.attention import SDPBackend

# Why an operator is given memory that its nodes do not touch.
_LIKE = "takes the shape alone"
_NO_DROPOUT = "is filled for a dropout, and there is none"
_UNUSED = "is never filled"
_LOSS = {("aten.nll_loss_backward.default", "self"): "the gradient needs the shape alone"}
_NORM = {("aten.native_layer_norm_backward.default", "bias"): "no gradient needs it"}
_POOL = {("aten.max_pool2d_with_indices_backward.default", "self"): "the indices replace it"}
_FLASH = "aten._scaled_dot_product_flash_attention"
_EFFICIENT = "aten._scaled_dot_product_efficient_attention"
_CUDNN = "aten._scaled_dot_product_cudnn_attention"

KINDS = (
    Kind("elementwise", of(lambda x, y: torch.sin(x) * y + 1, floats(1000), floats(1000))),
    Kind("strided elementwise", of(lambda x, y: x.t() + y[::2], floats(64, 64), floats(128, 64))),
    Kind("reduction", of(lambda x: (x.sum(), x.amax(0), x.var(1)), floats(512, 512))),
    Kind("matmul fp32", of(torch.mm, floats(256, 256), floats(256, 256))),
    Kind("batched matmul", of(torch.bmm, floats(8, 64, 64, dtype=HALF), floats(8, 64, 64, dtype=HALF))),
    Kind(
        "linear fp16",
        of(F.linear, floats(256, 512, dtype=HALF), floats(1024, 512, dtype=HALF), floats(1024, dtype=HALF)),
    ),
    Kind("linear bf16 with gelu", gelu_linear),
    Kind("large linear bf16", of(torch.mm, floats(2048, 2048, dtype=BRAIN), floats(2048, 2048, dtype=BRAIN))),
    Kind("convolution fp32", convolution(torch.float32, torch.contiguous_format)),
    Kind("convolution fp16, channels last", convolution(HALF, torch.channels_last)),
    Kind(
        "attention, flash",
        attention(SDPBackend.FLASH_ATTENTION, BRAIN),
        unread={(f"{_FLASH}.default", "rng_state"): _NO_DROPOUT, (f"{_FLASH}.default", "unused"): _UNUSED},
    ),
    Kind(
        "attention, flash, with gradient",
        attention(SDPBackend.FLASH_ATTENTION, BRAIN, grad=True),
        unread={
            (f"{_FLASH}.default", "rng_state"): _NO_DROPOUT,
            (f"{_FLASH}.default", "unused"): _UNUSED,
            (f"{_FLASH}_backward.default", "philox_seed"): _NO_DROPOUT,
            (f"{_FLASH}_backward.default", "philox_offset"): _UNUSED,
        },
    ),
    Kind(
        "attention, memory-efficient",
        attention(SDPBackend.EFFICIENT_ATTENTION, torch.float32, grad=True),
        unread={
            (f"{_EFFICIENT}{direction}.default", name): _NO_DROPOUT
            for direction in ("", "_backward")
            for name in ("philox_seed", "philox_offset")
        },
    ),
    Kind(
        "attention, flash, with dropout",
        attention(SDPBackend.FLASH_ATTENTION, BRAIN, dropout=0.5),
        unread={(f"{_FLASH}.default", "unused"): _UNUSED},
    ),
    Kind("attention, math", attention(SDPBackend.MATH, torch.float32)),
    Kind(
        "attention, cuDNN",
        attention(SDPBackend.CUDNN_ATTENTION, BRAIN),
        unread={(f"{_CUDNN}.default", name): _NO_DROPOUT for name in ("philox_seed", "philox_offset")},
    ),
    Kind("Triton", triton_kernel),
    Kind("torch.compile", compiled, kernels=("triton",)),
    Kind(
        "foreach",
        of(
            torch._foreach_add, lambda: [rand(100 + i) for i in range(200)], lambda: [rand(100 + i) for i in range(200)]
        ),
    ),
    Kind("fused Adam", updates(lambda p: torch.optim.Adam(p, fused=True, capturable=True))),
    Kind("foreach Adam", updates(lambda p: torch.optim.Adam(p, capturable=True, foreach=True))),
    Kind("foreach SGD with momentum", updates(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True))),
    Kind("FFT", of(torch.fft.fft, lambda: rand(64, 1000))),
    Kind("real FFT in two dimensions", of(torch.fft.rfft2, lambda: rand(8, 96, 100))),
    Kind("LSTM", recurrent(torch.nn.LSTM)),
    Kind("GRU", recurrent(torch.nn.GRU)),
    Kind("cat of many", of(torch.cat, lambda: [rand(4, 8 + index) for index in range(150)], 1)),
    Kind("index", of(lambda x, i, j: (x[i], x[i, j]), floats(100, 32), integers(100, 50), integers(32, 50))),
    Kind(
        "index_put",
        of(lambda x, i, v: x.index_put_((i,), v, accumulate=True), floats(100, 32), integers(100, 50), floats(50, 32)),
    ),
    Kind("gather", of(lambda x, i: x.gather(1, i), floats(100, 32), integers(32, 100, 8))),
    Kind("scatter", of(lambda x, i, v: x.scatter_add(1, i, v), floats(100, 32), integers(32, 100, 8), floats(100, 8))),
    Kind("masked", of(lambda x, y: torch.where(x > 0, x, y).masked_fill(x < -1, 0), floats(100), floats(100))),
    Kind(
        "batch norm",
        of(with_gradient(lambda x: F.batch_norm(x, None, None, training=True)), floats(8, 16, 8, 8, grad=True)),
    ),
    Kind(
        "layer norm",
        of(
            with_gradient(lambda x, w, b: F.layer_norm(x, (64,), w, b)),
            floats(32, 64, grad=True),
            floats(64, grad=True),
            floats(64, grad=True),
        ),
        unread=_NORM,
    ),
    Kind(
        "embedding", of(with_gradient(lambda w, i: F.embedding(i, w)), floats(100, 32, grad=True), integers(100, 4, 16))
    ),
    Kind("sort", of(lambda x: torch.sort(x, dim=1), floats(8, 5000))),
    Kind("topk", of(lambda x: torch.topk(x, 10), floats(8, 5000))),
    Kind("cumsum", of(lambda x: (x.cumsum(0), x.cumsum(1)), floats(100, 5000))),
    Kind(
        "softmax and loss",
        of(with_gradient(lambda x, i: F.cross_entropy(x, i)), floats(32, 100, grad=True), integers(100, 32)),
        unread=_LOSS,
    ),
    Kind(
        "pooling",
        of(with_gradient(lambda x: F.max_pool2d(x, 2)), floats(4, 8, 32, 32, grad=True)),
        unread=_POOL,
    ),
    Kind(
        "upsampling",
        of(with_gradient(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")), floats(4, 8, 16, 16, grad=True)),
    ),
    Kind("dropout", of(lambda x: F.dropout(x, 0.5), floats(1000))),
    Kind(
        "random numbers",
        of(lambda x: (torch.rand_like(x), x.normal_(), torch.randint_like(x, 5)), floats(1000)),
        unread={("aten.rand_like.default", "self"): _LIKE, ("aten.randint_like.default", "self"): _LIKE},
    ),
    Kind(
        "QR",
        of(torch.linalg.qr, floats(32, 32)),
        varies="the library chooses other kernels from one capture to the next",
    ),
    Kind("inverse", of(torch.linalg.inv_ex, floats(32, 32))),
    Kind(
        "training step, Adam",
        training(lambda p: torch.optim.Adam(p, capturable=True)),
        unread={("aten.ones_like.default", "self"): _LIKE, **_LOSS, **_NORM},
    ),
    Kind(
        "training step, fused AdamW",
        training(lambda p: torch.optim.AdamW(p, fused=True, capturable=True)),
        unread={("aten.ones_like.default", "self"): _LIKE, **_LOSS, **_NORM},
    ),
    Kind("copy on the device", of(lambda x, y: x.copy_(y), floats(4096), floats(4096)), kinds=("memcpy",)),
    Kind("copy from the host", copied_from_host, kinds=("memcpy",)),
    Kind("copy to the host", copied_to_host, kinds=("memcpy",)),
    Kind("copy of rows", copied_in_rows, kinds=("memcpy",)),
    Kind("memset", zeroed, kinds=("memset",)),
    Kind("host function", called_back, kinds=("host", "kernel")),
    Kind("memory from the driver", allocated_behind, kinds=("mem-alloc", "kernel", "mem-free")),
    Kind("two streams", forked),
    Kind("external event", signalled, kinds=("event-record", "event-wait", "kernel")),
)
