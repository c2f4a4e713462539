"""One question after the other in, what there is to say of the project out; runs in a process of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from graphlint.cache import answers
from graphlint.cache.folder import Folder
from graphlint.errors import UsageError
from graphlint.finding import Report
from graphlint.reading import reads
from graphlint.reporting import cache, look
from graphlint.server.question import Question
from graphlint.static.index.memory import Memory
from graphlint.static.syntax import store

# What a project itself says, and nothing else.
_OPTIONS: Mapping[str, Any] = {"config_file": None, "confidence": None, "rules": (), "select": (), "ignore": ()}


def serve(connection: Connection) -> None:
    """Answer until nobody asks any more: with a report, or with why there is none."""
    os.dup2(2, 1)  # the editor reads the output of the server, where nothing else may be printed
    known: dict[Path, Known] = {}
    reads.remember()
    while True:
        try:
            question = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        connection.send(_answer(question, known))
        if not connection.poll():
            _prepare(question, known.get(question.project))


class Known:
    """What the process knows of a project from one question to the next."""

    def __init__(self, project: Path) -> None:
        self.folder = cache(project, None)
        self.store = answers.lowered(self.folder)
        self.memory = Memory()
        self.is_prepared = False

    def look(self, question: Question, folder: Folder | None) -> Report:
        """What there is to say, as it was said before, or as a folder keeps it, or anew."""
        paths, options = (question.project,), dict(_OPTIONS)
        self.memory.disk = question.disk
        with store.used(self.store), reads.unsaved(question.unsaved), reads.recorded():
            return self.memory.find(Known, lambda: look(paths, folder, options, self.memory))


def _answer(question: Question, known: dict[Path, Known]) -> Report | str:
    try:
        one = known[question.project] = known.get(question.project) or Known(question.project)
        return one.look(question, one.folder)
    except UsageError as error:
        return str(error)
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}".splitlines()[0]


def _prepare(question: Question, one: Known | None) -> None:
    """Look at what may have been read back from the disk, so that what follows from an edit is worked out in memory."""
    if one is not None and not one.is_prepared:
        one.is_prepared = True
        with contextlib.suppress(Exception):  # is told to who asks what leads to it
            one.look(question, None)
