"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import IS_INSTALLED, with_plugin
from standin import CONFTEST, TARGETS

Session = Callable[..., pytest.RunResult]


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run tests that find a stand-in for `graphlint.verify`, in a process of their own where warnings are errors."""
    plugin = with_plugin(monkeypatch)

    def run(tests: str, *options: str, ini: str = "", conftest: str = CONFTEST) -> pytest.RunResult:
        pytester.makeconftest(conftest)
        pytester.makeini(f"[pytest]\nfilterwarnings = error\n{ini}")
        pytester.makepyfile(test_serve=TARGETS + tests)
        return pytester.runpytest_subprocess(*plugin, "--strict-markers", "-p", "no:cacheprovider", *options)

    return run


USES = "\ndef test_it(graph_safe):\n    graph_safe({}, (1,))\n"
RETURNS = "\n@pytest.mark.graph_safe\ndef test_it():\n    return {}, (1,)\n"


def test_a_safe_target_passes_and_is_counted(session: Session) -> None:
    """The summary says who answered."""
    result = session(USES.format("safe"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 graph-safe assertion: 1 emulated"])


def test_a_session_without_assertions_says_nothing(session: Session) -> None:
    """Installed and unused, the plugin is not heard of."""
    result = session("\ndef test_it():\n    pass\n")
    result.assert_outcomes(passed=1)
    assert "graph" not in result.stdout.str().replace("graphlint-", "")


def test_a_finding_fails_the_test_with_its_code_frame(session: Session) -> None:
    """The test's own line, the finding and the way to it, and nothing of what lies between."""
    result = session(USES.format("wrong"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*graph_safe(wrong, (1,))",
            "E*AssertionError: GL101 at test_serve.py:8: wrong is not safe to capture",
            "E*error?GL101? scalar-readback: `return y.item()` is wrong",
            "E*8 |*return y.item()",
            "E*|     ^^^^^^^^^^^^^^^",
            "E*= region: stand-in at test_serve.py:6",
            "E*way: test_serve.py:6 in test:wrong",
            "E*= help: write something else",
            "FAILED test_serve.py::test_it - AssertionError: GL101 at test_serve.py:8: *",
        ],
    )
    shown = result.stdout.str()
    assert "asserting.py" not in shown and "All traceback entries are hidden" not in shown


def test_what_a_marked_test_returns_is_asserted(session: Session) -> None:
    """A tuple of callable, arguments and keyword arguments."""
    result = session(RETURNS.format("safe") + RETURNS.format("safe").replace("it()", "other()"))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 graph-safe assertions: 2 emulated"])


def test_a_marked_test_fails_with_the_finding_alone(session: Session) -> None:
    """There is no line of the test to show, and none of the plugin's."""
    result = session(RETURNS.format("wrong"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["GL101 at test_serve.py:8: wrong is not safe to capture", "*error?GL101? scalar-readback*"]
    )
    assert "plugin.py" not in result.stdout.str() and "asserting.py" not in result.stdout.str()


@pytest.mark.parametrize(
    ("returned", "said"), [("None", "this one returned nothing"), ("safe", "this one returned a function")]
)
def test_a_marked_test_that_returns_no_target_fails(session: Session, returned: str, said: str) -> None:
    """A check that looks at nothing does not pass."""
    result = session(f"\n@pytest.mark.graph_safe\ndef test_it():\n    return {returned}\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*marked `graph_safe` returns*{said}"])


def test_a_marked_test_runs_for_each_shape_and_dtype(session: Session) -> None:
    """Names of the cases are readable, and other parameters and fixtures are left as they are."""
    tests = """
@pytest.fixture
def other():
    return 2

@pytest.mark.graph_safe(shapes=[(1, 64), (8, 64)], dtypes=["torch.float16"])
@pytest.mark.parametrize("bias", [True, False])
def test_it(shape, dtype, bias, other):
    assert other == 2
    return safe, (shape, dtype), {"bias": bias}
"""
    result = session(tests, "-v", "-s")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines_random(
        ["*::test_it[[]*1x64*", "*::test_it[[]*8x64*", "*float16*", "*'tuple', 'str'? {'bias': True}"]
    )


