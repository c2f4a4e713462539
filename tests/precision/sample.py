"""Findings of `check` on trees that nothing was tuned on: drawn at random to be read, and what came of reading them.

`python -m tests.precision.sample draw NUMBER SEED TREE=REPORT.json...` prints as many errors and warnings of medium or
high confidence, each tree in turn, one JSON object a line, with `is_true` and `because` to fill in by hand: whether it
is true as it is shown, its conditions counted.
`python -m tests.precision.sample rate FILE` prints how many are, by confidence, and how many of those rules are that
speak of what captures without an error. What was read stands in `judged.jsonl`.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

SHOWN = ("path", "line", "code", "confidence", "message")
SILENT = ("GL4", "GL5", "GL6", "GL7")  # the families of what captures without an error, and replays wrong


def draw(number: int, seed: int, reports: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Errors and warnings of several trees, by the name of the tree, shuffled in each."""
    shuffled = []
    for tree, findings in sorted(reports.items()):
        shown = [f for f in findings if f["severity"] != "note" and f["confidence"] != "low"]
        shown.sort(key=lambda f: (f["path"], f["line"], f["code"], f["message"]))
        random.Random(f"{tree} {seed}").shuffle(shown)  # what is drawn of one tree does not hang on the others
        shuffled.append([(tree, finding) for finding in shown])
    in_turn = (drawn for drawn in chain.from_iterable(zip_longest(*shuffled)) if drawn is not None)
    for tree, finding in islice(in_turn, number):
        when = [condition["text"] for condition in finding["when"]]
        yield {"tree": tree, **{key: finding[key] for key in SHOWN}, "when": when, "is_true": None, "because": ""}


def rate(judged: list[dict[str, Any]]) -> str:
    """How many of those that were read are true. Raises ValueError for one that nobody has judged."""
    if any(one["is_true"] is None for one in judged):
        raise ValueError("a finding is not judged yet")
    said = _shares(judged)
    silent = [one for one in judged if one["code"].startswith(SILENT)]
    return f"{said}\n{', '.join(SILENT)}: {_shares(silent)}" if silent else said


def _shares(judged: list[dict[str, Any]]) -> str:
    read = Counter(one["confidence"] for one in judged)
    true = Counter(one["confidence"] for one in judged if one["is_true"])
    shares = [f"{confidence}: {true[confidence]} of {read[confidence]}" for confidence in sorted(read)]
    return f"{true.total()} of {read.total()} true ({true.total() / read.total():.0%}); " + ", ".join(shares)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(command: str, *arguments: str) -> None:
    """Run one of the two commands."""
    if command == "rate":
        print(rate(read_lines(Path(arguments[0]))))
        return
    number, seed, *trees = arguments
    files = dict(tree.split("=", 1) for tree in trees)
    reports = {tree: json.loads(Path(file).read_text(encoding="utf-8"))["findings"] for tree, file in files.items()}
    for drawn in draw(int(number), int(seed), reports):
        print(json.dumps(drawn))


if __name__ == "__main__":
    main(*sys.argv[1:])
