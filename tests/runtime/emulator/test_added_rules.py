"""Rules of one's own on the emulator: calls of the operations that their tables name, and what their detectors say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples import write_page
from expectations import parse_expectations

torch = pytest.importorskip("torch")

import graphlint  # noqa: E402
from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.finding import Confidence, Report  # noqa: E402
from graphlint.rulebook import Rulebook, builtin_rules, load_rulebook  # noqa: E402

TABLE = """\
[effects]
"acme.flush" = [{ effect = "house-rule", when = "device:x not-true:lazily" }]
"acme.Queue" = [{ effect = "house-rule", when = "always", confidence = "low", message = "`{operation}` is new" }]
"acme.Queue.push" = [{ effect = "house-rule", when = "device:x true:self.eager" }]
"acme.Layer.forward" = [{ effect = "house-rule", when = "device:x fresh:x", help = "make it before" }]
"torch.sort" = [{ effect = "house-rule", when = "device:input true:stable" }]
"torch.cuda.nvtx.range_push" = [{ effect = "house-rule", when = "equals:msg=step" }]
"acme.read" = [{ effect = "scalar-readback", when = "always" }]

[operations."acme"]
none = '''
flush(x, lazily)
'''
number = '''
read(x)
'''
instance = '''
Layer()
Queue(eager)
'''

[operations."acme.Queue"]
none = '''
push(self, x)
'''

[operations."acme.Layer"]
same-shape = '''
forward(self, x)
'''
"""
LIBRARY = """\
import torch


def flush(x, lazily=False):
    return None


def read(x):
    return 1


class Queue:
    def __init__(self, eager=False):
        self.eager = eager

    def push(self, x):
        return x


class Layer(torch.nn.Module):
    def forward(self, x):
        return x
"""
PROGRAM = """\
import threading

import torch

import acme
from acme import flush as now

layer, eager, lazy = acme.Layer(), acme.Queue(eager=True), acme.Queue()
held = [acme.flush]


def step(x):
    acme.flush(x)  # expect: GL999
    acme.flush(x, lazily=True)
    acme.flush(1)
    acme.flush([x.cpu_copy for x in ()])
    now(lazily=False, x=[x])  # expect: GL999
    acme.Queue()  # expect: GL999
    eager.push(x)  # expect: GL999
    lazy.push(x)
    layer(x)
    layer(x * 2)  # expect: GL999
    y = x.sort(stable=True)[0]  # expect: GL999
    y = torch.sort(y, stable=False)[0]
    y, _ = torch.sort(input=y, stable=True)  # expect: GL999
    torch.cuda.nvtx.range_push("step")  # expect: GL999
    torch.cuda.nvtx.range_pop()
    acme.read(x)
    thread = threading.Thread(target=acme.flush, args=(x,))
    thread.start()
    thread.join()
    return y * 2


def target():
    acme.flush(torch.ones(4, device="cuda"))
    return step, (torch.ones(4, device="cuda"),)
"""
OPERATORS = """\
[operators]
"acme_rows::mark(x)" = [{ effect = "house-rule", when = "device:x not-bool:x" }]
"aten::trunc" = [{ effect = "hidden-sync" }]
"""
OPERATED = """\
import torch


