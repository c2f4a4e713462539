"""The names of state that each line of a function reads and writes."""

from __future__ import annotations

from pathlib import Path
from types import CodeType

import pytest

pytest.importorskip("torch")

from graphlint.runtime.trace.bindings import Access
from graphlint.runtime.watch.accesses import accesses


def code_of(path: Path, text: str) -> CodeType:
    """The code of the first function of a text, or of the module if there is none."""
    path.write_text(text, encoding="utf-8")
    module = compile(text, str(path), "exec")
    return next((one for one in module.co_consts if isinstance(one, CodeType)), module)


def shown(access: Access) -> str:
    steps = (f"[{step[0]!r}]" if isinstance(step, tuple) else f".{step}" for step in access.steps)
    return f"{access.how} {access.root}{''.join(steps)}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("y = self.rate", ["read self.rate", "write y"], id="an attribute that is read"),
        pytest.param("self.rate = y", ["read y", "write self.rate"], id="an attribute that is written"),
        pytest.param("self.count += y", ["read y", "write self.count"], id="an attribute that is changed"),
        pytest.param("COUNT += 1", ["write COUNT"], id="a global that is changed"),
        pytest.param("del self.rate", ["write self.rate"], id="an attribute that is deleted"),
        pytest.param("C['a']['b'] = 1", ["write C['a']['b']"], id="an item with a constant key"),
        pytest.param("C[i] = 1", ["change C", "read i"], id="an item with a computed key"),
        pytest.param("C[self.i] += 1", ["change C", "read self.i"], id="a computed item that is changed"),
        pytest.param("y = C[i]", ["read C", "read i", "write y"], id="a computed item that is read"),
        pytest.param(
            "self.blocks[0].weight.data = y", ["read y", "write self.blocks[0].weight.data"], id="a long chain"
        ),
        pytest.param("y = f(x).rate", ["read f", "read x", "write y"], id="what a call gives has no name"),
        pytest.param("self.seen.append(y)", ["change self.seen", "read y"], id="a method that changes a container"),
        pytest.param("y = C.get(k)", ["read C", "read k", "write y"], id="a method that reads a container"),
        pytest.param("self.scheduler.step()", ["call self.scheduler"], id="another method"),
        pytest.param("model(x)", ["read model", "read x"], id="a function that is called"),
        pytest.param("y = [i + n for i in items]", ["read items", "read n", "write y"], id="a comprehension"),
        pytest.param("y = {k: v for k, v in C.items()}", ["read C", "write y"], id="a comprehension of pairs"),
        pytest.param("y = lambda n: n + m", ["write y"], id="a function inside"),
        pytest.param("y = 1", ["write y"], id="a constant"),
    ],
)
def test_a_line_has_its_accesses(tmp_path: Path, line: str, expected: list[str]) -> None:
    """The outermost chains, each once."""
    code = code_of(tmp_path / "program.py", f"def step(self, x):\n    {line}\n")
    assert expected == sorted(shown(one) for one in accesses(code)[2])


def test_a_place_is_the_chain_alone(tmp_path: Path) -> None:
    """Columns count from 1, and the end is exclusive."""
    code = code_of(tmp_path / "program.py", "def step(self, x):\n    return x * self.rate + 1\n")
    (access,) = [one for one in accesses(code)[2] if one.steps]
    assert (2, 16, 2, 25) == (access.line, access.column, access.end_line, access.end_column)


def test_each_line_of_a_statement_has_its_own(tmp_path: Path) -> None:
    """A call over several lines reads each argument where it stands."""
    code = code_of(tmp_path / "program.py", "def step(a, b):\n    f(\n        a,\n        b,\n    )\n")
    assert {2: ["read f"], 3: ["read a"], 4: ["read b"]} == {
        line: [shown(one) for one in found] for line, found in accesses(code).items()
    }


def test_a_decorated_function_is_found(tmp_path: Path) -> None:
    """Its code begins at the first decorator."""
    code = code_of(tmp_path / "program.py", "@staticmethod\n@abs\ndef step():\n    return RATE\n")
    assert ["read RATE"] == [shown(one) for one in accesses(code)[4]]


def test_a_function_has_not_the_accesses_of_another(tmp_path: Path) -> None:
    """Functions inside, and lambdas, have their own."""
    text = "def step():\n    def inner():\n        return A\n    return B\n"
    step = code_of(tmp_path / "program.py", text)
    (inner,) = [one for one in step.co_consts if isinstance(one, CodeType)]
    assert [{4}, {3}] == [set(accesses(code)) for code in (step, inner)]


def test_source_that_is_not_there_has_none(tmp_path: Path) -> None:
    """Code from a text, and a file that is no Python any more."""
    assert {} == accesses(compile("x = y", "<string>", "exec"))
    code = code_of(tmp_path / "program.py", "x = y\n")
    (tmp_path / "program.py").write_text("x = (\n", encoding="utf-8")
    assert {} == accesses(code)
