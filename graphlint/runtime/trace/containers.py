"""What a container of Python holds, past a subclass that tells of something else or makes its values when asked."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from typing import Any

from graphlint.runtime.trace.frames import MISSING

SEQUENCES = (list, tuple, deque)
CONTAINERS = (*SEQUENCES, dict, set)
ELEMENTS = 64  # of a container that are looked at


def elements(container: Any) -> list[Any]:
    """All of them; the values of a dictionary. No code of the class runs."""
    if isinstance(container, dict):
        return list(dict.values(container))
    kind = next(one for one in (*SEQUENCES, set, frozenset) if isinstance(container, one))
    return list(kind.__iter__(container))


def first_elements(container: Any) -> Mapping[Any, Any]:
    """As many as are looked at, by key or position."""
    whole = dict.items(container) if isinstance(container, dict) else enumerate(elements(container))
    return dict(itertools.islice(whole, ELEMENTS))


def element(container: object, key: Any) -> object:
    """The one at a key or position, or MISSING."""
    try:
        match container:
            case dict():
                return dict.get(container, key, MISSING)
            case list():
                return list.__getitem__(container, key)
            case tuple():
                return tuple.__getitem__(container, key)
    except (IndexError, TypeError):
        pass
    return MISSING
