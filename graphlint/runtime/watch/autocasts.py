"""Autocast as it is entered and left in; the line that has entered the innermost one out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from graphlint.runtime.trace.places import Stack, caller_stack


class Autocasts:
    """Follows what enters autocast and leaves it."""

    def __init__(self) -> None:
        self._entered: list[Stack] = []

    @property
    def innermost(self) -> Stack:
        """Where the autocast was entered that counts now."""
        return self._entered[-1] if self._entered else ()

    def patches(self) -> list[tuple[object, str, object]]:
        """What stands in place of what: the owner, the name, the stand-in."""
        autocast = torch.autocast
        return [
            (autocast, "__enter__", self._entering(autocast.__enter__)),
            (autocast, "__exit__", self._leaving(autocast.__exit__)),
        ]

    def _entering(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(enter)
        def entered(autocast: torch.autocast) -> Any:
            self._entered.append(caller_stack())
            return enter(autocast)

        return entered

    def _leaving(self, leave: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(leave)
        def left(autocast: torch.autocast, *raised: Any) -> Any:
            del self._entered[-1:]
            return leave(autocast, *raised)

        return left
