"""What opens a capture, as it is called by a line of user code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from graphlint.runtime.watch.openings import BEGIN, GRAPH, GRAPHED, Openings

# Calls something from a place that is no user code, as a library does.
through: Callable[..., Any] = eval(compile("lambda call: call()", "<library>", "eval"))


def test_what_the_program_calls_opens_the_capture() -> None:
    """While it runs, and not afterwards."""
    openings = Openings()
    seen = openings.noting(GRAPH, lambda: through(lambda: None) or openings)
    assert openings is seen()
    assert (BEGIN, ()) == (openings.kind, openings.running)


def test_the_outermost_of_those_that_a_line_has_called_is_named() -> None:
    """`make_graphed_callables` uses `torch.cuda.graph`, and the program has not."""
    openings = Openings()
    kinds: list[object] = []
    ask = eval(compile("lambda: kinds.append((openings.kind, openings.running))", "<library>", "eval"), locals())
    inner = openings.noting(GRAPH, ask)
    openings.noting(GRAPHED, eval(compile("lambda: inner()", "<library>", "eval"), locals()))()
    assert [(GRAPHED, (GRAPHED, GRAPH))] == kinds


def test_user_code_in_between_opens_on_its_own() -> None:
    """What this file calls below `GRAPHED` is called by this file."""
    openings = Openings()
    kinds: list[str] = []

    def program() -> None:
        kinds.append(openings.kind)
        openings.noting(GRAPH, ask)()
        kinds.append(openings.kind)

    ask = eval(compile("lambda: kinds.append(openings.kind)", "<library>", "eval"), locals())
    openings.noting(GRAPHED, lambda: through(program))()
    assert [BEGIN, GRAPH, BEGIN] == kinds


def test_an_opening_ends_with_an_exception() -> None:
    """And what runs afterwards is opened by the one around it."""
    openings, kinds = Openings(), []
    fails = openings.noting(GRAPH, lambda: 1 / 0)
    source = """
def library():
    try:
        fails()
    except ZeroDivisionError:
        kinds.append(openings.running)
"""
    space = {"fails": fails, "kinds": kinds, "openings": openings}
    exec(compile(source, "<library>", "exec"), space)
    openings.noting(GRAPHED, space["library"])()
    assert [(GRAPHED,)] == kinds


def test_another_thread_has_openings_of_its_own() -> None:
    """What it begins meanwhile is opened by nobody else."""
    openings, kinds = Openings(), []
    ask = eval(compile("lambda: kinds.append(openings.kind)", "<library>", "eval"), locals())
    thread = threading.Thread(target=ask)

    def run() -> None:
        thread.start()
        thread.join()

    openings.noting(GRAPHED, run)()
    assert [BEGIN] == kinds
