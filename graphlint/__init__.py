"""graphlint: is it safe to capture this into a CUDA graph and replay it?"""

from typing import TypeVar

__version__ = "0.1.0"

_Target = TypeVar("_Target")


def graph_safe(target: _Target) -> _Target:
    """Say that a function, method or class is captured somewhere: `graphlint check` takes it for a declared region.

    It is given back as it is, and costs nothing at run time.
    """
    return target
