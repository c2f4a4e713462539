"""An input is filled up to where this request ends, and behind that the graph reads an earlier one, or anything.

Where outputs are cut in the same way, and no input is reset, rows are likely computed one by one; so they are where
nothing is cut but rows, and the region calls what nobody knows: a model.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, CopySpread, Hit, PartialFill

_LARGEST = "the largest graph to a `{}` that fits in none"
_TOO_LARGE = "refuse it, split it, or run it without a graph"


def detect(event: PartialFill | CopySpread) -> Iterator[Hit]:
    if isinstance(event, CopySpread):
        yield _spread(event)
        return
    if event.is_too_small:
        which = "the nearest graph to a `{}`, be it a smaller one" if event.is_nearest else _LARGEST
        said = f"`{{operation}}` gives {which.format(event.bound)}: the rest is not computed"
        yield Hit(Confidence.MEDIUM, said, _TOO_LARGE)
        return
    if event.is_unanswered:
        said = f"`{{operation}}` finds nothing, and raises, for a `{event.bound}` that is larger than all sizes"
        yield Hit(Confidence.MEDIUM, said, f"give it a default: {_TOO_LARGE}")
        return
    if event.is_counted:
        said = f"`{{operation}}` takes in all rows of the capture, those behind `{event.bound}` too, which are no data"
        yield Hit(Confidence.MEDIUM, said, "weigh rows by a mask that is an input of the graph, or keep a graph for it")
        return
    if event.is_gap:
        said = f"`{{operation}}` ends before `{event.bound}` where the step leaves a rest, and no graph is that large"
        yield Hit(Confidence.MEDIUM, said, f"add `{event.bound}` itself to the sizes")
        return
    if event.is_unfilled:
        how = f"filled up to `{event.bound}` only" if event.bound else "not filled before the capture"
        said = f"`{{operation}}` is {how}, and the graph reads all of it"
        is_input = event.bound or event.is_given  # an output may be made in this way as well
        is_cut_off = event.is_by_row and event.is_output_cut
        sure = Confidence.MEDIUM if is_input and not is_cut_off else Confidence.LOW
        yield Hit(sure, said, "fill it once with zeros: what is masked out may be NaN, and 0 * NaN is NaN")
        return
    said = f"`{{operation}}` fills what the graph reads up to `{event.bound}`, and the rest is of an earlier request"
    is_harmless = event.is_told or event.is_by_row or (event.is_output_cut and not event.others_reset)
    yield Hit(Confidence.LOW if is_harmless and not event.is_rest_left else Confidence.MEDIUM, said)


def _spread(event: CopySpread) -> Hit:
    if not event.of_loader:
        said = "`{operation}` spreads a single row over all that the graph reads"
        return Hit(Confidence.HIGH, said, "check that the shapes are the same")
    size = "may be" if event.left is None else "is"
    said = f"`{{operation}}` copies the last batch as well, which {size} smaller: `copy_` spreads a single row over all"
    return Hit(Confidence.MEDIUM, said, "pass `drop_last=True`, or run the last batch without the graph")
