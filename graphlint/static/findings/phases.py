"""A condition of a way in, whether it speaks of what is hardly captured out: prompts, exports, runs without graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import OpenRegion, Site
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name

_MORE = (">", ">=", "!=", "is not")  # of a number and zero, or of anything and None: there is some
_LESS = ("<", "<=", "==", "is")


def is_other_phase(assumption: Assumption, sites: tuple[Site, ...], opened: OpenRegion, lexicon: Lexicon) -> bool:
    """Whether a model is exported on a way, or no graphs are used, or whole prompts are computed and nothing says that
    these are captured.
    """
    for test, holds in assumption.asked if assumption.is_plain else ():
        if any(lexicon.phases["export" if holds else "graphs"].match(name) for name in _names_asked(test)):
            return True
    if not assumption.is_plain or not any(_is_of_prompts(test, holds, lexicon) for test, holds in assumption.asked):
        return False
    names = [Path(opened.region.path).stem, *(site.function.qualname for site in sites[:1])]
    is_told = any(lexicon.phases["openers"].match(name.lower()) for name in names)
    return opened.region.entry is None and not is_told


def _names_asked(test: ir.Expr) -> Iterator[str]:
    """The last names of what a test asks for its truth: `is_exporting()`, `environment.ENABLE_CUDA_GRAPH.get()`."""
    asked = [test.func if isinstance(test, ir.Call) else test]
    if isinstance(test, ir.Call) and isinstance(test.func, ir.Attribute):
        asked.append(test.func.value)
    for one in asked:
        yield (last_name(one) or "").lower()


def _is_of_prompts(test: ir.Expr, holds: bool, lexicon: Lexicon) -> bool:
    match test:
        case ir.Walrus(target=asked) | ir.Call(func=asked):
            return _is_of_prompts(asked, holds, lexicon)
        case ir.Compare(left=asked, comparisons=[(sign, ir.Literal(value=0 | None))]) if sign in _MORE + _LESS:
            return _is_of_prompts(asked, holds is (sign in _MORE), lexicon)
        case ir.Name(id=name) | ir.Attribute(attr=name):
            return lexicon.phases["prompt" if holds else "token"].match(name) is not None
    return False
