"""Replays requests against several targets at once."""

from asyncio import Event
from collections.abc import Sequence

from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.combine import ForTargets, duet_plan
from logreplay.replay.requests.plan import RequestStream
from logreplay.replay.results.by_target import ByTarget
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import Results
from logreplay.replay.schedules.rates import Schedule
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.multi_target import by_target


async def duet(
    requests: RequestStream,
    schedule: Schedule,
    senders: Sequence[Sender],
    results: Sequence[Results],
    *,
    alternate: bool = False,
    seed: int = 0,
    stop: Event | None = None,
) -> Outcome:
    """Send each request to all targets at the same instant, in random order.

    Works in any running loop, a notebook's too.

    Args:
        requests: those of the log.
        schedule: schedule of the requests; rates are those of one target.
        senders: one for each target, the baseline first; opened and closed here.
        results: take the rows of each target; closed here. ``seq`` is the number of the pair.
        alternate: send each request to one target, drawn at random.
        seed: seed for the random choices.
        stop: ends the run when set; requests in flight are recorded as ``cancelled``.

    Raises:
        LogreplayError: the log cannot be read, a target is unusable, or the results cannot be written.
    """
    several = ForTargets(requests, len(senders), seed, alternate)
    plan = duet_plan(several, schedule)
    return await replay(plan, by_target(senders), ByTarget(results, several.together), stop=stop)
