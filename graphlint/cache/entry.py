"""A question to `check`, its answer and the record of its run in, the text of an entry out; and back, part by part."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from graphlint.cache import outcome as outcomes
from graphlint.finding import Report
from graphlint.reading.questions import as_written, written
from graphlint.reading.record import Record, Seen, Stamp

_FORMAT = "graphlint answer 3"
_NO_STAMP = (0, 0, 0, 0)
BROKEN = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # what reading something else raises


class Entry:
    """An entry as it was read; its parts are parsed when they are needed. All of that raises one of BROKEN."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition("\n")
        if head != _head(body):
            raise ValueError(head)
        self._asked, self._state, self._outcome, self._details = body.split("\n")
        self.state: dict[str, Any] = json.loads(self._state)

    def answers(self, asked: object) -> bool:
        """Whether it is the answer to this."""
        return self._asked == _json(asked)

    @property
    def outcome(self) -> Report:
        return outcomes.read(json.loads(self._outcome))

    @property
    def record(self) -> Record:
        """All that was noted, with the stamps that are safe and empty ones for the others."""
        state, details = self.state, json.loads(self._details)
        record = Record()
        paths = [path for path, _ in state["files"]]
        for seen, rows, digests in (
            (record.files, state["files"], details["files"]),
            (record.folders, state["folders"], details["folders"]),
        ):
            for (path, stamp), digest in zip(rows, digests, strict=True):
                seen[path] = Seen(Stamp(*stamp or _NO_STAMP), digest)
        record.read = {paths[number] for number in details["read"]}
        record.discovered = {
            (tuple(given), tuple(exclude), root): frozenset(paths[number] for number in files)
            for given, exclude, root, files in details["discovered"]
        }
        record.names, record.endings, record.kinds = state["names"], state["endings"], state["kinds"]
        record.links, record.packages = state["links"], state["packages"]
        for spelt, asked, answers in details["answers"]:
            question = as_written(spelt)
            no = question(b"")
            record.answers[question] = {paths[number]: no for first, end in asked for number in range(first, end)}
            record.answers[question] |= {paths[number]: answer for number, answer in answers}
        for spelt, files in details["searches"]:
            record.searches[as_written(spelt)] = frozenset(paths[number] for number in files)
        for spelt, found in details["lookups"]:
            known = {name: frozenset(paths[number] for number in files) for name, files in found.items()}
            record.lookups[as_written(spelt)] = known
        return record

    def again(self, record: Record) -> str:
        """The text of the entry with a younger record."""
        return _text(self._asked, record, self._outcome)


def write(asked: object, record: Record, outcome: Report) -> str:
    """The text of an entry. Raises KeyError for a report that has none."""
    return _text(_json(asked), record, _json(outcomes.write(outcome)))


def _text(asked: str, record: Record, outcome: str) -> str:
    body = "\n".join((asked, _json(_state(record)), outcome, _json(_details(record))))
    return f"{_head(body)}\n{body}"


def _state(record: Record) -> Mapping[str, object]:
    """What is compared in every run."""
    return {
        "files": [(path, record.safe(seen.stamp)) for path, seen in record.files.items()],
        "folders": [(path, record.safe(seen.stamp)) for path, seen in record.folders.items()],
        "names": record.names,
        "endings": record.endings,
        "kinds": record.kinds,
        "links": record.links,
        "packages": record.packages,
    }


def _details(record: Record) -> Mapping[str, object]:
    """What is asked for where something was written to."""
    numbers = {path: number for number, path in enumerate(record.files)}
    return {
        "files": [seen.digest for seen in record.files.values()],
        "folders": [seen.digest for seen in record.folders.values()],
        "read": sorted(numbers[path] for path in record.read | record.looked.keys()),
        "discovered": [(*asked, sorted(numbers[path] for path in files)) for asked, files in record.discovered.items()],
        "answers": [
            (
                written(question),
                _ranges(sorted(numbers[path] for path in answers)),
                [(numbers[path], answer) for path, answer in answers.items() if answer],
            )
            for question, answers in record.answers.items()
        ],
        "searches": [
            (written(question), sorted(numbers[path] for path in found)) for question, found in record.searches.items()
        ],
        "lookups": [
            (written(question), {name: sorted(numbers[path] for path in files) for name, files in found.items()})
            for question, found in record.lookups.items()
        ],
    }


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Rising numbers as ranges, each from a first number to before an end."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        first = found.pop()[0] if found and found[-1][1] == number else number
        found.append((first, number + 1))
    return found


def _head(body: str) -> str:
    return f"{_FORMAT} {zlib.crc32(body.encode()):08x}"


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"))
