"""Tests and their targets in, pytest's verdicts with the findings in them out; nothing heavy is imported until asked.

def test_decode(graph_safe):
    graph_safe(Decoder().cuda().eval(), (torch.zeros(8, 64, device="cuda"),))


@pytest.mark.graph_safe(shapes=[(1, 64), (8, 64)], dtypes=[torch.float16, torch.bfloat16])
def test_every_batch(shape, dtype):
    return Decoder().to("cuda", dtype).eval(), (torch.zeros(shape, dtype=dtype, device="cuda"),)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from graphlint.testing.options import CASES, CHOICES, MARKER, OPTIONS_ONLY, SETTINGS

if TYPE_CHECKING:
    from graphlint.testing.asserting import GraphSafe


def pytest_addoption(parser: pytest.Parser) -> None:
    """Each setting is an option, and a key of the ini file if it is not about code."""
    group = parser.getgroup("graphlint", "safety for CUDA graphs")
    for name, about in SETTINGS.items():
        group.addoption(f"--graphlint-{name}", choices=CHOICES.get(name), metavar=name.upper(), help=about)
        if name not in OPTIONS_ONLY:
            parser.addini(f"graphlint_{name.replace('-', '_')}", about, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Marked tests are known to `--strict-markers`."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(shapes, dtypes, **settings): the test returns (callable, args) or (callable, args, kwargs)",
    )


@pytest.fixture
def graph_safe(request: pytest.FixtureRequest) -> GraphSafe:
    """Call it with a module or a function and example arguments: `graph_safe(model, (x,))`."""
    return _asserter(request.node)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A marked test runs for each shape and each dtype of the marker."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    for key, name in CASES.items():
        if marker is not None and key in marker.kwargs:
            cases = list(marker.kwargs[key])
            metafunc.parametrize(name, cases, ids=[_id(case) for case in cases])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test that asserts runs where torch finds a GPU, if need be an emulated one."""
    if not _asserts(item):
        return None
    from graphlint.testing.emulation import run_emulated

    return run_emulated(item, nextitem, _settings(item)) or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test for which nobody can answer as asked ends here."""
    if _asserts(item):
        from graphlint.testing.emulation import require_witness

        require_witness(_settings(item))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """What a marked test returns is asserted to be safe."""
    if pyfuncitem.get_closest_marker(MARKER) is None:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    target = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if target is not None or MARKER not in names:  # one that asks for the fixture may assert by itself
        _asserter(pyfuncitem).returned(target)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many assertions there were, and who answered; the reports come from here or from a worker of xdist."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    told = [report.user_properties for report in reports if getattr(report, "when", "") == "teardown"]
    witnesses = Counter(value for properties in told for name, value in properties if name == MARKER)
    if witnesses:
        number = witnesses.total()
        noun = "assertion" if number == 1 else "assertions"
        parts = ", ".join(f"{count} {witness}" for witness, count in sorted(witnesses.items()))
        terminalreporter.write_line(f"{number} graph-safe {noun}: {parts}")


def _id(case: object) -> str:
    return "x".join(map(str, case)) if isinstance(case, tuple) else str(case).removeprefix("torch.")


def _asserts(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test is marked, or asks for the fixture by name."""
    if not isinstance(item, pytest.Function):
        return False
    return item.get_closest_marker(MARKER) is not None or MARKER in item.fixturenames


def _asserter(item: pytest.Item) -> GraphSafe:
    from graphlint.testing.asserting import GraphSafe

    return GraphSafe(item, _settings(item))


def _settings(item: pytest.Item) -> dict[str, Any]:
    """Those of the ini file, the command and the marker of a test; the later ones count."""
    settings: dict[str, Any] = {}
    for setting in SETTINGS:
        name = setting.replace("-", "_")
        given = item.config.getoption(f"graphlint_{name}")
        if not given and setting not in OPTIONS_ONLY:
            given = item.config.getini(f"graphlint_{name}")
        if given:
            settings[name] = given
    marker = item.get_closest_marker(MARKER)
    own = {} if marker is None else {name: value for name, value in marker.kwargs.items() if name not in CASES}
    return {**settings, **own}
