"""A survey of a project in, the `[tool.graphlint]` table that is proposed for it and the change of its file out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.config import PROJECT_FILE, find_table
from graphlint.errors import UsageError
from graphlint.report.place import counted, shown_region

if TYPE_CHECKING:
    from graphlint.static.regions.survey import Survey

NAMED = 5  # regions in a comment
DECLARED = 10  # models that are proposed


def propose(survey: Survey, folder: Path) -> str:
    """The table with its reasons; a few models are declared where the code opens no region, else they are remarks."""
    return "\n".join(["[tool.graphlint]", *_lines(survey, folder)]) + "\n"


def change(folder: Path, table: str) -> tuple[Path, str, str]:
    """The file of the project, its text before, and its text with the table. Raises UsageError if it has one."""
    file = folder / PROJECT_FILE
    if not file.is_file():
        return file, "", table
    if find_table(file) is not None:
        raise UsageError(f"{file} has a [tool.graphlint] table, which stays as it is")
    before = file.read_text(encoding="utf-8")
    return file, before, f"{before.rstrip()}\n\n{table}" if before.strip() else table


def difference(file: Path, before: str, after: str) -> str:
    """The change as a unified diff."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, str(file), str(file)))


def _lines(survey: Survey, folder: Path) -> Iterator[str]:
    if survey.regions:
        yield f"# The code opens {counted(len(survey.regions), 'capture region')}, which need not be declared:"
        yield from (f"#   {shown_region(region, folder)}" for region in survey.regions[:NAMED])
        if len(survey.regions) > NAMED:
            yield f"#   and {len(survey.regions) - NAMED} more"
    else:
        yield "# The code opens no capture region."
    models = survey.models[:DECLARED]
    mark = "# " if survey.regions or len(survey.models) > DECLARED else ""
    if models:
        yield f"# Models that nothing else here uses; {'declare' if mark else 'keep'} those that a framework captures:"
    else:
        yield '# What a framework captures is declared by its name: regions = ["serve.model:Decoder.forward"]'
        return
    yield f"{mark}regions = ["
    yield from (f'{mark}    "{model}",' for model in models)
    yield f"{mark}]"
    if len(survey.models) > DECLARED:
        yield f"# {counted(len(survey.models) - DECLARED, 'other model')} could be declared as well."
    if survey.packages:
        yield "# They build on these packages; where they are installed, calls can be followed into them:"
        yield f"# follow-installed = {json.dumps(survey.packages)}"
