"""A project and the texts that an editor holds in, what `check` finds out; asked again and again, of one process."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection

from graphlint.finding import Report
from graphlint.server.question import Question


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
            connection = self._connection or self.start()
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

    def start(self) -> Connection:
        """Start the process, which takes a while to answer."""
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
    from graphlint.server.looking import serve  # takes long to load, which is nobody else's time

    serve(connection)
