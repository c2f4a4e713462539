"""Work in, its result out, from a process of its own where there is a second processor to run it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graphlint.reading import reads
from graphlint.static.syntax.store import current

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar("Result")
Item = TypeVar("Item")

_WIDTH = 4  # bytes of a number
_MOST = 512  # numbers, which a pipe holds even where its user has many
_PAUSE = 0.5  # seconds until a process looks again whether the one that began it is there
_is_begun = False  # whether this process was begun by another one, which then keeps the second processor busy


def can_fork() -> bool:
    """Whether a copy of this process may go on by itself: never beside threads, which it would lose."""
    is_alone = threading.active_count() == 1 and not _is_begun
    return hasattr(os, "fork") and is_alone and (os.cpu_count() or 1) > 1


def begin(work: Callable[[], Result]) -> Callable[[], Result]:
    """Start the work; the call that is returned waits for it, and raises what it raised."""
    if not can_fork():
        return work
    import multiprocessing  # takes a tenth of the time that a small project does

    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_send, args=(work, sender, os.getpid()), daemon=True)
    process.start()
    sender.close()

    def result() -> Result:
        try:
            succeeded, value, record, lowered = receiver.recv()
        except EOFError:
            process.join()
            raise RuntimeError(f"a process of the analysis ended with status {process.exitcode}") from None
        process.join()
        if record is not None and (kept := reads.kept()) is not None:
            kept.merge(record)
        if lowered and (store := current()) is not None:
            store.added |= lowered
        if not succeeded:
            raise value
        return value  # type: ignore[no-any-return]

    return result


class Turns(Generic[Item]):
    """Work for this process and for those that it begins from now on: whoever is done with a piece takes the next.

    A pipe holds the numbers of all pieces, and is read up to its end: nobody waits for what another one has taken.
    """

    def __init__(self, pieces: Sequence[Item]) -> None:
        self._pieces = pieces
        self._at_once = -(-len(pieces) // _MOST)  # neighbours that are taken together
        self._reader, writer = os.pipe()
        numbers = range(0, len(pieces), max(self._at_once, 1))
        os.write(writer, b"".join(number.to_bytes(_WIDTH) for number in numbers))
        os.close(writer)

    def __iter__(self) -> Iterator[Item]:
        while taken := os.read(self._reader, _WIDTH):
            number = int.from_bytes(taken)
            yield from self._pieces[number : number + self._at_once]

    def close(self) -> None:
        """All work is done, here and elsewhere."""
        os.close(self._reader)


def _end_with(parent: int) -> None:
    """End this process once the one that began it is gone: nobody waits for what it finds."""
    while os.getppid() == parent:
        time.sleep(_PAUSE)
    os._exit(1)


def _send(work: Callable[[], Any], sender: Connection, parent: int) -> None:
    global _is_begun
    _is_begun = True
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    outcome: tuple[bool, Any, object, object]
    try:
        value, store = work(), current()
        outcome = True, value, reads.kept(), store.collect() if store is not None else None
    except BaseException as error:  # a KeyboardInterrupt reaches both processes; the other one tells of it
        outcome = False, error, None, None
    sender.send(outcome)
