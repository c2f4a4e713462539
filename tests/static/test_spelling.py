"""Which functions are looked at for regions: those whose code, not whose prose, uses a word."""

from __future__ import annotations

import re

import pytest

from graphlint.reading.questions import by_shared_piece
from graphlint.static.syntax.words import Words

WORDS = Words(re.compile(r"\b(?:graph|compile)\b"), frozenset({"compile"}), frozenset({"mode", None}))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f():\n    with torch.cuda.graph(g): pass\n", id="a member"),
        pytest.param("    def f(self):\n        with graph(g): pass\n", id="a name from around an indented method"),
        pytest.param("def f():\n    from torch.cuda import graph as capture\n", id="an import inside"),
        pytest.param("def f():\n    return getattr(torch.cuda, 'graph')\n", id="a string for getattr"),
        pytest.param("def f():\n    return torch.compile(h, mode=MODE)\n", id="a telling keyword with a constant"),
        pytest.param("def f(**given):\n    return torch.compile(h, **given)\n", id="keywords that are handed on"),
        pytest.param("fast = partial(torch.compile, mode='reduce-overhead')\n", id="a partial"),
        pytest.param("@torch.compile(mode=MODE)\ndef f(x): return x\n", id="a decorator"),
        pytest.param("def f(:\n    graph\n", id="source that does not parse"),
    ],
)
def test_a_use_is_seen(text: str) -> None:
    """Code that could open a region is run."""
    assert WORDS.used_in(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def f(x):\n    return x  # under torch.cuda.graph\n", id="a comment"),
        pytest.param('def f(x):\n    """For torch.compile and a graph."""\n', id="a docstring"),
        pytest.param("def f(graph):\n    return graph + 1\n", id="a parameter"),
        pytest.param("def f(self):\n    self.graph = None\n", id="a member that is set"),
        pytest.param("def f():\n    graph = build()\n    return graph\n", id="a local name"),
        pytest.param("def f(x):\n    return re.compile(x), g(x, mode=1)\n", id="a call without a telling keyword"),
    ],
)
def test_a_mention_is_no_use(text: str) -> None:
    """Prose and local names open nothing."""
    assert not WORDS.used_in(text)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (
            [b"CUDAGraph", b"a.Graph", b"make_graphed"],
            {b"Graph": [b"CUDAGraph", b"a.Graph"], b"make_graphed": [b"make_graphed"]},
        ),
        ([b"begin_capture", b"capture_begin", b"x"], {b"pture": [b"begin_capture", b"capture_begin"], b"x": [b"x"]}),
        ([b"twice", b"twice"], {b"twice": [b"twice", b"twice"]}),
        ([], {}),
    ],
)
def test_marks_stand_below_what_they_share(marks: list[bytes], expected: dict[bytes, list[bytes]]) -> None:
    """A file without the piece holds none of the marks below it."""
    assert expected == by_shared_piece(marks)
