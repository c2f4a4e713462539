"""An operator in, a result that has a shape and no numbers out; what reads a number is given one that is invented."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_map

from graphlint.runtime.device.emulator.invented import INVENTED, META
from graphlint.runtime.device.emulator.kernels import Kernels, is_meta, not_modelled
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.residence import CPU, Kind, Residence, real_device
from graphlint.runtime.trace.operators import Call, operator, tensors

SMALL = 4096  # elements of a tensor of the host, up to which it has numbers: lists of sizes, rates and the like
_RECENT = 64  # answers that are known to be no


def is_unreal(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a shape alone."""
    return bool(real_device(tensor).type == "meta")


class Shapes(Kernels):
    """Kernels of memory that is not there; only small tensors of the host are real, and computed with."""

    def __init__(self, residence: Residence, families: Mapping[str, Container[str]]) -> None:
        super().__init__()
        self.residence = residence
        self.families = families
        self._denied: deque[StorageWeakRef] = deque(maxlen=_RECENT)

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, on_device: bool) -> object:
        given = list(tensors((args, kwargs)))
        is_real = not on_device and not any(is_unreal(one) for one in given)
        if is_real and any(one.alias_info is not None for one in func._schema.arguments):
            return func(*args, **kwargs)  # it uses the memory that is there
        try:
            with self.residence.bare():
                result = self._on_outlines(func, args, kwargs) if is_real else self._shaped(func, args, kwargs)
        except RuntimeError as error:  # which a missing kernel is as well
            if is_real:
                return func(*args, **kwargs)
            if isinstance(error, NotImplementedError):
                raise not_modelled(f"the emulator knows no shape of what `{func}` gives") from error
            raise
        made = [one for one in tensors(result) if not any(one is other for other in given)]
        is_asked = is_meta(kwargs) and "pin_memory" in kwargs  # which C++ does not give
        is_small = not on_device and not is_asked and sum(one.numel() for one in made) <= SMALL
        if is_real and is_small:
            return func(*args, **kwargs)
        if is_small and func._schema.name == "aten::_to_copy":
            return self.filled(made[0])
        if is_asked or any(self.residence.kind(one) is Kind.NOWHERE for one in given):
            for one in made:
                self.residence.place(one, Kind.NOWHERE)
        if func._schema.name in self.families["asking"] or (
            func._schema.name in self.families["joining"] and all(map(self._is_denied, given))
        ):
            self._denied += [StorageWeakRef(one.untyped_storage()) for one in made]
        return result

    def body_of(self, func: Any) -> Callable[..., object] | None:
        """What tells the shape of its result needs no body, which may ask for more than shapes."""
        known = OPDEFS.get(operator(func).schema)
        if known is not None:
            return super().body_of(func) if known._abstract_fn is None else None
        has_shape = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "Meta")
        return None if has_shape else super().body_of(func)

    def filled(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor of the host of the same shape, full of the invented number; a large one holds it once."""
        spread = torch.full((), self._number(tensor), dtype=tensor.dtype, device=CPU).expand(tensor.shape)
        return spread.clone() if tensor.numel() <= SMALL else spread

    def _shaped(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """The result for tensors of which some are no more than shapes."""
        if func._schema.name == "aten::_local_scalar_dense":
            return self._number(args[0])
        if func._schema.is_mutable and torch.Tag.nondeterministic_seeded in func.tags and is_unreal(args[0]):
            return args[0]  # filled with numbers that nobody sees
        kwargs = _nowhere(func, args, kwargs)
        try:
            if func._schema.name not in INVENTED:
                return func(*args, **kwargs)  # which may read the small tensors among them
        except RuntimeError:
            pass
        return self._on_outlines(func, args, kwargs)

    def _on_outlines(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """The result with shapes in place of all tensors; an operator that gives one back gives the tensor itself."""
        given = {id(one): one if is_unreal(one) else _outline(one) for one in tensors((args, kwargs))}
        originals = {id(given[id(one)]): one for one in tensors((args, kwargs))}
        args, kwargs = tree_map(lambda one: given.get(id(one), one), (args, _nowhere(func, args, kwargs)))
        invent = INVENTED.get(func._schema.name)
        result = func(*args, **kwargs) if invent is None else invent(Call(func, args, kwargs))
        return tree_map(lambda one: originals.get(id(one), one), result)

    def _number(self, tensor: torch.Tensor) -> bool | int | float | complex:
        """One and yes; but who asks whether anything is out of the ordinary is told no."""
        if tensor.dtype is torch.bool:
            return not self._is_denied(tensor)
        if tensor.dtype.is_complex:
            return 1 + 0j
        return 1.0 if tensor.dtype.is_floating_point else 1

    def _is_denied(self, tensor: torch.Tensor) -> bool:
        key = tensor.untyped_storage()._cdata
        return any(one.cdata == key for one in self._denied)


class Outline(Recording):
    """A capture whose operators are counted, and never run again."""

    def keep(self, call: Call) -> None:
        """There is nothing to set back."""

    def add(self, call: Call, result: object, around: Callable[[], Any]) -> None:
        super().add(call, result, around)
        self.steps.clear()

    def end(self) -> None:
        self.is_open = False
        alive = [view.memory.alive() for view in self._made if view.memory is not None]
        self.kept |= {storage._cdata: storage for storage in alive if storage is not None}
        self._made.clear()
        self._memory.clear()

    def replay(self) -> None:
        """There is nothing to compute."""


def _nowhere(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator as they are where nothing takes memory."""
    makes = not any(True for _ in tensors(args)) and any(one.name == "device" for one in func._schema.arguments)
    return {**kwargs, "device": META} if makes or kwargs.get("device") is not None else kwargs


def _outline(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        raise NotImplementedError(f"{tensor.layout} has no outline")
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=META)
