"""What a process that a test starts does with signals, whoever has started the tests."""

from __future__ import annotations

import signal


def heed_signals() -> None:
    """Undo what is inherited from a shell or a session that started the tests aside, and ignores signals there."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
