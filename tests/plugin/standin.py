"""The conftest of a test session in which `graphlint.verify` reads the target's lines instead of running it."""

CONFTEST = """
import inspect
import os

import graphlint
from graphlint.finding import Confidence, Finding, Hop, Region, Report, Severity, Span, Summary, TargetReport
from graphlint.runtime.session import inprocess
from graphlint.runtime.session import session

WRONG = {
    ".item()": ("GL101", "scalar-readback", Severity.ERROR),
    ".count": ("GL401", "lost-side-effect", Severity.WARNING),
}


def verify(call, args=(), kwargs=None, **options):
    path, (lines, first) = inspect.getsourcefile(call), inspect.getsourcelines(call)
    findings = [
        Finding(code, name, severity, Confidence.HIGH, Span(path, number, 5, number, 5 + len(line.strip())),
                f"test:{call.__qualname__}", f"`{line.strip()}` is wrong", "write something else",
                regions=(Region("stand-in", path, first),), chain=(Hop(path, first, f"test:{call.__qualname__}"),))
        for number, line in enumerate(lines, first)
        for mark, (code, name, severity) in WRONG.items() if mark in line
    ]
    print("asked for", options, [type(one).__name__ for one in args], kwargs)
    witness = "capture" if os.environ.get("STANDIN_GPU") else "emulator"
    return Report(witness, tuple(findings), Summary(regions=1), targets=(TargetReport(call.__qualname__),))


graphlint.verify = verify
session.witness = lambda on: "cuda"
inprocess.device = lambda: "NVIDIA H200"
inprocess.is_healthy = lambda: not os.environ.get("STANDIN_BROKEN")
"""
TARGETS = """
import pytest

def safe(x):
    return x + 1

def wrong(x):
    y = x + 1
    return y.item()

def lossy(x):
    x.count = 1
"""
