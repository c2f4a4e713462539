"""Input that nobody writes by hand: `check` says one line about it, judges the program beside it, and ends soon."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

import pytest
from forked import run
from pathspec import GitIgnoreSpec

from graphlint.globs import compile_globs, is_valid_glob
from graphlint.reading.reads import content
from graphlint.static.life.ledger import tensors_in
from graphlint.static.life.objects import Container, Tensor
from graphlint.static.syntax.nesting import MAX_BRACKETS, MAX_BRANCHES, MAX_DEPTH, too_deep
from graphlint.values import MAX_SIZE, Const, Host, Mapping, Sequence, Value
from graphlint.values.bounds import is_small

REGION = """\
import torch

x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
"""
NEIGHBOUR = f"{REGION}with torch.cuda.graph(graph):\n    y = x.sum().item()\n"

DEEP = {
    "parentheses": f"n = {'(' * 3000}1{')' * 3000}",
    "additions": "n = " + " + ".join(["a"] * 20_000),
    "conditions": "n = " + " and ".join(["a"] * 20_000),
    "signs": f"n = {'- ' * 20_000}1",
    "calls": "n = a" + ".abs()" * 2_000,
    "lambdas": "n = " + "lambda: " * 20_000 + "1",
    "patterns": f"match a:\n    case {'[' * 60}b{']' * 60}:\n        pass",
    "deleted": f"del {'(' * 60}a{')' * 60}",
    "elements": "n = [" + "[1, 2], " * 60_000 + "]",
    "branches": "if n == 0:\n    pass\n" + "elif n:\n    pass\n" * 10_000,
}
RANGES = ("1, 2, 0", "1, 2, 3, 4", "1 << 40, 0xffffffffffffffffffff", "99999999999999999999")
SMALL = {
    "a list in itself": "l = [a]\n" + "l.append(l)\n" * 60,
    "a dict in itself": "d = {}\n" + "d['d'] = d\nd.update(d, b=d)\n" * 40,
    "each in the other": "l = []\nd = {}\n" + "l.append(d)\nd['l'] = l\nd[n] = l\n" * 40,
    "a copy of what is in itself": "l = [a]\nl.append(l)\nimport copy\nb = copy.deepcopy(l)\nisinstance(a, tuple(l))",
    "doubled lists": "l = [a, n]\n" + "l = [*l, *l, l]\nl.extend(l)\n" * 60,
    "doubled dicts": "d = {'a': a}\ne = {}\n" + "d, e = {**d, **e, 'x': d}, {**e, **d, 'y': e}\n" * 60,
    "inserted texts": "t = 'a'\n" + "t = f'{t}{t}'\n" * 60 + "u = '%s%s' % (t, t)\n",
    "unused texts": "k = 'a' if n else 'b'\n" + f"s = '{{0}}'.format({', '.join(['k'] * 40)})",
    "comprehensions": "c = " + "[" * 40 + "a" + "".join(f" for i{k} in range(n)]" for k in range(40)),
    "doubtful comprehensions": "c = " + "[" * 40 + "a" + " for i in (1, 2) if i == 1 or n]" * 40,
    "tuples handed on": "def f0(x, y):\n    return x\n\n"
    + "".join(f"def f{k}(x, y):\n    return f{k - 1}((x, y), [y, x]), f{k - 1}([x], y)\n\n" for k in range(1, 12))
    + "f11(a, n)",
    "captures that end": "def f0():\n    graph.capture_end()\n\n"
    + "".join(f"def f{k}():\n    f{k - 1}()\n    f{k - 1}()\n\n" for k in range(1, 40))
    + "f39()",
    "ranges": "\n".join(f"for i in range({of}): pass" for of in RANGES),
    "a long dict": "d = {" + ", ".join(f"{k}: a" for k in range(20_000)) + "}",
    "many statements": "a = a + 1\n" * 5000,
    "squares": "n = 3\n" + "n = n * n\n" * 40,
    "powers": "n = 9 ** 9 ** 9 ** 9",
    "shifts": "n = 1 << 10 ** 12",
    "doubled texts": "s = 'ab'\n" + "s = s + s\n" * 60,
    "repeated texts": "s = 'ab' * 100_000_000_000",
    "wide formats": "s = '%99999999999d' % 1\nt = '{:99999999999}'.format(1)\nu = '{:{}}'.format(1, 99999999999)",
    "doubled tuples": "t = (a, n)\n" + "t = t + t\n" * 60,
    "loops": "\n".join([f"{'  ' * n}for i{n} in range(n):" for n in range(15)] + ["  " * 15 + "a = a + i1"]),
    "constant loops": "\n".join([f"{'  ' * n}for i{n} in (1, 2, 3):" for n in range(15)] + ["  " * 15 + "a = a + i1"]),
}


def program(body: str) -> str:
    """A region that calls a function of this body."""
    inside = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{REGION}\n\ndef step(a, n):\n{inside}    return a\n\n\nwith torch.cuda.graph(graph):\n    step(x, 2)\n"


def look(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run `check` beside a program with a mistake."""
    (folder / "neighbour.py").write_text(NEIGHBOUR)
    return run(folder, "check", *arguments)


