"""Whether the language server ever says anything but `check` says: a project, a file of it and a number in.

    python -m tests.typed_edits PROJECT FILE [NUMBER] [SEED]

The project is copied. Somebody types into functions of the file, as in `tests/keystrokes.py`: now and then a keystroke
is not taken back before the next, and the text is saved. After each, what the worker of the server says is compared
with what `check` finds, of a copy of the project in which that text is saved, without anything that was kept. Printed
are the keystrokes after which they differed; status 1 if one did.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphlint import checking
from graphlint.finding import Report
from graphlint.server.question import Question
from graphlint.server.worker import Worker
from tests.keystrokes import Keystroke, arguments, keystrokes

_OPTIONS = {"config_file": None, "confidence": None, "rules": (), "select": (), "ignore": ()}


def said(report: Report, root: Path) -> str:
    """A report without the time that it took and the folder that it is about."""
    parts = (report.findings, report.holes, report.notices, report.statistics, report.summary.suppressed)
    return "\n".join(map(repr, (*parts[0], *parts[1:]))).replace(str(root), "")


def typed(text: str, chance: random.Random, number: int) -> Iterator[Keystroke]:
    """Keystrokes of which some stay; what cannot be read any more is taken back."""
    while number > 1:
        few = list(keystrokes(text, chance, min(number, 2 * chance.randint(1, 4))))
        number -= len(few)
        yield from few[:-1]
        if few[-2].kind in ("comment", "line", "statement") and _is_read(few[-2].text):
            text = few[-2].text
        yield few[-1]._replace(text=text)


def _is_read(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def main() -> None:
    given = arguments(__doc__, 100)
    os.environ.pop("GRAPHLINT_NO_CACHE", None)
    differing, disk, worker, chance = 0, 0, Worker(), random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        mine, anew = Path(folder) / "mine" / "project", Path(folder) / "anew" / "project"
        for root in (mine, anew):
            shutil.copytree(given.project, root, ignore=shutil.ignore_patterns(".graphlint_cache"))
        for count, edit in enumerate(typed((mine / given.file).read_text("utf-8"), chance, given.number), 1):
            (anew / given.file).write_text(edit.text, "utf-8")
            unsaved = {mine / given.file: edit.text.encode()}
            if chance.random() < 0.05:
                disk, unsaved = disk + 1, {}
                (mine / given.file).write_text(edit.text, "utf-8")
            answer = said(worker.ask(Question(mine, unsaved, disk)), mine)
            os.chdir(anew)
            expected = said(checking.find_out((anew,), start=anew, **_OPTIONS), anew)
            if answer != expected:
                differing += 1
                print(f"differs after {edit.kind} in line {edit.line}, taken back: {edit.taken_back}", flush=True)
            if count % 10 == 0:
                print(f"{count} keystrokes, {differing} differ", flush=True)
    worker.stop()
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