def test_a_marked_test_may_assert_by_itself(session: Session) -> None:
    """The marker gives it cases and settings, the fixture asserts; without an assertion nothing is counted."""
    tests = """
@pytest.mark.graph_safe(shapes=[(2,), (3,)], fail_on="warning")
def test_it(graph_safe, shape):
    if shape == (2,):
        graph_safe(safe, shape)
    else:
        graph_safe(lossy, shape)
"""
    result = session(tests)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*GL401 at test_serve.py:11: lossy is not safe to capture*", "2 graph-safe assertions: 2 emulated"]
    )


def test_settings_of_call_marker_command_and_ini_count_in_this_order(session: Session) -> None:
    """What the backend gets of them is what was set, with the profile of the project, and nothing that was not."""
    ini = "graphlint_warm_ups = 5\ngraphlint_replays = 6\ngraphlint_on = emulator\ngraphlint_deadline = 0.5\n"
    asks = "\n@pytest.mark.graph_safe(replays=8)\ndef test_it(graph_safe):\n    graph_safe(safe, ()) or 0\n"
    asks += "    graph_safe(safe, (), replays=9, on='require-cuda')\n"
    result = session(asks, "--graphlint-warm-ups", "7", "-s", ini=ini)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*asked for {'warm_ups': 7, 'replays': 8, 'deadline': 0.5, *, 'on': 'emulator'} [[][]] {}",
            "*asked for {'warm_ups': 7, 'replays': 9, 'deadline': 0.5, *, 'on': 'cuda'}*",
        ]
    )
    session(USES.format("safe"), "-s").stdout.fnmatch_lines(
        ["*asked for {'allocations': 'default', 'on': 'auto'} [[]'int'] {}"]
    )


@pytest.mark.parametrize(
    ("ini", "outcome", "said"),
    [
        ("graphlint_warm_ups = 0", "errors", "`0` is no value for the setting `warm_ups` of `graph_safe`"),
        ("graphlint_fail_on = fatal", "errors", "`fatal` is no value for the setting `fail_on` of `graph_safe`"),
        ("graphlint_select = GL9x", "failed", "unknown code `GL9x` in `select`*"),
    ],
)
def test_a_wrong_setting_is_one_line(session: Session, ini: str, outcome: str, said: str) -> None:
    """It names the setting and the value."""
    result = session(RETURNS.format("safe"), ini=ini)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([f"graphlint: {said}"])


def test_an_unknown_setting_of_a_call_names_the_nearest(session: Session) -> None:
    """A misspelled keyword is not ignored."""
    result = session("\ndef test_it(graph_safe):\n    graph_safe(safe, (), warmups=2)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*there is no setting `warmups` of `graph_safe`; did you mean `warm_ups`?"])


def test_ignored_and_suppressed_findings_do_not_fail(session: Session) -> None:
    """Codes are chosen by the options, by [tool.graphlint] and by comments, as for the commands."""
    session(USES.format("wrong"), "--graphlint-ignore", "GL101").assert_outcomes(passed=1)
    session(USES.format("wrong"), "--graphlint-select", "GL2, GL3").assert_outcomes(passed=1)
    session(USES.format("wrong"), "--graphlint-select", "GL1").assert_outcomes(failed=1)
    comment = "\ndef quiet(x):\n    return x.item()  # graphlint: ignore[{}]\n" + USES.format("quiet")
    session(comment.format("GL101")).assert_outcomes(passed=1)
    session(comment.format("GL102")).assert_outcomes(failed=1)


def test_the_project_says_what_is_ignored(session: Session, pytester: pytest.Pytester) -> None:
    """[tool.graphlint] of the root counts."""
    pytester.makepyprojecttoml('[tool.graphlint]\nignore = ["GL101"]\n')
    session(USES.format("wrong")).assert_outcomes(passed=1)


def test_a_warning_is_shown_and_fails_where_that_is_wanted(session: Session) -> None:
    """A finding below the severity that fails is in the report of the test."""
    shown = session(USES.format("lossy"), "-rP")
    shown.assert_outcomes(passed=1)
    shown.stdout.fnmatch_lines(["*warning?GL401? lost-side-effect*"])
    session(USES.format("lossy"), "--graphlint-fail-on", "warning").assert_outcomes(failed=1)


