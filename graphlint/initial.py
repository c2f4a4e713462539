"""A survey of a project in, the `[tool.graphlint]` table that is proposed for it and the change of its file out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.config import PROJECT_FILE, find_table
from graphlint.errors import UsageError
from graphlint.report.place import counted, shown_region

if TYPE_CHECKING:
    from graphlint.static.regions.survey import Survey
    from graphlint.targets import Target

NAMED = 5  # regions in a comment
FEW = 10  # models that code which captures by itself may keep for others
DECLARED = 25  # models that are proposed


def propose(survey: Survey, folder: Path) -> str:
    """The table with its reasons; the first models are declared, or remarks where the code captures what it runs."""
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
    yield from _regions(survey)
    if len(survey.models) > DECLARED:
        yield f"# {counted(len(survey.models) - DECLARED, 'other model')} could be declared as well."
    if survey.models and survey.packages:
        yield "# They build on these packages; where they are installed, calls can be followed into them:"
        yield f"# follow-installed = {json.dumps(survey.packages)}"
    yield from _targets(survey.targets)


def _regions(survey: Survey) -> Iterator[str]:
    """The list of what may be captured elsewhere; a remark is what is likelier to be captured by the code itself."""
    models = survey.models[:DECLARED]
    if not models and not survey.exports:
        yield '# What a framework captures is declared by its name: regions = ["serve.model:Decoder.forward"]'
        return
    is_told = any(not set(target.runs).isdisjoint(survey.models) for target in survey.targets)
    captures = survey.captures or (survey.regions and survey.targets)
    model = "# " if captures and (survey.engine or is_told or len(survey.models) <= FEW) else ""
    export = "# " if survey.engine else ""
    mark = model if not survey.exports else export if not models else model and export
    if models:
        yield f"# Models that nothing else here uses; {'declare' if model else 'keep'} those that a framework captures:"
    if survey.exports:
        yield f"# What others may capture, such as operators; {'declare' if export else 'keep'} what is meant for it:"
    yield f"{mark}regions = ["
    yield from (f'{model}    "{name}",' for name in models)
    yield from (f'{export}    "{name}",' for name in survey.exports)
    yield f"{mark}]"


def _targets(targets: Iterable[Target]) -> Iterator[str]:
    for number, target in enumerate(targets):
        if number == 0:
            yield "# Regions call what the code does not tell; these classes of it take the arguments:"
        yield from ("", "[[tool.graphlint.targets]]", f"at = {json.dumps(target.at)}")
        if target.call is not None:
            yield f"call = {json.dumps(target.call)}"
        yield f"runs = {json.dumps(target.runs[0] if len(target.runs) == 1 else target.runs)}"
