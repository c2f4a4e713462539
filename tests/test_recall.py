"""The measurement of recall: records of real bugs, and what `check` says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recall.__main__ import RECORDS, main

SOURCE = "def step(x):\n    y = x * 2\n    return y.max().item()\n"
RECORD = {
    "id": "reads-back",
    "tree": "engine@1",
    "path": "serve/model.py",
    "lines": [3],
    "check": "serve",
    "entry_spec": "model:step",
    "position": "in-region",
    "static_visible": "yes",
}


@pytest.mark.parametrize(("options", "found"), [(["--entry"], 1), ([], 0)])
def test_a_record_is_found_by_what_stands_at_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str], found: int
) -> None:
    """With what it says is captured; where nothing is declared, nothing is captured."""
    file = tmp_path / "engine@1" / "serve" / "model.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE, encoding="utf-8")
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps(RECORD) + "\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["recall", str(tmp_path), "--records", str(records), *options, "reads-back"])
    main()
    assert f"in-region, visible in the source: yes: {found} of 1" in capsys.readouterr().out


def test_each_record_says_where_it_is_and_what_is_captured() -> None:
    """One name each, and the version before the mistake was mended."""
    records = [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines()]
    assert len({record["id"] for record in records}) == len(records) == 310
    assert all(record["lines"] and record["at"] and record["path"].endswith(".py") for record in records)
