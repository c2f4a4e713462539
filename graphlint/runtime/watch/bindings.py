"""The code of a region as it runs in, the numbers, tensors and containers that it read and changed by name out."""

from __future__ import annotations

import builtins
import gc
import importlib
import inspect
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from graphlint.runtime.compare.remembered import weakly
from graphlint.runtime.trace.bindings import Access, Binding, Bindings
from graphlint.runtime.trace.containers import CONTAINERS, elements
from graphlint.runtime.trace.frames import MISSING, local, running
from graphlint.runtime.trace.host_values import SCALARS, Description, describe, follow
from graphlint.runtime.trace.places import Place, place_of
from graphlint.runtime.trace.values import content
from graphlint.runtime.watch.accesses import accesses
from graphlint.runtime.watch.births import Births
from graphlint.runtime.watch.lines import Lines

_OWN_REFERENCES = 2  # to a container that nobody else holds: ours, and the one that counts


class RecordedBindings(Bindings):
    """Takes down by itself which state the lines of user code touch, between `start` and `stop`."""

    def __init__(self, opening: CodeType | None) -> None:
        super().__init__(opening)
        self._births = Births(opening)
        self._held: dict[int, object] = {}  # containers by identity, while the region runs
        self._roots: dict[tuple[Access, CodeType], Callable[[], object]] = {}  # what the name of an access stands for
        self._random: tuple[object, ...] = ()
        self._threads: dict[int, bool] = {}  # by identity, whether it runs for the region
        self._last: Place | None = None
        self._lines = Lines(self._line)

    def start(self) -> None:
        """Begin to listen; nothing is taken down where a debugger or the like listens already."""
        if "numpy" in sys.modules:
            importlib.import_module("numpy.random")  # NumPy loads it when it is first used
        self._random = _random_state()
        self._threads = {threading.get_ident(): True}
        self._lines.start()

    def pause(self) -> None:
        """What runs from here on is not the region's."""
        self._lines.pause()

    def resume(self) -> None:
        """The region goes on."""
        self._random = _random_state()
        self._lines.resume()

    def stop(self) -> None:
        """End, and look at everything once more."""
        if self._lines.stop():
            self._note_draws()
        self._births.ended()
        gone = {key for key in self._held if sys.getrefcount(self._held[key]) <= _OWN_REFERENCES}
        given = {id(_local_of_running(one.root, code)) for one, code in self.found if self._is_result(one, code)}
        for at, root in self._roots.items():
            owner = id(root())
            if owner in gone:
                del self.found[at]
                continue
            self.found[at].left = self.found[at].look_up()
            self.found[at].is_given = bool(at[0].steps) and owner in given
        self._roots.clear()
        self._held.clear()

    def _line(self, frame: FrameType, line: int) -> None:
        if not self._is_of_region(frame):
            return
        code = frame.f_code
        self._births.runs(frame, line)
        self._note_draws()
        self._last = place_of(frame)
        for access in accesses(code).get(line, ()):
            if (access, code) not in self.found:
                binding = self._bind(access, frame)
                if binding is not None:
                    self.found[access, code] = binding

    def _is_result(self, access: Access, code: CodeType) -> bool:
        """Whether the code that opens the region gives a variable something there."""
        return code is self.opening and access.how == "write" and not access.steps

    def _is_of_region(self, frame: FrameType) -> bool:
        """Whether the capturing thread runs, or one of autograd's that runs hooks for it; another has its own work."""
        thread = threading.get_ident()
        if thread not in self._threads:
            while frame.f_back is not None:
                frame = frame.f_back
            self._threads[thread] = frame.f_code.co_name != threading.Thread._bootstrap.__name__  # type: ignore[attr-defined]
        return self._threads[thread]

    def _note_draws(self) -> None:
        """Random numbers of the host that the last line has drawn."""
        state = _random_state()
        has_drawn = any(old is not None and old != new for old, new in zip(self._random, state, strict=True))
        if has_drawn and self._last is not None:
            self.draws.append(self._last)
        self._random = state

    def _bind(self, access: Access, frame: FrameType) -> Binding | None:
        code = frame.f_code
        is_local = access.root in (*code.co_varnames, *code.co_cellvars)
        if is_local and (not access.steps or access.root == _keywords(code)) and code is not self.opening:
            return None  # a local variable of a function lives for one call, as `**kwargs` do
        if is_local and access.root in ("self", "cls"):
            is_local = False
        root = _root(access.root, frame, self._held)
        if root is None or root() in self._births:
            return None

        def look_up() -> Description:
            return describe(follow(root(), access.steps))

        entered = look_up()
        if not entered and access.how in ("read", "call"):
            return None
        self._roots[access, code] = root
        return Binding(access, place_of(frame), look_up, entered, is_local)


