"""A program in, its runs out: one for each way through what nobody knows, as far as that leads somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.frames import MAX_RUNS, MAX_STEPS_IN_ALL, Decisions, Leave, Plans, Stopped
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.machine import Machine
from graphlint.static.life.players import Player, Run, Runs
from graphlint.static.life.programs import Program


class Ran(NamedTuple):
    """The runs of a program: how many steps they took, and whether one came behind the making of its object."""

    steps: int
    has_begun: bool


def rehearse(interpreter: Interpreter, program: Program, listen: Callable[[Ledger], None], runs: Runs) -> Ran:
    """Run a program once for every way through what nobody knows, each time with new objects.

    Those that another player came through in the same way are known. Where no way leads behind the making of its
    object, or what is called refuses all that it is given, conditions in other files are tried both ways as well, and
    what may be left out is given.
    """
    opens = interpreter.entries.opening
    plans, planned, steps, has_begun, has_replayed, is_wide = Plans(opens), 0, 0, False, False, False
    for _ in range(MAX_RUNS):
        plan = plans.next()
        if plan is None or planned > MAX_STEPS_IN_ALL:
            break
        player = Player(program.player, interpreter.classes)
        run = runs.find(plan, is_wide, player)
        if run is None:
            machine = Machine(interpreter, Ledger(), Decisions(plan.outcomes), player)
            machine.is_wide = is_wide
            run = _run(machine, program, listen)
            runs.add(plan, is_wide, run)
            steps += run.steps
        plans.ran(run.decisions, run.has_captured)
        planned += run.steps
        has_begun |= run.has_begun
        has_replayed |= run.has_replayed
        is_stuck = run.is_refused or (run.is_making and not has_begun)
        if is_stuck and not (plans.waiting or has_replayed or is_wide):
            plans, is_wide = Plans(opens), True
    return Ran(steps, has_begun)


def _run(machine: Machine, program: Program, listen: Callable[[Ledger], None]) -> Run:
    listen(machine.ledger)
    try:
        program.run(machine)
    except (Leave, Stopped, RecursionError):
        machine.ledger.is_cut = True
    machine.ledger.finish()
    captures = machine.ledger.captures
    came = bool(captures), any(one.replays for one in captures)
    stands = machine.is_making, machine.has_begun, machine.is_refused
    ran = Run(machine.decisions, machine.steps, *stands, *came, machine.player.asked)
    machine.drop()  # the search for what leads to itself took a fifth of a rehearsal
    return ran
