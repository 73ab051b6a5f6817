"""Conditions under which a run ends itself."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.outcome import Progress
    from logreplay.replay.results.stop_rules import Condition, StopRule


def stop_rule(conditions: "Sequence[Condition]", asked: Callable[[], str] = str) -> "StopRule":
    """A rule that watches for any of the conditions, and for the wish of another part of the program."""
    from logreplay.replay.results.stop_rules import StopRule

    return StopRule(conditions, asked)


def watched(
    rule: "StopRule", engine: "Replayer", show: "Callable[[Progress], None] | None" = None
) -> "Callable[[Progress], None]":
    """Show the progress of an engine, and stop it when a condition comes true."""

    def see(now: "Progress") -> None:
        if show:
            show(now)
        if why := rule.see(now):
            engine.stop(why)

    return see
