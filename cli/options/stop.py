"""``--stop``: conditions under which a run ends itself."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.outcome import Progress
    from logreplay.replay.results.stop_rules import Condition, StopRule

Command = TypeVar("Command", bound=Callable[..., Any])


class StopAt(click.ParamType["Condition"]):
    """``errors>5%/10s``, ``p99>2s/10s``, ``in_flight>5000`` → a condition."""

    name = "condition"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Condition":
        from logreplay.replay.results.stop_rules import Condition, parse

        if isinstance(value, Condition):
            return value
        try:
            return parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def stop_option(command: Command) -> Command:
    """Give a command ``--stop``; it receives the conditions as ``stop_at``."""
    help_text = "End the run when a figure stays above a limit: errors>5%/10s, p99>2s/10s, in_flight>5000. Repeatable."
    return click.option("--stop", "stop_at", type=StopAt(), multiple=True, metavar="CONDITION", help=help_text)(command)


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
