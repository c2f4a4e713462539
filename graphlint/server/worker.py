"""A project and the texts that an editor holds in, what `check` finds out; asked again and again, of one process."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from graphlint.cache import answers
from graphlint.cache.folder import Folder
from graphlint.errors import UsageError
from graphlint.finding import Report
from graphlint.reading import reads
from graphlint.reporting import cache, look
from graphlint.static.memory import Memory
from graphlint.static.syntax import store

# What a project itself says, and nothing else.
_OPTIONS: Mapping[str, Any] = {"config_file": None, "confidence": None, "rules": (), "select": (), "ignore": ()}


class Question(NamedTuple):
    """A project, and the texts of its files that differ from those on the disk."""

    project: Path
    unsaved: Mapping[Path, bytes]
    disk: int | None = None  # the same number as before if no file was written to since


class Failure(Exception):
    """Why there is no answer, in one line."""


class Worker:
    """A process that answers one question after the other; one that has ended is started again by the next."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._process: multiprocessing.process.BaseProcess | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Report:
        """Wait for the answer. Raises Failure."""
        with self._lock:
            connection = self._connection or self._start()
            try:
                connection.send(question)
                answer = connection.recv()
            except (EOFError, OSError):
                self.stop()
                raise Failure("the process that looks at the project has ended; the next edit starts another") from None
        if isinstance(answer, str):
            raise Failure(answer)
        assert isinstance(answer, Report)
        return answer

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")  # the server has threads, which a fork would lose
        self._connection, inner = context.Pipe()
        self._process = context.Process(target=_serve, args=(inner,))
        self._process.start()
        inner.close()
        return self._connection

    def stop(self) -> None:
        """End the process; whoever waits for its answer gets a Failure."""
        process, self._process, self._connection = self._process, None, None
        if process is not None:
            process.kill()
            process.join()


def _serve(connection: Connection) -> None:
    os.dup2(2, 1)  # the editor reads the output of the server, where nothing else may be printed
    known: dict[Path, Known] = {}
    reads.remember()
    while True:
        try:
            question = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            connection.send(_answer(question, known))
            if not connection.poll():
                _prepare(question, known[question.project])
        except UsageError as error:
            connection.send(str(error))
        except Exception as error:
            connection.send(f"internal error: {type(error).__name__}: {error}".splitlines()[0])


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


def _answer(question: Question, known: dict[Path, Known]) -> Report:
    one = known[question.project] = known.get(question.project) or Known(question.project)
    return one.look(question, one.folder)


def _prepare(question: Question, one: Known) -> None:
    """Look at what was read back from the disk, so that what comes of an edit is worked out from what is in memory."""
    if not one.is_prepared:
        one.look(question, None)
        one.is_prepared = True
