"""The same file of tests wherever it runs: captured on a GPU, and emulated where there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sessions import with_plugin

torch = pytest.importorskip("torch")

MODELS = Path(__file__).with_name("models.py")


def test_a_file_of_models_has_the_same_outcome_with_and_without_a_gpu(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of eleven fails, at its lines; those behind it pass; the summary names the witness."""
    plugin = with_plugin(monkeypatch)
    shutil.copy(MODELS, pytester.path / "test_models.py")
    result = pytester.runpytest_subprocess(*plugin, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=10, failed=1)
    witness = f"captured on {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "emulated"
    result.stdout.fnmatch_lines(["*error[[]GL301]*", "*error[[]GL101]*", f"11 graph-safe assertions: 11 {witness}"])
