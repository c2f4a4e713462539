"""A fresh process in, one in which torch takes itself for a build with a GPU, for good, out."""

from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.jit._builtins import _find_builtin, _register_builtin

from graphlint.errors import UsageError
from graphlint.rulebook import builtin_catalogue
from graphlint.rulebook.operations import Catalogue
from graphlint.runtime.device.emulator import guards, legacy, memory, numbered, settings
from graphlint.runtime.device.emulator.accounts import Accounts
from graphlint.runtime.device.emulator.autocast import Autocast
from graphlint.runtime.device.emulator.device import Device
from graphlint.runtime.device.emulator.generators import Generators
from graphlint.runtime.device.emulator.graph import GraphBase, MemoryPool, new_pool
from graphlint.runtime.device.emulator.guesses import COMPILED, Guesses
from graphlint.runtime.device.emulator.hardware import PROPERTIES, RUNTIME
from graphlint.runtime.device.emulator.kernels import Kernels, not_modelled
from graphlint.runtime.device.emulator.launches import Launches
from graphlint.runtime.device.emulator.memoryless import Memoryless
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.refusals import Refusals
from graphlint.runtime.device.emulator.residence import Residence
from graphlint.runtime.device.emulator.shapes import Outline, Shapes
from graphlint.runtime.device.emulator.streams import DEFAULT, EventBase, StreamBase, Streams
from graphlint.runtime.device.emulator.tensors import Tensors

_C: Any = torch._C
_TREES = "torch._inductor.cudagraph_trees"
_CUDA_TYPE = 1  # of a device, as torch counts them
# Guards of what is compiled hold beside a mode of dispatch from 2.10 on; before, each call compiled anew.
COMPILES = hasattr(torch._C._dynamo.guards, "set_is_in_mode_without_ignore_compile_internals")


