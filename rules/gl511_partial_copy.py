"""An input is filled up to where this request ends, and behind that the graph reads an earlier one, or anything.

Where outputs are cut in the same way, and no input is reset, rows are likely computed one by one; so they are where
nothing is cut but rows, and the region calls what nobody knows: a model.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, CopySpread, Hit, PartialFill, RowsCounted, SizeMissing

_TOO_LARGE = "refuse it, split it, or run it without a graph"
_MISSING = {
    "largest": ("gives the largest graph to a `{}` that fits in none: the rest is not computed", _TOO_LARGE),
    "nearest": ("gives the nearest graph to a `{}`, be it a smaller one: the rest is not computed", _TOO_LARGE),
    "unanswered": (
        "finds nothing, and raises, for a `{}` that is larger than all sizes",
        f"give it a default: {_TOO_LARGE}",
    ),
    "gap": (
        "ends before `{}` where the step leaves a rest, and no graph is that large",
        "add `{}` itself to the sizes",
    ),
}


def detect(event: PartialFill | CopySpread | SizeMissing | RowsCounted) -> Iterator[Hit]:
    match event:
        case CopySpread():
            yield _spread(event)
        case PartialFill():
            yield _filled(event)
        case SizeMissing(asked=asked):
            said, instead = (text.format(asked) for text in _MISSING[event.how])
            yield Hit(Confidence.MEDIUM, f"`{{operation}}` {said}", instead)
        case RowsCounted(bound=bound):
            said = f"`{{operation}}` takes in all rows of the capture, those behind `{bound}` too, which are no data"
            instead = "weigh rows by a mask that is an input of the graph, or keep a graph for it"
            yield Hit(Confidence.MEDIUM, said, instead)


def _filled(event: PartialFill) -> Hit:
    if event.is_unfilled:
        how = f"filled up to `{event.bound}` only" if event.bound else "not filled before the capture"
        said = f"`{{operation}}` is {how}, and the graph reads all of it"
        is_input = event.bound or event.is_given  # an output may be made in this way as well
        is_cut_off = event.is_by_row and event.is_output_cut
        sure = Confidence.MEDIUM if is_input and not is_cut_off else Confidence.LOW
        return Hit(sure, said, "fill it once with zeros: what is masked out may be NaN, and 0 * NaN is NaN")
    said = f"`{{operation}}` fills what the graph reads up to `{event.bound}`, and the rest is of an earlier request"
    is_harmless = event.is_told or event.is_by_row or (event.is_output_cut and not event.others_reset)
    return Hit(Confidence.LOW if is_harmless and not event.is_rest_left else Confidence.MEDIUM, said)


def _spread(event: CopySpread) -> Hit:
    if not event.of_loader:
        said = "`{operation}` spreads a single row over all that the graph reads"
        return Hit(Confidence.HIGH, said, "check that the shapes are the same")
    size = "may be" if event.left is None else "is"
    said = f"`{{operation}}` copies the last batch as well, which {size} smaller: `copy_` spreads a single row over all"
    return Hit(Confidence.MEDIUM, said, "pass `drop_last=True`, or run the last batch without the graph")
