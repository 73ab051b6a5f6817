"""A sweep: one step after the other into one result log, with a pause between them in which all answers come in.

Every step sends the log from its beginning, so that steps differ in their rate and in nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from logreplay.replay.engine import Outcome, Progress, Replayer
from logreplay.replay.plan import Plan, Requests
from logreplay.replay.schedule import Schedule

STOP_AFTER: Final = 2
"""Overloaded steps in a row after which higher rates have nothing more to tell."""


@dataclass(frozen=True, slots=True)
class StepBegins:
    """What is about to be asked of the target: step ``index`` of ``count``."""

    index: int
    count: int
    schedule: Schedule


def overloaded(outcome: Outcome) -> bool:
    """Whether a step asked for more than the target carries.

    Either more than a second's worth of requests waited at its end, or more than one in a hundred failed that the
    log does not have as a failure.
    """
    return outcome.backlog > outcome.offered or outcome.net_error + outcome.new_errors > 0.01 * outcome.sent


async def sweep(
    engine: Replayer,
    requests: Requests,
    schedules: Sequence[Schedule],
    *,
    keep_going: bool = False,
    on_begin: Callable[[StepBegins], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """Run the steps in order; stop after two overloaded ones in a row, or one in which a shard was lost.

    Args:
        engine: an open one; its result log takes the rows of all steps.
        requests: what to send in each step.
        schedules: when, a schedule for each step.
        keep_going: run all steps, overloaded or not.
        on_begin: told before each step.
        on_progress: told about once a second.
        on_end: told after each step, when nothing of it is in flight and its rows are on disk.

    Returns:
        What became of each step that was begun.

    Raises:
        LogreplayError: as `Engine.run`.
    """
    outcomes: list[Outcome] = []
    for index, schedule in enumerate(schedules):
        if on_begin:
            on_begin(StepBegins(index, len(schedules), schedule))
        outcome = await engine.run(Plan(requests, schedule, step=index), on_progress)
        outcomes.append(outcome)
        if on_end:
            on_end(outcome)
        last = outcomes[-STOP_AFTER:]
        if (
            outcome.stopped
            or outcome.lost
            or (not keep_going and len(last) == STOP_AFTER and all(map(overloaded, last)))
        ):
            break
    return tuple(outcomes)
