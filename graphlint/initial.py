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
DECLARED = 100  # models that are proposed


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
    runs = [run for target in survey.targets for run in target.runs]
    runs_models = any(run.endswith(".forward") for run in runs)
    captures = survey.captures or (survey.regions and runs_models)
    is_captured_here = captures and (survey.engine or not {*runs}.isdisjoint(models) or len(survey.models) <= FEW)
    model, export = "# " if is_captured_here else "", "# " if survey.engine else ""
    groups = [
        (models, model, "Models that nothing else here uses; {} those that a framework captures:"),
        (survey.compiled, "", "What the code compiles without graphs; {} what is to be captured:"),
        (survey.replaced, model, "What others run in the place of their own; {} what they capture:"),
        (survey.exports, export, "What others may capture, such as operators; {} what is meant for it:"),
    ]
    groups = [group for group in groups if group[0]]
    if not groups:
        yield '# What a framework captures is declared by its name: regions = ["serve.model:Decoder.forward"]'
        return
    for _, mark, title in groups:
        yield f"# {title.format('declare' if mark else 'keep')}"
    whole = "" if any(not mark for _, mark, _ in groups) else "# "
    yield f"{whole}regions = ["
    for names, mark, _ in groups:
        yield from (f'{mark}    "{name}",' for name in names)
    yield f"{whole}]"


def _targets(targets: Iterable[Target]) -> Iterator[str]:
    for number, target in enumerate(targets):
        if number == 0:
            yield "# Regions call what the code does not tell; these classes of it take the arguments:"
        yield from ("", "[[tool.graphlint.targets]]", f"at = {json.dumps(target.at)}")
        if target.call is not None:
            yield f"call = {json.dumps(target.call)}"
        yield f"runs = {json.dumps(target.runs[0] if len(target.runs) == 1 else target.runs)}"