def test_captures_are_counted_with_their_device(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed assertions were answered as well."""
    monkeypatch.setenv("STANDIN_GPU", "1")
    both = USES.format("safe") + USES.format("wrong").replace("it(", "other(")
    result = session(both)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["2 graph-safe assertions: 2 captured on NVIDIA H200"])


def test_a_broken_device_is_told_to_the_later_tests(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """They name the test to run alone, and are not counted, since nobody answered."""
    monkeypatch.setenv("STANDIN_GPU", "1")
    monkeypatch.setenv("STANDIN_BROKEN", "1")
    result = session(USES.format("wrong") + USES.format("safe").replace("it(", "later("))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E*UsageError: test_serve.py::test_it broke the device for this process; run that test in a process of *"]
    )
    result.stdout.fnmatch_lines(["1 graph-safe assertion: 1 captured on NVIDIA H200"])


def test_workers_of_xdist_are_counted_together(session: Session) -> None:
    """Each sends what was answered with its reports."""
    pytest.importorskip("xdist")
    cases = (
        '\n@pytest.mark.graph_safe\n@pytest.mark.parametrize("n", range(6))\ndef test_it(n):\n    return safe, (n,)\n'
    )
    result = session(cases + USES.format("wrong").replace("it(", "other("), "-n", "2")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(
        ["*GL101 at test_serve.py:8: wrong is not safe to capture", "7 graph-safe assertions: 7 emulated"]
    )


def test_collecting_asks_nobody(session: Session) -> None:
    """The cases of a marked test are listed, and none is run."""
    result = session(
        "\n@pytest.mark.graph_safe(shapes=[(1, 2)])\ndef test_it(shape):\n    1 / 0\n", "--collect-only", "-q"
    )
    result.stdout.fnmatch_lines(["test_serve.py::test_it[[]1x2]"])
    assert "assertion" not in result.stdout.str() and 0 == result.ret


@pytest.mark.skipif(not IS_INSTALLED, reason="the name is that of the entry point")
def test_the_plugin_can_be_switched_off(session: Session) -> None:
    """Without it there is no fixture and no marker."""
    result = session(USES.format("safe"), "-p", "no:graphlint")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'graph_safe' not found"])


@pytest.mark.parametrize("used", [False, True])
def test_nothing_heavy_is_loaded_before_it_is_used(session: Session, used: bool) -> None:
    """An unused plugin loads neither torch nor libcst nor the rest of graphlint."""
    asks, loaded = (
        ('request.getfixturevalue("graph_safe")', '{"graphlint.testing.asserting"}') if used else ("", "set()")
    )
    tests = f"""
import sys

def test_it(request):
    {asks}
    assert {{name for name in ("torch", "libcst", "graphlint.testing.asserting") if name in sys.modules}} == {loaded}
"""
    session(tests, conftest="").assert_outcomes(passed=1)


def test_the_function_asserts_as_the_fixture_does(session: Session) -> None:
    """`graphlint.assert_graph_safe` hides its own frames."""
    result = session("\nimport graphlint\n\ndef test_it():\n    graphlint.assert_graph_safe(wrong, (1,))\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*graphlint.assert_graph_safe(wrong, (1,))", "E*error?GL101? scalar-readback*"])
    assert "verdict.py" not in result.stdout.str()


def test_buckets_are_asserted_one_by_one(session: Session) -> None:
    """Each size is looked at as a target, and then the batches at their edges."""
    pytest.importorskip("torch")
    tests = """
import torch

def averaging(x):
    return x - x.mean(0)

def rows(n):
    return torch.arange(n * 3.0).reshape(n, 3)

def test_it(graph_safe):
    graph_safe.buckets(safe, (1, 4), rows)

def test_wrong(graph_safe):
    graph_safe.buckets(wrong, (1, 4), rows)

def test_leaking(graph_safe):
    graph_safe.buckets(averaging, (4, 1), rows)

def test_what_is_captured(graph_safe):
    graph_safe.buckets(safe, (1, 4), rows, eager=wrong)

def test_truncating(graph_safe):
    graph_safe.buckets(lambda x: safe(x[:4]), (4,), rows, eager=safe)
"""
    result = session(tests)
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: bucket of 1: GL101 at test_serve.py:8: wrong is not safe to capture",
            "E*AssertionError: averaging does not keep its batches apart:",
            "E*2 rows in the bucket of 4: padding leaks into the rows before it: `output`: *",
            "E*AssertionError: bucket of 1: GL101 at test_serve.py:8: wrong is not safe to capture",
            "E*5 rows, one beyond the last bucket: not what eager gives, and no error: *",
            "7 graph-safe assertions: 7 emulated",
        ]
    )
