"""A frame in, the lines of user code that led to it out."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import os
import re
import sys
import sysconfig
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from graphlint.finding import Hop, Span

_LIBRARIES = (
    "torch", "triton", "numpy", "functorch", "torchgen", "cuda", "cupy", "numba", "numba_cuda", "warp",
    "pytest", "_pytest", "pluggy",
)  # fmt: skip
_WRAPPERS = (  # what stands around every call of a dispatch mode
    "graphlint.", "torch._ops:", "torch.utils._python_dispatch:", "torch._compile:", "torch._dynamo.eval_frame:Disable",
)  # fmt: skip
COMPILES = "torch._dynamo.convert_frame"  # compiles the function whose frame has called it
_RUNNER = f"{os.sep}_pytest{os.sep}"
_WIDTH = 60  # of an operation's text, in characters


@dataclass(frozen=True, slots=True)
class Place:
    """One instruction of user code, by its code object and the offset of the instruction in it."""

    code: CodeType
    offset: int
    module: str

    @property
    def path(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        return self.span.line

    @property
    def function(self) -> str:
        name = self.code.co_qualname.replace(".<locals>", "")
        return self.module if name == "<module>" else f"{self.module}:{name}"

    @property
    def span(self) -> Span:
        """The stretch of source that the instruction was compiled from."""
        return _span(self.code, self.offset)

    @property
    def expression(self) -> ast.expr | None:
        """The source text of the instruction as a tree, if it is an expression."""
        text = segment(self.span)
        try:
            return ast.parse(f"({text}\n)", mode="eval").body if text else None
        except SyntaxError:
            return None

    def hop(self) -> Hop:
        return Hop(self.path, self.line, self.function)


Stack = tuple[Place, ...]


def shown(span: Span) -> str:
    """The source text of a span on one line, without a comment; empty where the source is not there."""
    whole = segment(span)
    text = " ".join((whole if span.end_line else whole.partition("  #")[0]).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def user_stack(frame: FrameType | None) -> Stack:
    """The frames of user code from the innermost outwards; those of PyTorch and the standard library are left out.

    So is who runs a test: what calls pytest has nothing to do with the code that pytest calls.
    """
    found = []
    while frame is not None and _RUNNER not in frame.f_code.co_filename:
        if is_user_code(frame.f_code.co_filename):
            found.append(place_of(frame))
        frame = frame.f_back
    return tuple(found)


def waiting_frame(frame: FrameType, thread: int | None = None) -> FrameType | None:
    """Where the program is: a thread of autograd has no user code, but the one that waits for it has.

    That is `thread`, or the main one where this is the very thread that has none.
    """
    own = threading.get_ident()
    waiting = thread if thread not in (None, own) else threading.main_thread().ident
    if waiting == own or user_stack(frame):  # of this thread, the frame of this function would be the current one
        return frame
    return sys._current_frames().get(waiting or 0)


def caller_stack() -> Stack:
    """The user code that called the function which asks, or that waits for it."""
    return user_stack(waiting_frame(sys._getframe(1)))


def traceback_stack(traceback: TracebackType | None) -> Stack:
    """The user code that an exception passed, from where it was raised outwards."""
    found = [Place(frame.f_code, offset, _module(frame)) for frame, offset in _walk(traceback)]
    return tuple(reversed([place for place in found if is_user_code(place.path)]))


def to_compiled(stack: Stack) -> Stack:
    """From the line that calls what is being compiled on, which has a frame of its own and has run nothing."""
    return tuple(itertools.dropwhile(lambda place: place.line == place.code.co_firstlineno, stack))


def place_of(frame: FrameType) -> Place:
    return Place(frame.f_code, frame.f_lasti, _module(frame))


def segment(span: Span) -> str:
    """The source text of a span; empty where the source is not there."""
    lines = linecache.getlines(span.path)[span.line - 1 : max(span.line, span.end_line)]
    if not lines:
        return ""
    if span.end_column:
        lines[-1] = lines[-1].encode()[: span.end_column - 1].decode(errors="replace")
        lines[0] = lines[0].encode()[span.column - 1 :].decode(errors="replace")
    return "".join(lines).strip()


@functools.cache
def source_tree(path: str) -> ast.Module:
    """The syntax tree of a file; empty where the source is not there or is none of this Python."""
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return ast.Module([], [])


def loads(path: str, name: str) -> Iterator[int]:
    """The lines of a file that read a name, or an attribute of this name."""
    for node in ast.walk(source_tree(path)):
        match node:
            case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found, ctx=ast.Load()) if found == name:
                yield node.lineno


def is_read(name: str, path: str) -> bool:
    """Whether a file, or another of the program's code that is loaded, names an attribute other than to give it."""
    used = re.compile(rf"\b{re.escape(name)}\b(?!\s*(:[^=\n]*)?=[^=])")
    files = {path, *(str(getattr(module, "__file__", None) or "<") for module in list(sys.modules.values()))}
    return any(used.search(_text(file)) for file in files if is_user_code(file))


def _text(path: str) -> str:
    """What a file of Python holds; nothing where it is none, or not there."""
    try:
        return Path(path).read_text(encoding="utf-8") if path.endswith(".py") else ""
    except (OSError, UnicodeError):
        return ""


@functools.cache
def is_user_code(path: str) -> bool:
    """Whether a file is neither PyTorch's nor part of what runs it."""
    if path.startswith("<"):
        return False
    return not any(path.startswith(folder) for folder in _library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    sites = {paths["purelib"], paths["platlib"]}
    found = [f"{Path(__file__).parents[2]}/", _compiled_code()]
    for name in _LIBRARIES:
        found += [f"{site}/{name}/" for site in sites]
        module = sys.modules.get(name)
        if module is not None and getattr(module, "__file__", None):
            found.append(f"{Path(str(module.__file__)).parent}/")
    standard = Path(paths["stdlib"])
    if standard.is_dir():
        found += [f"{one}{'/' if one.is_dir() else ''}" for one in standard.iterdir() if "-packages" not in one.name]
    return tuple(found)


def _compiled_code() -> str:
    """How the paths of modules begin that Inductor writes."""
    return os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(Path(tempfile.gettempdir(), "torchinductor_"))


@functools.cache
def _span(code: CodeType, offset: int) -> Span:
    positions = list(code.co_positions())
    line, end_line, column, end_column = positions[max(offset, 0) // 2]
    line = line or code.co_firstlineno
    if column is None or end_column is None:
        return Span(code.co_filename, line, 1, end_line or line, 0)
    return Span(code.co_filename, line, column + 1, end_line or line, end_column + 1)


def _walk(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


def libraries_between(frame: FrameType | None) -> tuple[str, ...]:
    """The functions of libraries from a frame to the innermost line of user code, as `module:function`."""
    found = []
    while frame is not None and not is_user_code(frame.f_code.co_filename):
        name = f"{_module(frame)}:{frame.f_code.co_qualname}"
        if not name.startswith(_WRAPPERS):
            found.append(name)
        frame = frame.f_back
    return tuple(found)


def returning(call: Callable[..., object]) -> Span | None:
    """The line that returns the result of a callable, its last `return`; None where the source is not there."""
    function = inspect.unwrap(getattr(call, "__func__", call))
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    returns = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return Span(inspect.getsourcefile(function) or "?", first + (max(returns) if returns else 1) - 1)
