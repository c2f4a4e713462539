"""Holes that no target speaks of in, the few classes of the code that fit them run, as `graphlint init` would propose.

`self.model(ids)` in the region of an engine whose package has four models: nobody says which of them is captured, but
one of them is. Each is run as the call, on the condition that it is the one.
"""

from __future__ import annotations

from pathlib import Path

from graphlint.static.domain.contexts import reachable
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import only_shown
from graphlint.static.regions.handed import classes_handed_in
from graphlint.static.regions.holes import MOST_COUNTED, Candidates, Hole
from graphlint.static.regions.proposals import is_nameless, is_open, propose_targets
from graphlint.static.regions.targets import FEW, Targets
from graphlint.static.regions.whole import Models, entry_of

MANY = 50  # classes that take a call; to find out which of more are models takes longer than all else


def run_likely(targets: Targets) -> None:
    """Run what the code speaks for in the regions that it opens itself: what is declared has names for all it runs."""
    interpreter, files = targets.interpreter, targets.files
    candidates = Candidates(interpreter, files, MOST_COUNTED)
    near = [hole for hole in targets.left if _is_near(interpreter, hole)]
    near = [
        hole
        for hole in near
        if is_nameless(candidates.callee(hole), interpreter)
        or (candidates.method(hole) is not None and classes_handed_in(interpreter, hole))
    ]
    fitting = {hole.span: len(candidates.fitting(hole)) for hole in near}
    holes = [hole for hole in near if 0 < fitting[hole.span] <= MANY]
    if not holes:
        return
    shown = only_shown(interpreter, files)
    opened = interpreter.regions.values()
    reached = {context.function for region in opened for context, _ in reachable(region.context)}
    whole = Models(interpreter, files).whole(shown, reached)
    found = {entry_of(cls): built_of for cls, built_of in whole.items()}
    targets.guess(propose_targets(interpreter, files, shown, found, holes, FEW))
    for span, one in targets.followed.items():
        if one.is_guess:
            one.left_out = max(fitting[span] - len(one.run), 0)


def _is_near(interpreter: Interpreter, hole: Hole) -> bool:
    """Whether a hole is close to a region that the code opens, and nobody says what it runs."""
    if hole.region.entry is not None or not is_open(interpreter, hole):
        return False
    return not is_test(interpreter.project.module_at(Path(hole.context.path)).name)
