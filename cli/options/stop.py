"""``--stop``: conditions under which a run ends itself."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from logreplay.cli.options.types import ParsedType

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.outcome import Progress
    from logreplay.replay.results.stop_rules import Condition, StopRule


stop_option = click.option(
    "--stop",
    "stop_at",
    type=ParsedType("replay.results.stop_rules:parse"),
    multiple=True,
    metavar="CONDITION",
    help="Stop if errors>5%/10s, p99>2s/10s or in_flight>5000. Repeatable.",
)
"""Gives a command ``--stop``; it receives the conditions as ``stop_at``."""


def stop_rule(conditions: "Sequence[Condition]") -> "StopRule":
    """A rule that watches for any of the conditions."""
    from logreplay.replay.results.stop_rules import StopRule

    return StopRule(conditions)


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