def test_an_attribute_without_a_name_is_looked_for_once(tmp_path: Path) -> None:
    """No word stands nowhere, and not everywhere."""
    (tmp_path / "odd.py").write_text(
        f"{REGION}\n\nclass Named:\n    def read(self, name=''):\n"
        "        return [getattr(self, name), hasattr(self, '')]\n"
        "\n\nnamed = Named()\nwith torch.cuda.graph(graph):\n    named.read()\n"
    )
    status, said = look(tmp_path)
    assert status == 1
    assert "error[GL101]" in said


@pytest.mark.parametrize("name", DEEP)
def test_what_nests_without_an_end_is_told(tmp_path: Path, name: str) -> None:
    """Nothing overflows a stack; the file is named, and the other one is judged."""
    (tmp_path / "odd.py").write_text(program(DEEP[name]))
    status, said = look(tmp_path)
    assert status == 1
    assert "error[GL001] unreadable-source: this file" in said
    assert "error[GL101]" in said


@pytest.mark.parametrize("name", SMALL)
def test_a_short_program_asks_for_little(tmp_path: Path, name: str) -> None:
    """What grows without an end is not worked out, and nothing is said about it."""
    (tmp_path / "odd.py").write_text(program(SMALL[name]))
    status, said = look(tmp_path)
    assert status == 1
    assert "GL001" not in said
    assert "error[GL101]" in said


@pytest.mark.parametrize("encoding", ["klingon", "hex", "undefined"])
def test_an_encoding_that_nobody_reads_is_told(tmp_path: Path, encoding: str) -> None:
    """Those that Python knows, but not for texts, among them."""
    (tmp_path / "odd.py").write_text(f"# coding: {encoding}\nimport torch\ntorch.cuda.graph\n")
    status, said = look(tmp_path)
    assert status == 1
    assert "this file cannot be decoded" in said
    assert "error[GL101]" in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("odd.py", (), 1),
        (".gitignore", (), 1),
        ("odd.py", ("odd.py",), 2),
        ("pyproject.toml", (), 2),
        ("known.json", ("--baseline", "known.json"), 2),
    ],
)
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str, arguments: tuple[str, ...], status: int) -> None:
    """Where it has the name of a file, it is none; where it is asked for, one line says so."""
    os.mkfifo(tmp_path / name)
    ended, said = look(tmp_path, *arguments)
    assert status == ended
    assert ("error[GL101]" in said) is (status == 1)
    assert ("is a pipe or a device, and not a file" in said) is (status == 2)


def test_a_device_ends_no_run(tmp_path: Path) -> None:
    """It would be read for ever."""
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    status, said = look(tmp_path)
    assert (1, True) == (status, "error[GL101]" in said)


def test_a_link_to_itself_is_told(tmp_path: Path) -> None:
    """The other file is judged."""
    (tmp_path / "odd.py").symlink_to("odd.py")
    status, said = look(tmp_path)
    assert status == 1
    assert "Too many levels of symbolic links" in said
    assert "error[GL101]" in said