class Emulator:
    """The parts of an emulated device, and their place in torch; without numbers, tensors have shapes alone."""

    def __init__(self, *, has_numbers: bool = True) -> None:
        catalogue = builtin_catalogue()  # until a session brings its own
        self.has_numbers = has_numbers
        self.residence = Residence()
        self.shapes = Shapes(self.residence, catalogue.families)
        self.streams = Streams()
        self.generators = Generators(lambda: self.streams.current.recording)
        self.kernels = Kernels() if has_numbers else self.shapes
        self.device = Device(self.residence, self.streams, self.generators, self.kernels, Refusals(catalogue))
        self.autocast = Autocast(catalogue.families)
        self.guesses = Guesses()
        self._announced: set[str] = set()

    def install(self) -> None:
        """From here on, torch answers as if there were a device; the calling thread and later ones run on it."""
        memory.return_freed()
        kind = Recording if self.has_numbers else Outline
        parts = {"streams": self.streams, "generators": self.generators, "guesses": self.guesses, "kind": kind}
        for name, base in (("_CudaStreamBase", StreamBase), ("_CudaEventBase", EventBase), ("_CUDAGraph", GraphBase)):
            setattr(_C, name, type(name, (base,), parts))
        functions = self._functions()
        for name, value in (functions | self.guesses.functions(functions)).items():
            setattr(_C, name, value)
        for name, value in list(settings.unmodelled(functions)):
            setattr(_C, name, value)
        torch.version.cuda = settings.release()
        self._fill_cuda()
        self._fill_accelerator()
        self._fill_unseen(self.device.refusals.catalogue)
        if torch.distributed.is_available():
            collectives: Any = importlib.import_module("graphlint.runtime.device.emulator.collectives")
            self.device.collectives = collectives.Collectives(self.streams, has_numbers=self.has_numbers)
            for owner, name, value in list(self.device.collectives.patches()):
                setattr(owner, name, value)
        tensors = Tensors(self.residence, self.device.wait, self.streams.unwaited)
        standins = (*numbered.patches(), *self.autocast.patches(), *tensors.patches(), *self.guesses.patches())
        for owner, name, value in standins:
            _replace(owner, name, value)
        if not self.has_numbers:
            importlib.import_module("torch._dynamo")  # which kernels of shapes load, and a region is no place for that
            for owner, name, value in Memoryless(self.residence, self.shapes, self.device.wait).patches():
                _replace(owner, name, value)
        guards.register()
        for owner, name in self._compilers():
            setattr(owner, name, self._compiling(getattr(owner, name)))
        setattr(torch.library.Library, "impl", self.kernels.listening(torch.library.Library.impl))  # noqa: B010
        Launches().listen()
        torch.Generator = self.generators.kind
        _follow_threads(self.device)
        self.device.__enter__()

    def _compilers(self) -> Iterator[tuple[Any, str]]:
        """`torch.compile`, and what it calls later: a function may be compiled already that has not run yet."""
        yield torch, "compile"
        yield torch._TorchCompileInductorWrapper, "__call__"
        yield torch._TorchCompileWrapper, "__call__"

    def _compiling(self, compile_: Callable[..., Any]) -> Callable[..., Any]:
        """What takes the place of one of these, and loads the compiler, which takes seconds, when it is called.

        Without numbers there are no addresses, by which trees of CUDA graphs know memory; there, nothing is compiled.
        """

        @functools.wraps(compile_)
        def compiled(*args: Any, **kwargs: Any) -> Any:
            if not self.has_numbers:
                return compile_(*args, **{**kwargs, "disable": True})
            if COMPILES:
                self.guesses.made[COMPILED] = None
                _prepare(self.device)
            elif compile_.__name__ != "compile":  # it is about to run, and not only declared
                raise _unknown_compiler("2.10 is the first release whose compiled functions can be followed")
            return compile_(*args, **kwargs)

        return compiled

    def consult(self, catalogue: Catalogue) -> None:
        """From here on, operators do what this catalogue says."""
        if catalogue is self.device.refusals.catalogue:
            return
        self.device.refusals = Refusals(catalogue)
        self.shapes.families = catalogue.families
        self._fill_unseen(catalogue)

    def _functions(self) -> dict[str, Any]:
        """What the half of torch that is written in C++ has where it is built for CUDA."""
        streams = self.streams

        def current(_device: object = None) -> tuple[int, int, int]:
            return streams.current.handle, 0, _CUDA_TYPE

        return {
            "_has_cuda": True,
            "_CudaDeviceProperties": SimpleNamespace,
            "_cuda_init": _nothing,
            "_cuda_getDeviceCount": lambda: 1,
            "_cuda_getDevice": lambda: 0,
            "_cuda_setDevice": _nothing,
            "_cuda_exchangeDevice": lambda _device: 0,
            "_cuda_maybeExchangeDevice": lambda _device: 0,
            "_cuda_getArchFlags": lambda: "sm_90",
            "_cuda_getCurrentStream": current,
            "_cuda_getCurrentRawStream": lambda _device: streams.current.handle,
            "_cuda_getDefaultStream": lambda _device=None: (DEFAULT, 0, _CUDA_TYPE),
            "_cuda_setStream": lambda stream_id, **_: streams.set_current(stream_id),
            "_cuda_isCurrentStreamCapturing": lambda: streams.current.recording is not None,
            "_cuda_synchronize": lambda *_: streams.wait_host("cuCtxSynchronize"),
            "_cuda_set_sync_debug_mode": lambda mode: setattr(streams, "sync_mode", mode),
            "_cuda_get_sync_debug_mode": lambda: streams.sync_mode,
            "_cuda_getStreamFromExternal": lambda handle, _device=None: (handle, 0, _CUDA_TYPE),
            "_cuda_canDeviceAccessPeer": lambda _device, _peer: False,
            "_accelerator_getDeviceIndex": lambda: 0,
            "_accelerator_setDeviceIndex": _nothing,
            "_accelerator_exchangeDevice": lambda _device: 0,
            "_accelerator_maybeExchangeDevice": lambda _device: 0,
            "_accelerator_isAllocatorInitialized": lambda: True,
            "_accelerator_getMemoryInfo": RUNTIME.cudaMemGetInfo,
            "_cuda_sleep": lambda _cycles: streams.launch("spin"),
            "_graph_pool_handle": self._new_pool,
            "_set_sdp_use_math": _nothing,  # it stays: what a program chooses instead has no kernel of the CPU
            **memory.functions(),
            **Accounts(self.residence, self.device.trees.is_held).functions(),
            **self.device.trees.functions(),
            **settings.functions(),
        }

    def _new_pool(self) -> tuple[int, int]:
        """CUDA graph trees begin with a pool, also those that a program uses without the compiler."""
        if _TREES in sys.modules and self.has_numbers and COMPILES:
            _prepare(self.device)
        return new_pool()

    def _fill_cuda(self) -> None:
        cuda: Any = torch.cuda
        for module in ("streams", "graphs"):
            before = importlib.import_module(f"torch.cuda.{module}")
            passed_on = [name for name, value in vars(before).items() if vars(cuda).get(name, module) is value]
            after = importlib.reload(before)
            for name in passed_on:
                setattr(cuda, name, getattr(after, name))
        for name in ("rangePushA", "rangePop", "rangeStartA", "rangeEnd", "markA"):
            setattr(cuda.nvtx._nvtx, name, _nothing)
        values = {
            "_lazy_init": _nothing,
            "init": _nothing,
            "_initialized": True,
            "default_generators": (self.generators.default,),
            "_cudart": RUNTIME,  # that of a build for CUDA finds no GPU
            "_is_in_bad_fork": lambda: False,  # as every fork of such a build is, once somebody has asked for GPUs
            "_exchange_device": lambda _device: 0,
            "_maybe_exchange_device": lambda _device: 0,
            "is_available": lambda: True,
            "device_count": lambda: 1,
            "_device_count_nvml": lambda: 1,  # also where CUDA_VISIBLE_DEVICES hides all GPUs that there are
            "_parse_visible_devices": lambda: [0],
            "get_device_properties": lambda _device=None: PROPERTIES,
            "get_device_capability": lambda _device=None: (PROPERTIES.major, PROPERTIES.minor),
            "get_device_name": lambda _device=None: PROPERTIES.name,
            "mem_get_info": RUNTIME.cudaMemGetInfo,
            "is_bf16_supported": lambda *_, **__: True,
            "MemPool": MemoryPool,
            "use_mem_pool": _using_pool,
            **legacy.types(),
        }
        for name, value in values.items():
            setattr(cuda, name, value)
        for name in ("mem_get_info", "MemPool", "use_mem_pool"):
            setattr(cuda.memory, name, values[name])
        torch.backends.cudnn.is_acceptable = lambda _tensor: False  # its operators have no kernel of the CPU
        torch._subclasses.fake_tensor.init_gpu_context = _nothing  # which some releases do in C++

    def _fill_unseen(self, catalogue: Catalogue) -> None:
        for name in catalogue.families["unseen"] - self._announced:
            self._announced.add(name)
            place, _, member = name.rpartition(".")
            with contextlib.suppress(ImportError, AttributeError):  # of a library that is not here, or another release
                owner = pkgutil.resolve_name(place)
                told = functools.partial(self.device.called, name)
                _replace(owner, member, _announced(getattr(owner, member), told))

    def _fill_accelerator(self) -> None:
        values = {
            "is_available": lambda: True,
            "device_count": lambda: 1,
            "current_accelerator": lambda check_available=False: torch.device("cuda"),
            "current_device_index": lambda: 0,
            "current_device_idx": lambda: 0,
            "current_stream": lambda device=None: torch.cuda.current_stream(device),  # which the compiler tells apart
            "set_stream": lambda stream: torch.cuda.set_stream(stream),
            "synchronize": lambda device=None: torch.cuda.synchronize(),
            "empty_cache": _nothing,
        }
        for name, value in values.items():
            setattr(torch.accelerator, name, value)


