"""Nothing in, what an emulated device is and can, as torch tells of one, out."""

from __future__ import annotations

from types import SimpleNamespace

from graphlint.runtime.device.emulator.memory import CAPACITY

PROPERTIES = SimpleNamespace(
    name="graphlint emulator",
    major=9,
    minor=0,
    total_memory=CAPACITY,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_block_optin=232448,
    shared_memory_per_block=49152,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=50 << 20,
    is_integrated=False,
    is_multi_gpu_board=False,
    gcnArchName="",
    uuid="",
)

RUNTIME = SimpleNamespace(
    cudaError=SimpleNamespace(success=0),
    cudaProfilerStart=lambda: 0,
    cudaProfilerStop=lambda: 0,
    cudaMemGetInfo=lambda _device=None: (CAPACITY, CAPACITY),
)  # what a program can do without a profiler; nothing else is modelled
