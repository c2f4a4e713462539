"""Choices in, what stands beside programs out: configurations, baselines, patterns to ignore by, and bytes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from graphlint.config import READERS

WORDS = (
    "GL101", "GL", "odd", "odd:step", "odd:C.forward", "neighbour.py", "odd.py", "**/*.py", "*" * 40, "*a" * 30,
    "**/" * 30 + "x", "[", "[!", "[]]", "[z-a]", "\\", "!", "!*", "/", "//", "#", " ", "..", "a/../b", "{a,b}", "\x00",
    "\x1b[31mred", "\x07", "\u202eevil", "\x9b31m", "\n::error::x", "::error::x", "\r", "\u2028", "%s", "{0}", "\ud800",
    "a" * 5000, "x:" * 50, ":", "odd:" + "a." * 500, "default", "strict", "low", "high", "not odd:C.m == 1",
    "odd:C.m == " + "(" * 500, "torch.cuda.graph", "torch", "step(" * 99, "known.json", "rules", "1e9",
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=12), st.lists(st.sampled_from(WORDS), max_size=4).map("".join)
)
values = st.recursive(
    st.one_of(texts, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
KEYS = {
    "targets": st.lists(st.fixed_dictionaries({"at": texts, "runs": texts}, optional={"call": texts}), max_size=2),
    "per-file-ignores": st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
}


@st.composite
def configurations(draw: st.DrawFn) -> str:
    """`[tool.graphlint]` tables: of usual kinds of values, mostly."""
    keys = draw(st.lists(st.sampled_from([*READERS]) | texts, max_size=3, unique=True))
    usual = [KEYS.get(key, st.lists(texts, max_size=3)) for key in keys]
    held = {key: draw(st.one_of(one, one, one, values)) for key, one in zip(keys, usual, strict=True)}
    return "\n".join(["[tool.graphlint]", *(f"{json.dumps(key)} = {toml(value)}" for key, value in held.items()), ""])


def toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"none"' if value is None else json.dumps(value)


@st.composite
def baselines(draw: st.DrawFn) -> str:
    """Baselines, with entries of other kinds among them."""
    entry = st.fixed_dictionaries(dict.fromkeys(("path", "code", "function", "text"), texts)) | values
    document = {
        "paths": draw(st.lists(texts, max_size=2) | values),
        "findings": draw(st.lists(entry, max_size=3) | values),
    }
    return json.dumps(document | draw(st.dictionaries(texts, values, max_size=1)))


patterns = st.lists(texts, max_size=6).map("\n".join)
"""What stands in a `.gitignore`."""

_MARKS = (
    b"import torch\n", b"with torch.cuda.graph(g):\n    x.item()\n", b"# coding: ", b"utf-7", b"latin-1", b"utf-16",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\r", b"\x0c", b"\x1a", b"\\\n", b"'''", b"(" * 99, b"\x80", b"]",
    b"torch.cuda.graph", b"# graphlint: ignore[", b"# graphlint: region", b"\n", b"    ", b"\t", b"def f(x):\n",
    b"lambda:", b"0_", b"\xe2\x80\xa8", b"from ", b".", b"class A(", b"self.a:", b"    if a:\n",
)  # fmt: skip
_marks = st.tuples(st.sampled_from(_MARKS), st.sampled_from((1, 1, 1, 1, 3000))).map(lambda one: one[0] * one[1])
sources = st.lists(_marks | st.binary(max_size=8), max_size=12).map(b"".join)
"""Bytes with what is looked for in sources among them."""