@contextlib.contextmanager
def _using_pool(pool: MemoryPool, device: object = None) -> Iterator[None]:
    """What `torch.cuda.use_mem_pool` gives."""
    yield


def _prepare(device: Device) -> None:
    """Raises UsageError for a release of torch that keeps elsewhere what is prepared."""
    try:
        compiler: Any = importlib.import_module("graphlint.runtime.device.emulator.compiler")
        compiler.prepare(device)
    except (ImportError, AttributeError) as error:
        raise _unknown_compiler(str(error)) from error


def _unknown_compiler(said: str) -> UsageError:
    return not_modelled(f"what torch {torch.__version__} compiles ({said})")


def _replace(owner: object, name: str, standin: object) -> None:
    """Put something in the place of a function of torch.

    TorchScript knows what is written in C++ by its identity; what stands in for it compiles to the same operator.
    """
    known = _find_builtin(getattr(owner, name))
    if known is not None:
        _register_builtin(standin, known)
    setattr(owner, name, standin)


def _announced(function: Callable[..., Any], told: Callable[..., None]) -> Callable[..., Any]:
    """The function, which tells of its arguments before it runs."""

    @functools.wraps(function)
    def announced(*args: Any, **kwargs: Any) -> Any:
        told(args, kwargs)
        return function(*args, **kwargs)

    return announced


def _follow_threads(device: Device) -> None:
    """Modes belong to a thread, and a thread that starts later has none."""
    run = threading.Thread.run

    def run_on_device(thread: threading.Thread) -> None:
        with device:
            run(thread)

    threading.Thread.run = run_on_device  # type: ignore[method-assign, assignment]


def _nothing(*_args: object, **_kwargs: object) -> None:
    """There is nothing to do."""
