"""Names of operations in; each call of one that user code makes while a capture is under way, told before it runs, out.

Functions and methods are replaced where they are defined and where modules of the program have imported them by name;
a reference that is kept elsewhere, in a closure or a container, is not followed. Operators of torch that take tensors
are followed by torch's own mode for functions, which is told of them under whatever name they are called.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any

from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode, get_testing_overrides, resolve_name

from graphlint.rulebook.operators import OPERATORS
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.places import Stack, is_user_code, libraries_between, user_stack
from graphlint.runtime.watch.recorder import Recorder

# What may stand between the line that calls an operation and the operation: calls of modules or operators, and modes.
_BETWEEN = (
    "torch.nn.modules.module:",
    "torch.overrides:",
    "torch.utils._device:",
    "torch._ops:",
    "torch._library.custom_ops:",
)

_IMMUTABLE = 1 << 8  # among the flags of a class: Py_TPFLAGS_IMMUTABLETYPE

Patch = tuple[Any, str, Any]
After = Callable[[object], None]  # is told what the call has given
Told = Callable[[Capture, str, tuple[Any, ...], Mapping[str, Any], Stack], After | None]


class Calls:
    """Follows calls of operations by name; of none until somebody asks for it."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._names: Collection[str] = ()
        self._told: Told | None = None
        self._has_torch = False

    def follow(self, names: Collection[str], told: Told, *, has_torch: bool) -> None:
        """Tell of the operations with these qualified names, and of all operators of torch if it `has_torch`."""
        self._names, self._told, self._has_torch = names, told, has_torch

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Inside, operators of torch are followed."""
        with _OfTorch(self) if self._has_torch else contextlib.nullcontext():
            yield

    def patches(self) -> list[Patch]:
        """What to put in place of what while a capture is under way."""
        found = ((name, _defined(name)) for name in self._names)
        return [patch for name, place in found if place is not None for patch in self._replacing(name, *place)]

    def _replacing(self, name: str, owner: Any, attribute: str, call: Any) -> Iterator[Patch]:
        if inspect.isclass(call):  # it stays the class that it is; making an instance is what is called
            if not call.__flags__ & _IMMUTABLE:
                # That of `object` may not be given what `__new__` takes, once there is another one.
                initialise = (lambda *args, **kwargs: None) if call.__init__ is object.__init__ else call.__init__
                yield call, "__init__", self._noting(name, initialise, makes=True)
            return
        if inspect.isclass(owner):
            static, noting = inspect.getattr_static(owner, attribute), self._noting(name, call)
            if not isinstance(static, classmethod):  # its first argument is no receiver
                yield owner, attribute, staticmethod(noting) if isinstance(static, staticmethod) else noting
            return
        noting = self._noting(name, call)
        for module in list(sys.modules.values()):
            if module is owner or is_user_code(getattr(module, "__file__", None) or "<"):
                yield from ((module, alias, noting) for alias, held in list(vars(module).items()) if held is call)

    def _noting(self, name: str, call: Callable[..., Any], *, makes: bool = False) -> Callable[..., Any]:
        """The same callable; one that `makes` an object is given that first."""

        @functools.wraps(call)
        def noted(*args: Any, **kwargs: Any) -> Any:
            after = self.begin(name, args[makes:], kwargs, sys._getframe(1))
            result = call(*args, **kwargs)
            if after is not None:
                after(args[0] if makes else result)
            return result

        return noted

    def begin(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], frame: FrameType | None, own: str = ""
    ) -> After | None:
        """Tell of a call, if the capturing thread makes it in user code; `own` is the function that a mode runs for."""
        capture = self.recorder.capture
        if capture is None or self._told is None or threading.get_ident() != capture.thread:
            return None
        if not all(one == own or one.startswith(_BETWEEN) for one in libraries_between(frame)):
            return None
        return self._told(capture, name, args, kwargs, user_stack(frame))


class _OfTorch(TorchFunctionMode):
    """Tells of the operators of torch."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        own = f"{getattr(func, '__module__', '')}:{getattr(func, '__qualname__', '')}"
        after = self.calls.begin(_name(func), args, given, sys._getframe(1), own)
        result = func(*args, **given)
        if after is not None:
            after(result)
        return result


def _defined(name: str) -> tuple[Any, str, Any] | None:
    """The owner of a name, its attribute and what that is; None where no module is loaded that has it.

    None as well for an operator of torch that its mode for functions is told of.
    """
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        owner: Any = sys.modules.get(".".join(parts[:end]))
        if isinstance(owner, ModuleType):
            for part in parts[end:-1]:
                owner = getattr(owner, part, None)
            call = getattr(owner, parts[-1], None)
            return (owner, parts[-1], call) if callable(call) and not _is_overridable(call) else None
    return None


def _is_overridable(call: Any) -> bool:
    try:
        return call in get_testing_overrides()
    except TypeError:  # of an object that cannot be hashed
        return False


@functools.cache
def _name(func: Any) -> str:
    name = resolve_name(func) or ""
    return f"{OPERATORS}{name}" if isinstance(func, OpOverload | OpOverloadPacket) else name
