"""Conditions under which a run ends itself."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from logreplay.calling.callbacks import StopWish
from logreplay.core.quantities import in_ms_instead

if TYPE_CHECKING:
    from logreplay.calling.mailbox import CallListener
    from logreplay.inputs.logs import Tell
    from logreplay.options.sender_rules import SenderRules
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.outcome import Progress
    from logreplay.replay.results.stop_rules import Condition, StopRule

LONG_GAP_S: Final = 60
"""A longer gap between two requests, in seconds, is told while the run waits for its end."""


def watched(
    rule: "StopRule", engine: "Replayer", show: "Callable[[Progress], None] | None" = None
) -> "Callable[[Progress], None]":
    """Show the progress of an engine of the running loop; stop it when a condition comes true, or a function asks."""
    if isinstance(asked := rule.asked, StopWish):
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(engine.stop, asked.why)

        asked.bind(tell)

    def see(now: "Progress") -> None:
        if show:
            show(now)
        if why := rule.see(now):
            engine.stop(why)

    return see


def telling_gaps(see: "Callable[[Progress], None]", tell: "Tell") -> "Callable[[Progress], None]":
    """Show the progress of a run; tell of a long gap of the log while the run waits for its end.

    Of later gaps it tells only if they are twice as long as the longest before: a sparse log has many.
    """
    from logreplay.analysis.demand.wording import span

    least = float(LONG_GAP_S)

    def look(now: "Progress") -> None:
        nonlocal least
        if now.next_due is not None and (wait := now.next_due - now.elapsed) > least:
            least = 2 * wait
            tell(
                f"waiting: by the log's times the next request is due in {span(round(wait))}; "
                "--skip-idle shortens such gaps"
            )
        see(now)

    return look


def warn_of_never(
    conditions: "Sequence[Condition]",
    sender_rules: "SenderRules",
    listener: "CallListener",
    *,
    users: int | None = None,
    bounds: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Warn of bounds, by their statistic, and of conditions of ``--stop`` that nothing can exceed.

    ``users`` are the most of a closed loop; None: it is an open one.
    """
    timeout = sender_rules.timeout
    stops = {f"--stop '{each.text}'": each.limit for each in conditions if each.figure in ("p50", "p99")}
    for option, limit in ({f"--{name}": limit for name, limit in bounds.items()} | stops).items():
        if limit > timeout:
            listener.note(
                f"warning: {option}: {limit:g} s is longer than --timeout {timeout:g} s, so no "
                f"response can exceed it; {in_ms_instead(limit)}"
            )
    for option, most in (("--max-in-flight", sender_rules.max_in_flight), ("--vusers", users)):
        for each in conditions:
            if most is not None and each.figure == "in_flight" and each.limit >= most:
                listener.note(
                    f"warning: --stop '{each.text}' can never come true: with {option} {most} no more are in flight"
                )