@torch.library.custom_op("acme_rows::mark", mutates_args=())
def mark(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def step(x):
    mark(x)  # expect: GL999
    torch.ops.acme_rows.mark(x)  # expect: GL999
    torch.ops.acme_rows.mark.default(x)  # expect: GL999
    mark(x > 1)
    return x.trunc() + x.floor()  # expect: GL104


def target():
    return step, (torch.ones(4, device="cuda"),)
"""
DETECTOR = """\
from collections.abc import Iterator

from graphlint.rule import Confidence, Const, Hit, OperationCall, Place, device_tensor


def detect(event: OperationCall) -> Iterator[Hit]:
    x, lazily = event.given("x") or event.given("self"), event.given("lazily")
    if event.name == "acme.flush" and device_tensor(x).ndim == 2 and lazily != Const(True):
        yield Hit(Confidence.MEDIUM, message="`{operation}` flushes a matrix")
    if event.name == "torch.Tensor.relu" and event.result.place is Place.DEVICE:
        yield Hit(Confidence.HIGH, help="use something else")
"""
DETECTED = """\
import torch

import acme


def step(x):
    acme.flush(x)  # expect: GL999
    acme.flush(x, True)
    acme.flush(x[0])
    return x.relu()  # expect: GL999


def target():
    return step, (torch.ones(4, 4, device="cuda"),)
"""


def rules(folder: Path) -> Rulebook:
    """The built-in rules and one more, with this table."""
    write_page(folder, "GL999", "house-rule")
    (folder / "operations.toml").write_text(TABLE, encoding="utf-8")
    return load_rulebook(builtin_rules(), folder)


def look(folder: Path, program: str, rulebook: Rulebook) -> Report:
    (folder / "acme.py").write_text(LIBRARY, encoding="utf-8")
    (folder / "serve.py").write_text(program, encoding="utf-8")
    return runtime.verify([f"{folder / 'serve.py'}:target"], load_config(folder, None), rulebook, on="emulator")


def lines(report: Report) -> list[tuple[int, str]]:
    assert "" == report.targets[0].problem
    return [(one.span.line, one.code) for one in report.findings]


def test_a_row_counts_where_its_operation_is_called_under_capture(tmp_path: Path) -> None:
    """By whatever name it is called, if its conditions hold of the real arguments; once for each line."""
    rulebook = rules(tmp_path / "rules")
    (tmp_path / "pyproject.toml").write_text('[tool.graphlint]\nconfidence = "low"\n', encoding="utf-8")
    report = look(tmp_path, PROGRAM, rulebook)
    assert [(one.line, one.code) for one in parse_expectations(PROGRAM)] == lines(report)
    by_line = {one.span.line: one for one in report.findings}
    assert "`acme.Queue()` is new" == by_line[18].message and Confidence.LOW == by_line[18].confidence
    assert "make it before" == by_line[22].help and "`layer(x * 2)`" in by_line[22].message


def test_rows_of_operators_count_as_well(tmp_path: Path) -> None:
    """For a rule of one's own where one is called by its name, for those that ship with graphlint wherever it runs."""
    rules(tmp_path / "rules")
    (tmp_path / "rules" / "operations.toml").write_text(OPERATORS, encoding="utf-8")
    report = look(tmp_path, OPERATED, load_rulebook(builtin_rules(), tmp_path / "rules"))
    assert [(one.line, one.code) for one in parse_expectations(OPERATED)] == lines(report)


def test_without_rules_of_ones_own_nothing_is_told(tmp_path: Path) -> None:
    """The same program, of which the built-in rules have nothing to say."""
    assert [] == lines(look(tmp_path, PROGRAM, load_rulebook(builtin_rules())))


def test_a_callable_is_judged_by_them_as_well(tmp_path: Path) -> None:
    """`graphlint.verify` takes the directories; the line is that of the test."""
    write_page(tmp_path, "GL999", "house-rule")
    effect = '[effects]\n"json.dumps" = [{ effect = "house-rule", when = "always" }]\n'
    (tmp_path / "operations.toml").write_text(effect + '[operations.json]\nstr = "dumps(obj)"\n', encoding="utf-8")

    def step(x):
        json.dumps([1])  # expect: GL999
        return x * 2

    (finding,) = graphlint.verify(step, (torch.ones(4),), on="emulator", rules=[tmp_path]).findings
    assert ("GL999", step.__code__.co_firstlineno + 1) == (finding.code, finding.span.line)
    assert () == graphlint.verify(step, (torch.ones(4),), on="emulator").findings


def test_a_detector_sees_what_a_call_was_given_and_gave(tmp_path: Path) -> None:
    """Of operations of torch and of others; with a message or help of its own."""
    rules(tmp_path / "rules")
    (tmp_path / "rules" / "gl999_house_rule.py").write_text(DETECTOR, encoding="utf-8")
    (tmp_path / "rules" / "operations.toml").write_text(TABLE[TABLE.index("[operations") :], encoding="utf-8")
    report = look(tmp_path, DETECTED, load_rulebook(builtin_rules(), tmp_path / "rules"))
    assert [(one.line, one.code) for one in parse_expectations(DETECTED)] == lines(report)
    first, second = report.findings
    assert ("`acme.flush(x)` flushes a matrix", Confidence.MEDIUM) == (first.message, first.confidence)
    assert "use something else" == second.help


def test_a_detector_that_fails_is_one_problem(tmp_path: Path) -> None:
    """The target is not to blame, and the line of the detector is told."""
    rules(tmp_path / "rules")
    file = tmp_path / "rules" / "gl999_house_rule.py"
    file.write_text(
        "from graphlint.rule import OperationCall\n\ndef detect(event: OperationCall):\n    return [1 / 0]\n"
    )
    report = look(tmp_path, DETECTED, load_rulebook(builtin_rules(), tmp_path / "rules"))
    assert report.targets[0].problem.endswith(f"{file}:4: this detector fails: ZeroDivisionError: division by zero")
    assert () == report.findings
