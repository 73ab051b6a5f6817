"""Options that report progress."""

import re

import click

from logreplay.calling.audience import Telling
from logreplay.cli.options.groups import bundle
from logreplay.cli.options.types import ParsedType
from logreplay.cli.settings.configurable import Configurable

_ADDRESS = re.compile(r"(\S+:)?\d+")


class WithLive(Configurable):
    """A command on which ``--live`` may stand before an argument: only an address is its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for index, word in enumerate(args[:-1]):
            if word == "--":
                break
            if word == "--live" and not _ADDRESS.fullmatch(args[index + 1]):
                args = [*args[:index], "--live=0", *args[index + 1 :]]
        return super().parse_args(ctx, args)


_OPTIONS = (
    click.option(
        "--live",
        type=ParsedType("replay.monitor.access:parse_address"),
        is_flag=False,
        flag_value="0",
        metavar="[[HOST:]PORT]",
        help="Serve a live page.  [default: a free port of this machine]",
    ),
    click.option(
        "--metrics",
        type=ParsedType("replay.monitor.access:parse_address"),
        metavar="[HOST:]PORT",
        help="Serve /metrics for Prometheus.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["auto", "json", "none"]),
        default="auto",
        show_default=True,
        help="On stderr: a line, JSON each second, or nothing.",
    ),
    click.option(
        "--watch",
        type=ParsedType("replay.monitor.probes:parse_probe"),
        multiple=True,
        metavar="NAME[/s]=URL|!COMMAND",
        help="Record a figure of URL or COMMAND each second. Repeatable.",
    ),
)
telling_options = bundle("telling", Telling, _OPTIONS)
"""Gives a command the options of telling; it receives them as one ``telling``."""
