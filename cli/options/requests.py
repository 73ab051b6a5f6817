"""Options that select, order and change the requests of a log."""

from functools import partial
from typing import Final

import click

from logreplay.cli.options.groups import Option, bundle
from logreplay.cli.options.types import LinesOfFiles, Once, ParsedType, Whole
from logreplay.core.quantities import percentage_of
from logreplay.options import request_rules
from logreplay.options.request_rules import RequestRules


def arrivals_option(*kinds: str) -> Option:
    """``--arrivals``; the command receives None where it is not given: modes without a rate refuse it."""
    means = {"poisson": "Send at random", "even": "evenly", "log": "in the log's bursts"}
    text = ", ".join(means[kind] for kind in kinds)
    return click.option("--arrivals", type=click.Choice(kinds), help=f"{text}.  [default: {kinds[0]}]")


restart_option: Final = click.option("--restart", is_flag=True, help="Begin each step or trial at the start of LOG.")


_REWRITTEN = ParsedType("replay.requests.filters:Rewritten.parse")
_AUTH = ParsedType("replay.requests.auth.schemes:parse")
_HEADER = ParsedType("replay.requests.headers:parse_header")
_option, _many = click.option, partial(click.option, multiple=True)
_OPTIONS = (
    _many(
        "--match",
        type=ParsedType(request_rules.pattern),
        metavar="REGEX",
        help="Send only URLs that contain REGEX. Repeatable.",
    ),
    _many(
        "--exclude",
        type=ParsedType(request_rules.pattern),
        metavar="REGEX",
        help="Skip URLs that contain REGEX. Repeatable.",
    ),
    _option(
        "--status",
        type=ParsedType(request_rules.status),
        metavar="SET",
        help="Send only these logged statuses: 2xx,404,500-504.",
    ),
    _option(
        "--sample",
        type=ParsedType(percentage_of, "percent"),
        metavar="P%",
        help="Replay a fixed random P% of the clients.",
    ),
    _option(
        "--client-key",
        type=ParsedType("replay.sessions.client_key:ClientKey.parse"),
        metavar="KEY",
        help="Tell clients by address, address+agent, column:NAME, header:NAME or cookie:NAME.  [default: address]",
    ),
    _option(
        "--from",
        "--since",
        "beginning",
        type=ParsedType(request_rules.beginning),
        metavar="ROW|TIME",
        help="Start at this row or ISO 8601 time (UTC) of LOG.",
    ),
    _option("--shuffle", is_flag=True, help="Send each request once, in random order."),
    _option("--random", is_flag=True, help="Draw each request at random from LOG."),
    _option("--seed", type=Whole(0), default=0, show_default=True, metavar="N", help="Seed for every random choice."),
    _many("--rewrite", type=_REWRITTEN, metavar="s|FROM|TO|", help="Replace regex FROM by TO in URLs. Repeatable."),
    _many("--param", type=ParsedType(request_rules.param), metavar="K=V", help="Set a query parameter. Repeatable."),
    _many(
        "-H",
        "--header",
        cls=LinesOfFiles,
        type=_HEADER,
        metavar="'K: V'|@FILE|log",
        help="Send a header, those in FILE (a line each), or those of LOG. Repeatable.",
    ),
    _option("--host", metavar="log|NAME", help="Host header: as logged, or NAME.  [default: the target's]"),
    _option("--agent", metavar="log|TEXT", help="User-Agent header: as logged, or TEXT.  [default: logreplay]"),
    _option("--referer", metavar="log|TEXT", help="Referer header: as logged, or TEXT."),
    _option("--no-cache", is_flag=True, help="Ask caches to fetch from the origin."),
    _option(
        "--body",
        type=ParsedType(request_rules.body),
        metavar="log|size|FILE:COLUMN",
        help="Send bodies: as logged, of logged size, or from FILE.  [default: log, if it has any]",
    ),
    _many(
        "--inject",
        type=ParsedType(request_rules.injection),
        metavar="FILE:P%",
        help="Mix in requests of FILE. Repeatable.",
    ),
    _option("--auth", cls=Once, type=_AUTH, metavar="bearer:FILE|…", help="Send a token, password or AWS signature."),
    _option("--hook", metavar="MODULE:FUNCTION", help="Pass each request through a Python function."),
)


shaping_options = bundle("request_rules", RequestRules, _OPTIONS)
"""Gives a command the options of shaping; it receives them as one ``request_rules``."""
