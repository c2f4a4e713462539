"""What the language server costs somebody who types: a project and a file of it in, milliseconds out; run by hand.

    python -m tests.benchmarks.keystrokes PROJECT FILE [NUMBER] [SEED]

An editor opens the project and the file, and types at random places inside of its functions: a character into an
expression, a comment, an empty line, a statement; every second keystroke takes back the one before. It waits for the
answer each time. Nothing is written to the disk. Printed are the time to the first answer, from a start of the server
and, behind that, from a start with what the first has left on the disk; then of all keystrokes and of each kind the
median, the 95th percentile, and the processor time of the server.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles

from tests.keystrokes import Keystroke, arguments, keystrokes
from tests.server.editor import Editor, editing

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_time(pid: int) -> float:
    """The processor seconds of a process, of those that it has started, and of those that have ended under them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    tasks = {child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()}
    inner = sum(processor_time(int(child)) for child in {*children, *tasks})
    return sum(map(int, fields[11:15])) / _TICKS + inner


async def start(project: Path, name: str) -> float:
    """The seconds from the start of a server to its first answer about a file."""
    began = time.perf_counter()
    async with editing(project) as editor:
        editor.open(name)
        await editor.answered(name)
        return time.perf_counter() - began


async def typed(editor: Editor, name: str, edits: list[Keystroke]) -> list[tuple[Keystroke, float, float]]:
    """Each keystroke with the seconds to its answer, and the processor seconds that it took."""
    found = []
    for edit in edits:
        used, began = processor_time(editor.pid), time.perf_counter()
        editor.type(name, edit.text)
        await editor.answered(name)
        found.append((edit, time.perf_counter() - began, processor_time(editor.pid) - used))
    return found


def table(title: str, spent: list[tuple[float, float]]) -> str:
    waited = [wall * 1000 for wall, _ in spent]
    high = quantiles(waited, n=20)[-1] if len(waited) > 1 else waited[0]
    used = median(cpu * 1000 for _, cpu in spent)
    return f"{title:28} {len(spent):4} {median(waited):9.0f} {high:9.0f} {used:9.0f}"


async def measure(project: Path, name: str, number: int, seed: int) -> None:
    print(f"first answer: {await start(project, name):.2f} s, then {await start(project, name):.2f} s")
    async with editing(project) as editor:
        editor.open(name)
        await editor.answered(name)
        text = (project / name).read_text("utf-8")
        await typed(editor, name, [Keystroke("first", False, 0, f"{text}\n")])  # waits until all has been looked at
        found = await typed(editor, name, [*keystrokes(text, random.Random(seed), number)])
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for edit, *spent in found:
        wall, cpu = spent
        rows["all"].append((wall, cpu))
        rows[f"{edit.kind}, taken back" if edit.taken_back else edit.kind].append((wall, cpu))
    print(f"{'milliseconds':28} {'':4} {'median':>9} {'95 %':>9} {'processor':>9}")
    for title, spent_on in rows.items():
        print(table(title, spent_on))


def main() -> None:
    given = arguments(__doc__, 200)
    os.environ.pop("GRAPHLINT_NO_CACHE", None)
    asyncio.run(measure(given.project.resolve(), given.file, given.number, given.seed))


if __name__ == "__main__":
    main()