def _root(name: str, frame: FrameType, held: dict[int, object]) -> Callable[[], object] | None:
    """How to look up a name later, without keeping tensors alive; `held` may keep them until the region has run."""
    code, space = frame.f_code, frame.f_globals
    if name not in (*code.co_varnames, *code.co_freevars, *code.co_cellvars) or code.co_name == "<module>":
        is_builtin = name not in space and hasattr(builtins, name)
        return None if is_builtin else lambda: space.get(name, MISSING)
    value = local(frame, name)
    if not isinstance(value, (torch.Tensor, *SCALARS, *CONTAINERS)) and value is not MISSING:
        return _referred(value)
    function = _function(frame) if name in code.co_freevars else None
    if function is not None:
        index, closure = code.co_freevars.index(name), weakref.ref(function)
        return lambda: _contents(closure(), index)
    if not isinstance(value, CONTAINERS):
        return lambda: _local_of_running(name, code)
    if _is_plain(value):
        return lambda: value
    key = id(value)
    held[key] = value
    return lambda: held[key] if key in held else _local_of_running(name, code)


def _keywords(code: CodeType) -> str | None:
    """The name of the dictionary of all other keyword arguments."""
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)]


def _referred(value: object) -> Callable[[], object]:
    try:
        reference = weakly(value)
    except TypeError:
        return lambda: value
    return lambda: MISSING if (found := reference()) is None else found


def _is_plain(container: Any) -> bool:
    """Whether a container holds nothing but numbers and text."""
    held = elements(container)
    return bool(held) and all(isinstance(one, SCALARS) for one in held)


def _function(frame: FrameType) -> types.FunctionType | None:
    """The function that a frame runs: the one with this code in whose closure the same things lie."""
    code = frame.f_code
    held = [local(frame, name) for name in code.co_freevars]
    for one in gc.get_referrers(code):
        if isinstance(one, types.FunctionType) and one.__code__ is code:
            contents = [_contents(one, index) for index in range(len(held))]
            if all(left is right for left, right in zip(contents, held, strict=True)):
                return one
    return None


def _contents(function: types.FunctionType | None, index: int) -> object:
    """What a variable of a closure holds."""
    try:
        return function.__closure__[index].cell_contents if function and function.__closure__ else MISSING
    except ValueError:
        return MISSING


def _local_of_running(name: str, code: CodeType) -> object:
    """A variable of a function that is running, or of one around it."""
    for frame in running():
        if frame.f_code is code or name in frame.f_code.co_cellvars:
            return local(frame, name)
    return MISSING


def _random_state() -> tuple[object, ...]:
    """Where the generators of the host are: Python's, that of NumPy's functions if it is loaded, and torch's."""
    numpy = sys.modules.get("numpy.random")
    get_state = getattr(numpy, "get_state", None)  # not there yet while NumPy is being imported
    keys = get_state(legacy=False)["state"] if get_state is not None else {}
    of_numpy = (keys["key"].tobytes(), keys["pos"]) if "key" in keys else None
    with _disable_current_modes():
        of_torch = content(torch.default_generator.get_state())
    return random.getstate()[1], of_numpy, of_torch
