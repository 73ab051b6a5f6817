"""``--stop``: conditions under which a run ends itself."""

import click

from logreplay.cli.options.types import ParsedType

stop_option = click.option(
    "--stop",
    "stop_at",
    type=ParsedType("replay.results.stop_rules:parse"),
    multiple=True,
    metavar="CONDITION",
    help="Stop if errors>5%/10s, p99>2s/10s or in_flight>5000. Repeatable.",
)
"""Gives a command ``--stop``; it receives the conditions as ``stop_at``."""
