"""Functions of tensors that look at the device or build on it in, stand-ins that know where a tensor lies out.

Long, because each of them answers in a way of its own.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.utils._device import DeviceContext, _device_constructors

from graphlint.runtime.device.emulator.numbered import named
from graphlint.runtime.device.emulator.residence import CPU, CUDA, Kind, Residence, real_device

_Base: Any = torch._C.TensorBase
_TENSOR: Any = torch.Tensor
Patch = tuple[Any, str, Any]
_SEQUENCES = (list, tuple)
_UNHANDLED: Any = torch._C._disabled_torch_function_impl
_to_copy: Any = torch.ops.aten._to_copy.default
_NO_NUMPY = (
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)


def _is_handled(tensor: torch.Tensor) -> bool:
    """Whether the class of a tensor says what functions of torch do with it, and is asked at the moment.

    Those without a shape yet know the methods that they allow by the original ones.
    """
    is_own = type(tensor).__torch_function__ is not _UNHANDLED and not is_lazy(tensor)
    return is_own and torch._C._is_torch_function_enabled()


def _method(name: str, standin: Callable[..., Any]) -> Patch:
    """A method in place of one of tensors, which classes derived from these may handle as they do the one of torch.

    Only a plain function is bound to its tensor.
    """

    @functools.wraps(getattr(_Base, name))
    def method(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if type(tensor) is not torch.Tensor and _is_handled(tensor):
            return type(tensor).__torch_function__(method, (type(tensor),), (tensor, *args), kwargs)
        return standin(tensor, *args, **kwargs)

    return _TENSOR, name, method


class Tensors:
    """What takes the place of methods of tensors and of constructors, for as long as the process lives."""

    def __init__(
        self,
        residence: Residence,
        wait: Callable[[], None],
        unwaited: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        """`wait` is what the host does until the device is done, and inside of `unwaited` it does not."""
        self.residence = residence
        self.wait = wait
        self.unwaited = unwaited
        self._by_original: dict[Any, Any] = {}

    def patches(self) -> list[Patch]:
        """What stands in place of what: the owner, the name, the stand-in."""
        constructors = [self._building(torch, name) for name in ("tensor", "as_tensor", "asarray")]
        return [
            (_TENSOR, "device", property(self._device)),
            (_TENSOR, "is_cuda", property(self.residence.is_device)),
            (_TENSOR, "is_cpu", property(lambda tensor: tensor.device.type == "cpu")),
            _method("get_device", lambda tensor: 0 if self.residence.is_device(tensor) else -1),
            _method("to", self._to),
            _method("cuda", self._cuda),
            _method("cpu", self._cpu),
            _method("is_pinned", lambda tensor, *_: self.residence.is_pinned(tensor)),
            _method("pin_memory", self._pin_memory),
            _method("record_stream", lambda tensor, stream: None),
            _method("numpy", self._numpy),
            _method("tolist", self._tolist),
            _method("new_tensor", self._new_tensor),
            _method("type", self._type),
            _method("type_as", lambda tensor, other: self._to(tensor, other)),
            _method("new", self._new),
            *constructors,
            *(self._unchecked(owner, name) for owner in (torch, _TENSOR) for name in ("quantile", "nanquantile")),
            (DeviceContext, "__torch_function__", self._default_device(DeviceContext.__torch_function__)),
            (torch.UntypedStorage, "device", property(self._device_of_storage)),
            (torch.UntypedStorage, "clone", lambda storage: self._cloned_storage(storage)),
            (torch.UntypedStorage, "_write_file", self._writing(torch.UntypedStorage._write_file)),
            (torch._tensor_str, "_str", self._printing(torch._tensor_str._str)),
            (torch._C, "_group_tensors_by_device_and_dtype", _grouping(torch._C._group_tensors_by_device_and_dtype)),
            (torch.nn.functional, "one_hot", self._one_hot(torch.nn.functional.one_hot)),
        ]

    def _device(self, tensor: torch.Tensor) -> torch.device:
        found: torch.device = real_device(tensor)
        return CUDA if found.type == "cpu" and self.residence.is_device(tensor) else found

    def _moved(self, tensor: torch.Tensor, device: torch.device, **kwargs: Any) -> torch.Tensor:
        """A copy on the other side, as an operator that whoever follows them can see."""
        with torch._C.DisableTorchFunctionSubclass():  # of parameters that have no shape yet
            result: torch.Tensor = _to_copy(tensor, device=CUDA if device.type == "cuda" else device, **kwargs)
        return result

    def _to(self, tensor: torch.Tensor, *args: Any, copy: bool = False, **kwargs: Any) -> Any:
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, torch.Tensor):
            args = (other.device, other.dtype, *args[1:])
            kwargs.pop("other", None)
        elif isinstance(other, int) and not isinstance(other, bool):
            args = (torch.device("cuda", other), *args[1:])
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        device, dtype, non_blocking, layout = torch._C._nn._parse_to(*args, **kwargs)
        if device is None or device.type == tensor.device.type or "meta" in (device.type, tensor.device.type):
            here = {"device": device} if device is not None and device.type == "meta" else {}
            result: torch.Tensor = _Base.to(
                tensor, dtype=dtype or tensor.dtype, non_blocking=non_blocking, copy=copy, memory_format=layout, **here
            )
            return result
        return self._moved(tensor, device, dtype=dtype, non_blocking=non_blocking, memory_format=layout)

    def _cuda(self, tensor: torch.Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if self.residence.is_device(tensor):
            return tensor
        return self._moved(tensor, CUDA, non_blocking=non_blocking, **kwargs)

    def _cpu(self, tensor: torch.Tensor, **kwargs: Any) -> Any:
        if not self.residence.is_device(tensor):
            return _Base.cpu(tensor, **kwargs)
        return self._moved(tensor, CPU, **kwargs)

    def _pin_memory(self, tensor: torch.Tensor, *_: object) -> Any:
        if self.residence.is_device(tensor):
            raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
        pinned = tensor.clone()
        self.residence.place(pinned, Kind.PINNED)
        return pinned

    def _numpy(self, tensor: torch.Tensor, *, force: bool = False) -> Any:
        if self.residence.is_device(tensor):
            if not force:
                raise TypeError(_NO_NUMPY)
            tensor = tensor.detach().cpu()
        return _Base.numpy(tensor, force=force)

    def _tolist(self, tensor: torch.Tensor) -> Any:
        return _Base.tolist(self._cpu(tensor) if self.residence.is_device(tensor) else tensor)

    def _new(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        device = torch.device(kwargs.pop("device", None) or tensor.device)
        if device.type == "cuda" and args and type(args[0]) in _SEQUENCES:
            return torch.tensor(args[0], dtype=tensor.dtype, device=device)
        if device.type == "cuda" and all(isinstance(one, int | torch.Size) for one in args):
            return torch.empty(*args, dtype=tensor.dtype, device=device)
        return _Base.new(tensor, *args, **kwargs)

    def _new_tensor(self, tensor: torch.Tensor, data: Any, **kwargs: Any) -> Any:
        device = torch.device(kwargs.pop("device", None) or tensor.device)
        if isinstance(data, torch.Tensor) and self.residence.is_device(data):
            dtype = kwargs.pop("dtype", None) or tensor.dtype
            return self._of_tensor("tensor", data, dtype=dtype, device=device, **kwargs)
        self._read(data)
        return self._placed(_Base.new_tensor(tensor, data, device=CPU, **kwargs), device, data)

    def _placed(self, made: torch.Tensor, device: torch.device, data: object) -> torch.Tensor:
        """What was built on the host, uploaded if it is meant for the device."""
        if device.type != "cuda" or self.residence.is_device(made):
            return made
        if isinstance(data, int | float | bool) and type(made) is not torch.Tensor:  # the compiler folds such a number
            return torch.full((), data, dtype=made.dtype, device=device)
        with torch.no_grad():
            uploaded = self._moved(made, device)
        return uploaded.requires_grad_(made.requires_grad)

    def _type(self, tensor: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
        if isinstance(dtype, torch.dtype):
            return tensor.to(dtype, non_blocking=non_blocking)
        named = dtype or _Base.type(tensor)
        named = named if isinstance(named, str) else f"{named.__module__}.{named.__name__}"
        if dtype is None:
            return named.replace("torch.", "torch.cuda.") if self.residence.is_device(tensor) else named
        found = _Base.type(torch.empty(0, dtype=tensor.dtype, device=CPU), named.replace("torch.cuda.", "torch."))
        return tensor.to("cuda" if ".cuda." in named else "cpu", found.dtype, non_blocking=non_blocking)

    def _device_of_storage(self, storage: Any) -> torch.device:
        found: torch.device = torch._C.StorageBase.device.__get__(storage)
        return CUDA if self.residence.kind_of_storage(storage) is Kind.DEVICE else found

    def _cloned_storage(self, storage: Any) -> Any:
        made = torch.UntypedStorage(storage.nbytes())
        if self.residence.kind_of_storage(storage) is Kind.DEVICE:
            self.residence.place_storage(made, Kind.HELPER)  # the copy makes it memory of the device
        return made.copy_(storage, False)

    def _writing(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def written(storage: Any, *args: Any) -> Any:
            if self.residence.kind_of_storage(storage) is Kind.DEVICE:
                self.wait()
            return write(storage, *args)

        return written

    def _printing(self, printed: Callable[..., str]) -> Callable[..., str]:
        """What prints a tensor leaves all modes, so it is here that the host waits."""

        @functools.wraps(printed)
        def text(tensor: torch.Tensor, **kwargs: Any) -> str:
            if self.residence.is_device(tensor):
                self.wait()
            return printed(tensor, **kwargs)

        return text

    def _building(self, owner: Any, name: str) -> Patch:
        build: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(build)
        def built(data: Any, *args: Any, device: Any = None, pin_memory: bool = False, **kwargs: Any) -> Any:
            if isinstance(data, torch.Tensor) and self.residence.is_device(data):
                given = dict(zip(("dtype", "device"), args, strict=False))
                return self._of_tensor(name, data, **({"device": device} | given | kwargs))
            self._read(data)
            if pin_memory:
                return self._pin_memory(build(data, *args, device=device, **kwargs))
            if device is None:
                return build(data, *args, **kwargs)
            target = torch.device(named(device))
            if target.type != "cuda":
                return build(data, *args, device=target, **kwargs)
            return self._placed(build(data, *args, device=CPU, **kwargs), target, data)

        self._by_original[build] = built
        return owner, name, built

    def _of_tensor(
        self,
        name: str,
        data: torch.Tensor,
        dtype: torch.dtype | None = None,
        device: Any = None,
        copy: bool | None = None,
        requires_grad: bool = False,
    ) -> torch.Tensor:
        """What a constructor makes of a tensor of the device; only `as_tensor` leaves gradients their way."""
        is_new = name == "tensor" or bool(copy)
        given = data if name == "as_tensor" else data.detach()
        made: torch.Tensor = given.to(torch.device(device or CUDA), dtype or data.dtype, copy=is_new)
        return made if name == "as_tensor" else made.requires_grad_(requires_grad)

    def _read(self, data: Any) -> None:
        """Data that is made of single numbers of the device has them read one by one."""
        if type(data) in _SEQUENCES and any(self._is_made_of_device(one) for one in data):
            self.wait()

    def _is_made_of_device(self, data: Any) -> bool:
        if type(data) in _SEQUENCES:
            return any(self._is_made_of_device(one) for one in data)
        return isinstance(data, torch.Tensor) and self.residence.is_device(data)

    def _default_device(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        """A default device reaches constructors behind their stand-ins, so it leads back to them, and knows them."""
        _device_constructors().update(self._by_original.values())

        def handled(context: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handle(context, self._by_original.get(func, func), types, args, kwargs)

        return handled

    def _unchecked(self, owner: Any, name: str) -> Patch:
        """Torch looks whether their numbers are in range, but not if they lie on a device, where it would wait."""
        compute: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(compute)
        def computed(*args: Any, **kwargs: Any) -> Any:
            with self.unwaited():
                return compute(*args, **kwargs)

        return owner, name, computed

    def _one_hot(self, one_hot: Callable[..., Any]) -> Callable[..., Any]:
        """Of the device, what is out of range is not looked for where the number of classes is given."""

        @functools.wraps(one_hot)
        def encoded(tensor: torch.Tensor, num_classes: int = -1) -> Any:
            if num_classes < 0 or not self.residence.is_device(tensor):
                return one_hot(tensor, num_classes)
            zeros = tensor.new_zeros((*tensor.shape, num_classes))
            return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)

        return encoded


def _grouping(group: Callable[..., Any]) -> Callable[..., Any]:
    """Optimizers move what belongs to a group to its device, which is the one where its first tensor lies."""

    @functools.wraps(group)
    def grouped(lists: Any, with_indices: bool = False) -> Any:
        found = group(lists, with_indices)
        return {(each[0][0][0].device, dtype): each for (_, dtype), each in found.items()}

    return grouped
