"""A program in, its runs out: one for each way through what nobody knows, as far as that leads somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.frames import MAX_RUNS, MAX_STEPS_IN_ALL, MAX_STEPS_IN_VAIN, Decisions, Leave, Plans, Stopped
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.machine import Machine
from graphlint.static.life.players import Mode, Player, Run, Runs
from graphlint.static.life.programs import Program


class Ran(NamedTuple):
    """The runs of a program: how many steps they took, those that were known included if they were in `vain`, since
    nothing was captured; and whether one came behind the making of its object.
    """

    steps: int
    has_begun: bool
    vain: int = 0


def rehearse(interpreter: Interpreter, program: Program, listen: Callable[[Ledger], None], runs: Runs) -> Ran:
    """Run a program once for every way through what nobody knows, each time with new objects.

    Those that another player came through in the same way are known. Where no way leads behind the making of its
    object, or what is called refuses all that it is given, conditions in other files are tried both ways as well, and
    what may be left out is given. Where the steps do not last until a graph is replayed, other files get few of them.
    """
    opens = interpreter.entries.opening
    plans, mode, planned, steps = Plans(opens), Mode(), 0, 0
    has_begun = has_captured = has_replayed = False
    for _ in range(MAX_RUNS):
        plan = plans.next()
        if plan is None or planned > (MAX_STEPS_IN_ALL if has_captured else MAX_STEPS_IN_VAIN):
            break
        player = Player(program.player, interpreter.classes)
        run = runs.find(plan, mode, player)
        if run is None:
            machine = Machine(interpreter, Ledger(), Decisions(plan.outcomes), player)
            machine.is_wide, machine.is_thrifty = mode
            run = _run(machine, program, listen)
            runs.add(plan, mode, run)
            steps += run.steps
        planned += run.steps
        plans.ran(run.decisions, run.has_captured, planned)
        has_begun |= run.has_begun
        has_captured |= run.has_captured
        has_replayed |= run.has_replayed
        is_stuck = run.is_refused or (run.is_making and not has_begun)
        if run.is_given_up and not (has_replayed or mode.is_thrifty):
            plans, mode = Plans(opens), mode._replace(is_thrifty=True)
        elif is_stuck and not (plans.waiting or has_replayed or mode.is_wide):
            plans, mode = Plans(opens), mode._replace(is_wide=True)
    return Ran(steps, has_begun, 0 if has_captured else planned)


def _run(machine: Machine, program: Program, listen: Callable[[Ledger], None]) -> Run:
    listen(machine.ledger)
    try:
        program.run(machine)
    except (Leave, Stopped, RecursionError):
        machine.ledger.is_cut = True
    machine.ledger.finish()
    captures = machine.ledger.captures
    came = bool(captures), any(one.replays for one in captures)
    stands = machine.is_making, machine.has_begun, machine.is_refused, machine.ledger.is_given_up
    ran = Run(machine.decisions, machine.steps, *stands, *came, machine.player.asked)
    machine.drop()  # the search for what leads to itself took a fifth of a rehearsal
    return ran