def test_a_folder_deeper_than_a_path_is_told(tmp_path: Path) -> None:
    """Its name is longer than the system takes."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("a_folder", dir_fd=here)
        inner = os.open("a_folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    status, said = look(tmp_path)
    subprocess.run(["rm", "-rf", str(tmp_path / "a_folder")], check=False)
    assert (1, True) == (status, "error[GL101]" in said)


def test_deep_settings_are_one_line(tmp_path: Path) -> None:
    """As TOML and as JSON."""
    (tmp_path / "known.json").write_text(f'{{"findings": {"[" * 100_000}{"]" * 100_000}, "paths": []}}')
    status, said = look(tmp_path, "--baseline", "known.json")
    assert (2, True) == (status, "known.json is not a baseline" in said)
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphlint]\nselect = {'[' * 20_000}{']' * 20_000}\n")
    status, said = look(tmp_path)
    assert (2, True) == (status, "nests too deep to be read as TOML" in said)


def test_what_is_written_by_hand_is_not_too_deep() -> None:
    """Long tables, strings and chains of usual length are read."""
    assert too_deep("n = [" + "-1, " * 50_000 + "]\n") is None
    assert too_deep(f"s = '{'(' * 5000}'\n# {'(' * 5000}\n") is None
    assert too_deep("n = " + " + ".join(["a"] * (MAX_DEPTH - 1)) + "\n") is None
    assert too_deep("a = f(b)[0].c + 1\n" * 2000) is None
    assert too_deep("if n:\n    pass\n" + "elif n:\n    pass\n" * MAX_BRANCHES) is None


def test_what_is_too_deep_is_told_with_its_line() -> None:
    """Lines count from 0."""
    assert too_deep(f"a = 1\nb = {'(' * MAX_BRACKETS}(1){')' * MAX_BRACKETS}\n") == (
        f"nests more than {MAX_BRACKETS} brackets into each other",
        1,
    )


def test_what_values_hold_is_bounded() -> None:
    """However a short program makes them; usual ones stay as they are."""
    value: Value = Sequence("list", (Const(1), Const("a")))
    for _ in range(60):
        value = Sequence("list", (value, value))
    assert value.size <= MAX_SIZE
    table = Mapping(tuple((Const(str(key)), Const(key)) for key in range(1000)))
    assert len(table.items) == 1000
    wide = Sequence("tuple", tuple(map(Const, range(2 * MAX_SIZE))))
    assert (wide.elements, wide.element) == (None, Host("int"))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "b", "a" * 200),
        ("*?" * 40 + "b", "a" * 200),
        ("**/a*/" * 20 + "x", "a/" * 400 + "b"),
        ("a/**/" * 15 + "x", "a/" * 300 + "b"),
        ("**/*a*a*a*/" * 10 + "b", f"{'a' * 100}/" * 40 + "c"),
    ],
)
def test_many_stars_take_no_time(pattern: str, path: str) -> None:
    """The first match of what stands between two of them stands: there is none here."""
    assert not compile_globs((pattern,)).match_file(path)


def test_stars_match_what_they_did() -> None:
    """Whether later matches are tried or not."""
    random = Random(1)
    for _ in range(3000):
        pattern = "".join(random.choices(["a", "b", "*", "**", "/", "**/", "/**", "?", "[ab]"], k=random.randint(1, 6)))
        parts = ["".join(random.choices("ab", k=random.randint(1, 3))) for _ in range(random.randint(1, 4))]
        if is_valid_glob(pattern):
            path = "/".join(parts)
            assert GitIgnoreSpec.from_lines([pattern]).match_file(path) is compile_globs((pattern,)).match_file(path)


@pytest.mark.parametrize("line", ["[", "[!", "[]", "[z-a]", "*[", "[[:alpha:]", "[\\", "!", "**["])
def test_a_pattern_that_is_none_leaves_nothing_out(tmp_path: Path, line: str) -> None:
    """As git has it, and without a warning of a library."""
    (tmp_path / ".gitignore").write_text(f"{line}\n")
    status, said = look(tmp_path)
    assert (1, True, False) == (status, "error[GL101]" in said, "Warning" in said)


def test_a_file_of_a_million_elements_is_told(tmp_path: Path) -> None:
    """Its tree would take a gigabyte."""
    (tmp_path / "odd.py").write_text(program("n = [" + "1, " * 1_000_000 + "]"))
    status, said = look(tmp_path)
    assert (1, True) == (status, "it holds more than 500,000 elements, operators and lines" in said)
    assert "error[GL101]" in said


def test_usual_constants_are_worked_out() -> None:
    """The bound leaves sizes, names and masks alone."""
    assert is_small("*", 1 << 20, 1 << 20)
    assert is_small("**", 2, 31)
    assert is_small("+", "layers.", "weight")
    assert is_small("%", "layers.%02d.weight", 3)
    assert not is_small("%", "%99999d", 3)


def test_a_file_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Whoever reads it tells so."""
    with pytest.raises(FileNotFoundError):
        content(tmp_path / "gone.py")


def test_what_several_containers_share_is_looked_through_once() -> None:
    """Containers that hold each other twice lead to few tensors in many ways, and one may lead to itself."""
    tensor = Tensor()
    held = Container(elements=[tensor, tensor])
    held.elements.append(held)
    for _ in range(60):
        held = Container(elements=[held, held])
    assert [tensor, tensor] == list(tensors_in([held]))
